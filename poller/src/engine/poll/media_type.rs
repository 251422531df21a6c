//! The content type of an answer, in a form that may enter a condition's message.
//!
//! A message that changes is a write, so the parameters (a boundary, for example) are left out. The text is bounded and
//! follows the grammar of RFC 6838, so that an answer cannot put any other text into a condition.

use http::header::{CONTENT_TYPE, HeaderMap};

/// The longest type that is shown, in bytes: RFC 6838 recommends at most 64 for each half. Types in use are shorter.
const MAX_BYTES: usize = 80;

/// The top-level types that IANA has registered, as of 2026.
const TOP_LEVEL: [&str; 10] =
    ["application", "audio", "example", "font", "haptics", "image", "message", "model", "multipart", "text"];

/// Returns the type without its parameters, in lower case, or a fixed text if there is none or it is not well-formed.
#[must_use]
pub fn media_type(headers: &HeaderMap) -> String {
    let Some(essence) = essence(headers) else { return "no content type".to_owned() };
    well_formed(essence).unwrap_or_else(|| "malformed content type".to_owned())
}

/// Returns the bytes of the content type without its parameters.
#[must_use]
pub fn essence(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get(CONTENT_TYPE)?.as_bytes().split(|byte| *byte == b';').next()
}

fn well_formed(essence: &[u8]) -> Option<String> {
    let essence = std::str::from_utf8(essence).ok()?.trim().to_ascii_lowercase();
    let (top_level, subtype) = essence.split_once('/')?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
    let is_good = essence.len() <= MAX_BYTES
        && TOP_LEVEL.contains(&top_level)
        && subtype.starts_with(|first: char| first.is_ascii_alphanumeric())
        && subtype.bytes().all(is_name);
    is_good.then_some(essence)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_a_short_well_formed_type_is_shown() {
        let long = format!("text/{}", "x".repeat(76));
        let longest = &long[..MAX_BYTES];
        let malformed = "malformed content type";
        let table = [
            ("text/html", "text/html"),
            ("Text/HTML; charset=utf-8", "text/html"),
            ("multipart/mixed; boundary=7f3a9c", "multipart/mixed"),
            (" application/vnd.oci.image.manifest.v1+json ;q=1", "application/vnd.oci.image.manifest.v1+json"),
            (longest, longest),
            (&long, malformed),
            ("", malformed),
            ("text", malformed),
            ("text/", malformed),
            ("text/.x", malformed),
            ("text/a b", malformed),
            ("text/a/b", malformed),
            ("text/<b>", malformed),
            ("text/html, text/plain", malformed),
            ("secret/canary", malformed),
            ("text/\u{fc}", malformed),
        ];
        for (value, expected) in table {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_bytes(value.as_bytes()).unwrap())]);
            assert_eq!(media_type(&headers), expected, "{value:?}");
        }
        assert_eq!(media_type(&HeaderMap::new()), "no content type");
    }
}
