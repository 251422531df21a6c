//! `hints`: notifications from the external system, so that a changed resource is polled soon and not only
//! at the interval.
//!
//! A hint names external resources by their identities. It is not trusted: it only triggers polls.

use std::sync::Arc;

use http::HeaderName;
use serde_json::Value;

use crate::cel::{EvaluationError, Scope, Site, ValueTemplate, Variables};
use crate::read::Read;
use crate::secrets::secret_key::{SecretKey, read_secret_key};
use crate::systems::Source;
use crate::systems::sql::{Connection, Dialect, read_connection};
use crate::yaml::{Node, Reader, read_value};

/// Maximum resources that one hint can name. A sender with more sends several hints.
const MAX_IDENTITIES: usize = 1_000;

/// Maximum length of a channel's name in bytes. PostgreSQL accepts no longer one (NAMEDATALEN).
const MAX_CHANNEL_BYTES: usize = 63;

/// The kinds of hints, by their keys.
pub(crate) const HINTS: [&str; 3] = ["listen", "webhook", "watch"];

/// One source of hints.
#[derive(Debug)]
pub enum HintSource {
    /// Notifications of a PostgreSQL server.
    Listen(Box<ListenHints>),
    /// Webhook requests to the poller.
    Webhook(Arc<WebhookHints>),
    /// A watch of the objects that `read.kubernetes` reads.
    Watch,
}

/// Notifications of one channel.
#[derive(Debug)]
pub struct ListenHints {
    /// The database and its credential.
    pub connection: Connection,
    /// The channel, exactly as the sender names it.
    pub channel: String,
    /// The external resources, computed from `payload`, the notification's text.
    pub identities: HintedIdentities,
}

/// Webhook requests to `/hints/TARGET`.
#[derive(Debug)]
pub struct WebhookHints {
    /// The secret shared with the sender.
    pub secret: SecretKey,
    /// The header with the HMAC-SHA-256 of the body in hex, keyed by the secret. Without it the secret itself is sent
    /// as `Authorization: Bearer`.
    pub signature_header: Option<HeaderName>,
    /// The external resources, computed from `payload`, the body's JSON.
    pub identities: HintedIdentities,
}

/// A template that computes identities from a payload.
#[derive(Debug)]
pub struct HintedIdentities {
    template: ValueTemplate,
    site: Site,
}

impl HintedIdentities {
    fn read(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Self> {
        reader.text(node, place)?;
        let site = reader.site(place, Scope::Hint);
        Some(Self { template: read_value(reader, node, &site)?, site })
    }

    /// Returns the identities of the external resources that a hint names.
    ///
    /// # Errors
    /// Fails if the template cannot be evaluated for this payload. The error contains nothing of it.
    pub fn of(&self, payload: &Value) -> Result<Vec<String>, EvaluationError> {
        let rendered =
            self.template.render(&Variables { payload: Some(payload), ..Variables::of_object(&Value::Null) })?;
        match &rendered {
            Value::Array(items) if items.len() > MAX_IDENTITIES => {
                Err(self.site.error(format!("more than {MAX_IDENTITIES} identities")))
            }
            Value::Array(items) => items.iter().map(|item| self.text_of(item)).collect(),
            one => Ok(vec![self.text_of(one)?]),
        }
    }

    fn text_of(&self, value: &Value) -> Result<String, EvaluationError> {
        match value {
            Value::String(text) => Ok(text.clone()),
            Value::Number(number) => Ok(number.to_string()),
            _ => Err(self.site.error("a text, or a list of texts, is needed")),
        }
    }
}

pub(crate) fn read_hints(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Vec<HintSource>> {
    let fields = reader.fields(node, place, &HINTS)?;
    if fields.entries().is_empty() {
        let message = format!("{place}: at least one of listen, webhook, watch is needed; leave the key out instead");
        return reader.refuse(node.at, message);
    }
    let listen = reader.optional(&fields, "listen", read_listen);
    let webhook = reader.optional(&fields, "webhook", read_webhook);
    let watch = reader.or(&fields, "watch", false, Reader::truth);
    let webhook = webhook?.map(|webhook| HintSource::Webhook(Arc::new(webhook)));
    let listen = listen?.map(|listen| HintSource::Listen(Box::new(listen)));
    let watch = watch?.then_some(HintSource::Watch);
    Some(listen.into_iter().chain(webhook).chain(watch).collect())
}

/// Rejects a watch if the read is not of a cluster object.
pub(crate) fn check_watch(reader: &mut Reader<'_>, spec: &Node, read: &Read, hints: &[HintSource]) {
    let is_watched = hints.iter().any(|hint| matches!(hint, HintSource::Watch));
    if is_watched && !matches!(read.source, Source::Kubernetes(_)) {
        let at = spec.get("hints").and_then(|hints| hints.get("watch")).map_or(spec.at, |node| node.at);
        let message =
            "hints.watch: only what read.kubernetes reads can be watched; of other systems listen and webhook tell";
        reader.refuse::<()>(at, message);
    }
}

fn read_listen(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<ListenHints> {
    let fields = reader.fields(node, place, &["connection", "channel", "identity"])?;
    let connection = reader.needed(&fields, "connection", read_connection(Dialect::Postgres));
    let channel = reader.needed(&fields, "channel", read_channel);
    let identities = reader.needed(&fields, "identity", HintedIdentities::read);
    Some(ListenHints { connection: connection?, channel: channel?, identities: identities? })
}

fn read_channel(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<String> {
    let text = reader.literal(node, place)?;
    if !(1..=MAX_CHANNEL_BYTES).contains(&text.len()) || text.chars().any(char::is_control) {
        let message = format!("{place}: a channel's name has 1 to {MAX_CHANNEL_BYTES} bytes and no control character");
        return reader.refuse(node.at, message);
    }
    Some(text.to_owned())
}

fn read_webhook(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<WebhookHints> {
    let fields = reader.fields(node, place, &["secretRef", "signatureHeader", "identity"])?;
    let secret = reader.needed(&fields, "secretRef", read_secret_key);
    let signature_header = reader.optional(&fields, "signatureHeader", read_header_name);
    let identities = reader.needed(&fields, "identity", HintedIdentities::read);
    Some(WebhookHints { secret: secret?, signature_header: signature_header?, identities: identities? })
}

fn read_header_name(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<HeaderName> {
    let text = reader.literal(node, place)?;
    match HeaderName::try_from(text) {
        Ok(name) => Some(name),
        Err(_) => reader.refuse(node.at, format!("{place}: `{text}` is no header name")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
