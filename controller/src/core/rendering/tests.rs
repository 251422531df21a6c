use super::*;
use crate::core::fixtures::{bare_object, correction};
use crate::core::outcome::{Doubt, Uncertainty};
use drift_model::field_paths::FieldPaths;
use drift_outside::ReplyBody;
use drift_target::{DocumentName, parse_document};
use http::{HeaderMap, StatusCode};

fn target(update: &str) -> Arc<Target> {
    let text = format!(
        r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: images}}
spec:
  objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Image}}
  identity: "${{self.metadata.name}}"
  read:
    http: {{url: "https://h/${{self.metadata.name}}"}}
  compare:
    desired: {{tag: "${{self.spec.tag}}"}}
  correct:
    mode: Correct
    http:
      update:
{update}
"#
    );
    let document = DocumentName { config_map: "c".to_owned(), key: "k".to_owned() };
    Arc::new(parse_document(&document, &text).unwrap_or_else(|problems| unreachable!("{problems:?}")))
}

fn object() -> LeanObject {
    let mut fields = FieldPaths::default();
    fields.insert(vec!["spec".to_owned()]);
    let object = json!({
        "metadata": {"namespace": "team-a", "name": "app", "uid": "u-1", "resourceVersion": "5"},
        "spec": {"tag": "2"},
    });
    LeanObject::prune(&object, &fields)
}

fn rendering(target: &Arc<Target>) -> Result<Rendering, Unrenderable> {
    Rendering::new(target, &object(), &correction(Action::Update))
}

fn reply(status: u16, body: &str) -> HttpReply {
    let status = StatusCode::from_u16(status).unwrap_or_default();
    HttpReply { status, headers: HeaderMap::new(), body: ReplyBody::Whole(body.as_bytes().to_vec()) }
}

fn path(rendering: &Rendering, index: usize) -> Result<Option<String>, Unrenderable> {
    Ok(rendering.request(index)?.map(|request| request.url.path().to_owned()))
}

fn refused(status: u16, because: Option<&str>, did_nothing: bool) -> StepOutcome {
    StepOutcome::Refused { refusal: Refusal { status, because: because.map(str::to_owned) }, did_nothing }
}

const FIND_AND_SET: &str = r#"
      - {name: found, method: GET, url: "https://h/find", accept: [200, 404]}
      - {method: PUT, url: "https://h/${steps.found.body.id}", when: "${steps.found.status == 200}"}
      - {method: POST, url: "https://h/new", when: "${steps.found.status == 404}"}
      - {method: POST, url: "https://h/tag", body: {tag: "${desired.tag}", id: "${steps.?found.body.?id}"}}
"#;

