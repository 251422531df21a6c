//! `allowHosts`: the hosts to which a target may send requests.
//!
//! If a field of the object is part of a URL's host, every editor of the object chooses the server within this list.

use url::Host;

/// The allowed hosts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HostPatterns(Vec<HostPattern>);

/// One entry of the list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HostPattern {
    name: NamePattern,
    /// The port. `None` matches every port.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum NamePattern {
    /// `*`, which matches every host.
    Any,
    /// `*.example.com`: the part after the first label, including its dot.
    OneLabelBefore(String),
    /// A name or an address in normal form.
    Only(String),
}

impl HostPatterns {
    pub(crate) const fn new(patterns: Vec<HostPattern>) -> Self {
        Self(patterns)
    }

    /// Returns true if every entry is a whole name or address.
    pub(crate) fn are_whole(&self) -> bool {
        self.0.iter().all(|pattern| matches!(pattern.name, NamePattern::Only(_)))
    }

    /// Returns true if the list allows a host, in normal form, and its port.
    pub(crate) fn allow(&self, host: &str, port: u16) -> bool {
        self.0.iter().any(|pattern| pattern.port.is_none_or(|only| only == port) && pattern.name.fits(host))
    }
}

impl HostPattern {
    /// Parses `host`, `host:port`, `*.host` or `*`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, Some(parse_port(port)?)),
            _ => (text, None),
        };
        let name = match name.strip_prefix('*') {
            Some("") => NamePattern::Any,
            Some(rest) => {
                let parent = rest.strip_prefix('.')?;
                let Host::Domain(parent) = Host::parse(parent).ok()? else { return None };
                NamePattern::OneLabelBefore(format!(".{parent}"))
            }
            None => NamePattern::Only(Host::parse(name).ok()?.to_string()),
        };
        let is_written_out =
            !matches!(&name, NamePattern::Only(name) | NamePattern::OneLabelBefore(name) if name.contains('*'));
        is_written_out.then_some(Self { name, port })
    }
}

impl NamePattern {
    fn fits(&self, host: &str) -> bool {
        match self {
            Self::Any => true,
            Self::OneLabelBefore(parent) => {
                host.strip_suffix(parent.as_str()).is_some_and(|label| !label.is_empty() && !label.contains('.'))
            }
            Self::Only(only) => only == host,
        }
    }
}

fn parse_port(text: &str) -> Option<u16> {
    // A port has no sign.
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_number && *port != 0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn an_asterisk_stands_for_one_label() {
        let table = [
            ("*.example.com", "a.example.com", 443, true),
            ("*.example.com", "a.b.example.com", 443, false),
            ("*.example.com", "example.com", 443, false),
            ("*.example.com", ".example.com", 443, false),
            ("*.example.com", "aexample.com", 443, false),
            ("*.example.com", "a.example.com.evil", 443, false),
            ("*.Example.com:8443", "a.example.com", 8443, true),
            ("*.example.com:8443", "a.example.com", 443, false),
            ("api.example", "api.example", 1, true),
            ("api.example", "b.api.example", 1, false),
            ("api.example:443", "api.example", 443, true),
            ("api.example:443", "api.example", 80, false),
            ("10.0.0.1", "10.0.0.1", 80, true),
            ("[::1]", "[::1]", 80, true),
            ("[0::1]:80", "[::1]", 80, true),
            ("[::1]:80", "[::1]", 81, false),
            ("*", "anything.example", 80, true),
            ("*:443", "anything.example", 80, false),
        ];
        for (pattern, host, port, allowed) in table {
            let patterns = HostPatterns::new(vec![HostPattern::parse(pattern).expect(pattern)]);
            assert_eq!(patterns.allow(host, port), allowed, "{pattern} {host}:{port}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        let refused = [
            "",
            "a.*.example",
            "*example.com",
            "a*",
            "*.",
            "https://a",
            "a/b",
            "a:0",
            "a:+1",
            "a:65536",
            "a:",
            "a b",
            "::1",
            "*.10.0.0.1",
        ];
        for text in refused {
            assert_eq!(HostPattern::parse(text), None, "{text}");
        }
    }
}
