//! A response as templates see it: `response`, and `steps.NAME` for later steps.
//!
//! A malformed body has no value at all instead of null, so that no rule can mistake it for an empty one.
//!
//! `limitedWhen` recognizes responses that mean throttling under another status, as those of AWS do.

use std::collections::BTreeMap;

use drift_language::{Expression, Format, JsonError, Variables, XmlError, parse_json, parse_xml};
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value, json};

use crate::http::exchange::reply::{HttpReply, ReplyBody};

/// Maximum values of one response, with a map counting as nine: 16 MiB of memory. A response of 1 MiB about many
/// resources has half as many.
const MAX_NODES: usize = 200_000;

/// Content encodings that compress: those of the IANA registry of HTTP content codings, and other common formats. A
/// body with a single `gzip` is decoded before.
const COMPRESSIONS: [&str; 18] = [
    "br",
    "bzip2",
    "compress",
    "dcb",
    "dcz",
    "deflate",
    "exi",
    "gzip",
    "lz4",
    "lzma",
    "pack200-gzip",
    "snappy",
    "x-bzip2",
    "x-compress",
    "x-gzip",
    "x-lzma",
    "xz",
    "zstd",
];

/// A response that was read completely.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// `{status, headers, text, body}`. `body` is null if empty, and missing if malformed.
    pub variable: Value,
    /// The reason why the body is malformed.
    pub malformed: Option<Malformed>,
}

/// Reasons why a body is not in its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It should be JSON.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// It should be XML.
    #[error(transparent)]
    Xml(#[from] XmlError),
    /// It is compressed in a way that the request did not offer.
    #[error("encoded as {0}, which was not asked for")]
    Encoded(&'static str),
}

/// Reasons why a response cannot be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The body exceeds the limit.
    #[error("larger than maxBytes")]
    TooLarge,
    /// The connection ended before the body did.
    #[error("it ends too early")]
    Truncated,
}

impl Answer {
    /// Parses a reply in this format.
    ///
    /// # Errors
    /// Fails if the body is incomplete.
    pub fn of(reply: &HttpReply, format: &Format) -> Result<Self, Unreadable> {
        let bytes = match &reply.body {
            ReplyBody::Whole(bytes) => bytes,
            ReplyBody::TooLarge => return Err(Unreadable::TooLarge),
            ReplyBody::Truncated => return Err(Unreadable::Truncated),
        };
        let text = String::from_utf8_lossy(bytes);
        let body = match format {
            Format::Json | Format::Xml { .. } if bytes.is_empty() => Ok(Value::Null),
            Format::Json => parse_json(bytes, MAX_NODES).map_err(Malformed::from),
            Format::Xml { lists } => parse_xml(bytes, lists, MAX_NODES).map_err(Malformed::from),
            Format::Text if bytes.is_empty() => Ok(Value::from("")),
            Format::Text => match compression(&reply.headers) {
                Some(encoding) => Err(Malformed::Encoded(encoding)),
                None => Ok(Value::from(text.as_ref())),
            },
        };
        // A body that can be read is not compressed, whatever the header says.
        let body = body.map_err(|error| match error {
            Malformed::Json(JsonError::TooManyNodes) | Malformed::Xml(XmlError::TooManyNodes) => error,
            _ => compression(&reply.headers).map_or(error, Malformed::Encoded),
        });
        let mut variable = Map::new();
        variable.insert("status".to_owned(), json!(reply.status.as_u16()));
        variable.insert("headers".to_owned(), json!(headers(reply)));
        variable.insert("text".to_owned(), Value::from(text));
        let malformed = match body {
            Ok(body) => {
                variable.insert("body".to_owned(), body);
                None
            }
            Err(error) => Some(error),
        };
        Ok(Self { variable: Value::Object(variable), malformed })
    }
}

/// Returns the compression of a body that was not decoded. Other encodings, such as `utf-8` and `aws-chunked`, leave
/// the body readable. Only known names are returned, so that a server cannot put a text of its choice into a condition.
fn compression(headers: &HeaderMap) -> Option<&'static str> {
    let encodings = headers.get_all(CONTENT_ENCODING).into_iter().filter_map(|value| value.to_str().ok());
    let mut encodings = encodings.flat_map(|value| value.split(',')).map(str::trim);
    encodings.find_map(|encoding| COMPRESSIONS.into_iter().find(|known| encoding.eq_ignore_ascii_case(known)))
}

