//! Reads with several requests.

use drift_language::Target;
use drift_systems::ReplyBody;
use http::{HeaderMap, StatusCode};
use serde_json::json;

use super::*;
use crate::engine::fixtures::{TEXT, target};
use crate::engine::judgement::comparison::compare;
use crate::engine::judgement::finding::Finding;
use drift_api::object::object_view::ObjectView;

/// A client and its roles, whose id is only in the first response.
const STEPS: &str = r#"read: {http: {
    steps: [
      {name: client, url: "http://h/clients?name=${self.spec.id}", absentWhen: "${response.body.size() == 0}"},
      {name: roles, url: "http://h/clients/${steps.client.body[0].id}/roles"}],
    validWhen: "${has(response.body.roles)}",
    observed: {a: "${steps.client.body[0].a}", roles: "${response.body.roles}"}}}"#;

fn steps() -> std::sync::Arc<Target> {
    let text = TEXT.replace(r#"read: {http: {url: "http://h/${self.spec.id}"}}"#, STEPS);
    let text = text.replace(r#"{a: "${self.spec.a}"}"#, r#"{a: "${self.spec.a}", roles: ["admin"]}"#);
    target(&text)
}

fn reply(status: u16, body: &str) -> HttpReply {
    let body = ReplyBody::Whole(body.as_bytes().to_vec());
    HttpReply { status: StatusCode::from_u16(status).unwrap(), headers: HeaderMap::new(), body }
}

/// Returns the URLs after the first, and the result.
fn run(target: &Target, answers: &[(u16, &str)]) -> (Vec<String>, Result<Observation, Failure>) {
    let read = target.read.http().unwrap();
    let object = json!({"metadata": {"name": "x"}, "spec": {"id": "web", "a": 1}});
    let view = ObjectView::of(&object);
    let open = view.open();
    let mut reading = Reading::new(read, &open);
    let mut asked = Vec::new();
    for (status, body) in answers {
        match reading.take(&reply(*status, body)) {
            Progress::Ask(request) => asked.push(request.url.to_string()),
            Progress::Done(observed) => return (asked, observed),
        }
    }
    panic!("it asks more than {} requests", answers.len())
}

const CLIENT: (u16, &str) = (200, r#"[{"id": "c/1", "a": 1}]"#);

#[test]
fn a_later_request_sees_earlier_answers() {
    let target = steps();
    let (asked, observation) = run(&target, &[CLIENT, (200, r#"{"roles": ["admin"]}"#)]);
    assert_eq!(asked, ["http://h/clients/c%2F1/roles"]);
    assert_eq!(observation, Ok(Observation::Present(json!({"a": 1, "roles": ["admin"]}))));
    let object = json!({"metadata": {}, "spec": {"id": "web", "a": 1}});
    assert_eq!(compare(&target, &object, observation).finding, Finding::InSync);
}

#[test]
fn steps_inherit_headers_that_they_do_not_set() {
    let own = STEPS.replace("steps: [", "headers: {accept: a/b, x-zone: \"${self.spec.id}\"},\n    steps: [");
    let own = own.replace("{name: roles,", "{name: roles, headers: {Accept: c/d},");
    let target = target(&TEXT.replace(r#"read: {http: {url: "http://h/${self.spec.id}"}}"#, &own));
    let read = target.read.http().unwrap();
    let object = json!({"metadata": {"name": "x"}, "spec": {"id": "web", "a": 1}});
    let sent =
        |request: &HttpRequest| ["accept", "x-zone"].map(|name| request.headers[name].to_str().unwrap().to_owned());
    assert_eq!(sent(&read.render(&object).unwrap()), ["a/b", "web"]);
    let view = ObjectView::of(&object);
    let Progress::Ask(second) = Reading::new(read, &view.open()).take(&reply(CLIENT.0, CLIENT.1)) else {
        panic!("one step")
    };
    assert_eq!(sent(&second), ["c/d", "web"]);
}

#[test]
fn answers_that_are_kept_are_counted_and_bounded() {
    let target = steps();
    let read = target.read.http().unwrap();
    let view = ObjectView::of(&json!({"metadata": {"name": "x"}, "spec": {"id": "web", "a": 1}}));
    let open = view.open();
    let mut reading = Reading::new(read, &open);
    let with = |items: usize| format!("[{{\"id\": \"c\", \"items\": [{}]}}]", vec!["0"; items].join(","));
    assert!(matches!(reading.take(&reply(200, &with(10_000))), Progress::Ask(_)));
    assert!((800_000..1_000_000).contains(&reading.kept()), "{}", reading.kept());
    let (asked, observation) = run(&target, &[(200, &with(150_000))]);
    assert!(asked.is_empty());
    let failure = observation.unwrap_err();
    assert!(failure.reason == ObservedReason::ResponseInvalid && failure.text.contains("8 MiB"), "{failure:?}");
}

#[test]
fn absence_at_a_step_ends_the_read() {
    let (asked, observation) = run(&steps(), &[(200, "[]")]);
    assert_eq!((asked.len(), observation), (0, Ok(Observation::Absent)));
}

#[test]
fn only_a_first_request_is_absent_by_its_status() {
    let failed = |observed: Result<Observation, Failure>| observed.unwrap_err().reason;
    let (_, observation) = run(&steps(), &[CLIENT, (404, "")]);
    assert_eq!(failed(observation), ObservedReason::ExternalError);
    let (_, observation) = run(&steps(), &[(404, "")]);
    assert_eq!(failed(observation), ObservedReason::ResponseInvalid, "its own rule is asked, and needs a body");
    let (_, observation) = run(&steps(), &[CLIENT, (503, "")]);
    assert_eq!(failed(observation), ObservedReason::ExternalError);
    let (_, observation) = run(&steps(), &[CLIENT, (200, r#"{"error": "x"}"#)]);
    assert_eq!(failed(observation), ObservedReason::ResponseInvalid);
    let (asked, observation) = run(&steps(), &[(200, r#"[{"a": 1}]"#)]);
    assert_eq!((asked.len(), failed(observation)), (0, ObservedReason::ResponseInvalid), "an answer without an id");
}
