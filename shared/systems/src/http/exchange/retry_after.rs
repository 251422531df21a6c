//! The `Retry-After` header.
//!
//! Pure: the current time is an argument.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// Maximum wait that a host can request. An hour is the longest rate-limit window of public APIs. A broken header must
/// not silence a host for longer.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(60 * 60);

/// The wait after a 429 without `Retry-After`: half the default deadline of a poll, so that a short
/// burst passes unnoticed.
pub const PAUSE_WHEN_NOT_TOLD: Duration = Duration::from_secs(5);

/// Returns the pause that a response asks for. A 429 always asks for one, a 503 only with `Retry-After`.
#[must_use]
pub(in crate::http) fn asked_pause(status: StatusCode, headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let told = retry_after(headers, now);
    match status {
        StatusCode::TOO_MANY_REQUESTS => Some(told.unwrap_or(PAUSE_WHEN_NOT_TOLD)),
        StatusCode::SERVICE_UNAVAILABLE => told,
        _ => None,
    }
}

/// Parses a `Retry-After` header in seconds or as an HTTP date, at most [`MAX_RETRY_AFTER`]. Zero for a past date,
/// `None` for an invalid value.
#[must_use]
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
        true => Duration::from_secs(text.parse().unwrap_or(u64::MAX)),
        false => {
            let until = DateTimeParser::new().parse_timestamp(text).ok()?;
            Duration::try_from(until.duration_since(now)).unwrap_or(Duration::ZERO)
        }
    };
    Some(wait.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    fn headers(value: Option<&str>) -> HeaderMap {
        value.map(|value| (RETRY_AFTER, value.parse().unwrap())).into_iter().collect()
    }

    #[test]
    fn both_forms_are_read_and_capped() {
        let now: Timestamp = "1994-11-06T08:49:37Z".parse().unwrap();
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let cases = [
            ("0", seconds(0)),
            (" 17 ", seconds(17)),
            ("3601", Some(MAX_RETRY_AFTER)),
            ("99999999999999999999999999", Some(MAX_RETRY_AFTER)),
            ("Sun, 06 Nov 1994 08:49:39 GMT", seconds(2)),
            ("Sun, 06 Nov 1994 08:49:36 GMT", seconds(0)),
            ("Mon, 06 Nov 1995 08:49:36 GMT", Some(MAX_RETRY_AFTER)),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
        ];
        for (value, expected) in cases {
            assert_eq!(retry_after(&headers(Some(value)), now), expected, "{value:?}");
        }
        assert_eq!(retry_after(&headers(None), now), None);
    }

    #[test]
    fn only_an_answer_that_asks_for_it_pauses_the_host() {
        let cases = [
            (429, None, Some(PAUSE_WHEN_NOT_TOLD)),
            (429, Some("soon"), Some(PAUSE_WHEN_NOT_TOLD)),
            (429, Some("9"), Some(Duration::from_secs(9))),
            (503, Some("9"), Some(Duration::from_secs(9))),
            (503, None, None),
            (200, Some("9"), None),
        ];
        for (status, value, expected) in cases {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(asked_pause(status, &headers(value), Timestamp::UNIX_EPOCH), expected, "{status} {value:?}");
        }
    }
}
