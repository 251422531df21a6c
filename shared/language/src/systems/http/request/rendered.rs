//! A rendered request, and how to send it.
//!
//! The request contains no credential. The sender adds it last, so that no displayed request can show one. This file
//! uses no templates and sends nothing.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use url::{Position, Url};

use crate::systems::http::auth::Auth;

/// A rendered request, with the name of its credential and without its value. `Debug` hides header values, the body
/// and the query.
#[derive(Clone)]
pub struct HttpRequest {
    /// The HTTP method.
    pub method: http::Method,
    /// The URL. Never with userinfo (the sender removes it).
    pub url: Url,
    /// Headers from the target, including the body's type. Shared, because they are mostly the same for all objects
    /// of a target.
    pub headers: Arc<http::HeaderMap>,
    /// The serialised body.
    pub body: Option<Vec<u8>>,
    /// True if the URL's host contains a field of the object, so that every editor of the object chooses the server.
    pub has_chosen_host: bool,
    /// The unix socket for the request. The URL's host is then only a header.
    pub socket: Option<Arc<str>>,
    /// The names of the credential with which the sender authenticates it.
    pub auth: Option<Arc<Auth>>,
}

impl HttpRequest {
    /// Returns the destination, the key for limits, pauses and the allowed hosts of Secrets: `host:port`, or `unix:`
    /// and the path of the socket.
    #[must_use]
    pub fn host(&self) -> Cow<'_, str> {
        match &self.socket {
            Some(path) => format!("unix:{path}").into(),
            None => host_and_port(&self.url),
        }
    }
}

/// Returns `host:port` of a URL, in lower case, with an IPv6 address in brackets.
fn host_and_port(url: &Url) -> Cow<'_, str> {
    match url.port() {
        Some(_) => url[Position::BeforeHost..Position::AfterPort].into(),
        // A URL does not show the default port of its scheme.
        None => {
            let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
            format!("{host}:{port}").into()
        }
    }
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
