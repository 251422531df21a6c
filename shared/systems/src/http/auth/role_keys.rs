//! Temporary keys in an answer to `AssumeRoleWithWebIdentity`.

use std::time::Duration;

use http::HeaderValue;
use jiff::Timestamp;
use serde_json::Value;

use crate::http::auth::token_value;
use crate::http::exchange::reply::ReplyBody;
use drift_language::parse_xml;

/// Maximum values of an answer. It has about ten.
const MAX_NODES: usize = 1000;

/// Reads the keys, separated by spaces, and how long they are valid from now.
pub(in crate::http) fn read_keys(body: &ReplyBody, now: Timestamp) -> Option<(HeaderValue, Duration)> {
    let ReplyBody::Whole(bytes) = body else { return None };
    let answer = parse_xml(bytes, &[], MAX_NODES).ok()?;
    let keys = answer.pointer("/AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/Credentials")?;
    let text = |name: &str| keys.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let ends: Timestamp = text("Expiration")?.parse().ok()?;
    let life = Duration::try_from(ends.duration_since(now)).ok()?;
    let keys = [text("AccessKeyId")?, text("SecretAccessKey")?, text("SessionToken")?].join(" ");
    Some((token_value("", &keys)?, life))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(expiration: &str, token: &str) -> Option<(String, u64)> {
        let body = format!(
            "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
             <AssumeRoleWithWebIdentityResult><Credentials><SessionToken>{token}</SessionToken>\
             <SecretAccessKey>key</SecretAccessKey><Expiration>{expiration}</Expiration><AccessKeyId>id</AccessKeyId>\
             </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
        );
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let (keys, life) = read_keys(&ReplyBody::Whole(body.into_bytes()), now)?;
        assert!(keys.is_sensitive());
        Some((keys.to_str().unwrap().to_owned(), life.as_secs()))
    }

    #[test]
    fn keys_are_valid_until_they_expire() {
        assert_eq!(read("2026-01-01T01:00:00Z", "token"), Some(("id key token".to_owned(), 3600)));
        for (expiration, token) in [("2025-12-31T23:59:59Z", "token"), ("soon", "token"), ("2026-01-01T01:00:00Z", "")]
        {
            assert_eq!(read(expiration, token), None, "{expiration} {token}");
        }
        assert!(read_keys(&ReplyBody::Whole(b"{}".to_vec()), Timestamp::UNIX_EPOCH).is_none());
    }
}
