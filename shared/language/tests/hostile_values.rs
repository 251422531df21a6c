//! Values of an object stay within the place of a request that a template gives them.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::LazyLock;

use drift_language::cel::Variables;
use drift_language::{Destination, DocumentName, HttpRequest, Target, parse_document};
use proptest::prelude::*;
use serde_json::{Value, json};
use url::form_urlencoded;

/// A step for each place of a request.
const TEXT: &str = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: Proxy}
  identity: "${self.spec.v}"
  read: {http: {url: "https://h/x"}}
  compare: {desired: {v: "${self.spec.v}"}}
  correct:
    http:
      update:
      - {method: PUT, url: "https://h/v/${desired.v}/w"}
      - {method: PUT, url: "https://h/v?a=1&q=${desired.v}&z=2"}
      - {method: PUT, url: "https://h/v", headers: {x-value: "a ${desired.v} b"}}
      - {method: PUT, url: "https://h/v", body: {v: "${desired.v}", text: "a ${desired.v} b"}}
      - {method: PUT, url: "https://h/v", form: {v: "${desired.v}", w: x}}
      - {method: PUT, url: "https://h/v", text: "a ${desired.v} b"}
"#;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = DocumentName { config_map: "c".to_owned(), key: "k".to_owned() };
    parse_document(&name, TEXT).unwrap_or_else(|problems| panic!("{problems:?}"))
});

/// The request of each step, or its error.
fn requests(value: &str) -> [Result<HttpRequest, String>; 6] {
    let object = json!({"metadata": {"name": "x"}, "spec": {"v": value}});
    let desired = TARGET.desired_state_of(&object).unwrap().value;
    let variables = Variables { desired: Some(&desired), ..Variables::of_object(&object) };
    let Some(Destination::Http(http)) = &TARGET.correct.destination else { panic!("another destination") };
    let step = |number: usize| http.steps.update[number].request.render(&variables).map_err(|error| error.to_string());
    std::array::from_fn(step)
}

/// Returns true if the place rejects the value. A request that is sent must satisfy the condition.
fn refuses(place: &str, request: Result<HttpRequest, String>, holds: impl Fn(&HttpRequest) -> bool) -> bool {
    match request {
        Err(error) => {
            assert!(error.len() < 200 && !error.chars().any(char::is_control), "{place}: {error}");
            true
        }
        Ok(request) => {
            let at_home = request.url.host_str() == Some("h") && request.url.fragment().is_none();
            assert!(at_home && request.headers.len() <= 2 && holds(&request), "{place}: {request:?}");
            false
        }
    }
}

/// Returns true if the value is the second of three segments.
fn is_one_segment(value: &str, request: &HttpRequest) -> bool {
    let segments: Vec<_> = request.url.path_segments().unwrap().collect();
    let decoded = percent_encoding::percent_decode_str(segments[1]).decode_utf8().unwrap();
    segments.len() == 3 && segments[0] == "v" && decoded == value && segments[2] == "w" && request.url.query().is_none()
}

/// Returns true if the value is the second of three parameters.
fn is_one_parameter(value: &str, request: &HttpRequest) -> bool {
    let pairs: Vec<_> = request.url.query_pairs().collect();
    pairs.len() == 3 && pairs[1] == ("q".into(), value.into()) && request.url.path() == "/v"
}

/// Checks each request, and returns the places that reject the value.
fn places_that_refuse(value: &str) -> Vec<&'static str> {
    let [path, query, header, json, form, text] = requests(value);
    let body = |request: &HttpRequest| String::from_utf8(request.body.clone().unwrap()).unwrap();
    let pairs = |body: String| form_urlencoded::parse(body.as_bytes()).into_owned().collect::<Vec<_>>();
    let within = format!("a {value} b");
    let as_json = json!({"v": value, "text": within});
    let as_form = [("v".to_owned(), value.to_owned()), ("w".to_owned(), "x".to_owned())];
    let places = [
        ("path", refuses("path", path, |request| is_one_segment(value, request))),
        ("query", refuses("query", query, |request| is_one_parameter(value, request))),
        ("header", refuses("header", header, |request| request.headers["x-value"].as_bytes() == within.as_bytes())),
        ("JSON", refuses("JSON", json, |request| serde_json::from_str::<Value>(&body(request)).unwrap() == as_json)),
        ("form", refuses("form", form, |request| pairs(body(request)) == as_form)),
        ("text", refuses("text", text, |request| body(request) == within)),
    ];
    places.into_iter().filter(|(_, refuses)| *refuses).map(|(place, _)| place).collect()
}

#[test]
fn a_hostile_value_stays_in_its_place() {
    let long = "n".repeat(64);
    let table: &[(&str, &[&str])] = &[
        ("\"quoted\" 'twice' `and`", &[]),
        ("\",\"admin\":true,\"x\":\"", &[]),
        ("x&admin=1#y?z", &[]),
        ("a\r\nx-admin: 1\r\n\r\nGET /", &["header"]),
        ("a\u{0}b\u{7f}\u{202e}c", &["header"]),
        ("../admin", &["path"]),
        ("..\\admin", &["path"]),
        ("%2e%2e%2fadmin", &["path"]),
        ("a%2fb", &[]),
        ("@evil.example/", &[]),
        ("${self.metadata.name} $${x}", &[]),
        ("${'a'.repeat(1000000)}", &[]),
        (&long, &[]),
        ("", &["path"]),
        (" ", &[]),
        ("é漢🦀", &[]),
    ];
    for (value, refusing) in table {
        assert_eq!(places_that_refuse(value), *refusing, "{value:?}");
    }
}

#[test]
fn a_megabyte_is_sent_as_it_is_or_refused() {
    let refusing = places_that_refuse(&"m".repeat(1024 * 1024));
    assert_eq!(refusing, ["path", "query"]);
}

proptest! {
    #[test]
    fn any_value_stays_in_its_place(value in "(?s).{0,40}|[./%\\\\ae2fE5c&=?#@:;${}\"'\r\n]{0,24}") {
        let refusing = places_that_refuse(&value);
        prop_assert!(refusing.iter().all(|place| ["path", "header"].contains(place)), "{refusing:?}");
    }
}
