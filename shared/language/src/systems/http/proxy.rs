//! `proxy`: the HTTP proxy that opens the connections of a section.
//!
//! Requests go through it by CONNECT alone, so it sees the host and the port, and nothing of an https request. It also
//! resolves the host's name, so the address of the host cannot be checked here.

use url::Url;

use crate::secrets::secret_key::whole_secret;
use crate::section::{Section, literal};
use crate::systems::http::auth::Auth;
use crate::systems::http::request::RequestTemplate;
use crate::yaml::{Fields, Reader};

/// The HTTP proxy of a section.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Section)]
pub struct Proxy {
    /// The URL of the proxy: http://proxy.example:3128.
    #[key(literal(parse_proxy))]
    pub url: Url,
    /// The credential for the proxy, from the keys username and password.
    #[key(whole_secret(), name = "secretRef")]
    pub secret: Option<String>,
}

impl Proxy {
    /// Returns the proxy's `host:port`, the key for the allowed hosts of its Secret.
    #[must_use]
    pub fn host(&self) -> String {
        let port = self.url.port_or_known_default().unwrap_or_default();
        format!("{}:{port}", self.url.host_str().unwrap_or_default())
    }

    /// Checks that a proxy can carry the requests of its section.
    pub(crate) fn check<'r>(
        reader: &mut Reader<'_>,
        fields: &Fields<'_>,
        auth: Option<&Auth>,
        requests: impl Iterator<Item = &'r RequestTemplate>,
    ) -> Option<()> {
        let Some(node) = fields.get("proxy") else { return Some(()) };
        let is_plain = |auth: &Auth| auth.token_server().is_some_and(|(_, url)| url.scheme() == "http");
        let mut fault = auth.filter(|auth| is_plain(auth)).map(|_| PLAIN);
        for request in requests {
            fault = fault.or(match request {
                _ if request.socket.is_some() => Some("requests through a socket need no proxy; remove one of the two"),
                _ if !request.url.is_https() => Some(PLAIN),
                _ if request.url.has_open_host() => Some(OPEN),
                _ => None,
            });
        }
        match fault {
            Some(fault) => reader.refuse(node.at, format!("{}: {fault}", fields.place("proxy"))),
            None => Some(()),
        }
    }
}

const PLAIN: &str = "a proxy could read and answer requests that are not encrypted; write https in every URL";
const OPEN: &str = "the proxy resolves names, so a host that objects choose must be a whole name in allowHosts; write \
                    names without `*`";

/// Parses the URL of a proxy, without user, path or query.
fn parse_proxy(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.filter(|url| url.path() == "/" && url.query().is_none() && url.fragment().is_none());
    url.filter(|url| url.username().is_empty() && url.password().is_none()).ok_or_else(|| {
        "a literal http:// or https:// URL of a host and a port is needed; its user belongs into a Secret".to_owned()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::fixtures::{parsed, target};

    fn text(http: &str, more: &str) -> String {
        format!(
            "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: t}}\nspec:\n  \
             objects: {{apiVersion: g.example/v1, kind: A}}\n  identity: x\n  read: {{http: {{{http}}}}}\n  \
             compare: {{desired: {{a: 1}}}}\n{more}"
        )
    }

    #[test]
    fn the_secret_of_a_proxy_goes_to_the_proxy() {
        let http = "url: 'https://h.example/x', proxy: {url: 'https://Proxy.example', secretRef: {name: way}}";
        let target = target(&text(http, ""));
        let needed: Vec<_> = target.needed_secrets().into_iter().map(|secret| (secret.name, secret.host)).collect();
        assert_eq!(needed, [("way".to_owned(), Some("proxy.example:443".to_owned()))]);
        assert_eq!(target.credentials_of_read().len(), 1);
    }

    #[test]
    fn a_proxy_that_cannot_carry_the_requests_is_refused() {
        let (plain, https) = ("url: 'http://h.example/x'", "url: 'https://h.example/x'");
        let chosen = "url: 'https://${self.spec.host}/x'";
        let hosts = |hosts: &str| format!("  allowHosts: [{hosts}]\n");
        let token = "tokenUrl: 'http://127.0.0.1/t', grant: clientCredentials, secretRef: {name: s}";
        let by_token = format!("{https}, auth: {{oauth2: {{{token}}}}}");
        let unix = format!("{plain}, socket: /run/a.sock");
        let table = [
            (https, "http://p.example:3128", String::new(), None),
            (https, "http://u:p@p.example:3128", String::new(), Some("its user belongs into a Secret")),
            (https, "http://p.example:3128/x", String::new(), Some("a literal http:// or https:// URL of a host")),
            (https, "socks5://p.example:1080", String::new(), Some("a literal http:// or https:// URL of a host")),
            (https, "http://${self.spec.way}", String::new(), Some("literal")),
            (plain, "http://p.example:3128", String::new(), Some("not encrypted; write https in every URL")),
            (&by_token, "http://p.example:3128", String::new(), Some("not encrypted; write https in every URL")),
            (&unix, "http://p.example:3128", String::new(), Some("through a socket need no proxy")),
            (chosen, "http://p.example:3128", hosts("'*.example'"), Some("write names without `*`")),
            (chosen, "http://p.example:3128", hosts("a.example, '*'"), Some("write names without `*`")),
            (chosen, "http://p.example:3128", hosts("a.example, 'b.example:8443'"), None),
        ];
        for (http, proxy, more, expected) in table {
            let faults = parsed(&text(&format!("{http}, proxy: {{url: '{proxy}'}}"), &more)).err().unwrap_or_default();
            match expected {
                Some(expected) => assert!(faults.iter().any(|fault| fault.contains(expected)), "{http} {faults:?}"),
                None => assert!(faults.is_empty(), "{http} {faults:?}"),
            }
        }
    }

    #[test]
    fn a_credential_goes_unencrypted_to_no_proxy() {
        let through = |url: &str, more: &str| {
            let proxy = format!("proxy: {{url: '{url}', secretRef: {{name: way}}}}");
            parsed(&text(&format!("url: 'https://h.example/x', {proxy}"), more)).map(drop).err().unwrap_or_default()
        };
        let faults = through("http://p.example:3128", "");
        assert!(
            faults[0]
                .contains("the proxy's credential would go unencrypted to p.example:3128; write https, or insecure"),
            "{faults:?}"
        );
        assert_eq!(through("http://p.example:3128", "  insecure: true\n"), [""; 0]);
        assert_eq!(through("http://p.proxies.svc:3128", ""), [""; 0]);
    }
}
