//! `hints`: notifications from the external system, so that a changed resource is polled soon and not only
//! at the interval.
//!
//! A hint names external resources by their identities. It is not trusted: it only triggers polls.

use std::sync::Arc;

use http::HeaderName;
use serde_json::Value;

use crate::cel::{EvaluationError, Scope, Site, ValueTemplate, Variables};
use crate::read::Read;
use crate::secrets::secret_key::{SecretKey, token_key};
use crate::section::{Section, literal, text};
use crate::systems::Source;
use crate::systems::http::auth::login::parse_header_name;
use crate::systems::sql::{Connection, Dialect, connection};
use crate::yaml::{Fields, Node, Reader, read_value};

/// Maximum resources that one hint can name. A sender with more sends several hints.
const MAX_IDENTITIES: usize = 1_000;

/// Maximum length of a channel's name in bytes. PostgreSQL accepts no longer one (NAMEDATALEN).
const MAX_CHANNEL_BYTES: usize = 63;

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
#[derive(Debug, Section)]
pub struct ListenHints {
    /// The database and the role.
    #[key(connection(Dialect::Postgres))]
    pub connection: Connection,
    /// The channel, as pg_notify names it. 1 to 63 bytes.
    #[key(literal(parse_channel))]
    pub channel: String,
    /// Identity or list of up to 1,000, over payload.
    #[key(text(HintedIdentities::read), name = "identity")]
    pub identities: HintedIdentities,
}

/// Webhook requests to `/hints/TARGET`.
#[derive(Debug, Section)]
pub struct WebhookHints {
    /// The shared secret, at least 16 bytes.
    #[key(token_key(), name = "secretRef")]
    pub secret: SecretKey,
    /// Header with the HMAC-SHA-256 of the body in hex. Default: a bearer token.
    #[key(literal(parse_header_name))]
    pub signature_header: Option<HeaderName>,
    /// Identity or list of up to 1,000, over payload.
    #[key(text(HintedIdentities::read), name = "identity")]
    pub identities: HintedIdentities,
}

/// The section as written.
#[derive(Section)]
#[section(value = Vec<HintSource>, rules = check_any, check = make)]
pub(crate) struct WrittenHints {
    /// Notifications of a PostgreSQL server.
    listen: Option<ListenHints>,
    /// Requests to POST /hints/TARGET.
    webhook: Option<WebhookHints>,
    /// Watches what read.kubernetes reads. Default: false.
    #[key(default)]
    watch: bool,
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

fn check_any(reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<()> {
    if fields.entries().is_empty() {
        let (place, keys) = (fields.own_place(), WrittenHints::names(()).join(", "));
        let message = format!("{place}: at least one of {keys} is needed; leave the key out instead");
        return reader.refuse(fields.at(), message);
    }
    Some(())
}

fn make(written: WrittenHints, _: &mut Reader<'_>, _: &Fields<'_>, (): ()) -> Option<Vec<HintSource>> {
    let WrittenHints { listen, webhook, watch } = written;
    let webhook = webhook.map(|webhook| HintSource::Webhook(Arc::new(webhook)));
    let listen = listen.map(|listen| HintSource::Listen(Box::new(listen)));
    Some(listen.into_iter().chain(webhook).chain(watch.then_some(HintSource::Watch)).collect())
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

fn parse_channel(text: &str) -> Result<String, String> {
    if !(1..=MAX_CHANNEL_BYTES).contains(&text.len()) || text.chars().any(char::is_control) {
        return Err(format!("a channel's name has 1 to {MAX_CHANNEL_BYTES} bytes and no control character"));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
