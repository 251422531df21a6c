//! `hints.webhook`: requests by which the external system, or somebody for it, says what changed.
//!
//! It names the Secret that tells a real request from a forged one, and holds nothing of it.

use crate::hints::HintedIdentities;
use crate::secrets::secret_key::{SecretKey, read_secret_key};
use crate::yaml::Node;
use crate::yaml::raw::Reader;
use http::HeaderName;

/// Requests to `/hints/TARGET`.
#[derive(Debug)]
pub struct WebhookHints {
    /// What the sender knows beside us.
    pub secret: SecretKey,
    /// The header with the HMAC-SHA-256 of the body by the secret, in hex; without it the secret itself comes, as
    /// `Authorization: Bearer`.
    pub signature_header: Option<HeaderName>,
    /// Names the external resources, over `payload`, which is the body's JSON.
    pub identities: HintedIdentities,
}

pub(super) fn read_webhook(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<WebhookHints> {
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
