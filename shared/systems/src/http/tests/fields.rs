//! Credentials in the query and the body.

use std::sync::Arc;

use http::HeaderValue;
use http::header::CONTENT_TYPE;

use crate::http::auth::field::placed;
use crate::http::tests::tokens::auth;
use crate::http::tests::{request, secrets};

const FORM: &str = "application/x-www-form-urlencoded";

fn sent(by: &str, query: &str, (kind, body): (&'static str, &str)) -> Result<String, String> {
    let mut request = request(http::Method::POST, &format!("http://h/x{query}"));
    request.body = Some(body.into());
    Arc::make_mut(&mut request.headers).insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    let store = secrets(&[("s", &[("token", "a&b\n"), ("sas", "?sv=2&sig=c%2Fd")])]);
    let token = HeaderValue::from_static("s3ss10n");
    let placed = placed(&request, Some(&auth(by)), Some(&token), &store.load()).map_err(|error| error.to_string())?;
    let body = placed.body.as_deref().unwrap_or_default();
    Ok(format!("{} {}", placed.url.query().unwrap_or_default(), String::from_utf8_lossy(body)))
}

#[test]
fn a_credential_goes_into_query_or_body() {
    let json = ("application/json", r#"{"params":["",1]}"#);
    let body = |pointer: &str| format!("{{body: {{pointer: {pointer}, secretRef: {{name: s}}}}}}");
    let by_key = "{query: {name: api_key, secretRef: {name: s}}}";
    let sas = "{query: {secretRef: {name: s, key: sas}}}";
    let login = |send: &str| {
        format!(
            "{{login: {{request: {{url: 'https://i'}}, token: {{pointer: /t}}, secretRef: {{name: s}}, send: {{{send}}}}}}}"
        )
    };
    let no_place = |pointer: &str| Err(format!("the body has no place {pointer} for the credential of Secret s"));
    let table = [
        (by_key.to_owned(), "", json, Ok(r#"api_key=a%26b {"params":["",1]}"#)),
        (by_key.to_owned(), "?x=%20&api_key=old", json, Ok(r#"x=%20&api_key=a%26b {"params":["",1]}"#)),
        (sas.to_owned(), "?comp=list&sv=1", json, Ok(r#"comp=list&sv=2&sig=c%2Fd {"params":["",1]}"#)),
        (body("/auth"), "", json, Ok(r#" {"auth":"a&b","params":["",1]}"#)),
        (body("/params/0"), "", json, Ok(r#" {"params":["a&b",1]}"#)),
        (body("/key"), "", (FORM, "x=1&key=2"), Ok(" x=1&key=a%26b")),
        (body("/params/2"), "", json, no_place("/params/2")),
        (body("/a/b"), "", json, no_place("/a/b")),
        (login("body: /auth"), "", json, Ok(r#" {"auth":"s3ss10n","params":["",1]}"#)),
        (login("query: sid"), "?a=1", json, Ok(r#"a=1&sid=s3ss10n {"params":["",1]}"#)),
        (login("header: x-sid"), "?a=1", json, Ok(r#"a=1 {"params":["",1]}"#)),
    ];
    for (by, query, body, expected) in table {
        assert_eq!(sent(&by, query, body), expected.map(str::to_owned), "{by}");
    }
}
