//! Reads Retry-After of refusals without a `Status`.
//!
//! Priority and fairness of the API server rejects in plain text, with the seconds only in a header, which kube drops.
//! A `Status` with `retryAfterSeconds` replaces that text for the sender of the request.

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use kube::core::Status;
use serde_json::json;

/// The message of a `Status` that replaces the API server's plain-text rejection. Messages of
/// webhooks begin differently.
const TOO_BUSY: &str = "the API server takes no more requests at the moment";

/// The content type of every `Status` of the API server.
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Returns the response, with a `Status` in place of a plain text with Retry-After.
pub(super) fn with_status<B>(answer: Response<B>) -> Response<Body>
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let (mut head, body) = answer.into_parts();
    let is_refusal = matches!(head.status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    let seconds = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse::<u32>().ok());
    let has_status = head.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(JSON.as_bytes()));
    let Some(seconds) = seconds.filter(|_| is_refusal && !has_status) else {
        return Response::from_parts(head, Body::new(body));
    };
    let reason = head.status.canonical_reason().unwrap_or_default().replace(' ', "");
    let message = if head.status == StatusCode::TOO_MANY_REQUESTS { TOO_BUSY } else { "" };
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": reason,
        "code": head.status.as_u16(), "message": message, "details": {"retryAfterSeconds": seconds}});
    head.headers.insert(CONTENT_TYPE, JSON);
    head.headers.remove(CONTENT_LENGTH);
    Response::from_parts(head, Body::from(status.to_string()))
}

/// Returns true if priority and fairness rejected the request before it was processed: a plain-text 429.
pub(super) fn is_too_busy(status: &Status) -> bool {
    status.code == StatusCode::TOO_MANY_REQUESTS.as_u16() && status.message == TOO_BUSY
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::{CALL_DEADLINE, CallError, within};
    use std::time::Duration;

    async fn met(code: u16, header: Option<&'static str>, body: &'static str) -> CallError {
        let answer = async move |_: http::Request<Body>| {
            let mut answer = Response::new(Body::from(body));
            *answer.status_mut() = StatusCode::from_u16(code).unwrap();
            if let Some(value) = header {
                answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(value));
            }
            if body.starts_with('{') {
                answer.headers_mut().insert(CONTENT_TYPE, JSON);
            }
            answer
        };
        let layer = tower::util::MapResponseLayer::new(with_status);
        let builder = kube::client::ClientBuilder::new(axum::Router::new().fallback(answer), "default");
        within(CALL_DEADLINE, builder.with_layer(&layer).build().apiserver_version()).await.unwrap_err()
    }

    #[tokio::test]
    async fn the_header_of_a_plain_refusal_is_heard() {
        let text = "Too many requests, please try again later.\n";
        let error = met(429, Some("7"), text).await;
        assert_eq!((error.code(), error.retry_after()), (Some(429), Some(Duration::from_secs(7))));
        assert_eq!(error.to_string(), "429 TooManyRequests");
        assert_eq!(error.pause_of_all_calls(), Some(Duration::from_secs(7)));
        let error = met(503, Some("7"), "service unavailable\n").await;
        assert_eq!((error.retry_after(), error.pause_of_all_calls()), (Some(Duration::from_secs(7)), None));
        // The API server never sends a date.
        for (code, header) in [(429, None), (429, Some("Wed, 21 Oct 2026 07:28:00 GMT")), (500, Some("7"))] {
            let error = met(code, header, text).await;
            assert_eq!((error.code(), error.retry_after()), (Some(code), None), "{header:?}");
        }
        let own = r#"{"kind": "Status", "status": "Failure", "code": 429, "details": {"retryAfterSeconds": 3}}"#;
        let error = met(429, Some("7"), own).await;
        assert_eq!((error.retry_after(), error.pause_of_all_calls()), (Some(Duration::from_secs(3)), None));
    }
}
