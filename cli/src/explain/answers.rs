//! The answers of a read, for `explain --show-answer`: status, some headers and the body, without secrets. The body can
//! be saved for `--answer`.

use drift_api::printable::printable;
use drift_language::Target;
use drift_poller::engine::judgement::drift::Subject;
use drift_systems::{HttpReply, RecordedExchange, ReplyBody};
use serde_json::{Value, json};

use super::masker::Masker;
use super::requests::session_values::session_values;

/// The headers that are shown. They explain an answer, and hold no credential.
const HEADERS: [&str; 8] = [
    "content-type",
    "etag",
    "last-modified",
    "link",
    "location",
    "retry-after",
    "www-authenticate",
    "x-amzn-errortype",
];
/// Maximum bytes of a body that are shown. Answers for one resource have a few KiB.
const MAX_SHOWN: usize = 64 * 1024;

/// One answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    /// The body, or why it is not shown.
    body: Result<String, String>,
    is_cut: bool,
}

/// Returns the answers of a read, in order.
pub(super) fn answers(target: &Target, subject: Subject<'_>, exchanges: &[RecordedExchange]) -> Vec<Answer> {
    let replies = exchanges.iter().filter_map(|exchange| exchange.reply.as_ref());
    let sessions = session_values(target, exchanges);
    let masker = Masker::outside().hiding_credentials(subject).hiding_sessions(&sessions);
    replies.map(|reply| Answer::shown(masker, target, reply)).collect()
}

impl Answer {
    /// The answer as it may be shown.
    #[must_use]
    pub fn of(target: &Target, subject: Subject<'_>, reply: &HttpReply) -> Self {
        Self::shown(Masker::outside().hiding_credentials(subject), target, reply)
    }

    fn shown(masker: Masker<'_>, target: &Target, reply: &HttpReply) -> Self {
        let header = |name: &&'static str| {
            let value = reply.headers.get(*name)?;
            Some((*name, masker.header(value.to_str().ok())))
        };
        let mut body = shown_body(masker, target, &reply.body);
        let end = body.as_ref().map_or(0, |text| text.floor_char_boundary(MAX_SHOWN));
        let is_cut = body.as_ref().is_ok_and(|text| end < text.len());
        if let Ok(text) = &mut body {
            text.truncate(end);
        }
        Self { status: reply.status.as_u16(), headers: HEADERS.iter().filter_map(header).collect(), body, is_cut }
    }

    /// For people.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("status {}", self.status)];
        lines.extend(self.headers.iter().map(|(name, value)| format!("{name}: {value}")));
        match &self.body {
            Ok(text) => lines.extend(text.lines().map(printable)),
            Err(why) => lines.push(why.clone()),
        }
        if self.is_cut {
            lines.push(format!("… the rest of the body is left out: only {} KiB are shown", MAX_SHOWN / 1024));
        }
        lines
    }

    /// For programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let headers: Value = self.headers.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let (body, why) = (self.body.as_ref().ok(), self.body.as_ref().err());
        json!({"status": self.status, "headers": headers, "body": body, "failure": why, "cut": self.is_cut})
    }
}

/// Returns the body without secrets, or why it is not shown. Each place that shows an answer shows this text.
pub(super) fn shown_body(masker: Masker<'_>, target: &Target, body: &ReplyBody) -> Result<String, String> {
    let bytes = match body {
        ReplyBody::Whole(bytes) => bytes,
        ReplyBody::TooLarge => return Err("a body above read.http.maxBytes".to_owned()),
        ReplyBody::Truncated => return Err("a body that ended too early".to_owned()),
    };
    // The paths of rules are those of `observed`, and the body may have the same values elsewhere.
    let rules = target.compare.rules.root();
    if rules.is_redacted() || rules.redacts_below() || rules.redacts_single_items() {
        return Err("the body is not shown, because a rule of the target redacts fields".to_owned());
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return Err(format!("a body of {} bytes", bytes.len())) };
    let text = masker.answer(text);
    Ok(match serde_json::from_str::<Value>(&text) {
        // A credential may be escaped in the text.
        Ok(json) => {
            let shown = masker.json(&json);
            if shown == json { text } else { shown.to_string() }
        }
        Err(_) => masker.text(&text),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_language::fixtures::proxies::{TEXT, object, ruled, target};
    use http::{HeaderMap, HeaderValue, StatusCode};

    fn answer(target: &Target, body: &[u8]) -> Answer {
        let object = object(target, "u", &json!({"id": "x", "a": 1}), &Value::Null);
        let headers =
            [("content-type", "text/plain"), ("set-cookie", "hunter2"), ("location", "http://h/?token=hunter2")];
        let headers = headers.map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        let (status, headers) = (StatusCode::OK, HeaderMap::from_iter(headers));
        let reply = HttpReply { status, headers, body: ReplyBody::Whole(body.to_vec()) };
        Answer::of(target, Subject::from(&*object.view.open()), &reply)
    }

    #[test]
    fn an_answer_is_shown_without_secrets() {
        let target = target(TEXT);
        let head = ["status 200", "content-type: text/plain", "location: (redacted)"];
        let table: [(&[u8], &[&str]); 5] = [
            (b"{\"b\": 1,\n \"a\": 2}", &["{\"b\": 1,", " \"a\": 2}"]),
            (br#"{"b": 1, "password": "hunter2"}"#, &[r#"{"b":1,"password":"(redacted)"}"#]),
            (b"<a>\n<Token>hunter2</Token></a>\n", &["<a>", "<Token>(redacted)</Token></a>"]),
            (b"\xff\x00", &["a body of 2 bytes"]),
            (b"", &[]),
        ];
        for (body, expected) in table {
            let answer = answer(&target, body);
            assert_eq!(answer.lines(), [&head[..], expected].concat());
            assert!(!answer.json().to_string().contains("hunter2"), "{answer:?}");
        }
    }

    #[test]
    fn a_long_body_is_cut() {
        let long = answer(&target(TEXT), "ä".repeat(MAX_SHOWN).as_bytes());
        assert_eq!(long.json()["cut"], true);
        assert_eq!(long.json()["body"].as_str().unwrap().len(), MAX_SHOWN);
        assert!(long.lines().last().unwrap().contains("only 64 KiB are shown"));
    }

    #[test]
    fn a_rule_that_redacts_hides_the_body() {
        let shown = answer(&ruled("{path: /seed, redact: true}"), b"{\"a\": \"hunter2\"}").json();
        assert_eq!(shown["body"], Value::Null);
        assert!(shown["failure"].as_str().unwrap().contains("redacts fields"), "{shown}");
    }
}
