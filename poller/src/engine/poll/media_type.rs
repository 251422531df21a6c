//! The content type of an answer, in a form that may enter a condition's message.
//!
//! A message that changes is a write, so the parameters (a boundary, for example) are left out. Only common types are
//! named, so that an answer cannot put a text of its choice, such as a credential, into a condition.

use http::header::{CONTENT_TYPE, HeaderMap};

/// The types that are named: those of APIs, pages of proxies, and files.
const COMMON: [&str; 18] = [
    "application/gzip",
    "application/javascript",
    "application/json",
    "application/octet-stream",
    "application/pdf",
    "application/problem+json",
    "application/x-www-form-urlencoded",
    "application/xhtml+xml",
    "application/xml",
    "application/yaml",
    "multipart/form-data",
    "multipart/mixed",
    "text/css",
    "text/csv",
    "text/html",
    "text/javascript",
    "text/plain",
    "text/xml",
];

/// Returns the type without its parameters, or a fixed text if there is none or it is not a common one.
#[must_use]
pub fn media_type(headers: &HeaderMap) -> &'static str {
    let Some(essence) = essence(headers) else { return "no content type" };
    let essence = essence.trim_ascii();
    let common = COMMON.into_iter().find(|common| essence.eq_ignore_ascii_case(common.as_bytes()));
    common.unwrap_or("another content type")
}

/// Returns the bytes of the content type without its parameters.
#[must_use]
pub fn essence(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get(CONTENT_TYPE)?.as_bytes().split(|byte| *byte == b';').next()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_a_common_type_is_named() {
        let another = "another content type";
        let table = [
            ("text/html", "text/html"),
            ("Text/HTML; charset=utf-8", "text/html"),
            ("multipart/mixed; boundary=7f3a9c", "multipart/mixed"),
            (" application/problem+json ;q=1", "application/problem+json"),
            ("text/canary", another),
            ("", another),
            ("text/html, text/plain", another),
            ("text/\u{fc}", another),
        ];
        for (value, expected) in table {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_bytes(value.as_bytes()).unwrap())]);
            assert_eq!(media_type(&headers), expected, "{value:?}");
        }
        assert_eq!(media_type(&HeaderMap::new()), "no content type");
    }
}
