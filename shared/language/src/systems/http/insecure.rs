//! Where a credential may go: over TLS, or on a way that nobody else can read. Elsewhere only with `insecure: true`.
//!
//! Whoever reads a plain request on its way has the credential from then on. Loopback leaves no machine, and the way to a Service is
//! the cluster's own matter. A name of one label counts for neither: the resolver tries a node's search domains too.

use std::net::IpAddr;

use url::{Host, Url};

use crate::systems::http::auth::Auth;
use crate::systems::http::request::RequestTemplate;
use crate::yaml::Node;
use crate::yaml::reader::Reader;

/// How names of Services end; other cluster domains cannot be told from names outside.
const SERVICE_SUFFIXES: &[&str] = &[".svc", ".svc.cluster.local"];

/// Refuses `auth` of this section beside a URL that would carry the credential in the clear.
pub(crate) fn check_credentials<'r>(
    reader: &mut Reader<'_>,
    spec: &Node,
    section: &str,
    auth: Option<&Auth>,
    requests: impl IntoIterator<Item = &'r RequestTemplate>,
) {
    check_token_server(reader, spec, section, auth);
    if auth.is_some() {
        check_section(reader, spec, section, requests);
    }
}

fn check_token_server(reader: &mut Reader<'_>, spec: &Node, section: &str, auth: Option<&Auth>) {
    let Some(Auth::OAuth2(oauth2)) = auth else { return };
    if !is_unread(oauth2.token_url.as_str()) {
        let auth = spec.get(section).and_then(|section| section.get("http")?.get("auth"));
        let message = format!(
            "{section}.http.auth.oauth2.tokenUrl: the credential would go unencrypted to {}; write https, or insecure: true beside {section}",
            oauth2.token_url.host_str().unwrap_or_default()
        );
        reader.refuse::<()>(auth.map_or(spec.at, |auth| auth.at), message);
    }
}

fn check_section<'r>(
    reader: &mut Reader<'_>,
    spec: &Node,
    section: &str,
    requests: impl IntoIterator<Item = &'r RequestTemplate>,
) {
    let Some(request) = requests.into_iter().find(|request| !goes_unread(request)) else { return };
    let auth = spec.get(section).and_then(|section| section.get("http")?.get("auth"));
    let message = format!(
        "{section}.http.auth: the credential would go unencrypted to {}; write https, or insecure: true beside {section}",
        request.url.host()
    );
    reader.refuse::<()>(auth.map_or(spec.at, |auth| auth.at), message);
}

/// Returns true if nobody on its way can read a request.
pub(crate) fn goes_unread(request: &RequestTemplate) -> bool {
    let url = &request.url;
    request.socket.is_some() || url.is_https() || url.literal_base().is_some_and(is_unread)
}

/// Returns true if nobody on the way to a URL can read what is sent there.
#[must_use]
pub fn is_unread(base: &str) -> bool {
    let Ok(url) = Url::parse(base) else { return false };
    url.scheme() == "https" || url.host().is_some_and(|host| is_near(&host))
}

/// The same of a host that is dialled without TLS: a name or an address, an IPv6 one with brackets or without.
#[must_use]
pub fn is_unread_host(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    address.map_or_else(|_| Host::parse(host).is_ok_and(|host| is_near(&host)), |address| address.is_loopback())
}

fn is_near<S: AsRef<str>>(host: &Host<S>) -> bool {
    match host {
        Host::Domain(name) => is_local_name(name.as_ref().strip_suffix('.').unwrap_or(name.as_ref())),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

fn is_local_name(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost") || SERVICE_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_and_services_are_unread_without_tls() {
        let unread = [
            "https://api.example",
            "http://127.0.0.1:80",
            "http://127.9.9.9",
            "http://[::1]:8080",
            "http://localhost:1",
            "http://a.localhost",
            "http://proxy.ns.svc",
            "http://proxy.ns.svc:80",
            "http://proxy.ns.svc.cluster.local",
            "http://proxy.ns.svc.cluster.local.",
        ];
        for base in unread {
            assert!(is_unread(base), "{base}");
        }
        let read = [
            "http://api.example",
            "http://10.0.0.1",
            "http://0.0.0.0",
            "http://[fe80::1]",
            "http://proxy",
            "http://proxy.ns",
            "http://svc",
            "http://proxy.svc.example",
            "http://svc.cluster.local.example",
            "http://notlocalhost",
            "http://127.0.0.1.example",
        ];
        for base in read {
            assert!(!is_unread(base), "{base}");
        }
        for host in ["127.0.0.1", "::1", "[::1]", "localhost", "db.orders.svc", "db.orders.svc.cluster.local"] {
            assert!(is_unread_host(host), "{host}");
        }
        for host in
            ["db", "10.0.0.1", "localhost/x.example", "a@localhost", "localhost?x", "localhost#x", "localhost:1", ""]
        {
            assert!(!is_unread_host(host), "{host}");
        }
    }
}
