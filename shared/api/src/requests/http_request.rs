//! A rendered request on its way out, and how it is to be sent.
//!
//! The request carries no credential: that is added last, by the sender, so that whoever shows a request to people
//! cannot show one. This file knows no templates and sends nothing.

use std::fmt;
use std::sync::Arc;

use url::Url;

/// A rendered request, without its credential. `Debug` shows neither header values nor the body nor the query.
#[derive(Clone)]
pub struct HttpRequest {
    /// The method.
    pub method: http::Method,
    /// The URL; never with userinfo (the sender cuts it).
    pub url: Url,
    /// Headers from the target, the body's type among them. Shared: of all objects of a target they are mostly the same.
    pub headers: Arc<http::HeaderMap>,
    /// The body, already serialised.
    pub body: Option<Vec<u8>>,
    /// True if an object's field takes part in the URL's host: then whoever may edit the object chooses the server.
    pub has_chosen_host: bool,
    /// The unix socket through which it goes; the URL's host is then only a header.
    pub socket: Option<Arc<str>>,
}

impl HttpRequest {
    /// Whom it goes to, as limits, pauses and the owners of Secrets tell them apart: `host:port`, or `unix:` and the path
    /// of the socket.
    #[must_use]
    pub fn host(&self) -> String {
        match &self.socket {
            Some(path) => format!("unix:{path}"),
            None => host_and_port(&self.url),
        }
    }
}

/// `host:port` of a URL, in lower case, an IPv6 address in brackets.
#[must_use]
pub fn host_and_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    format!("{host}:{}", url.port_or_known_default().unwrap_or_default())
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("socket", &self.socket)
            .field("url", &format_args!("{}://{}{}", self.url.scheme(), host_and_port(&self.url), self.url.path()))
            .field("header_names", &self.headers.keys().map(http::HeaderName::as_str).collect::<Vec<_>>())
            .field("body_bytes", &self.body.as_ref().map(Vec::len))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_with_its_port() {
        let cases = [
            ("http://Example.COM/x", "example.com:80"),
            ("https://example.com", "example.com:443"),
            ("https://u:p@example.com:8443/?q", "example.com:8443"),
            ("http://[::1]:8080/", "[::1]:8080"),
        ];
        for (url, expected) in cases {
            assert_eq!(host_and_port(&Url::parse(url).unwrap()), expected);
        }
    }
}
