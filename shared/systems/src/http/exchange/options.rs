//! The options of a request: credential, trusted servers, largest answer.

use drift_language::{Auth, Network, Tls};

/// The options of a request.
#[derive(Clone, Debug)]
pub struct HttpOptions<'a> {
    /// The credential.
    pub auth: Option<&'a Auth>,
    /// A private CA.
    pub tls: Option<&'a Tls>,
    /// Networks that it may go to though a guard would refuse them.
    pub allow_networks: &'a [Network],
    /// Cap on the decoded body, bytes.
    pub max_bytes: usize,
}
