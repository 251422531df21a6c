//! The authority of a URL template: its scheme, host and port.
//!
//! The scheme is a literal. The host is a literal too, unless the target lists its allowed hosts (`allowHosts`). Then
//! it may contain values, and the rendered host must be in that list.

use std::sync::Arc;

use url::{Position, Url};

use crate::cel::check::site::{EvaluationError, Site};
use crate::cel::check::variables::Variables;
use crate::cel::evaluation::cost::Cost;
use crate::cel::render::expression::Expression;
use crate::cel::render::expressions::Expressions;
use crate::cel::render::parts::{Part, Parts};
use crate::cel::render::text::render_text;
use crate::cel::syntax::pieces::{PLACEHOLDER, Piece, TemplateError};
use crate::network::host_patterns::HostPatterns;

const FORM: &str = "a URL begins with a literal http:// or https:// and host, for example https://api.example/v1/x";
const LITERAL: &str =
    "hosts are literal: write `/` before the first ${…}, or name in allowHosts the hosts that may come of it";
const NAME_FORM: &str = "beside a ${…} a host has letters, digits, `-` and `.`, and a port digits";

/// Scheme, host and port.
#[derive(Debug)]
pub(in crate::cel) enum Authority {
    /// A literal authority in normal form.
    Literal {
        /// The base with its scheme.
        base: String,
        /// Host and port. The port is always present.
        host: String,
    },
    /// An authority that contains values.
    Templated(Templated),
}

#[derive(Debug)]
pub(in crate::cel) struct Templated {
    /// The scheme, for example `https://`.
    scheme: String,
    parts: Parts<Place>,
    allowed: Arc<HostPatterns>,
    /// The host for display.
    host: String,
}

/// The place of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A host name, or a part of one.
    Name,
    Port,
}

/// The authority and the rest: the remaining literal after the authority, and the pieces after it.
pub(in crate::cel) type Parsed<'p, 's> = (Authority, &'p str, &'p [Piece<'s>]);

impl Authority {
    pub(in crate::cel) fn parse<'p, 's>(
        pieces: &'p [Piece<'s>],
        site: &Site,
    ) -> Result<Parsed<'p, 's>, Vec<TemplateError>> {
        let allowed = site.names.hosts.as_ref();
        let one = |offset, message: &str| vec![TemplateError::new(offset, message)];
        let Some((Piece::Literal(first), others)) = pieces.split_first() else { return Err(one(0, FORM)) };
        let scheme = ["http://", "https://"].into_iter().find(|scheme| first.starts_with(scheme));
        let scheme = scheme.ok_or_else(|| one(0, FORM))?.len();
        let end = first[scheme..].find(['/', '?', '#']).map(|end| scheme + end);
        if first[scheme..end.unwrap_or(first.len())].contains('@') {
            return Err(one(scheme, "a URL carries no user or password: use auth"));
        }
        if let (None, false) = (end, others.is_empty()) {
            let allowed = allowed.ok_or_else(|| one(first.chars().count(), LITERAL))?;
            let (scheme, first) = first.split_at(scheme);
            return Templated::parse(scheme, first, others, site, allowed);
        }
        let end = end.unwrap_or(first.len());
        let base = Url::parse(&first[..end]).map_err(|error| one(scheme, &format!("no URL: {error}")))?;
        if base.path() != "/" {
            // The parser treats `\` as `/`.
            return Err(one(scheme, FORM));
        }
        let (name, port) = (base.host_str().unwrap_or_default(), base.port_or_known_default().unwrap_or_default());
        // With a unix socket the host is only a header and is not dialled.
        let is_header = site.names.socket.is_some();
        if !is_header && allowed.is_some_and(|allowed| !allowed.allow(name, port)) {
            return Err(one(scheme, &format!("{name}:{port} is not among allowHosts")));
        }
        let authority = Self::Literal { base: base[..Position::BeforePath].to_owned(), host: format!("{name}:{port}") };
        Ok((authority, &first[end..], others))
    }

    /// Returns host and port for display.
    pub(in crate::cel) fn host(&self) -> &str {
        match self {
            Self::Literal { host, .. } | Self::Templated(Templated { host, .. }) => host,
        }
    }

    /// Returns scheme, host and port if they contain no value.
    pub(in crate::cel) fn literal_base(&self) -> Option<&str> {
        match self {
            Self::Literal { base, .. } => Some(base),
            Self::Templated(_) => None,
        }
    }

    /// Returns true if it contains a value, and an entry of `allowHosts` matches several hosts.
    pub(in crate::cel) fn is_open(&self) -> bool {
        matches!(self, Self::Templated(templated) if !templated.allowed.are_whole())
    }

    pub(in crate::cel) fn is_https(&self) -> bool {
        match self {
            Self::Literal { base, .. } => base.starts_with("https:"),
            Self::Templated(templated) => templated.scheme == "https://",
        }
    }

    /// Returns scheme, host and port with `name` for each value of the host and `port` for each value of the port.
    pub(in crate::cel) fn with_values(&self, name: &str, port: &str) -> String {
        match self {
            Self::Literal { base, .. } => base.clone(),
            Self::Templated(Templated { scheme, parts, .. }) => {
                scheme.clone() + &parts.with_values(|place| if *place == Place::Port { port } else { name })
            }
        }
    }

    /// Renders the beginning of the URL for this object.
    pub(in crate::cel) fn render(
        &self,
        variables: &Variables<'_>,
        site: &Site,
        cost: &Arc<Cost>,
    ) -> Result<String, EvaluationError> {
        match self {
            Self::Literal { base, .. } => Ok(base.clone()),
            Self::Templated(templated) => templated.render(variables, site, cost),
        }
    }
}

impl Expressions for Authority {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        if let Self::Templated(Templated { parts, .. }) = self {
            parts.visit(visit);
        }
    }
}

