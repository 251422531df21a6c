//! The manifest for each action, and its results if a foreign object has the name.

use drift_api::object::object_view::ObjectView;
use drift_language::Destination;
use serde_json::json;

use super::*;
use crate::engine::fixtures::{Scene, correction};

fn manifests(extra: &str, action: Action) -> Result<Manifests, Unrenderable> {
    let text = format!(
        r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: t}}
spec:
  objects: {{apiVersion: demo.example/v1, kind: Role}}
  identity: "${{self.spec.name}}"
  read: {{kubernetes: {{apiVersion: apps/v1, kind: StatefulSet, name: "db-${{self.spec.name}}"}}}}
  compare: {{desired: {{login: "${{self.spec.login}}"}}}}
  correct:
    mode: Correct
    {extra}
    kubernetes:
      delete: true
      manifest:
        apiVersion: apps/v1
        kind: StatefulSet
        metadata: {{labels: {{app: "db-${{self.spec.name}}"}}}}
        spec: {{login: "${{desired.login}}", text: "a ${{self.spec.text}}", left: "${{self.spec.?none}}"}}
"#
    );
    let target = drift_language::fixtures::target(&text);
    let Some(Destination::Kubernetes(kubernetes)) = &target.correct.destination else {
        return Err(Unrenderable::new("no manifest"));
    };
    let mut object = Scene::new().object;
    object.view = ObjectView::of(&json!({"metadata": {"namespace": "n"},
        "spec": {"login": true, "name": "a", "text": "\", kind: Secret, x: \""}}));
    Manifests::new(&target, kubernetes, &object, &Correction { action, ..correction(action) })
}

fn found(mark: Option<&str>) -> Value {
    let annotations = mark.map_or(json!({}), |mark| json!({"driftpoller.dev/made-for": mark}));
    json!({"metadata": {"uid": "r-1", "resourceVersion": "7", "annotations": annotations}})
}

#[test]
fn a_manifest_is_made_of_values_alone() {
    let made = manifests("", Action::Create).unwrap();
    let expected = json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "db-a", "labels": {"app": "db-a"}, "annotations": {"driftpoller.dev/made-for": "u-1"}},
        "spec": {"login": true, "text": "a \", kind: Secret, x: \""}});
    assert_eq!(made.step(0), Some(&ManifestStep::Create(expected.clone())));
    assert_eq!(made.resource.namespace.as_deref(), Some("n"));
    assert_eq!(manifests("", Action::Update).unwrap().step(0), Some(&ManifestStep::Apply(expected)));
    let replacement = manifests("", Action::Replace).unwrap().plan();
    assert_eq!((replacement.steps.len(), replacement.deletion), (2, 1));
    assert_eq!(manifests("", Action::Delete).unwrap().plan().deletion, 1);
}

#[test]
fn only_what_was_made_for_the_object_is_touched() {
    let ours = Judged::Ours { uid: "r-1".to_owned(), resource_version: "7".to_owned() };
    let (apply, delete) = (ManifestStep::Apply(json!({})), ManifestStep::Delete);
    let (foreign, gone) = (Judged::Reply(ManifestReply::NotMadeForUs), Judged::Reply(ManifestReply::Gone));
    let of_another = Judged::Reply(ManifestReply::MadeForAnother);
    for (extra, step, mark, expected) in [
        ("", &apply, Some("u-1"), &ours),
        ("", &apply, Some("u-2"), &of_another),
        ("", &apply, None, &foreign),
        ("", &delete, Some("u-1"), &ours),
        ("", &delete, None, &foreign),
        ("existing: Adopt", &apply, None, &ours),
        ("existing: Adopt", &apply, Some("u-2"), &of_another),
        ("existing: Adopt", &delete, Some("u-2"), &of_another),
        ("existing: Adopt", &delete, None, &foreign),
    ] {
        let made = manifests(extra, Action::Update).unwrap();
        assert_eq!(made.judge_found(step, Some(&found(mark))), *expected, "{extra} {step:?} {mark:?}");
        assert_eq!(made.judge_found(step, None), gone);
    }
}

#[test]
fn a_pinned_manifest_lands_on_one_state() {
    let pinned = pinned(&json!({"metadata": {"name": "a"}, "spec": 1}), "u", "7");
    assert_eq!(pinned, json!({"metadata": {"name": "a", "uid": "u", "resourceVersion": "7"}, "spec": 1}));
}

#[test]
fn what_is_gone_is_deleted_and_cannot_be_changed() {
    let (update, delete) = (manifests("", Action::Update).unwrap(), manifests("", Action::Delete).unwrap());
    let replace = manifests("", Action::Replace).unwrap();
    let is_refused = |outcome: &StepOutcome| matches!(outcome, StepOutcome::Refused { did_nothing: true, .. });
    for reply in [ManifestReply::NotMadeForUs, ManifestReply::MadeForAnother] {
        assert_eq!(delete.judge(0, &reply), StepOutcome::LeftBehind);
        assert!(is_refused(&update.judge(0, &reply)) && is_refused(&replace.judge(0, &reply)), "{reply:?}");
    }
    assert_eq!(delete.judge(0, &ManifestReply::Gone), StepOutcome::NotThere);
    assert_eq!(replace.judge(0, &ManifestReply::Gone), StepOutcome::NotThere);
    assert!(is_refused(&update.judge(0, &ManifestReply::Gone)));
    assert_eq!(delete.judge(0, &ManifestReply::Underway), StepOutcome::Underway { retry_after: None });
    assert_eq!(update.judge(0, &ManifestReply::Done), StepOutcome::Accepted);
    let existing = manifests("", Action::Create).unwrap().judge(0, &ManifestReply::AlreadyExists);
    assert!(matches!(existing, StepOutcome::AlreadyExists(Refusal { because: Some(_), .. })), "{existing:?}");
    let error = |status| reply_of(&ResourceError::Refused { status, sentence: "409 x".to_owned(), retry_after: None });
    assert!(matches!(update.judge(0, &error(409)), StepOutcome::Refused { .. }));
    let lossy = reply_of(&ResourceError::LossyVersion("removes spec.a".to_owned()));
    assert!(is_refused(&update.judge(0, &lossy)) && is_refused(&delete.judge(0, &lossy)), "nothing was sent");
    for doubtful in [error(403), error(500), error(0), reply_of(&ResourceError::TimedOut)] {
        assert!(matches!(update.judge(0, &doubtful), StepOutcome::Indefinite(_)), "{doubtful:?}");
    }
}
