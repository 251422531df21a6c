//! `auth.serviceAccountToken`: a token of the program's own ServiceAccount, which the kubelet writes to a file.

use crate::section::{Section, literal};
use crate::values::names::is_dns_label;

/// A projected token.
#[derive(Section)]
#[section(value = String, check = |token: Self, _, _, ()| Some(token.name))]
pub(crate) struct ServiceAccountToken {
    /// The path in its projected volume, a DNS label.
    #[key(literal(parse_name))]
    name: String,
}

fn parse_name(text: &str) -> Result<String, String> {
    match is_dns_label(text) {
        true => Ok(text.to_owned()),
        false => Err(format!("`{text}` is no name of a projected token; write the `path` of its volume")),
    }
}