/// Returns the headers by lower-case name. A repeated header becomes one list, as defined by HTTP.
fn headers(reply: &HttpReply) -> BTreeMap<&str, String> {
    let mut headers: BTreeMap<&str, String> = BTreeMap::new();
    for (name, value) in &reply.headers {
        let Ok(value) = value.to_str() else { continue };
        let known = headers.entry(name.as_str()).or_default();
        if !known.is_empty() {
            known.push_str(", ");
        }
        known.push_str(value);
    }
    headers
}

/// Counts the reply as a 429 if the target's rule recognizes it. So it pauses the host, and no other rule judges it.
///
/// A rule that cannot be evaluated counts as false: it reads an error, which most responses do not have.
#[must_use]
pub fn count_as_limited(mut reply: HttpReply, rule: Option<&Expression>, format: &Format) -> HttpReply {
    if rule.is_some_and(|rule| recognizes(rule, &reply, format)) {
        reply.status = StatusCode::TOO_MANY_REQUESTS;
    }
    reply
}

/// Counts the reply as a 401 if the target's rule recognizes it, in the same way.
pub(in crate::http) fn count_as_unauthorized(mut reply: HttpReply, rule: Option<(&Expression, &Format)>) -> HttpReply {
    if rule.is_some_and(|(rule, format)| recognizes(rule, &reply, format)) {
        reply.status = StatusCode::UNAUTHORIZED;
    }
    reply
}

