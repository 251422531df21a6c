use super::answers::{TOO_LARGE, UNJUDGED};
use super::*;
use crate::engine::corrections::claim::Action;
use crate::engine::corrections::outcome::{Doubt, Refusal, Uncertainty};
use crate::engine::fixtures::{bare_object, correction};
use crate::engine::rendering::secrets::AvailableSecrets;
use drift_api::condition::DifferingFields;
use drift_api::object::field_paths::FieldPaths;
use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets, SecretVersion};
use drift_systems::{RefusalReason, ReplyBody, ServerText, SystemFailure};
use http::{HeaderMap, StatusCode};

mod for_each;

fn target(update: &str) -> Arc<Target> {
    target_of("{tag: \"${self.spec.tag}\"}", update)
}

const TEXT: &str = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: images}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: Image}
  identity: "${self.metadata.name}"
  read:
    http: {url: "https://h/${self.metadata.name}"}
  compare:
    desired: DESIRED
  correct:
    mode: Correct
    http:
      update:
UPDATE
"#;

pub(super) fn target_of(desired: &str, update: &str) -> Arc<Target> {
    parsed(TEXT, desired, update)
}

fn parsed(text: &str, desired: &str, update: &str) -> Arc<Target> {
    let text = text.replace("DESIRED", desired).replace("UPDATE", update);
    Arc::new(drift_language::fixtures::target(&text))
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
    Rendering::new(target, &object(), &correction(Action::Update), ObjectSecrets::default())
}

fn differing(target: &Arc<Target>, fields: DifferingFields) -> Result<Rendering, Unrenderable> {
    Rendering::new(target, &object(), &Correction { fields, ..correction(Action::Update) }, ObjectSecrets::default())
}

pub(super) fn reply(status: u16, body: &str) -> HttpReply {
    let status = StatusCode::from_u16(status).unwrap_or_default();
    HttpReply { status, headers: HeaderMap::new(), body: ReplyBody::Whole(body.as_bytes().to_vec()) }
}

fn path(rendering: &mut Rendering, index: usize) -> Result<Option<String>, Unrenderable> {
    Ok(rendering.request(index)?.map(|request| request.url.path().to_owned()))
}

fn refused(status: u16, because: Option<&str>, did_nothing: bool) -> StepOutcome {
    StepOutcome::Refused {
        refusal: Refusal { code: status.into(), because: because.map(RefusalReason::own) },
        did_nothing,
    }
}

const FIND_AND_SET: &str = r#"
      - {name: found, method: GET, url: "https://h/find", accept: [200, 404]}
      - {method: PUT, url: "https://h/${steps.found.body.id}", when: "${steps.found.status == 200}"}
      - {method: POST, url: "https://h/new", when: "${steps.found.status == 404}"}
      - {method: POST, url: "https://h/tag", body: {tag: "${desired.tag}", id: "${steps.?found.body.?id}"}}
"#;

