//! The answer behind `ResponseInvalid` and behind a refused read, for the person who runs `explain` with their own rights: status, content type and
//! the beginning of the body. Conditions and logs have none of the body.

use drift_api::condition::ObservedReason;
use drift_api::printable::printable;
use drift_language::{Format, Source, Target, fault_in};
use drift_poller::engine::judgement::drift::Subject;
use drift_systems::{HttpReply, ReplyBody};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde_json::Value;

use super::answers::shown_body;
use super::markup::without_attributes;
use super::masker::{Masker, observed};
use super::polling::Polled;
use super::requests::session_values::session_values;

/// Letters of a body that are shown: three or four lines of a terminal.
const SHOWN: usize = 256;
/// Letters of a content type that are shown.
const SHOWN_OF_TYPE: usize = 60;

/// Describes the last answer of a read that it made fail; nothing for other results.
pub(super) fn describe(target: &Target, subject: Subject<'_>, polled: &Polled) -> Vec<String> {
    let failed = polled.observed.as_ref().err().map(|failure| failure.reason);
    let reply = polled.exchanges.last().and_then(|exchange| exchange.reply.as_ref());
    let reply = reply.filter(|reply| failed.is_some_and(|reason| says_why(reason, reply.status)));
    let lines = reply.map(|reply| answer_lines(target, subject, reply)).unwrap_or_default();
    let sessions = session_values(target, &polled.exchanges);
    let masker = Masker::outside().hiding_sessions(&sessions);
    lines.iter().map(|line| masker.line(line)).collect()
}

/// Returns true if the answer says why the read failed: it is not what the target describes, or an error.
fn says_why(reason: ObservedReason, status: StatusCode) -> bool {
    reason == ObservedReason::ResponseInvalid || !status.is_success()
}

/// An answer, line by line, without secrets.
#[must_use]
pub fn answer_lines(target: &Target, subject: Subject<'_>, reply: &HttpReply) -> Vec<String> {
    let size = match &reply.body {
        ReplyBody::Whole(bytes) => format!("{} bytes", bytes.len()),
        ReplyBody::TooLarge => "a body above read.http.maxBytes".to_owned(),
        ReplyBody::Truncated => "a body that ended too early".to_owned(),
    };
    let head =
        format!("the answer was status {}, {}, {size}", reply.status.as_u16(), content_type(target, subject, reply));
    let is_empty = matches!(&reply.body, ReplyBody::Whole(bytes) if bytes.is_empty());
    let begins = match (shown_body(Masker::outside().hiding_credentials(subject), target, &reply.body), &reply.body) {
        (Ok(text), _) => (!is_empty).then(|| format!("the body begins: {}", beginning(&text))),
        (Err(why), ReplyBody::Whole(_)) => Some(why),
        (Err(_), ReplyBody::TooLarge | ReplyBody::Truncated) => None,
    };
    std::iter::once(head).chain(begins).chain(place_of_fault(target, reply)).collect()
}

/// The place at which an answer stops being JSON, where the target reads JSON.
fn place_of_fault(target: &Target, reply: &HttpReply) -> Option<String> {
    let (Source::Http(read), ReplyBody::Whole(bytes)) = (&target.read.source, &reply.body) else { return None };
    let reads_json = !bytes.is_empty() && read.steps().all(|step| step.format == Format::Json);
    let (line, byte) = fault_in(bytes).filter(|_| reads_json)?;
    Some(format!("the body stops being JSON at line {line}, byte {byte}"))
}

/// The media type, without parameters.
fn content_type(target: &Target, subject: Subject<'_>, reply: &HttpReply) -> String {
    let stated = reply.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = stated.and_then(|text| text.split(';').next()).map(str::trim).filter(|text| !text.is_empty());
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/+-._".contains(letter);
    let is_safe = |media: &str| observed(target, subject, &Value::from(media)) == media;
    match media {
        Some(media) if media.len() <= SHOWN_OF_TYPE && media.chars().all(is_plain) && is_safe(media) => {
            media.to_owned()
        }
        Some(_) => "a content type that is not shown".to_owned(),
        None => "no content type".to_owned(),
    }
}

fn beginning(body: &str) -> String {
    let lines: Vec<String> = without_attributes(body).lines().map(printable).collect();
    let words = lines.iter().flat_map(|line| line.split([' ', '�'])).filter(|word| !word.is_empty());
    let line = words.collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drift_language::fixtures::proxies::{TEXT, object, target};
    use http::{HeaderMap, HeaderValue};
    use serde_json::json;

    fn lines(status: u16, media: &'static str, body: &str) -> Vec<String> {
        let target = target(TEXT);
        let object = object(&target, "u", &json!({"id": "x", "a": 1}), &Value::Null);
        let mut headers = HeaderMap::new();
        if !media.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
        }
        let status = StatusCode::from_u16(status).unwrap_or_default();
        let reply = HttpReply { status, headers, body: ReplyBody::Whole(body.as_bytes().to_vec()) };
        answer_lines(&target, Subject::from(&*object.view.open()), &reply)
    }

    #[test]
    fn an_invalid_answer_is_shown_without_secrets() {
        let page = "<html>\n<body class=x>Not\u{1b}[2J Found<input name=csrf_token value=hunter2></body>";
        for (status, media, body, expected) in [
            (404, "text/html; charset=utf-8", page, r"<html> <body>Not\u{1b}[2J Found<input></body>"),
            (200, "application/json", r#"{"password": "hunter2", "a": 1}"#, r#"{"a":1,"password":"(redacted)"}"#),
            (200, "", r#"{"password": "hunter2", "a""#, r#"{"password": (redacted), "a""#),
            (
                200,
                "application/xml",
                "<user><name>u</name><password>hunter2</password></user>",
                "<user><name>u</name><password>(redacted)</password></user>",
            ),
            (200, "text/plain", "see https://me:hunter2@h/x?token=hunter2", "(redacted)"),
        ] {
            let lines = lines(status, media, body);
            let media = if media.is_empty() { "no content type" } else { media.split(';').next().unwrap_or_default() };
            assert_eq!(lines[0], format!("the answer was status {status}, {media}, {} bytes", body.len()));
            assert_eq!(lines[1], format!("the body begins: {expected}"));
        }
    }

    #[test]
    fn an_error_of_the_server_says_why() {
        let status = |code| StatusCode::from_u16(code).unwrap();
        for (reason, code, expected) in [
            (ObservedReason::Unauthorized, 401, true),
            (ObservedReason::Forbidden, 403, true),
            (ObservedReason::ExternalError, 500, true),
            (ObservedReason::ResponseInvalid, 200, true),
            (ObservedReason::Settling, 200, false),
        ] {
            assert_eq!(says_why(reason, status(code)), expected, "{reason} {code}");
        }
    }

    #[test]
    fn the_place_of_a_mistake_is_shown() {
        for (body, expected) in [
            ("<html>", Some("the body stops being JSON at line 1, byte 1")),
            ("{\"a\":\n NaN}", Some("the body stops being JSON at line 2, byte 2")),
            ("{}", None),
        ] {
            let lines = lines(200, "application/json", body);
            assert_eq!(lines.get(2).map(String::as_str), expected, "{body}");
        }
    }

    #[test]
    fn little_of_an_answer_is_shown() {
        let long = lines(200, "text/plain", &"ä".repeat(1_000));
        assert_eq!(long[1], format!("the body begins: {}…", "ä".repeat(SHOWN)));
        assert_eq!(lines(204, "a b", ""), ["the answer was status 204, a content type that is not shown, 0 bytes"]);
    }
}