fn recognizes(rule: &Expression, reply: &HttpReply, format: &Format) -> bool {
    Answer::of(reply, format).is_ok_and(|answer| {
        let variables = Variables { response: Some(&answer.variable), ..Variables::of_object(&Value::Null) };
        rule.evaluate_bool(&variables).unwrap_or(false)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_language::cel::{Scope, Site};
    use http::HeaderName;

    fn reply(body: &[u8]) -> HttpReply {
        let mut headers = HeaderMap::new();
        for (name, value) in [("link", "<a>"), ("etag", "x"), ("link", "<b>")] {
            headers.append(HeaderName::from_static(name), value.parse().unwrap());
        }
        HttpReply { status: StatusCode::OK, headers, body: ReplyBody::Whole(body.to_vec()) }
    }

    #[test]
    fn a_rule_recognizes_a_refused_credential() {
        let site = Site::new("here", Scope::Page);
        let rule = Expression::parse("${response.body.error.code == -32602}", &site).unwrap();
        let cases =
            [(r#"{"error": {"code": -32602}}"#, 401), (r#"{"error": {"code": 1}}"#, 200), ("{}", 200), ("<a/>", 200)];
        for (body, expected) in cases {
            let counted = count_as_unauthorized(reply(body.as_bytes()), Some((&rule, &Format::Json)));
            assert_eq!(counted.status.as_u16(), expected, "{body}");
        }
    }

    #[test]
    fn a_body_that_cannot_be_taken_is_missing() {
        let xml = || Format::Xml { lists: vec!["b".to_owned()] };
        let cases: [(&[u8], Format, Option<Value>, &str); 10] = [
            (br#"{"a": 1}"#, Format::Json, Some(json!({"a": 1})), r#"{"a": 1}"#),
            (b"null", Format::Json, Some(Value::Null), "null"),
            (b"", Format::Json, Some(Value::Null), ""),
            (b"<html>", Format::Json, None, "<html>"),
            (b"<html>", Format::Text, Some(json!("<html>")), "<html>"),
            (b"<a><b/></a>", xml(), Some(json!({"a": {"b": [""]}})), "<a><b/></a>"),
            (b"", xml(), Some(Value::Null), ""),
            (b"{}", xml(), None, "{}"),
            (b"<html/>", xml(), None, "<html/>"),
            (b"\xff", Format::Text, Some(json!("\u{fffd}")), "\u{fffd}"),
        ];
        for (body, format, expected, text) in cases {
            let answer = Answer::of(&reply(body), &format).unwrap();
            assert_eq!(answer.variable.get("body"), expected.as_ref(), "{body:?} as {format:?}");
            assert_eq!(answer.malformed.is_some(), expected.is_none());
            assert_eq!(answer.variable["text"], json!(text));
        }
    }

    #[test]
    fn an_encoding_matters_if_the_body_is_unreadable() {
        let xml = || Format::Xml { lists: Vec::new() };
        let packed: &[u8] = b"\x1b\x00\xf8";
        let named = |encoding| Some(Malformed::Encoded(encoding));
        let table: [(&str, &[u8], Format, Option<Malformed>); 17] = [
            ("utf-8", br#"{"id": 1}"#, Format::Json, None),
            ("none", br#"{"id": 1}"#, Format::Json, None),
            ("aws-chunked", br#"{"id": 1}"#, Format::Json, None),
            ("identity", br#"{"id": 1}"#, Format::Json, None),
            ("br", br#"{"id": 1}"#, Format::Json, None),
            ("utf-8", b"<a/>", xml(), None),
            ("aws-chunked", b"a", Format::Text, None),
            ("\u{e4}", b"a", Format::Text, None),
            ("br", b"", Format::Text, None),
            ("br", b"", Format::Json, None),
            ("br", packed, Format::Json, named("br")),
            ("ZSTD", packed, xml(), named("zstd")),
            ("deflate", packed, Format::Text, named("deflate")),
            ("gzip, br", packed, Format::Json, named("gzip")),
            ("aws-chunked,br", packed, Format::Text, named("br")),
            ("utf-8", b"<html>", Format::Json, Some(Malformed::Json(JsonError::Malformed))),
            ("canary", packed, Format::Json, Some(Malformed::Json(JsonError::NotUtf8))),
        ];
        for (encoding, body, format, expected) in table {
            let mut reply = reply(body);
            reply.headers.insert(CONTENT_ENCODING, encoding.parse().unwrap());
            let answer = Answer::of(&reply, &format).unwrap();
            assert_eq!(answer.malformed, expected, "{encoding} {body:?} {format:?}");
            assert_eq!(answer.variable.get("body").is_some(), expected.is_none(), "{encoding} {body:?}");
        }
    }

    #[test]
    fn a_repeated_header_is_one_list() {
        let answer = Answer::of(&reply(b""), &Format::Json).unwrap();
        assert_eq!(answer.variable["headers"], json!({"link": "<a>, <b>", "etag": "x"}));
    }

    #[test]
    fn what_did_not_come_whole_is_no_answer() {
        for (body, expected) in
            [(ReplyBody::TooLarge, Unreadable::TooLarge), (ReplyBody::Truncated, Unreadable::Truncated)]
        {
            assert_eq!(Answer::of(&HttpReply { body, ..reply(b"") }, &Format::Text), Err(expected));
        }
    }

    #[test]
    fn only_a_response_that_fits_the_rule_counts_as_429() {
        let rule = "${response.status in [200, 400] && response.body.?Error.?Code.orValue('') == 'Throttling'}";
        let by_body = "${response.body.Error.Code == 'Throttling'}";
        let throttled = "<Error><Code>Throttling</Code></Error>";
        let table = [
            (rule, 400, throttled, 429),
            (rule, 200, throttled, 429),
            (rule, 403, throttled, 403),
            (rule, 400, "<Error><Code>Other</Code></Error>", 400),
            (by_body, 403, throttled, 429),
            (by_body, 200, "<R/>", 200),
            (by_body, 403, "Throttling", 403),
            (by_body, 200, "", 200),
        ];
        let format = Format::Xml { lists: Vec::new() };
        for (rule, status, body, expected) in table {
            let expression = Expression::parse(rule, &Site::new("here", Scope::Page)).unwrap();
            let body = ReplyBody::Whole(body.into());
            let status = StatusCode::from_u16(status).unwrap();
            let reply = HttpReply { status, headers: HeaderMap::new(), body };
            assert_eq!(count_as_limited(reply.clone(), None, &format).status, status);
            let counted = count_as_limited(reply.clone(), Some(&expression), &format);
            assert_eq!(counted.status.as_u16(), expected, "{rule} {reply:?}");
        }
    }
}
