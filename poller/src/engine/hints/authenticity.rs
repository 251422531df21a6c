//! Authenticates webhook requests.
//!
//! All comparisons run in constant time, and each request costs the same for every target. So the response time reveals
//! neither how much of a guess was right nor if such a target exists.

use drift_language::WebhookHints;
use hmac::{Hmac, KeyInit, Mac};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName};
use sha2::Sha256;

/// Minimum length of a secret: 128 bits, if all byte values are used.
pub const LEAST_SECRET_BYTES: usize = 16;

/// Bytes of a signature.
const SIGNATURE_BYTES: usize = 32;

/// Prefix of a signature, as GitHub writes it.
const PREFIX: &str = "sha256=";

/// Header that is checked for unknown targets.
const USUAL_HEADER: &str = "x-hub-signature-256";

/// Placeholder secret, so that unknown targets cost the same time.
const NOBODYS: &[u8] = b"nobody knows a secret that is not there";

/// Returns true if the request proves knowledge of the secret of these hints. `None` means an unknown target.
#[must_use]
pub fn is_authentic(of: Option<(&WebhookHints, &[u8])>, headers: &HeaderMap, body: &[u8]) -> bool {
    let known = of.filter(|(_, secret)| secret.len() >= LEAST_SECRET_BYTES);
    let secret = known.map_or(NOBODYS, |(_, secret)| secret);
    let header = known.and_then(|(hints, _)| hints.signature_header.as_ref());
    // Both checks always run, above all the signature of the body, which may be long.
    let is_signed = is_signed(secret, body, signature(headers, header.map_or(USUAL_HEADER, HeaderName::as_str)));
    let is_borne = is_same(secret, bearer(headers).unwrap_or_default());
    let is_right = if header.is_some() { is_signed } else { is_borne };
    is_right && known.is_some()
}

fn is_signed(secret: &[u8], body: &[u8], sent: Option<[u8; SIGNATURE_BYTES]>) -> bool {
    let is_right = code(secret, body).is_some_and(|code| code.verify_slice(&sent.unwrap_or_default()).is_ok());
    is_right && sent.is_some()
}

fn code(secret: &[u8], text: &[u8]) -> Option<Hmac<Sha256>> {
    let mut code = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    code.update(text);
    Some(code)
}

/// Compares the codes of the texts. The codes have equal length and are compared in constant time.
fn is_same(secret: &[u8], token: &[u8]) -> bool {
    let (Some(own), Some(sent)) = (code(secret, secret), code(secret, token)) else { return false };
    own.verify(&sent.finalize().into_bytes()).is_ok()
}

/// Returns the value of a header that occurs exactly once.
fn only<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(first)
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let (scheme, token) = only(headers, AUTHORIZATION.as_str())?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().as_bytes())
}

