//! The claims of a JSON web token that key `privateKey` of a Secret signs.

use crate::section::{Section, plain_text};

/// All claims but the times.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Section)]
pub struct JwtClaims {
    /// The claim iss.
    #[key(plain_text())]
    pub issuer: String,
    /// The claim sub.
    #[key(plain_text())]
    pub subject: Option<String>,
    /// The claim aud. Default: the URL.
    #[key(plain_text())]
    pub audience: Option<String>,
}
