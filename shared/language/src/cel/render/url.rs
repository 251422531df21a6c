//! A URL template: each value is percent-encoded for its place.
//!
//! No value can add a segment, leave its segment, or change the destination of the request. A gateway that decodes
//! `%2F` before routing still sees two segments in a value with a slash.

use std::borrow::Cow;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};
use url::{Position, Url};

use crate::cel::check::site::{EvaluationError, Site};
use crate::cel::check::variables::Variables;
use crate::cel::evaluation::constants::MAX_URL_BYTES;
use crate::cel::functions::table::PATH;
use crate::cel::render::authority::Authority;
use crate::cel::render::expression::Expression;
use crate::cel::render::expressions::Expressions;
use crate::cel::render::parts::{Part, Parts};
use crate::cel::render::text::render_text;
use crate::cel::syntax::pieces::{Piece, TemplateError, pieces};

/// Every character except the unreserved ones of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Maximum rounds of decoding a path in search of `.` and `..`. A value may already be encoded twice, and we
/// encode it once.
const MAX_DECODINGS: usize = 3;

/// Sample for each value when a URL is validated at load.
const SAMPLE: &str = "x";

/// Sample for each value of a port.
const SAMPLE_PORT: &str = "1";

/// A URL with a literal scheme. Values are percent-encoded for their place.
#[derive(Debug)]
pub struct UrlTemplate {
    site: Site,
    authority: Authority,
    /// The path and query.
    parts: Parts<Place>,
}

/// The place of an expression.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// One segment of the path, or a part of one.
    Segment,
    /// `path(x)`: several segments.
    Segments,
    /// A value in the query.
    Query,
}

impl UrlTemplate {
    /// Compiles a URL. Its host may contain values only if the target lists allowed hosts.
    ///
    /// # Errors
    /// Returns every mistake in it.
    pub fn parse(text: &str, site: &Site) -> Result<Self, Vec<TemplateError>> {
        match &site.names.base {
            Some(base) if text.starts_with('/') => {
                Self::parse_whole(&format!("{base}{text}"), site).map_err(|errors| {
                    let ahead = base.chars().count();
                    let moved =
                        |error: TemplateError| TemplateError { offset: error.offset.saturating_sub(ahead), ..error };
                    errors.into_iter().map(moved).collect()
                })
            }
            None if text.starts_with('/') => {
                Err(vec![TemplateError::new(0, "it begins with `/`, and there is no `base` that it continues")])
            }
            _ => Self::parse_whole(text, site),
        }
    }

    fn parse_whole(text: &str, site: &Site) -> Result<Self, Vec<TemplateError>> {
        let one = |error| vec![error];
        let found = pieces(text).map_err(one)?;
        let (authority, first, others) = Authority::parse(&found, site)?;
        let parts = compile_parts(first, others, site)?;
        let template = Self { site: site.clone(), authority, parts };
        template.try_out().map_err(one)?;
        Ok(template)
    }

    /// Returns host and port for display. The port is always present if the host contains no value.
    #[must_use]
    pub fn host(&self) -> &str {
        self.authority.host()
    }

    /// Returns scheme, host and port, or `None` if the host contains a value.
    pub(crate) fn literal_base(&self) -> Option<&str> {
        self.authority.literal_base()
    }

    /// Returns true if the host contains a field of the object.
    pub(crate) fn has_chosen_host(&self) -> bool {
        self.literal_base().is_none()
    }

    /// Returns true if objects choose the host from more than a list of whole names.
    pub(crate) fn has_open_host(&self) -> bool {
        self.authority.is_open()
    }

