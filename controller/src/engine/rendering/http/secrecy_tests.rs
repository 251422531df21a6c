//! Shown and stored parts of a response contain no secret, regardless of how a server repeats it.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets};
use drift_language::Target;
use drift_language::fixtures::secrets::{AUTHS, Held, SECRETS, data, forms, shown_in};
use drift_systems::{HttpReply, ReplyBody};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::Rendering;
use crate::engine::corrections::claim::Action;
use crate::engine::fixtures::{bare_object, correction};
use crate::engine::rendering::secrets::{AvailableSecrets, ObjectSecrets};

/// Number of ways to hold a secret: one for each kind of credential, and one declared by the target.
const WAYS: usize = AUTHS.len() + 1;

/// Returns the authentication of a correction, and the content of its Secret `s`.
fn way(number: usize) -> (&'static str, Held) {
    AUTHS.get(number).copied().unwrap_or(("", &[("declared", "SECRET")]))
}

/// Parts of a response that are shown and stored.
const TAKEN: [(&str, &str); 5] = [
    ("${response.body.?error}", "${response.body.id}"),
    ("${response.text}", "${response.body}"),
    ("${response.headers.?etag}", "${response.headers.etag}"),
    ("${json.text(response.body)}", "${json.text(response.body)}"),
    ("${response.body[response.text]}", "${int(response.body.id)}"),
];

