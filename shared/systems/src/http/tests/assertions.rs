//! Signed assertions, in token requests and in log-ins.

use crate::guard::failure::SystemFailure;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::HttpFailure;
use crate::http::tests::secrets;
use crate::http::tests::server::{Server, ok};
use crate::http::tests::tokens::{auth, counting, sender, sent_header, status};

/// Returns a part of a JSON web token: 0 is its header, 1 are its claims.
fn part(jwt: &str, index: usize) -> Value {
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(jwt.split('.').nth(index).unwrap()).unwrap()).unwrap()
}

#[tokio::test]
async fn a_signed_assertion_gets_a_token_for_many_requests() {
    let body = String::from_utf8(ok(r#"{"access_token": "given-N"}"#)).unwrap();
    let (identity, api) = (counting(Box::leak(body.into_boxed_str())).await, Server::answering(ok("{}")).await);
    let url = identity.url("/token");
    let auth = auth(&format!(
        "{{oauth2: {{tokenUrl: '{url}', grant: jwtBearer, issuer: poller, subject: ann, scopes: [read], secretRef: {{name: signer}}}}}}"
    ));
    let pem = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap().serialize_pem();
    let store = secrets(&[("signer", &[("privateKey", &pem), ("keyId", "k1\n")])]);
    let sender = sender(&tempfile::tempdir().unwrap(), store.clone());
    for _ in 0..3 {
        assert_eq!(status(&sender, &api, &auth).await, Ok(200));
    }
    let asked = identity.requests();
    assert_eq!(asked.len(), 1);
    let form = "\r\n\r\ngrant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&scope=read&assertion=";
    let (_, jwt) = asked[0].split_once(form).unwrap();
    assert_eq!(part(jwt, 0), json!({"alg": "ES256", "typ": "JWT", "kid": "k1"}));
    let claims = part(jwt, 1);
    assert_eq!(
        ["iss", "sub", "aud", "scope"].map(|claim| claims[claim].as_str().unwrap()),
        ["poller", "ann", url.as_str(), "read"]
    );

    // Another key gets another token.
    let pem = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap().serialize_pem();
    store.store(secrets(&[("signer", &[("privateKey", &pem)])]).load_full());
    assert_eq!(status(&sender, &api, &auth).await, Ok(200));
    assert_eq!(identity.requests().len(), 2);
    store.store(secrets(&[("signer", &[("privateKey", "canary")])]).load_full());
    let failure = status(&sender, &api, &auth).await.unwrap_err();
    assert!(
        matches!(&failure, HttpFailure::System(SystemFailure::CredentialUnavailable(text)) if !text.contains("canary")),
        "{failure:?}"
    );
    assert_eq!(identity.requests().len(), 2);
}

#[tokio::test]
async fn a_signed_log_in_gets_a_token() {
    let created = "HTTP/1.1 201 Created\r\ncontent-length: 19\r\n\r\n{\"token\":\"given-N\"}";
    let (identity, api) = (counting(created).await, Server::answering(ok("{}")).await);
    let url = identity.url("/app/installations/1/access_tokens");
    let auth = auth(&format!(
        "{{login: {{request: {{url: '{url}', jwt: {{issuer: '42', audience: hub}}}}, token: {{pointer: /token}}, secretRef: {{name: app}}}}}}"
    ));
    let pem = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap().serialize_pem();
    let store = secrets(&[("app", &[("privateKey", &pem)])]);
    let sender = sender(&tempfile::tempdir().unwrap(), store.clone());
    for _ in 0..2 {
        assert_eq!(status(&sender, &api, &auth).await, Ok(200));
        assert_eq!(sent_header(api.requests().last().unwrap(), "authorization"), Some("Bearer given-0"));
    }
    let asked = identity.requests();
    assert_eq!(asked.len(), 1);
    let jwt = sent_header(&asked[0], "authorization").and_then(|value| value.strip_prefix("Bearer ")).unwrap();
    assert_eq!(part(jwt, 0), json!({"alg": "ES256", "typ": "JWT"}));
    let mut claims = part(jwt, 1);
    let times = ["iat", "exp"].map(|name| claims.as_object_mut().unwrap().remove(name).unwrap().as_i64().unwrap());
    assert_eq!((claims, times[1] - times[0]), (json!({"iss": "42", "aud": "hub"}), 180));

    store.store(secrets(&[("app", &[("privateKey", "canary")])]).load_full());
    let failure = status(&sender, &api, &auth).await.unwrap_err();
    assert!(
        matches!(&failure, HttpFailure::System(SystemFailure::CredentialUnavailable(text)) if !text.contains("canary")),
        "{failure:?}"
    );
    assert_eq!(identity.requests().len(), 1);
}
