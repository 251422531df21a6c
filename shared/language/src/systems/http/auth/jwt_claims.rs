//! The claims of a JSON web token that key `privateKey` of a Secret signs.

use crate::yaml::Node;
use crate::yaml::reader::{Fields, Reader};

/// All claims but the times.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JwtClaims {
    /// The claim `iss`.
    pub issuer: String,
    /// The claim `sub`.
    pub subject: Option<String>,
    /// The claim `aud`. `None` for the URL of the token server.
    pub audience: Option<String>,
}

pub(super) fn read_jwt_claims(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<JwtClaims> {
    let issuer = reader.needed(fields, "issuer", read_claim);
    let subject = reader.optional(fields, "subject", read_claim);
    let audience = reader.optional(fields, "audience", read_claim);
    Some(JwtClaims { issuer: issuer?, subject: subject?, audience: audience? })
}

pub(super) fn read_claim(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<String> {
    reader.literal(node, place).map(str::to_owned)
}