impl Templated {
    fn parse<'p, 's>(
        scheme: &str,
        first: &str,
        others: &'p [Piece<'s>],
        site: &Site,
        allowed: &Arc<HostPatterns>,
    ) -> Result<Parsed<'p, 's>, Vec<TemplateError>> {
        let refused = || vec![TemplateError::new(scheme.len(), NAME_FORM)];
        let mut in_port = first.contains(':');
        let mut parts =
            if first.is_empty() { Vec::new() } else { vec![Part::Text(literal(first).ok_or_else(refused)?)] };
        let mut rest: (&str, &[Piece<'s>]) = ("", &[]);
        for (index, piece) in others.iter().enumerate() {
            match piece {
                Piece::Expression { source, offset } => {
                    let expression = Expression::compile(source, *offset, site)?;
                    parts.push(Part::Expression(if in_port { Place::Port } else { Place::Name }, expression));
                }
                Piece::Literal(text) => {
                    let end = text.find(['/', '?', '#']);
                    let within = &text[..end.unwrap_or(text.len())];
                    parts.push(Part::Text(literal(within).ok_or_else(refused)?));
                    in_port |= within.contains(':');
                    if let Some(end) = end {
                        rest = (&text[end..], &others[index + 1..]);
                        break;
                    }
                }
            }
        }
        let parts = Parts(parts);
        let host = parts.with_values(|_| PLACEHOLDER);
        let templated = Self { scheme: scheme.to_owned(), parts, allowed: allowed.clone(), host };
        Ok((Authority::Templated(templated), rest.0, rest.1))
    }

    fn render(&self, variables: &Variables<'_>, site: &Site, cost: &Arc<Cost>) -> Result<String, EvaluationError> {
        let write = |place: &Place, expression: &Expression| {
            let value = render_text(expression, variables, site, cost)?;
            let is_fit = match place {
                Place::Name => is_of_name,
                Place::Port => |character: char| character.is_ascii_digit(),
            };
            if value.is_empty() || !value.chars().all(is_fit) {
                return Err(site.error("a value in the URL's host is empty or holds a character that no host has"));
            }
            Ok(value.to_ascii_lowercase())
        };
        let base = self.scheme.clone() + &self.parts.render(write, |_| Ok(()))?;
        let url = Url::parse(&base).map_err(|_| site.error("the rendered host is no host in normal form"))?;
        let (name, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
        if !self.allowed.allow(name, port) {
            return Err(site.error("the rendered host is not among allowHosts"));
        }
        // A default port is never written.
        Ok(url[..Position::BeforePath].to_owned())
    }
}

/// Returns a literal part of a templated host, in lower case.
fn literal(text: &str) -> Option<String> {
    text.chars().all(|character| is_of_name(character) || character == ':').then(|| text.to_ascii_lowercase())
}

const fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '.')
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cel::check::declared_names::Names;
    use crate::cel::check::variables::Scope;
    use crate::cel::{UrlTemplate, Variables};
    use crate::network::host_patterns::HostPattern;

    fn template(text: &str, allowed: &[&str]) -> Result<UrlTemplate, String> {
        let patterns = allowed.iter().map(|pattern| HostPattern::parse(pattern).unwrap()).collect();
        let allowed = Arc::new(HostPatterns::new(patterns));
        let names = Names { hosts: Some(allowed), ..Names::default() };
        let site = Site { names: Arc::new(names), ..Site::new("here", Scope::Object) };
        let parsed = UrlTemplate::parse(text, &site);
        parsed.map_err(|errors| errors[0].message.clone())
    }

    fn url(text: &str, allowed: &[&str], host: &str, port: &serde_json::Value) -> Result<String, String> {
        let object = json!({"spec": {"host": host, "port": port}});
        let rendered = template(text, allowed)?.render(&Variables::of_object(&object));
        rendered.map(|url| url.to_string()).map_err(|error| error.cause)
    }

    #[test]
    fn values_choose_among_the_hosts_that_are_allowed() {
        const REFUSED: &str = "the rendered host is not among allowHosts";
        const CHARACTER: &str = "a value in the URL's host is empty or holds a character that no host has";
        let whole = "https://${self.spec.host}/x";
        let table = [
            (whole, "a.example", Ok("https://a.example/x")),
            (whole, "A.Example", Ok("https://a.example/x")),
            (whole, "b.example.evil", Err(REFUSED)),
            (whole, "127.0.0.1", Err(REFUSED)),
            (whole, "2130706433", Err(REFUSED)),
            (whole, "0x7f.1", Err(REFUSED)),
            (whole, "", Err(CHARACTER)),
            (whole, "a.example/", Err(CHARACTER)),
            (whole, "a.example#", Err(CHARACTER)),
            (whole, "a.example:80", Err(CHARACTER)),
            (whole, "u@a.example", Err(CHARACTER)),
            (whole, "a.example\\", Err(CHARACTER)),
            (whole, "a.ex\u{e4}mple", Err(CHARACTER)),
            ("https://${self.spec.host}.example", "a", Ok("https://a.example/")),
            ("https://${self.spec.host}.example", "evil.com/a", Err(CHARACTER)),
            ("https://${self.spec.host}.example?q=1", "a", Ok("https://a.example/?q=1")),
            ("https://${self.spec.host}.example", "a.b", Err(REFUSED)),
            ("https://h-${self.spec.host}-x.example/", "a", Ok("https://h-a-x.example/")),
            (
                "https://${self.spec.host}:${self.spec.port}/${self.spec.host}",
                "a.example",
                Ok("https://a.example:8443/a.example"),
            ),
            ("http://a.example:${self.spec.port}/", "a", Ok("http://a.example:8443/")),
        ];
        for (text, host, expected) in table {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(url(text, &["*.example"], host, &json!(8443)), expected, "{text} {host:?}");
        }
        let with_port = |port| url("https://a.example:${self.spec.port}/", &["*.example:8443"], "", &port);
        assert_eq!(with_port(json!(8443)), Ok("https://a.example:8443/".to_owned()));
        assert_eq!(with_port(json!(443)), Err(REFUSED.to_owned()));
        assert_eq!(with_port(json!("1/x")), Err(CHARACTER.to_owned()));
        assert!(with_port(json!(65536)).is_err());
    }

    #[test]
    fn text_beside_a_value_is_a_piece_of_a_host() {
        for text in ["https://[${self.spec.host}]/", "https://a b${self.spec.host}/", "https://a\\${self.spec.host}/"] {
            assert_eq!(template(text, &["*"]).map(|_| ()), Err(NAME_FORM.to_owned()), "{text}");
        }
        let userinfo = template("https://u@${self.spec.host}/", &["*"]).map(|_| ());
        assert_eq!(userinfo, Err("a URL carries no user or password: use auth".to_owned()));
        assert!(template("https://${self.spec.host}:a@b/", &["*"]).is_err());
        assert!(template("https://${self.spec.host/", &["*"]).is_err());
    }

    #[test]
    fn a_literal_host_is_among_those_that_are_allowed() {
        let allowed = &["*.example:443"];
        assert!(template("https://a.example/x", allowed).is_ok());
        let error = template("http://a.example/x", allowed).map(|_| ());
        assert_eq!(error, Err("a.example:80 is not among allowHosts".to_owned()));
    }

    #[test]
    fn the_fields_of_a_host_are_found() {
        let template = template("https://${self.spec.host}.example:${self.spec.port}/x", &["*"]).unwrap();
        let fields: Vec<_> = template.fields().iter().map(|path| path.join(".")).collect();
        assert_eq!(fields, ["spec.host", "spec.port"]);
        assert_eq!(template.host(), "${…}.example:${…}");
        assert_eq!(template.with_placeholder("*"), "https://*.example:*/x");
    }
}
