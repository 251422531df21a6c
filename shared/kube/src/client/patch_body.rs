//! The body of a JSON Patch, escaped like the API server's own JSON.
//!
//! The API server compares the value of a `test` with its own encoding of the object byte by byte. It is written in Go,
//! whose encoder escapes five characters that other encoders keep. Without this, a condition whose message has one of
//! them could never be replaced.

use http::Request;

/// The characters, in UTF-8, and their escapes. In JSON they only occur inside texts.
const ESCAPES: [(&[u8], &[u8]); 5] = [
    (b"&", br"\u0026"),
    (b"<", br"\u003c"),
    (b">", br"\u003e"),
    ("\u{2028}".as_bytes(), br"\u2028"),
    ("\u{2029}".as_bytes(), br"\u2029"),
];

/// Escapes the body of a request with JSON.
pub(super) fn escaped(request: Request<Vec<u8>>) -> Request<Vec<u8>> {
    request.map(|body| {
        let mut rest = body.as_slice();
        let mut written = Vec::with_capacity(body.len());
        while let Some((first, others)) = rest.split_first() {
            match ESCAPES.iter().find(|(character, _)| rest.starts_with(character)) {
                Some((character, escape)) => {
                    written.extend_from_slice(escape);
                    rest = rest.get(character.len()..).unwrap_or_default();
                }
                None => {
                    written.push(*first);
                    rest = others;
                }
            }
        }
        written
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn a_body_has_the_escapes_of_the_api_server() {
        let body = json!({"value": "a&b <c> \u{2028}\u{2029} ü \"\\\n"}).to_string().into_bytes();
        let body = escaped(Request::new(body)).into_body();
        let expected = r#"{"value":"a\u0026b \u003cc\u003e \u2028\u2029 ü \"\\\n"}"#;
        assert_eq!(String::from_utf8(body).unwrap(), expected);
    }

    proptest! {
        #[test]
        fn a_body_keeps_its_meaning(key in any::<String>(), value in any::<String>()) {
            let meant = json!({ key: [value] });
            let body = escaped(Request::new(meant.to_string().into_bytes())).into_body();
            prop_assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), meant);
        }
    }
}
