//! Compressed answers: a page of some hundred kilobytes takes a tenth of that through a port-forward.

use std::io::Write as _;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;

/// The least bytes of an answer that is compressed: less fits into one packet.
const LEAST: usize = 1_400;
/// The most bytes of an answer that is compressed. The largest page has less than two megabytes.
const MOST: usize = 8 * 1024 * 1024;
/// The answer instead of one whose end is missing.
const INCOMPLETE: &str = "the answer was not made to its end\n";

/// Compresses the answers to readers that accept gzip.
pub(super) async fn compress(request: Request, next: Next) -> Response {
    let accepts = accepts_gzip(request.headers());
    let mut answer = next.run(request).await;
    answer.headers_mut().insert(VARY, HeaderValue::from_static("accept-encoding"));
    if accepts { packed(answer).await } else { answer }
}

/// Compresses an answer of at most [`MOST`] bytes. A longer one, or one of unknown length, stays as it is.
async fn packed(answer: Response) -> Response {
    if answer.body().size_hint().upper().is_none_or(|bytes| bytes > MOST as u64) {
        return answer;
    }
    let (mut head, body) = answer.into_parts();
    let Ok(whole) = to_bytes(body, MOST).await else {
        return (StatusCode::INTERNAL_SERVER_ERROR, INCOMPLETE).into_response();
    };
    if whole.len() < LEAST {
        return Response::from_parts(head, Body::from(whole));
    }
    let Ok(packed) = gzip(&whole) else { return Response::from_parts(head, Body::from(whole)) };
    head.headers.remove(CONTENT_LENGTH);
    head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    Response::from_parts(head, Body::from(packed))
}

fn gzip(text: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 8), Compression::fast());
    encoder.write_all(text)?;
    encoder.finish()
}

/// Returns true if a request accepts gzip, and not with the weight 0.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|one| {
        let (coding, weight) = one.split_once(';').unwrap_or((one, "q=1"));
        let weight = weight.trim().trim_start_matches("q=").parse::<f32>().unwrap_or_default();
        coding.trim().eq_ignore_ascii_case("gzip") && weight > 0.0
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[tokio::test]
    async fn long_answers_are_sent_whole() {
        for (bytes, is_packed) in [(MOST, true), (MOST + 1, false)] {
            let sent = packed(Response::new(Body::from(vec![b'a'; bytes]))).await;
            assert_eq!((sent.status(), sent.headers().contains_key(CONTENT_ENCODING)), (StatusCode::OK, is_packed));
            let length = to_bytes(sent.into_body(), usize::MAX).await.unwrap().len();
            assert_eq!(length == bytes, !is_packed, "{length}");
        }
    }

    #[test]
    fn only_readers_that_accept_gzip_get_it() {
        for (value, expected) in [
            ("gzip", true),
            ("deflate, GZip;q=0.5, br", true),
            ("gzip;q=0", false),
            ("gzip; q=0.0", false),
            ("br", false),
            ("x-gzip", false),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(value))]);
            assert_eq!(accepts_gzip(&headers), expected, "{value}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn a_compressed_answer_unpacks_to_itself() {
        let text = "drift ".repeat(1_000);
        let packed = gzip(text.as_bytes()).unwrap();
        let mut unpacked = String::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut unpacked).unwrap();
        assert_eq!(unpacked, text);
        assert!(packed.len() < text.len() / 10);
    }
}