    /// Returns true if requests are encrypted.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.authority.is_https()
    }

    /// Renders the scheme, host and port alone.
    ///
    /// # Errors
    /// Fails if a field is missing, or the host is not allowed.
    pub(crate) fn render_root(&self, variables: &Variables<'_>) -> Result<Url, EvaluationError> {
        let root = self.authority.render(variables, &self.site, &Arc::default())?;
        Url::parse(&root).map_err(|_| self.site.error("the host is none"))
    }

    /// Renders the URL.
    ///
    /// # Errors
    /// Fails if a field is missing, the host is not allowed, or a value in the path is empty, is `.` or `..`, or
    /// contains such a segment.
    pub fn render(&self, variables: &Variables<'_>) -> Result<Url, EvaluationError> {
        let cost = Arc::default();
        let base = self.authority.render(variables, &self.site, &cost)?;
        let write = |place: &Place, expression: &Expression| {
            let value = render_text(expression, variables, &self.site, &cost)?;
            match place {
                Place::Segment => self.segment(&value),
                Place::Segments => {
                    let segments = value.split('/').map(|segment| self.segment(segment));
                    Ok(segments.collect::<Result<Vec<_>, _>>()?.join("/"))
                }
                Place::Query => Ok(escape(&value)),
            }
        };
        let text = base + &self.parts.render(write, |length| self.check_length(length))?;
        self.finish(&text)
    }

    fn segment(&self, value: &str) -> Result<String, EvaluationError> {
        if value.is_empty() || has_dot_part(value) {
            return Err(self.site.error("a value in the URL's path is empty, `.` or `..`, or has such a part"));
        }
        Ok(escape(value))
    }

    fn check_length(&self, length: usize) -> Result<(), EvaluationError> {
        match length {
            0..=MAX_URL_BYTES => Ok(()),
            _ => Err(self.site.error(format!("the URL is longer than {MAX_URL_BYTES} bytes"))),
        }
    }

    /// Parses the rendered text. It must already be in normal form, so that the parser resolves nothing.
    fn finish(&self, text: &str) -> Result<Url, EvaluationError> {
        self.check_length(text.len())?;
        match Url::parse(text) {
            // A value and the literal next to it can form such a segment together.
            Ok(url) if url.as_str() == text && !has_dot_part(url.path()) => Ok(url),
            _ => Err(self.site.error("the rendered text is no URL in normal form")),
        }
    }

    /// Returns the URL with the same text for each value.
    #[must_use]
    pub fn with_placeholder(&self, placeholder: &str) -> String {
        self.with_values(placeholder, placeholder)
    }

    /// Returns the URL with `value` for each value, and `port` for those of a port.
    fn with_values(&self, value: &str, port: &str) -> String {
        self.authority.with_values(value, port) + &self.parts.with_values(|_| value)
    }

    /// Validates the literal part at load.
    fn try_out(&self) -> Result<(), TemplateError> {
        let text = self.with_values(SAMPLE, SAMPLE_PORT);
        match Url::parse(&text) {
            Ok(url) if has_dot_part(url.path()) => Err(TemplateError::new(0, "a part of the path is `.` or `..`")),
            Ok(url) if url.as_str() == text => Ok(()),
            Ok(url) => {
                let path = url[Position::BeforePath..].to_owned();
                Err(TemplateError::new(0, format!("write the URL as it is sent: its path and query would be `{path}`")))
            }
            Err(error) => Err(TemplateError::new(0, format!("no URL: {error}"))),
        }
    }
}

impl Expressions for UrlTemplate {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        self.authority.visit(visit);
        self.parts.visit(visit);
    }
}

/// Returns true if a text has a segment `.` or `..` between `/` or `\`, as written or decoded.
fn has_dot_part(text: &str) -> bool {
    let mut bytes = Cow::Borrowed(text.as_bytes());
    for _ in 0..=MAX_DECODINGS {
        let mut parts = bytes.split(|byte| matches!(byte, b'/' | b'\\'));
        if parts.any(|part| matches!(part, b"." | b"..")) {
            return true;
        }
        match percent_decode(&bytes).into() {
            Cow::Owned(decoded) => bytes = Cow::Owned(decoded),
            Cow::Borrowed(_) => return false,
        }
    }
    false
}

fn escape(value: &str) -> String {
    utf8_percent_encode(value, ESCAPED).to_string()
}

/// Compiles path and query: the rest of the piece in which the host ends, and the pieces after it.
fn compile_parts(first: &str, others: &[Piece<'_>], site: &Site) -> Result<Parts<Place>, Vec<TemplateError>> {
    // A URL without a path has the path `/`.
    let first = Piece::Literal(if first.starts_with('/') { first.to_owned() } else { format!("/{first}") });
    let mut in_query = false;
    Parts::compile(std::iter::once(&first).chain(others), |piece| match piece {
        Piece::Literal(literal) => {
            in_query |= literal.contains('?');
            mistake_in(literal).map_or_else(|| Ok(Part::Text(literal.clone())), |mistake| Err(vec![mistake]))
        }
        Piece::Expression { source, offset } => compile_part(source, *offset, in_query, site),
    })
}

/// Returns the error for a character that is not allowed in a literal part.
fn mistake_in(literal: &str) -> Option<TemplateError> {
    let message = match literal.find(['#', '{', '}']).map(|at| &literal[at..=at])? {
        "#" => "a fragment (`#…`) is never sent; write %23 for the character",
        "{" => "`{` stands in no URL: a field of the object is written `${self.spec.x}`, the character itself %7B",
        _ => "`}` stands in no URL: a field of the object is written `${self.spec.x}`, the character itself %7D",
    };
    Some(TemplateError::new(0, message))
}

fn compile_part(source: &str, offset: usize, in_query: bool, site: &Site) -> Result<Part<Place>, Vec<TemplateError>> {
    if let Some((inner, inner_offset)) = path_argument(source) {
        if in_query {
            let message = "path(…) keeps `/` in a URL's path; values in the query need nothing around them";
            return Err(vec![TemplateError::new(offset, message)]);
        }
        return Ok(Part::Expression(Place::Segments, Expression::compile(inner, offset + inner_offset, site)?));
    }
    let expression = Expression::compile(source, offset, site)?;
    Ok(Part::Expression(if in_query { Place::Query } else { Place::Segment }, expression))
}

/// Returns the argument of a source that is one `path(…)`, and the number of characters in front of it.
fn path_argument(source: &str) -> Option<(&str, usize)> {
    let inner = source.trim().strip_prefix(PATH)?.trim_start().strip_prefix('(')?.strip_suffix(')')?;
    // `path(a) + path(b)` begins and ends alike. Its inside is not an expression, so the whole is rejected as such.
    crate::cel::functions::ENVIRONMENT.parser().parse(inner).ok()?;
    let front = source.find('(')? + 1;
    Some((inner, source[..front].chars().count()))
}