/// Returns a target with this `correct.http`, and more keys of `spec`.
fn correcting(http: &str, more: &str) -> Arc<Target> {
    Arc::new(drift_language::fixtures::target(&format!(
        r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: t}}
spec:
  objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}
  identity: x
  {more}
  read: {{http: {{url: https://h/x}}}}
  compare: {{desired: {{a: 1}}}}
  correct:
    mode: Correct
    http:
{http}
"#
    )))
}

fn target(auth: usize, (because, store): (&str, &str), refused_when: &str) -> Arc<Target> {
    let auth = way(auth).0;
    let http = format!(
        r#"      {auth}
      update:
      - {{name: one, method: PUT, url: https://h/x, because: "{because}", store: {{kept: "{store}"}}, refusedWhen: "{refused_when}"}}
      - {{method: PUT, url: "https://h/${{steps.one.body.id}}", text: "${{steps.one.body[steps.one.body.id]}} ${{secrets.sent}}"}}"#
    );
    correcting(&http, "secrets: {sent: {secretRef: {name: s, key: declared}}}")
}

/// Returns an update with that secret that is about to be sent.
fn rendering(target: &Arc<Target>, auth: usize, secret: &str) -> Rendering {
    let data = data(way(auth).1, secret);
    let declared = ("declared".to_owned(), b"another-one-entirely".to_vec());
    let own: LabelledSecrets =
        [("s".to_owned(), LabelledSecret::new(None, [declared].into_iter().chain(data)))].into_iter().collect();
    let object = bare_object();
    let secrets =
        ObjectSecrets::of(target, &object, AvailableSecrets { own: &own, beside: &LabelledSecrets::default() });
    Rendering::new(target, &object, &correction(Action::Update), secrets).unwrap_or_else(|error| panic!("{error}"))
}

fn answer(status: u16, body: &Value, header: &str) -> HttpReply {
    let etag = HeaderValue::from_bytes(header.as_bytes()).ok();
    let headers: HeaderMap = etag.map(|etag| (HeaderName::from_static("etag"), etag)).into_iter().collect();
    let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
    HttpReply { status: StatusCode::from_u16(status).unwrap(), headers, body: ReplyBody::Whole(body.into_bytes()) }
}

/// A log-in, and a step that sends its answer.
fn session_target(sent: &str) -> Arc<Target> {
    let http = format!(
        r#"      update:
      - {{name: login, method: POST, url: "https://h/login"}}
      - {{method: PUT, url: "https://h/x", {sent}}}"#
    );
    correcting(&http, "")
}

#[test]
fn no_refusal_shows_a_session_of_an_earlier_step() {
    let named =
        json!({"token_type": "Bearer", "token": "canary-8f3c", "id": "u1", "tokens": [{"value": "canary-8f3d"}]});
    let listed = json!([{"name": "API_TOKEN", "value": "canary-8f3c"}]);
    let unnamed = json!({"id": "canary-8f3c"});
    let table = [
        (named.clone(), "body: {a: 1}", "no user canary-8f3c"),
        (named, "body: {a: 1}", "no user canary-8f3d"),
        (listed, "body: {a: 1}", "no user canary-8f3c"),
        (unnamed.clone(), "headers: {X-Auth: '${steps.login.body.id}'}", "no user canary-8f3c"),
        (unnamed.clone(), "headers: {X-Auth: 'Bearer ${steps.login.body.id}'}", "no user Y2FuYXJ5LThmM2M="),
        (unnamed.clone(), "headers: {Cookie: 'x=${steps.login.body.id}; Path=/'}", "no user canary-8f3c"),
        (unnamed.clone(), "body: {sid: '${steps.login.body.id}'}", "no user canary-8f3c"),
        (unnamed, "form: {sid: '${steps.login.body.id}'}", "no user canary-8f3c"),
        (json!("canary-8f3c"), "headers: {X-Auth: '${steps.login.text}'}", "no user canary-8f3c"),
    ];
    for (login, sent, error) in table {
        let target = session_target(sent);
        let mut rendering = rendering(&target, WAYS, "unused");
        assert!(rendering.take_answer(0, &answer(200, &login, "e"), None).is_accepted());
        rendering.request(1).unwrap().unwrap();
        let shown = |rendering: &mut Rendering, error: &str| {
            format!("{:?}", rendering.take_answer(1, &answer(422, &json!({"message": error}), "e"), None).reason())
        };
        assert!(shown(&mut rendering, error).contains("(redacted)"), "{login} {sent}");
        assert!(shown(&mut rendering, "no such zone: use Bearer").contains("use Bearer"), "{login} {sent}");
    }
}

#[test]
fn a_refused_log_in_shows_no_session() {
    let target = session_target("body: {a: 1}");
    let body = json!({"message": "ann has canary-8f3c", "token": "canary-8f3c"});
    let outcome = rendering(&target, WAYS, "unused").take_answer(0, &answer(422, &body, "e"), None);
    assert_eq!(outcome.reason().unwrap().as_str(), "(redacted)");
}

#[test]
fn countless_sessions_hide_every_refusal() {
    let target = session_target("body: {a: 1}");
    let tokens: Vec<_> = (0..10_000).map(|number| format!("canary-{number}")).collect();
    let mut rendering = rendering(&target, WAYS, "unused");
    rendering.take_answer(0, &answer(200, &json!({"tokens": tokens}), "e"), None);
    let outcome = rendering.take_answer(1, &answer(422, &json!({"message": "no canary-9999"}), "e"), None);
    assert_eq!(outcome.reason(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_answer_repeats_a_secret_to_people(
        secret in SECRETS,
        auth in 0..WAYS,
        taken in 0..TAKEN.len(),
        refused_when in prop_oneof![Just("${false}"), Just("${true}"), Just("${response.body[response.text] == 1}")],
        status in prop_oneof![3 => Just(200_u16), 3 => Just(422), 1 => 200..600_u16],
        (error, id, header) in (0..14_usize, 0..14_usize, 0..14_usize),
        shape in 0..4_u8,
    ) {
        let forms = forms(&secret);
        let body = match shape {
            0 => json!({"error": format!("bad key '{}' of ann", forms[error]), "id": forms[id]}),
            1 => json!({"error": forms[error], "id": {"a": [forms[id]], &forms[error]: 1}}),
            2 => json!(format!("no such key: {}", forms[error])),
            _ => json!([forms[error], {"id": forms[id]}]),
        };
        let target = target(auth, TAKEN[taken], refused_when);
        let mut rendering = rendering(&target, auth, &secret);
        let outcome = rendering.take_answer(0, &answer(status, &body, &forms[header]), None);
        let kept = rendering.take_stored().put_on(&json!({}));
        let next = rendering.request(1).map(|_| ());
        let text = format!("{outcome:?} {kept} {next:?}");
        prop_assert_eq!(shown_in(&text, &forms), None, "{}", text);
    }
}