#[test]
fn later_steps_see_the_answers_of_earlier_ones() {
    let target = target(FIND_AND_SET);
    let mut found = rendering(&target).unwrap_or_else(|error| unreachable!("{error}"));
    assert_eq!(found.plan().steps.iter().map(|step| step.looks_up).collect::<Vec<_>>(), [true, false, false, false]);
    assert_eq!(found.plan().label(0).as_deref(), Some("found"));
    assert_eq!(found.plan().label(1).as_deref(), Some("2"));
    assert_eq!(found.take_answer(0, &reply(200, r#"{"id": "a/b"}"#), None), StepOutcome::Accepted);
    assert_eq!(path(&mut found, 1), Ok(Some("/a%2Fb".to_owned())));
    assert_eq!(path(&mut found, 2), Ok(None));

    let mut missing = rendering(&target).unwrap_or_else(|error| unreachable!("{error}"));
    missing.take_answer(0, &reply(404, ""), None);
    assert_eq!(path(&mut missing, 1), Ok(None));
    assert_eq!(path(&mut missing, 2), Ok(Some("/new".to_owned())));
}

#[test]
fn each_request_of_a_write_has_a_key() {
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
      - {method: PUT, url: "https://h/", form: {a: "${self.spec.missing}"}}"#,
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
      - {method: PUT, url: "https://h/", form: {a: "${self.spec.missing}"}, when: "${has(self.spec.missing)}"}"#,
    );
    assert!(rendering(&skipped).is_ok());
}

#[test]
fn a_template_that_an_answer_breaks_fails_then() {
    let target = target(FIND_AND_SET);
    let mut rendering = rendering(&target).unwrap_or_else(|error| unreachable!("{error}"));
    rendering.take_answer(0, &reply(200, "<html>"), None);
    let error = rendering.request(1).map(drop);
    assert!(matches!(&error, Err(error) if error.label.as_deref() == Some("2")), "{error:?}");
}

#[test]
fn a_look_up_that_is_cut_off_ends_the_correction() {
    let target = target(FIND_AND_SET);
    let judged = |index, status, body| {
        let mut rendering = rendering(&target).unwrap_or_else(|error| unreachable!("{error}"));
        rendering.take_answer(index, &HttpReply { body, ..reply(status, "") }, None)
    };
    let many = format!("[{}]", vec!["0"; 150_000].join(",")).into_bytes();
    assert_eq!(judged(0, 200, ReplyBody::Whole(many)), refused(200, Some(TOO_LARGE), true), "it takes 12 MB of memory");
    let cut_off = Uncertainty::answered(Doubt::NoAnswer, 200.into());
    assert_eq!(judged(0, 200, ReplyBody::TooLarge), refused(200, Some(TOO_LARGE), true));
    assert_eq!(judged(0, 200, ReplyBody::Truncated), StepOutcome::Indefinite(cut_off));
    assert_eq!(judged(0, 409, ReplyBody::TooLarge), refused(409, None, true), "by its status");
    // A write is done regardless of its response body.
    for body in [ReplyBody::TooLarge, ReplyBody::Truncated] {
        assert_eq!(judged(1, 200, body), StepOutcome::Accepted);
    }
}

#[test]
fn a_large_answer_of_a_write_is_stored_from() {
    let target = target(
        r#"      - {name: made, method: POST, url: "https://h/new", store: {id: "${response.body.id}"}, refusedWhen: "${response.body.failed}"}
      - {name: tagged, method: POST, url: "https://h/tag"}
      - {method: PUT, url: "https://h/${steps.made.status}/${steps.tagged.body.id}"}"#,
    );
    let large = |failed| format!(r#"{{"id": "a", "failed": {failed}, "list": [{}]}}"#, vec!["0"; 150_000].join(","));
    let mut refusing = rendering(&target).unwrap_or_else(|error| unreachable!("{error}"));
    assert_eq!(refusing.take_answer(0, &reply(201, &large(true)), None), refused(201, None, true));

    let mut rendering = rendering(&target).unwrap_or_else(|error| unreachable!("{error}"));
    assert_eq!(rendering.take_answer(0, &reply(201, &large(false)), None), StepOutcome::Accepted);
    assert_eq!(rendering.take_stored().put_on(&json!({})), json!({"status": {"id": "a"}}));
    // Later steps see only its status, and there is room for their responses.
    assert_eq!(rendering.take_answer(1, &reply(200, r#"{"id": "b"}"#), None), StepOutcome::Accepted);
    assert_eq!(path(&mut rendering, 2), Ok(Some("/201/b".to_owned())));
    assert!(rendering.kept < 10_000, "{} bytes", rendering.kept);
}

#[test]
fn a_write_that_is_answered_with_409_exists() {
    let exists = |because: Option<&str>| {
        StepOutcome::AlreadyExists(Refusal { code: 409.into(), because: because.map(RefusalReason::own) })
    };
    let busy = r#"refusedWhen: "${response.body.?busy.orValue(false)}""#;
    let table = [
        ("", "{}", exists(None)),
        (r#"because: "${response.body.why}""#, r#"{"why": "taken"}"#, exists(Some("taken"))),
        (busy, r#"{"busy": true}"#, exists(None)),
        ("accept: [201, 409]", "{}", StepOutcome::Accepted),
        (&format!("accept: [201, 409], {busy}"), r#"{"busy": true}"#, refused(409, None, true)),
        ("reads: true", "{}", refused(409, None, true)),
    ];
    for (keys, body, expected) in table {
        let comma = if keys.is_empty() { "" } else { ", " };
        let target = target(&format!(
            "      - {{method: POST, url: \"https://h/\"{comma}{keys}}}\n      - {{method: PUT, url: \"https://h/\"}}"
        ));
        let mut rendering = rendering(&target).unwrap_or_else(|error| unreachable!("{error}"));
        assert_eq!(rendering.take_answer(0, &reply(409, body), None), expected, "{keys}");
    }
    let target = target("      - {method: PUT, url: \"https://h/\"}");
    let mut rendering = rendering(&target).unwrap_or_else(|error| unreachable!("{error}"));
    assert_eq!(rendering.take_answer(0, &reply(412, ""), None), refused(412, None, true));
}

#[test]
fn refused_when_makes_any_answer_a_definite_refusal() {
    let step = r#"      - {method: POST, url: "https://h/", refusedWhen: "${response.body.error == 'exists'}", because: "${response.body.?why}"}"#;
    let target = target(step);
    let judged = |status, body: &str| {
        rendering(&target).unwrap_or_else(|error| unreachable!("{error}")).take_answer(0, &reply(status, body), None)
    };
    let exists = r#"{"error": "exists", "why": "app\u0007 is\n there"}"#;
    for status in [200, 422, 500, 403] {
        assert_eq!(judged(status, exists), refused(status, Some("app is there"), true));
    }
    assert_eq!(judged(200, r#"{"error": null}"#), StepOutcome::Accepted);
    assert_eq!(judged(200, "<html>"), refused(200, Some(UNJUDGED), false), "nobody knows what was done");
    assert_eq!(judged(422, r#"{"why": {"a": 1}}"#), refused(422, None, true));
    assert_eq!(judged(500, r#"{"error": "exists"}"#), refused(500, Some("exists"), true), "the server's own sentence");
    let doubt = Uncertainty::answered(Doubt::ServerError, 502.into());
    assert_eq!(judged(502, "<html>"), StepOutcome::Indefinite(doubt));
}

#[test]
fn a_refusal_shows_what_the_server_says() {
    let body = r#"{"title": "Quota", "detail": "of zone exceeded", "code": "Q1"}"#;
    let shown = |keys: &str, status: u16, body: &str| {
        let target = target(&format!("      - {{method: PUT, url: \"https://h/\"{keys}}}"));
        let outcome = rendering(&target).unwrap().take_answer(0, &reply(status, body), None);
        outcome.reason().map(ToString::to_string)
    };
    let table = [
        ("", 422, body, Some("Quota: of zone exceeded")),
        ("", 403, body, Some("Quota: of zone exceeded")),
        ("", 503, "<html><title>503 Busy</title></html>", Some("503 Busy")),
        ("", 409, "taken\n", Some("taken")),
        ("", 422, "", None),
        (r#", because: "${response.body.code}""#, 422, body, Some("Q1")),
        (r#", because: "${response.body.?none}""#, 422, body, Some("Quota: of zone exceeded")),
        (r#", because: "${response.body.code}""#, 502, "no JSON", Some("no JSON")),
        (", because: none", 422, body, None),
        (", because: none", 500, body, None),
        (r#", refusedWhen: "${response.body.code == 'Q1'}""#, 200, body, None),
        (r#", refusedWhen: "${has(response.body.error)}""#, 200, r#"{"error": {"message": "no"}}"#, Some("no")),
    ];
    for (keys, status, body, expected) in table {
        assert_eq!(shown(keys, status, body).as_deref(), expected, "{keys} {status} {body}");
    }
}

#[test]
fn a_deletion_takes_404_of_a_look_up() {
    let steps = r#"      - {method: PUT, url: "https://h/"}
      delete:
      - {name: found, method: GET, url: "https://h/find"}
      - {method: DELETE, url: "https://h/x", when: "${steps.found.status == 200}"}"#;
    let target = target(steps);
    let rendering = Rendering::new(&target, &bare_object(), &correction(Action::Delete), ObjectSecrets::default());
    let mut rendering = rendering.unwrap_or_else(|error| unreachable!("{error}"));
    assert_eq!(rendering.plan().deletion, 2);
    assert_eq!(rendering.take_answer(0, &reply(404, ""), None), StepOutcome::NotThere);
    assert_eq!(path(&mut rendering, 1), Ok(None));
}

const WHAT_DIFFERS: &str = r#"
      - {method: PUT, url: "https://h/tag", when: "${'tag' in differs}"}
      - {method: PUT, url: "https://h/all/${differs.size()}"}
"#;

#[test]
fn a_step_is_skipped_where_its_field_does_not_differ() {
    let target = target(WHAT_DIFFERS);
    assert!(target.uses_differs());
    let table = [
        (DifferingFields::named(["tag"]), [Some("/tag"), Some("/all/1")]),
        (DifferingFields::named(["name"]), [None, Some("/all/1")]),
        (DifferingFields::named(["name", "tag"]), [Some("/tag"), Some("/all/2")]),
        (DifferingFields::every(), [Some("/tag"), Some("/all/1")]),
    ];
    for (fields, expected) in table {
        let mut rendering = differing(&target, fields.clone()).unwrap_or_else(|error| unreachable!("{error}"));
        let paths = [0, 1].map(|index| path(&mut rendering, index));
        assert_eq!(paths, expected.map(|path| Ok(path.map(str::to_owned))), "{fields}");
    }
}

#[test]
fn each_difference_that_is_sent_has_a_key() {
    let target = target(WHAT_DIFFERS);
    let keys = |names: &[&str]| {
        let rendering = differing(&target, DifferingFields::named(names.iter().copied()));
        let mut rendering = rendering.unwrap_or_else(|error| unreachable!("{error}"));
        [0, 1].map(|index| {
            let request = rendering.request(index).unwrap_or_else(|error| unreachable!("{error}"));
            request.and_then(|request| request.headers.get(IDEMPOTENCY_KEY).cloned())
        })
    };
    let ([tag, one], [same, two]) = (keys(&["tag"]), keys(&["name", "tag"]));
    assert_eq!(tag, same, "the same request");
    assert_ne!(one, two, "another request");
}

#[test]
fn what_differs_of_no_map_cannot_be_told() {
    let desired_text = target_of("\"${self.spec.tag}\"", WHAT_DIFFERS);
    assert!(rendering(&desired_text).is_err_and(|error| error.cause.contains("desired is no map")));
    let indifferent = target_of("\"${self.spec.tag}\"", r#"      - {method: PUT, url: "https://h/"}"#);
    assert!(rendering(&indifferent).is_ok());
}

const DELETE_AND_CREATE: &str = r#"      - {method: PUT, url: "https://h/"}
      delete:
      - {name: found, method: GET, url: "https://h/find"}
      - {method: DELETE, url: "https://h/x", when: "${steps.found.status == 200}"}
      create:
      - {name: found, method: GET, url: "https://h/free", accept: [200, 404], when: "${self.spec.tag == '1'}"}
      - {method: POST, url: "https://h/${has(steps.found) ? 'seen' : 'unseen'}"}
"#;

fn replacing(target: &Arc<Target>) -> Rendering {
    let rendering = Rendering::new(target, &object(), &correction(Action::Replace), ObjectSecrets::default());
    rendering.unwrap_or_else(|error| unreachable!("{error}"))
}

#[test]
fn a_replacement_is_the_deletion_and_then_the_creation() {
    let mut rendering = replacing(&target(DELETE_AND_CREATE));
    let plan = rendering.plan();
    assert_eq!((plan.steps.len(), plan.deletion), (4, 2));
    let labels = (0..4).map(|index| plan.label(index).map(|label| label.to_string()).unwrap_or_default());
    assert_eq!(labels.collect::<Vec<_>>(), ["delete found", "delete 2", "create found", "create 2"]);
    assert_eq!(rendering.take_answer(0, &reply(200, ""), None), StepOutcome::Accepted);
    assert_eq!(path(&mut rendering, 1), Ok(Some("/x".to_owned())));
    assert_eq!(rendering.take_answer(1, &reply(404, ""), None), StepOutcome::NotThere);
    assert_eq!(path(&mut rendering, 2), Ok(None));
    assert_eq!(path(&mut rendering, 3), Ok(Some("/unseen".to_owned())), "the answer is the deletion's");
    assert_eq!(rendering.take_answer(3, &reply(404, ""), None), refused(404, None, true));
}

#[test]
fn steps_of_replace_win_over_delete_and_create() {
    let own =
        DELETE_AND_CREATE.replace("delete:", "replace: [{method: POST, url: \"https://h/rebuild\"}]\n      delete:");
    let rule = "{tag: \"${self.spec.tag}\"}\n    rules: [{path: /tag, change: replace}]";
    let mut rendering = replacing(&target_of(rule, &own));
    assert_eq!((rendering.plan().steps.len(), rendering.plan().deletion), (1, 0));
    assert_eq!((path(&mut rendering, 0), rendering.plan().label(0)), (Ok(Some("/rebuild".to_owned())), None));
}

#[test]
fn what_is_made_anew_lacks_every_field() {
    let desired = "{tag: \"${self.spec.tag}\", name: x}\n    rules: [{path: /tag, change: replace}]";
    let steps = r#"
      - {method: PUT, url: "https://h/update/${differs.size()}"}
      delete: [{method: DELETE, url: "https://h/x"}]
      create: [{method: POST, url: "https://h/create/${differs.size()}"}]
"#;
    let own = format!("{steps}      replace: [{{method: POST, url: \"https://h/replace/${{differs.size()}}\"}}]\n");
    let table = [
        (steps, Action::Update, 0, "/update/1"),
        (steps, Action::Replace, 1, "/create/2"),
        (&own, Action::Replace, 0, "/replace/1"),
    ];
    for (steps, action, index, expected) in table {
        let correction = Correction { fields: DifferingFields::named(["tag"]), ..correction(action) };
        let rendering = Rendering::new(&target_of(desired, steps), &object(), &correction, ObjectSecrets::default());
        let mut rendering = rendering.unwrap_or_else(|error| unreachable!("{error}"));
        assert_eq!(path(&mut rendering, index), Ok(Some(expected.to_owned())), "{action:?}");
    }
}

fn bytes_reply(body: ReplyBody) -> HttpReply {
    HttpReply { status: StatusCode::OK, headers: HeaderMap::new(), body }
}

/// Returns the body of the second step and its type, given this response to the first step.
fn resent(raw: &str, body: ReplyBody) -> Result<(Vec<u8>, Option<HeaderValue>), String> {
    let steps = format!(
        r#"      - {{name: m, method: GET, url: "https://h/m"}}
      - {{method: PUT, url: "https://h/tag", raw: "{raw}"}}"#
    );
    let mut rendering = rendering(&target(&steps)).map_err(|error| error.to_string())?;
    rendering.take_answer(0, &bytes_reply(body), None);
    let request = rendering.request(1).map_err(|error| error.to_string())?;
    let request = request.unwrap_or_else(|| unreachable!("it is sent"));
    Ok((request.body.unwrap_or_default(), request.headers.get("content-type").cloned()))
}

#[test]
fn the_bytes_of_an_answer_are_sent_as_they_came() {
    for bytes in [&b"{ \"a\" :1.0}\n"[..], b"\xff\x00\xfe", b""] {
        assert_eq!(resent("${steps.m.raw}", ReplyBody::Whole(bytes.to_vec())), Ok((bytes.to_vec(), None)));
        assert_eq!(resent("${steps.?m.raw}", ReplyBody::Whole(bytes.to_vec())), Ok((bytes.to_vec(), None)));
        let encoded = "${base64.decode(base64.encode(steps.m.raw))}";
        assert_eq!(resent(encoded, ReplyBody::Whole(bytes.to_vec())), Ok((bytes.to_vec(), None)));
    }
    assert_eq!(resent("${base64.decode('/wA')}", ReplyBody::Truncated), Ok((vec![255, 0], None)));
}

#[test]
fn only_whole_bytes_are_sent() {
    let whole = || ReplyBody::Whole(b"{}".to_vec());
    let table = [
        ("${steps.m.text}", whole(), "the result is a string, not bytes; write bytes(…) around a text"),
        ("${steps.m.body}", whole(), "the result is a map, not bytes; write bytes(…) around a text"),
        ("${steps.m}", whole(), "the result is a map, not bytes; write bytes(…) around a text"),
        ("${steps.m.raw}", ReplyBody::TooLarge, "no field `raw`"),
        ("${steps.m.raw}", ReplyBody::Truncated, "no field `raw`"),
    ];
    for (raw, body, expected) in table {
        assert_eq!(resent(raw, body), Err(format!("correct.http.update[1].raw: {expected}")), "{raw}");
    }
}

#[test]
fn bytes_are_no_text() {
    let body = |template: &str| {
        let steps = format!(
            r#"      - {{name: m, method: GET, url: "https://h/m"}}
      - {{method: PUT, url: "https://h/tag", body: {{a: "{template}"}}}}"#
        );
        let mut rendering = rendering(&target(&steps)).unwrap_or_else(|error| unreachable!("{error}"));
        rendering.take_answer(0, &bytes_reply(ReplyBody::Whole(b"x".to_vec())), None);
        rendering.request(1).map(|request| request.and_then(|request| request.body)).map_err(|error| error.cause)
    };
    let cause = "correct.http.update[1].body.a: the result is bytes; write string(…) or base64.encode(…) around it";
    assert_eq!(body("${steps.m.raw}"), Err(cause.to_owned()));
    assert_eq!(body("${size(steps.m.raw)}"), Ok(Some(br#"{"a":1}"#.to_vec())));
    assert_eq!(body("${has(steps.m.raw)}"), Ok(Some(br#"{"a":true}"#.to_vec())));
    let whole = body("${steps.m}").unwrap_or_else(|error| unreachable!("{error}")).unwrap_or_default();
    assert!(!String::from_utf8_lossy(&whole).contains("raw"), "{whole:?}");
}

#[test]
fn what_is_accepted_is_stored_and_else_nothing() {
    let target = target(
        r#"
      - {method: POST, url: "https://h/x", store: {externalId: "${response.body.id}"}, refusedWhen: "${response.body.?error.hasValue()}"}
"#,
    );
    let stored = |status, body| {
        let mut rendering = rendering(&target).unwrap_or_else(|error| unreachable!("{error}"));
        let outcome = rendering.take_answer(0, &reply(status, body), None);
        let stored = rendering.take_stored();
        assert!(rendering.take_stored().is_empty(), "taken once");
        (outcome, stored.put_on(&json!({}))["status"]["externalId"].clone())
    };
    assert_eq!(stored(201, r#"{"id": "lb-1"}"#), (StepOutcome::Accepted, json!("lb-1")));
    assert_eq!(stored(422, r#"{"id": "lb-1"}"#), (refused(422, None, true), Value::Null));
    assert_eq!(stored(200, r#"{"id": "lb-1", "error": "x"}"#), (refused(200, Some("x"), true), Value::Null));
    let place = "correct.http.update[0].store.externalId";
    let lost = |cause: &str| (StepOutcome::Unstored(format!("{place}: {cause}")), Value::Null);
    assert_eq!(stored(201, r#"{"ID": "lb-1"}"#), lost("no field `id`"));
    assert_eq!(stored(201, r#"{"id": null}"#), lost("the value is null"));
}

const WITH_SECRET: &str = r#"
      - {method: POST, url: "https://h/a", headers: {x-key: "k ${secrets.password}"}, form: {p: "${secrets.password}"}, because: "${response.body.error}", store: {id: "${response.body.id}"}}
      - {method: PUT, url: "https://h/b", body: {set: true}}
"#;

fn with_secret(hosts: Option<&str>, version: &str) -> Result<Rendering, Unrenderable> {
    let secret = LabelledSecret::new(hosts, [("key".to_owned(), b"hunter2".to_vec())]);
    let version = SecretVersion { uid: "u".to_owned(), resource_version: version.to_owned() };
    let own = [("pw".to_owned(), secret.in_version(version))].into_iter().collect();
    rendering_with(&own)
}

fn rendering_with(own: &LabelledSecrets) -> Result<Rendering, Unrenderable> {
    let text = TEXT.replace("  read:", "  secrets: {password: {secretRef: {name: pw, key: key}}}\n  read:");
    let target = parsed(&text, "{tag: \"${self.spec.tag}\"}", WITH_SECRET);
    let none = LabelledSecrets::from_iter([]);
    let secrets = ObjectSecrets::of(&target, &object(), AvailableSecrets { own, beside: &none });
    Rendering::new(&target, &object(), &correction(Action::Update), secrets)
}

fn key_of(rendering: &mut Rendering, index: usize) -> String {
    let request = rendering.request(index).ok().flatten().unwrap_or_else(|| unreachable!("no request"));
    request.headers[IDEMPOTENCY_KEY].to_str().map(str::to_owned).unwrap_or_default()
}

#[test]
fn a_secret_is_sent_and_shown_nowhere() {
    let mut found = with_secret(None, "1").unwrap_or_else(|error| unreachable!("{error}"));
    let request = found.request(0).ok().flatten().unwrap_or_else(|| unreachable!("no request"));
    assert_eq!(request.body.as_deref(), Some(&b"p=hunter2"[..]));
    assert_eq!(request.headers["x-key"], "k hunter2");
    assert!(!format!("{found:?} {request:?} {:?}", request.headers).contains("hunter2"));
    let sends: Vec<_> = found.plan().steps.into_iter().map(|step| step.sends.into_iter().collect::<Vec<_>>()).collect();
    assert_eq!(sends, [vec!["password".to_owned()], vec![]]);
    let refusal = found.take_answer(0, &reply(422, r#"{"error": "bad password hunter2"}"#), None);
    assert_eq!(refusal, refused(422, Some("(redacted)"), true));
    let stored = found.take_answer(0, &reply(200, r#"{"id": "id-hunter2"}"#), None);
    assert_eq!(stored, StepOutcome::Unstored(REPEATED.to_owned()));
    assert!(found.take_stored().is_empty());
    assert_eq!(found.take_answer(0, &reply(200, r#"{"id": "7"}"#), None), StepOutcome::Accepted);
    assert!(!found.take_stored().is_empty());
}

#[test]
fn no_answer_repeats_the_credential_to_people() {
    let step = r#"      - {method: POST, url: "https://h/a", because: "${response.body.error}", store: {id: "${response.body.id}"}}"#;
    let auths = [
        ("bearer: {secretRef: {name: c, key: token}}", "token"),
        ("header: {name: x-key, secretRef: {name: c, key: token}}", "token"),
        ("basic: {secretRef: {name: c}}", "password"),
        ("oauth2: {tokenUrl: \"https://h/t\", grant: clientCredentials, secretRef: {name: c}}", "clientSecret"),
    ];
    for (auth, key) in auths {
        let text = TEXT.replace("      update:", &format!("      auth: {{{auth}}}\n      update:"));
        let target = parsed(&text, "{tag: \"${self.spec.tag}\"}", step);
        let data = [("username", "u-name"), ("clientId", "u-name"), (key, "c-7Hq2+/pw é")];
        let data = data.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()));
        let own: LabelledSecrets = [("c".to_owned(), LabelledSecret::new(None, data))].into_iter().collect();
        let secrets =
            ObjectSecrets::of(&target, &object(), AvailableSecrets { own: &own, beside: &LabelledSecrets::default() });
        let found = Rendering::new(&target, &object(), &correction(Action::Update), secrets);
        let mut found = found.unwrap_or_else(|error| unreachable!("{error}"));
        assert!(!format!("{found:?}").contains("7Hq2"));
        let mut said = |error: &str| found.take_answer(0, &reply(422, &json!({"error": error}).to_string()), None);
        assert_eq!(said("bad key c-7Hq2+/pw é"), refused(422, Some("(redacted)"), true), "{auth}");
        for error in ["no c-7Hq2%2B%2Fpw%20%C3%A9", "Basic dS1uYW1lOmMtN0hxMisvcHcgw6k="] {
            assert_eq!(said(error), refused(422, Some("(redacted)"), true), "{auth}: {error}");
        }
        assert_eq!(said("no user u-name"), refused(422, Some("no user u-name"), true), "{auth}");
        let stored = found.take_answer(0, &reply(200, r#"{"id": "c-7Hq2+/pw é"}"#), None);
        assert_eq!(stored, StepOutcome::Unstored(REPEATED.to_owned()), "{auth}");
    }
}

#[test]
fn no_answer_repeats_a_token_to_people() {
    let step = r#"      - {method: POST, url: "https://h/a", because: "${response.body.error}", store: {id: "${response.body.id}"}}"#;
    let mut found = rendering(&target(step)).unwrap_or_else(|error| unreachable!("{error}"));
    let mut said = |error: &str, tokens: &[&str]| {
        let sent: SecretValues = tokens.iter().map(|token| ("c/token".to_owned(), (*token).to_owned())).collect();
        found.keep_secret(&sent);
        found.take_answer(0, &reply(422, &json!({"error": error}).to_string()), None)
    };
    let plain = refused(422, Some("token eyJhbGciOiJSUzI1NiJ9 is bad"), true);
    assert_eq!(said("token eyJhbGciOiJSUzI1NiJ9 is bad", &[]), plain);
    let redacted = |text: &str| refused(422, Some(text), true);
    let first = said("token eyJhbGciOiJSUzI1NiJ9 is bad", &["eyJhbGciOiJSUzI1NiJ9"]);
    assert_eq!(first, redacted("token (redacted) is bad"));
    assert_eq!(said("bad eyJhbGciOiJSUzI1NiJ9", &["another-token"]), redacted("bad (redacted)"), "the one before too");
    assert_eq!(said("nothing of the kind", &[]), refused(422, Some("nothing of the kind"), true));
    assert!(!format!("{found:?}").contains("nothing"), "what is answered is not for logs");
}

#[test]
fn a_secret_that_moved_makes_another_request() {
    let [mut one, mut same, mut other] =
        ["1", "1", "2"].map(|version| with_secret(None, version).unwrap_or_else(|error| unreachable!("{error}")));
    assert_eq!(key_of(&mut one, 0), key_of(&mut same, 0));
    assert_ne!(key_of(&mut one, 0), key_of(&mut other, 0));
    assert_ne!(key_of(&mut one, 1), key_of(&mut other, 1), "one correction has one set of versions");
}

#[test]
fn a_secret_that_cannot_be_sent_is_told_as_that() {
    let missing = rendering_with(&LabelledSecrets::from_iter([])).err().unwrap_or_else(|| unreachable!("it is there"));
    assert_eq!((missing.doubt, missing.label.as_deref()), (Doubt::SecretUnavailable, Some("1")));
    let mut elsewhere = with_secret(Some("other"), "1").unwrap_or_else(|error| unreachable!("{error}"));
    let refused = elsewhere.request(0).err().unwrap_or_else(|| unreachable!("it is sent"));
    assert_eq!(
        (refused.doubt, refused.cause.as_str()),
        (Doubt::SecretUnavailable, "Secret pw may not be sent to h:443")
    );
    assert!(elsewhere.request(1).is_ok(), "this step sends none");
}

#[test]
fn a_step_reads_xml_of_an_earlier_one() {
    let target = target(
        r#"
      - {name: found, method: GET, url: "https://h/find", as: xml, lists: [member]}
      - method: PUT
        url: "https://h/${steps.found.body.R.member[0].Id}"
        as: xml
        refusedWhen: "${response.body.?Error.hasValue()}"
        because: "${response.body.Error.Code}"
"#,
    );
    let mut rendering = rendering(&target).unwrap();
    let found = reply(200, "<R><member><Id>a</Id></member></R>");
    assert_eq!(rendering.take_answer(0, &found, None), StepOutcome::Accepted);
    assert_eq!(path(&mut rendering, 1), Ok(Some("/a".to_owned())));
    let error = reply(200, "<Error><Code>InUse</Code></Error>");
    assert_eq!(rendering.take_answer(1, &error, None), refused(200, Some("InUse"), true));
}

#[test]
fn values_keep_their_place_in_an_xml_body() {
    let target = target(
        r#"
      - method: PUT
        url: "https://h/"
        xml: '<Set a="${self.spec.tag}"><Tag>${desired.tag + "<&"}</Tag>${{"member": [desired.tag, ">"]}}</Set>'
"#,
    );
    let request = rendering(&target).unwrap().request(0).unwrap().unwrap();
    let body = String::from_utf8(request.body.unwrap()).unwrap();
    assert_eq!(body, r#"<Set a="2"><Tag>2&lt;&amp;</Tag><member>2</member><member>&gt;</member></Set>"#);
    assert_eq!(request.headers["content-type"], "application/xml");
}

#[test]
fn a_throttled_step_is_never_refused() {
    let target = target(
        r#"
      - {method: PUT, url: "https://h/", accept: [200], refusedWhen: "${has(response.body.error)}"}
"#,
    );
    let mut rendering = rendering(&target).unwrap();
    let error = |status| reply(status, r#"{"error": "x"}"#);
    let because = Some(RefusalReason::own("x"));
    let limited = Uncertainty { because, ..Uncertainty::answered(Doubt::RateLimited, 429.into()) };
    assert_eq!(rendering.take_answer(0, &error(429), None), StepOutcome::Indefinite(limited));
    assert_eq!(rendering.take_answer(0, &error(503), None), refused(503, Some("x"), true));
}

#[test]
fn a_request_without_a_response_has_one_cause() {
    let target = target("\n      - {method: PUT, url: \"https://h/\"}\n");
    let mut rendering = rendering(&target).unwrap();
    let sent = "sekret-of-the-client".to_owned();
    rendering.keep_secret(&[("client".to_owned(), sent.clone())].into_iter().collect());
    let text = String::from;
    let refused = |said: &str| HttpFailure::TokenRefused(text("status 401"), ServerText::from(said));
    for (failure, expected) in [
        (HttpFailure::NotConnected(text("no TLS")), "no connection to the external system"),
        (
            HttpFailure::ProxyFailed(text("the proxy p:1 refuses the connection")),
            "no connection to the external system: the proxy p:1 refuses the connection",
        ),
        (HttpFailure::NotThroughProxy("write https"), "no connection to the external system: write https"),
        (HttpFailure::System(SystemFailure::Unreachable("reset")), "no answer from the external system"),
        (
            HttpFailure::System(SystemFailure::CredentialUnavailable(text("Secret a has no key b"))),
            "the controller's credential cannot be used: Secret a has no key b",
        ),
        (HttpFailure::TokenUnavailable(text("status 503")), "the controller gets no token: status 503"),
        (refused(""), "the controller gets no token: status 401"),
        (refused("Client is disabled"), "the controller gets no token: status 401: Client is disabled"),
        (refused(&format!("no such {sent} here")), "the controller gets no token: status 401: no such (redacted) here"),
    ] {
        assert_eq!(rendering.judge_failure(&failure).to_string(), expected, "{failure:?}");
    }
}
