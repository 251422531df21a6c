//! Errors of AWS about the credential. Services that speak JSON answer them with 400, as errors about the request.

use drift_language::{Auth, Expression, Format};
use http::StatusCode;
use serde::Deserialize;

use crate::http::exchange::answer::count_as_unauthorized;
use crate::{HttpReply, ReplyBody};

/// The header with the type of an error. A URL may follow its name after a colon.
const ERROR_TYPE: &str = "x-amzn-errortype";
/// Maximum bytes of a body that is parsed. Errors of AWS have less than 1 KiB.
const MAX_BYTES: usize = 16 * 1024;
/// The errors about keys, signatures and rights, without namespace and the ending `Exception`.
const DENIALS: [&str; 8] = [
    "AccessDenied",
    "ExpiredToken",
    "IncompleteSignature",
    "InvalidClientTokenId",
    "InvalidSignature",
    "MissingAuthenticationToken",
    "NotAuthorized",
    "UnrecognizedClient",
];

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(rename = "__type")]
    kind: String,
}

/// Counts a signed request's 400 as a 403 if it is about the credential, and a reply that the target's rule recognizes
/// as a 401. So no other rule judges it.
#[must_use]
pub fn count_as_denied(
    reply: HttpReply,
    auth: Option<&Auth>,
    unauthorized_when: Option<(&Expression, &Format)>,
) -> HttpReply {
    let mut reply = count_as_unauthorized(reply, unauthorized_when);
    let is_denied = |kind: String| {
        let name = kind.split(':').next().unwrap_or_default().rsplit('#').next().unwrap_or_default();
        DENIALS.contains(&name.strip_suffix("Exception").unwrap_or(name))
    };
    if matches!(auth, Some(Auth::AwsSigV4(_)))
        && reply.status == StatusCode::BAD_REQUEST
        && error_type(&reply).is_some_and(is_denied)
    {
        reply.status = StatusCode::FORBIDDEN;
    }
    reply
}

fn error_type(reply: &HttpReply) -> Option<String> {
    if let Some(header) = reply.headers.get(ERROR_TYPE) {
        return header.to_str().ok().map(str::to_owned);
    }
    let ReplyBody::Whole(bytes) = &reply.body else { return None };
    let body = (bytes.len() <= MAX_BYTES).then_some(bytes)?;
    serde_json::from_slice(body).ok().map(|ErrorBody { kind }| kind)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_language::{AwsKeys, AwsSigV4};
    use http::HeaderMap;

    fn counted(status: u16, header: Option<&str>, body: &str, is_signed: bool) -> u16 {
        let keys = AwsKeys::Secret("s".to_owned());
        let signed = Auth::AwsSigV4(AwsSigV4 { region: "r".to_owned(), service: "s".to_owned(), keys });
        let headers = HeaderMap::from_iter(header.map(|value| (ERROR_TYPE.parse().unwrap(), value.parse().unwrap())));
        let (status, body) = (StatusCode::from_u16(status).unwrap(), ReplyBody::Whole(body.into()));
        let auth = is_signed.then_some(&signed);
        count_as_denied(HttpReply { status, headers, body }, auth, None).status.as_u16()
    }

    #[test]
    fn a_400_about_the_credential_counts_as_403() {
        let body = |kind: &str| format!(r#"{{"__type": "{kind}", "message": "no"}}"#);
        let unrecognized = body("com.amazon.coral.service#UnrecognizedClientException");
        let table = [
            (400, None, unrecognized.clone(), true, 403),
            (400, None, body("InvalidSignatureException"), true, 403),
            (400, None, body("com.amazon.coral.service#AccessDeniedException"), true, 403),
            (400, None, body("com.amazonaws.sqs#QueueDoesNotExist"), true, 400),
            (400, None, body("UnrecognizedClientExceptions"), true, 400),
            (400, Some("ExpiredTokenException:http://internal.amazon.com/"), String::new(), true, 403),
            (400, Some("MissingAuthenticationToken"), String::new(), true, 403),
            (400, Some("ValidationException"), unrecognized.clone(), true, 400),
            (400, None, "<Error/>".to_owned(), true, 400),
            (200, None, unrecognized.clone(), true, 200),
            (404, None, unrecognized.clone(), true, 404),
            (400, None, unrecognized, false, 400),
        ];
        for (status, header, body, is_signed, expected) in table {
            assert_eq!(counted(status, header, &body, is_signed), expected, "{header:?} {body}");
        }
    }
}
