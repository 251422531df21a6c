use super::*;
use crate::explain::answers::answers;
use crate::explain::polling::Polled;
use crate::explain::requests::asked;
use drift_language::fixtures::proxies::object;
use drift_poller::engine::judgement::drift::Subject;
use drift_poller::engine::judgement::finding::Failure;
use drift_poller::engine::poll::http_reading::{Progress, Reading};
use drift_systems::{HttpReply, ReplyBody, SentCredentials};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Value, json};

/// A log-in, and a request that reads its answer.
fn target(login: &str, thing: &str) -> Target {
    drift_language::fixtures::target(&format!(
        "
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: things}}
spec:
  objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Thing}}
  identity: x
  read:
    http:
      steps:
      - {{name: login, method: POST, url: 'https://h.example/login'{login}}}
      - {{name: thing, method: POST, {thing}}}
  compare: {{desired: {{a: 1}}}}
"
    ))
}

/// The requests and the answers of a read, as they are shown.
fn shown(target: &Target, login: &str, thing: &str) -> (String, String) {
    let Source::Http(read) = &target.read.source else { unreachable!() };
    let object = object(target, "u", &json!({}), &Value::Null);
    let view = object.view.open();
    let mut reading = Reading::new(read, &view);
    let mut request = read.render(&view).unwrap();
    let mut exchanges = Vec::new();
    for body in [login, thing] {
        let cookie = HeaderValue::from_static("JSESSIONID=canary-cookie; Path=/");
        let headers = HeaderMap::from_iter([(http::header::SET_COOKIE, cookie)]);
        let reply = HttpReply { status: StatusCode::OK, headers, body: ReplyBody::Whole(body.into()) };
        let next = reading.take(&reply);
        exchanges.push(RecordedExchange { request: request.clone(), reply: Some(reply) });
        if let Progress::Ask(further) = next {
            request = *further;
        }
    }
    let answers = answers(target, Subject::from(&*view), &exchanges);
    let answers = answers.iter().map(|answer| format!("{} {}", answer.lines().join("\n"), answer.json())).collect();
    let (observed, sent) =
        (Err(Failure::of(drift_api::condition::ObservedReason::ResponseInvalid)), SentCredentials::default());
    (asked(target, &Polled { request: None, observed, sent, exchanges }).join("\n"), answers)
}

#[test]
fn no_later_request_or_answer_shows_a_session() {
    let (named, unnamed) = (r#"{"sid": "canary/1"}"#, r#"{"id": "canary-id"}"#);
    let table = [
        ("", "headers: {cookie: 'JSESSIONID=${steps.login.body.sid}'}", named, "{}"),
        ("", "headers: {x-auth: '${steps.login.body.id}'}", unnamed, r#"{"echo": "for canary-id"}"#),
        ("", "headers: {x-trace: '${steps.login.body.sid}'}", named, r#"{"canary/1": 1}"#),
        ("", "headers: {x-trace: 'sid=${steps.login.body.id}', x-auth: '${steps.login.body.id}'}", unnamed, "{}"),
        ("", "headers: {x-trace: \"${steps.login.headers['set-cookie'].split(';')[0].split('=')[1]}\"}", "{}", "{}"),
        ("", "url: 'https://h.example/thing?sid=${steps.login.body.id}'", unnamed, "{}"),
        ("", "url: 'https://h.example/thing?q=${steps.login.body.sid}'", named, "{}"),
        ("", "url: 'https://h.example/of/${steps.login.body.sid}/x'", named, "{}"),
        ("", "body: {auth: '${steps.login.body.id}'}", unnamed, "{}"),
        ("", "body: {session: {a: ['${steps.login.body.id}']}}", unnamed, "{}"),
        ("", "body: {value: 'is ${steps.login.body.sid}'}", named, "{}"),
        ("", "form: {Sid: '${steps.login.body.id}'}", unnamed, "{}"),
        ("", "form: {Value: '${steps.login.body.sid}'}", named, "{}"),
        ("", "text: 'sid=${steps.login.body.sid}'", named, "{}"),
        ("", "text: 'a ${steps.login.body.sid}'", named, "a\nis canary/1"),
        ("", "xml: '<a><Value>${steps.login.body.sid}</Value></a>'", named, "<a><sid>canary</sid></a>"),
        (", as: text", "headers: {x-auth: 'Bearer ${steps.login.body}'}", "canary-text", "{}"),
        (", as: text", "headers: {x-auth: \"${capture(steps.login.text, 'at (.*);')}\"}", "at canary-text;", "{}"),
        (
            ", as: xml",
            "headers: {x-trace: '${steps.login.body.a.session}'}",
            "<a><session>canary-xml</session></a>",
            "{}",
        ),
    ];
    for (login, thing, first, second) in table {
        let thing = if thing.starts_with("url") {
            thing.to_owned()
        } else {
            format!("url: 'https://h.example/thing', {thing}")
        };
        let (asked, answers) = shown(&target(login, &thing), first, second);
        assert!(asked.contains("thing: POST https://h.example/"), "{thing}: {asked}");
        assert!(!asked.contains("canary") && !answers.contains("canary"), "{thing}\n{asked}\n{answers}");
    }
}

#[test]
fn values_without_the_name_of_a_session_are_shown() {
    let thing = "url: 'https://h.example/${steps.login.body.id}?author=${steps.login.body.author}', \
                 body: {id: '${steps.login.body.id}'}";
    let (asked, answers) =
        shown(&target("", thing), r#"{"id": "r-12", "author": "ann", "sid": "canary"}"#, r#"{"id": "r-12"}"#);
    assert!(asked.contains("thing: POST https://h.example/r-12?author=ann"), "{asked}");
    assert!(asked.contains(r#"{"id":"r-12"}"#), "{asked}");
    assert!(answers.contains(r#"{"author":"ann","id":"r-12","sid":"(redacted)"}"#), "{answers}");
}
