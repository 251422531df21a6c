//! Checks the transport of credentials: TLS, or a path that others cannot read. Anything else needs `insecure: true`.
//!
//! Every reader of an unencrypted request gets the credential. Loopback does not leave the machine, and the network
//! path to a Service is the cluster's responsibility. A name of one label counts as neither, because the resolver also
//! tries a node's search domains.

use std::net::IpAddr;

use url::{Host, Url};

use crate::systems::http::auth::Auth;
use crate::systems::http::proxy::Proxy;
use crate::systems::http::request::RequestTemplate;
use crate::yaml::{Node, Reader};

/// Suffixes of Service names. Other cluster domains cannot be distinguished from external names.
const SERVICE_SUFFIXES: &[&str] = &[".svc", ".svc.cluster.local"];

/// Rejects `auth` or `proxy` of this section if a URL would send the credential unencrypted.
pub(crate) fn check_credentials<'r>(
    reader: &mut Reader<'_>,
    spec: &Node,
    section: &str,
    (auth, proxy): (Option<&Auth>, Option<&Proxy>),
    requests: impl IntoIterator<Item = &'r RequestTemplate>,
) {
    check_proxy(reader, spec, section, proxy);
    check_token_server(reader, spec, section, auth);
    if auth.is_some() {
        check_section(reader, spec, section, requests);
    }
}

fn check_proxy(reader: &mut Reader<'_>, spec: &Node, section: &str, proxy: Option<&Proxy>) {
    let Some(proxy) = proxy.filter(|proxy| proxy.secret.is_some() && !is_unread(proxy.url.as_str())) else { return };
    let written = spec.get(section).and_then(|section| section.get("http")?.get("proxy"));
    let message = format!(
        "{section}.http.proxy: the proxy's credential would go unencrypted to {}; write https, or insecure: true beside {section}",
        proxy.host()
    );
    reader.refuse::<()>(written.map_or(spec.at, |proxy| proxy.at), message);
}

fn check_token_server(reader: &mut Reader<'_>, spec: &Node, section: &str, auth: Option<&Auth>) {
    let Some((key, url)) = auth.and_then(Auth::token_server) else { return };
    if !is_unread(url.as_str()) {
        let auth = spec.get(section).and_then(|section| section.get("http")?.get("auth"));
        let message = format!(
            "{section}.http.auth.{key}: the credential would go unencrypted to {}; write https, or insecure: true beside {section}",
            url.host_str().unwrap_or_default()
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

/// Returns true if a request cannot be read in transit.
pub(crate) fn goes_unread(request: &RequestTemplate) -> bool {
    let url = &request.url;
    request.socket.is_some() || url.is_https() || url.literal_base().is_some_and(is_unread)
}

/// Returns true if requests to a URL cannot be read in transit.
#[must_use]
pub fn is_unread(base: &str) -> bool {
    let Ok(url) = Url::parse(base) else { return false };
    url.scheme() == "https" || url.host().is_some_and(|host| is_near(&host))
}

/// Returns true if connections to a host without TLS cannot be read in transit. The host is a name or an address, an
/// IPv6 address with or without brackets.
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
