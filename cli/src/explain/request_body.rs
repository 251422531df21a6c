//! The body of a request as `explain` shows it: JSON, the fields of a form, a text or XML.

use drift_api::printable::printable;
use drift_language::HttpRequest;
use drift_systems::sessions::form_fields;
use serde_json::Value;

use super::masker::Masker;

/// Returns the masked lines of the body: one of JSON, one for each field of a form, those of a text.
pub(super) fn body_lines(request: &HttpRequest, masker: Masker<'_>) -> Vec<String> {
    let Some(body) = &request.body else { return Vec::new() };
    if let Some(fields) = form_fields(request) {
        return fields.map(|(name, value)| printable(&format!("{name}={}", masker.field(&name, &value)))).collect();
    }
    if let Ok(json) = serde_json::from_slice::<Value>(body) {
        return vec![masker.json(&json).to_string()];
    }
    match std::str::from_utf8(body) {
        Ok(text) => masker.text(text).lines().map(printable).collect(),
        Err(_) => vec![format!("a body of {} bytes", body.len())],
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use http::header::CONTENT_TYPE;
    use http::{HeaderMap, HeaderValue, Method};
    use url::Url;

    fn lines(media: &'static str, body: &[u8]) -> Vec<String> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(media))]);
        let request = HttpRequest {
            method: Method::POST,
            url: Url::parse("http://h/").unwrap(),
            headers: Arc::new(headers),
            body: Some(body.to_vec()),
            has_chosen_host: false,
            socket: None,
            auth: None,
        };
        body_lines(&request, Masker::outside())
    }

    #[test]
    fn every_kind_of_body_is_shown() {
        let table: [(&str, &[u8], &[&str]); 6] = [
            ("application/json", br#"{"a": 1}"#, &[r#"{"a":1}"#]),
            ("application/x-www-form-urlencoded", b"Action=List&Name=a%26b+c", &["Action=List", "Name=a&b c"]),
            ("text/plain; charset=utf-8", "ä\nb".as_bytes(), &["ä", "b"]),
            ("application/xml", b"<a>\n  <b>1</b>\n</a>\n", &["<a>", "  <b>1</b>", "</a>"]),
            ("application/octet-stream", b"\xff\x00", &["a body of 2 bytes"]),
            ("text/plain", b"", &[]),
        ];
        for (media, body, expected) in table {
            assert_eq!(lines(media, body), expected, "{media}");
        }
    }

    #[test]
    fn secrets_in_a_body_are_masked() {
        let table: [(&str, &str, &str); 8] = [
            ("application/x-www-form-urlencoded", "a=1&MasterUserPassword=hunter2", "MasterUserPassword=(redacted)"),
            (
                "application/x-www-form-urlencoded",
                "v=%7B%22password%22%3A%22hunter2%22%7D",
                r#"v={"password":"(redacted)"}"#,
            ),
            ("application/x-www-form-urlencoded", "dsn=user%3Dme+password%3Dhunter2", "dsn=(redacted)"),
            ("application/x-www-form-urlencoded", "u=http%3A%2F%2Fme%3Ahunter2%40h%2Fx", "u=http://(redacted)@h/x"),
            (
                "application/xml",
                "<a><Password>hunter2</Password><b>1</b></a>",
                "<a><Password>(redacted)</Password><b>1</b></a>",
            ),
            ("application/xml", "<a token='hunter2'/>", "(redacted)"),
            ("application/xml", "<apiKey>hunter2", "<apiKey>(redacted)"),
            ("text/plain", "password: hunter2", "password: (redacted)"),
        ];
        for (media, body, expected) in table {
            let lines = lines(media, body.as_bytes());
            assert!(!lines.concat().contains("hunter2"), "{lines:?}");
            assert_eq!(lines.last().unwrap(), expected);
        }
    }
}