#[test]
fn later_steps_see_the_answers_of_earlier_ones_and_are_skipped_by_them() {
    let target = target(FIND_AND_SET);
    let mut found = rendering(&target).unwrap_or_else(|error| unreachable!("{error}"));
    assert_eq!(found.plan().steps.iter().map(|step| step.looks_up).collect::<Vec<_>>(), [true, false, false, false]);
    assert_eq!(found.plan().label(0).as_deref(), Some("found"));
    assert_eq!(found.plan().label(1).as_deref(), Some("2"));
    assert_eq!(found.take_answer(0, &reply(200, r#"{"id": "a/b"}"#), None), StepOutcome::Accepted);
    assert_eq!(path(&found, 1), Ok(Some("/a%2Fb".to_owned())));
    assert_eq!(path(&found, 2), Ok(None));

    let mut missing = rendering(&target).unwrap_or_else(|error| unreachable!("{error}"));
    missing.take_answer(0, &reply(404, ""), None);
    assert_eq!(path(&missing, 1), Ok(None));
    assert_eq!(path(&missing, 2), Ok(Some("/new".to_owned())));
}

#[test]
fn only_a_write_has_a_key_and_one_made_of_answers_has_one_for_each() {
    let target = target(FIND_AND_SET);
    let key = |index: usize, body: &str| {
        let mut rendering = rendering(&target).unwrap_or_else(|error| unreachable!("{error}"));
        rendering.take_answer(0, &reply(200, body), None);
        let request = rendering.request(index).unwrap_or_else(|error| unreachable!("{error}"));
        request.and_then(|request| request.headers.get(IDEMPOTENCY_KEY).cloned())
    };
    let (one, other) = (r#"{"id": "1"}"#, r#"{"id": "2"}"#);
    assert_eq!(key(0, one), None);
    assert_eq!(key(1, one), key(1, one));
    assert_ne!(key(1, one), key(1, other), "another request");
    assert_ne!(key(3, one), key(3, other), "in the body as well");
}

#[test]
fn what_needs_no_answer_is_rendered_before_the_first_request() {
    let broken = [
        r#"      - {method: GET, url: "https://h/"}
      - {method: PUT, url: "https://h/${self.spec.missing}"}"#,
        r#"      - {name: found, method: GET, url: "https://h/"}
      - {name: set, method: PUT, url: "https://h/", body: {a: "${steps.found.status}", b: "${self.spec.missing}"}}"#,
        r#"      - {name: found, method: GET, url: "https://h/"}
      - {method: PUT, url: "https://h/${steps.found.status}", headers: {x: "${self.spec.missing}"}}"#,
    ];
    for (steps, label) in broken.into_iter().zip(["2", "set", "2"]) {
        let target = target(steps);
        let error = rendering(&target).map(drop);
        assert!(matches!(&error, Err(error) if error.label.as_deref() == Some(label)), "{steps}: {error:?}");
    }
    let skipped = target(
        r#"      - {method: PUT, url: "https://h/"}
      - {method: PUT, url: "https://h/${self.spec.missing}", when: "${has(self.spec.missing)}"}"#,
    );
    assert!(rendering(&skipped).is_ok());
}

#[test]
fn a_template_that_an_answer_breaks_fails_when_its_turn_comes() {
    let target = target(FIND_AND_SET);
    let mut rendering = rendering(&target).unwrap_or_else(|error| unreachable!("{error}"));
    rendering.take_answer(0, &reply(200, "<html>"), None);
    let error = rendering.request(1).map(drop);
    assert!(matches!(&error, Err(error) if error.label.as_deref() == Some("2")), "{error:?}");
}

#[test]
fn refused_when_makes_any_answer_a_definite_refusal() {
    let step = r#"      - {method: POST, url: "https://h/", refusedWhen: "${response.body.error == 'exists'}", because: "${response.body.?why}"}"#;
    let target = target(step);
    let judged = |status, body: &str| {
        rendering(&target).unwrap_or_else(|error| unreachable!("{error}")).take_answer(0, &reply(status, body), None)
    };
    let exists = r#"{"error": "exists", "why": "app\u0007 is\n there"}"#;
    for status in [200, 409, 500, 403] {
        assert_eq!(judged(status, exists), refused(status, Some("app is there"), true));
    }
    assert_eq!(judged(200, r#"{"error": null}"#), StepOutcome::Accepted);
    assert_eq!(judged(200, "<html>"), refused(200, Some(UNJUDGED), false), "nobody knows what was done");
    assert_eq!(judged(409, r#"{"why": {"a": 1}}"#), refused(409, None, true));
    let doubt = Uncertainty { why: Doubt::ServerError, status: Some(502), retry_after: None };
    assert_eq!(judged(502, "<html>"), StepOutcome::Indefinite(doubt));
}

#[test]
fn what_is_shown_of_an_answer_is_one_short_line() {
    let long = "x".repeat(200);
    let table = [
        ("No such image: app:2", "No such image: app:2".to_owned()),
        (" a\r\n\tb\u{0}c\u{202e}d ", "a b c d".to_owned()),
        ("unknown keys [a]", "unknown keys [a].".to_owned()),
        (&long, format!("{}…", "x".repeat(127))),
        ("\n", String::new()),
    ];
    for (text, expected) in table {
        assert_eq!(shown(text), expected);
    }
}

#[test]
fn a_deletion_takes_404_of_a_look_up_and_wishes_for_nothing() {
    let steps = r#"      - {method: PUT, url: "https://h/"}
      delete:
      - {name: found, method: GET, url: "https://h/find"}
      - {method: DELETE, url: "https://h/x", when: "${steps.found.status == 200}"}"#;
    let target = target(steps);
    let rendering = Rendering::new(&target, &bare_object(), &correction(Action::Delete));
    let mut rendering = rendering.unwrap_or_else(|error| unreachable!("{error}"));
    assert_eq!(rendering.plan().deletion, 2);
    assert_eq!(rendering.take_answer(0, &reply(404, ""), None), StepOutcome::Accepted);
    assert_eq!(path(&rendering, 1), Ok(None));
}
