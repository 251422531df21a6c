//! The options of a request: credential, trusted servers, maximum response size.

use drift_language::{Auth, Expression, Format, Network, Proxy, Tls};

/// The options of a request.
#[derive(Clone, Debug)]
pub struct HttpOptions<'a> {
    /// The request's credential.
    pub auth: Option<&'a Auth>,
    /// Rule that recognizes a refusal of the credential, and the format of the response.
    pub unauthorized_when: Option<(&'a Expression, &'a Format)>,
    /// A private CA and a client certificate.
    pub tls: Option<&'a Tls>,
    /// The proxy of the target. Otherwise that of the program applies.
    pub proxy: Option<&'a Proxy>,
    /// True if objects choose a host from more than a list of whole names.
    pub has_open_host: bool,
    /// Networks that it may use although the address guard would reject them.
    pub allow_networks: &'a [Network],
    /// Limit of the decoded body, in bytes.
    pub max_bytes: usize,
}