fn signature(headers: &HeaderMap, name: &str) -> Option<[u8; SIGNATURE_BYTES]> {
    let text = only(headers, name)?.trim();
    let digits = text.strip_prefix(PREFIX).unwrap_or(text).as_bytes();
    if digits.len() != SIGNATURE_BYTES * 2 {
        return None;
    }
    let mut bytes = [0; SIGNATURE_BYTES];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use drift_language::{HintSource, Target};
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;
    use crate::engine::fixtures::{TEXT, target};

    /// GitHub's own example.
    const SECRET: &[u8] = b"It's a Secret to Everybody";
    const BODY: &[u8] = b"Hello, World!";
    const SIGNED: &str = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    /// Headers, secret, body, and the expected result.
    type Row<'r> = (&'r [(&'r str, &'r str)], &'r [u8], &'r [u8], bool);

    fn target_with(signature: &str) -> std::sync::Arc<Target> {
        let webhook =
            format!("webhook: {{secretRef: {{name: a, key: b}}, {signature}identity: \"${{payload.name}}\"}}");
        target(&format!("{TEXT}  hints: {{{webhook}}}\n"))
    }

    fn webhook(target: &Target) -> &WebhookHints {
        let Some(HintSource::Webhook(webhook)) = target.hints.first() else { panic!("{:?}", target.hints) };
        webhook
    }

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        let mut headers = HeaderMap::new();
        pairs.iter().map(pair).for_each(|(name, value): (_, HeaderValue)| _ = headers.append(name, value));
        headers
    }

    #[test]
    fn only_the_right_signature_of_this_body_is_taken() {
        let target = target_with("signatureHeader: X-Hub-Signature-256, ");
        let hints = webhook(&target);
        let signed = format!("sha256={SIGNED}");
        let other = SIGNED.replace('7', "8");
        let table: &[Row<'_>] = &[
            (&[("x-hub-signature-256", &signed)], SECRET, BODY, true),
            (&[("x-hub-signature-256", SIGNED)], SECRET, BODY, true),
            (&[("x-hub-signature-256", &SIGNED.to_uppercase())], SECRET, BODY, true),
            (&[("x-hub-signature-256", &other)], SECRET, BODY, false),
            (&[("x-hub-signature-256", &signed)], SECRET, b"Hello, World?", false),
            (&[("x-hub-signature-256", &signed)], b"It's a Secret to Nobody at all", BODY, false),
            (&[("x-hub-signature-256", &signed)], b"", BODY, false),
            (&[("x-hub-signature-256", "")], SECRET, BODY, false),
            (&[("x-hub-signature-256", &"0".repeat(64))], SECRET, BODY, false),
            (&[("x-hub-signature-256", "sha256=")], SECRET, BODY, false),
            (&[("x-hub-signature-256", &SIGNED[2..])], SECRET, BODY, false),
            (&[("x-hub-signature-256", &signed), ("x-hub-signature-256", &signed)], SECRET, BODY, false),
            (&[("x-hub-signature", &signed)], SECRET, BODY, false),
            (&[("authorization", "Bearer It's a Secret to Everybody")], SECRET, BODY, false),
            (&[], SECRET, BODY, false),
        ];
        for (sent, secret, body, expected) in table {
            assert_eq!(is_authentic(Some((hints, secret)), &headers(sent), body), *expected, "{sent:?}");
        }
        assert!(!is_authentic(None, &headers(&[("x-hub-signature-256", &signed)]), BODY));
    }

    #[test]
    fn only_the_secret_itself_is_a_bearers_token() {
        let target = target_with("");
        let hints = webhook(&target);
        let table: &[(&str, bool)] = &[
            ("Bearer It's a Secret to Everybody", true),
            ("bearer It's a Secret to Everybody", true),
            ("Bearer It's a Secret to Everybod", false),
            ("Bearer It's a Secret to Everybody!", false),
            ("Basic It's a Secret to Everybody", false),
            ("Bearer ", false),
            ("It's", false),
        ];
        for (sent, expected) in table {
            let headers = headers(&[("authorization", sent)]);
            assert_eq!(is_authentic(Some((hints, SECRET)), &headers, BODY), *expected, "{sent}");
            assert!(!is_authentic(None, &headers, BODY));
        }
        let nobodys = format!("Bearer {}", String::from_utf8_lossy(NOBODYS));
        assert!(!is_authentic(None, &headers(&[("authorization", &nobodys)]), BODY));
        assert!(!is_authentic(Some((hints, b"short")), &headers(&[("authorization", "Bearer short")]), BODY));
    }

    proptest! {
        #[test]
        fn nothing_else_is_authentic(value in "[ -~]{0,100}", body in proptest::collection::vec(any::<u8>(), 0..100), signed: bool) {
            let target = target_with(if signed { "signatureHeader: x-a, " } else { "" });
            let sent = headers(&[("x-a", &value), ("authorization", &value)]);
            prop_assert!(!is_authentic(Some((webhook(&target), SECRET)), &sent, &body));
            prop_assert!(!is_authentic(None, &sent, &body));
        }
    }
}
