//! The explanation of an object that is being deleted: since when, what keeps it, what happens outside, and what holds
//! that.
//!
//! Such an object has no verdict: a poll only shows if its external resource is gone. Delays, limits and other objects with the same
//! identity are known to the controller alone.

use drift_api::condition::CorrectedReason;
use drift_api::names::FINALIZER;
use drift_api::object::LeanObject;
use drift_language::Target;
use jiff::Timestamp;
use serde_json::{Value, json};

use drift_api::printable::printable;
use drift_poller::engine::object::deletion::{Ending, NO_VERDICT, ending_of};

/// A deletion that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Deletion {
    /// RFC 3339; `None` where it cannot be read.
    requested: Option<String>,
    finalizers: Vec<String>,
    /// The end of the deletion; `None` if the target's text is not known.
    ending: Option<Ending>,
}

impl Deletion {
    /// Of this object, if its deletion was asked for.
    pub(super) fn of(object: &LeanObject, ending: Option<Ending>) -> Option<Self> {
        let seconds = Some(i64::from(object.deletion_requested())).filter(|seconds| *seconds > 0);
        let requested = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()).map(|time| time.to_string());
        let finalizers = object.finalizers.iter().map(ToString::to_string).collect();
        object.deleting.then_some(Self { requested, finalizers, ending })
    }

    /// Since when, and what keeps it.
    pub(super) fn lines(&self) -> Vec<String> {
        let since = self.requested.as_deref().unwrap_or("a time that cannot be read");
        let named = |name: &String| if name == FINALIZER { format!("{name} (ours)") } else { printable(name) };
        let kept = match self.finalizers.as_slice() {
            [] => "no finalizer keeps it".to_owned(),
            all => format!("kept by {}", all.iter().map(named).collect::<Vec<_>>().join(", ")),
        };
        vec![format!("since {since}"), kept, NO_VERDICT.to_owned()]
    }

    /// The next steps once nothing blocks it.
    pub(super) fn outlook(&self) -> Vec<String> {
        match &self.ending {
            None => Vec::new(),
            Some(Ending::NotHeldByUs) => vec![format!(
                "nothing by these programs, which do not hold it: {FINALIZER} is not among its finalizers"
            )],
            Some(Ending::LeftBehind(why)) => {
                vec![format!("the finalizer is taken off, and the outside stays as it is (ExternalLeftBehind): {why}")]
            }
            Some(Ending::Deleted) => vec![
                "the external resource is deleted as far as the requests shown are sent and accepted, then the finalizer is taken off"
                    .to_owned(),
                "a resource that another object names too is left"
                    .to_owned(),
            ],
        }
    }

    /// The action of these programs, in one word.
    pub(super) const fn action(&self) -> Option<&'static str> {
        match &self.ending {
            None | Some(Ending::NotHeldByUs) => None,
            Some(Ending::LeftBehind(_)) => Some("release"),
            Some(Ending::Deleted) => Some("delete"),
        }
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        json!({ "requested": self.requested, "finalizers": self.finalizers, "outlook": self.outlook() })
    }
}

/// How the last try ended, where it was one of this deletion, which counts as an edit.
pub(super) fn last_try(target: &Target, object: &LeanObject) -> Option<String> {
    if ending_of(target, object) != Ending::Deleted {
        return None;
    }
    let note = object.conditions.correction_status();
    let is_of_it = object.generation.is_some() && note.generation == object.generation;
    let why = match note.reason.filter(|_| is_of_it)? {
        CorrectedReason::CorrectionFailed => "did not delete it, and another follows",
        CorrectedReason::CorrectionStarted => "is under way",
        CorrectedReason::DeletionUnclear => "found nothing to delete, and a poll decides",
        _ => return None,
    };
    let text = printable(&note.text);
    Some(format!("the last try {why} (driftCorrected {}): {text}", note.reason?.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::{Explanation, Facts, Leases, Poll, Shown, holds, steps};
    use drift_api::condition::{ObservedReason, Tag, Verdict};
    use drift_language::fixtures::proxies::{TEXT, target};

    const NOW: &str = "2026-01-01T00:00:30Z";
    const CORRECT: &str =
        "\n  correct: {mode: Correct, http: {delete: [{method: DELETE, url: 'http://h/${self.spec.id}'}]}}\n";

    fn correcting() -> std::sync::Arc<Target> {
        target(&format!("{}{CORRECT}", TEXT.trim_end()))
    }

    fn object(target: &Target, spec: &Value, annotations: &Value, corrected: &Value) -> LeanObject {
        let metadata = json!({"name": "web", "uid": "u", "generation": 2, "deletionTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": ["example.com/other", FINALIZER], "annotations": annotations});
        let mut condition = json!({"type": "driftCorrected", "status": "True", "reason": "CorrectionApplied",
            "message": "correction 2, owns \"x\": created", "observedGeneration": 1, "lastTransitionTime": NOW});
        condition.as_object_mut().unwrap().extend(corrected.as_object().unwrap().clone());
        let whole = json!({"metadata": metadata, "spec": spec, "status": {"conditions": [condition]}});
        LeanObject::prune(&whole, &target.all_fields)
    }

    fn told_of(facts: Facts<'_>, held: Vec<String>) -> String {
        let poll = Poll { asked: Vec::new(), observed: Shown::Absent, causes: Vec::new(), differing: Vec::new() };
        Explanation::new(facts, poll, (steps(facts), held)).text(None)
    }

    fn told(target: &Target, object: &LeanObject, controller: Option<Value>) -> (Vec<String>, Vec<String>) {
        let verdict =
            Verdict { reason: ObservedReason::InSync, text: "x".into(), tag: Tag::default(), generation: Some(2) };
        let facts = Facts { target, is_deployed: true, object, verdict: &verdict };
        let leases = Leases { poller: Ok(None), controller: Ok(controller) };
        (steps(facts), holds(facts, &leases, NOW.parse().unwrap()))
    }

    #[test]
    fn each_thing_that_holds_a_deletion_is_told() {
        let (target, none, spec) = (correcting(), json!({}), json!({"id": "x", "a": 1}));
        let lease = json!({"spec": {"holderIdentity": "a", "renewTime": NOW}});
        let held = |object: &LeanObject| told(&target, object, Some(lease.clone()));
        let (sent, nothing) = held(&object(&target, &spec, &none, &none));
        assert_eq!((sent, nothing), (vec!["DELETE http://h/x".to_owned()], Vec::new()));
        let paused = json!({"driftpoller.dev/paused": "true"});
        let failed = json!({"status": "False", "reason": "CorrectionFailed", "message": "correction 3, owns \"x\": delete: 409",
            "observedGeneration": 2});
        let forbidden = json!({"message": "correction 2, owns \"forbidden\": created"});
        let table = [
            (object(&target, &spec, &paused, &none), "paused by its annotation"),
            (object(&target, &spec, &none, &failed), "(driftCorrected CorrectionFailed): delete: 409"),
            (object(&target, &json!({"id": "x", "asleep": true}), &none, &none), "`suspendWhen` holds"),
            (object(&target, &json!({"id": "forbidden"}), &none, &forbidden), "this identity is forbidden"),
            (
                object(&target, &json!({}), &none, &none),
                "(TemplateFails): require[0].that: no field `id`; identity: no field `id`",
            ),
        ];
        for (object, expected) in table {
            let (_, held) = held(&object);
            assert!(held.iter().any(|held| held.contains(expected)), "{expected}: {held:?}");
        }
        let (_, without) = told(&target, &object(&target, &spec, &none, &none), None);
        assert_eq!(without, ["no controller holds its Lease at the moment (NoController)"]);
    }

    #[test]
    fn a_deletion_names_the_answers_that_it_needs() {
        let delete = "\n  correct:
    mode: Correct
    http:
      delete:
      - {name: found, method: GET, url: 'http://h/${self.spec.id}'}
      - {name: other, method: GET, url: 'http://h/'}
      - {method: POST, url: 'http://h/', form: {Id: '${steps.found.body.id}'}}
      - method: POST
        when: '${steps.other.status == 200}'
        url: 'http://h/'
        form: {Id: '${steps.found.body.id}', V: \"${steps['other'].body.?v}\"}
";
        let target = target(&format!("{}{delete}", TEXT.trim_end()));
        let object = object(&target, &json!({"id": "x", "a": 1}), &json!({}), &json!({}));
        let expected = [
            "found: GET http://h/x",
            "other: GET http://h/",
            "POST …: needs the answer of step found",
            "POST …: needs the answers of steps found, other (or skipped, by the answers before it)",
        ];
        assert_eq!(told(&target, &object, None).0, expected);
    }

    #[test]
    fn what_is_not_held_by_us_waits_for_nobody() {
        let target = correcting();
        let mut foreign = object(&target, &json!({"id": "x", "asleep": true}), &json!({}), &json!({}));
        foreign.finalizers = Box::from(["example.com/other".into()]);
        let verdict =
            Verdict { reason: ObservedReason::InSync, text: "x".into(), tag: Tag::default(), generation: Some(2) };
        for is_deployed in [true, false] {
            let facts = Facts { target: &target, is_deployed, object: &foreign, verdict: &verdict };
            let held = holds(facts, &Leases::default(), NOW.parse().unwrap());
            assert_eq!(held, Vec::<String>::new());
            let text = told_of(facts, held);
            assert!(text.contains("follows     nothing by these programs, which do not hold it"), "{text}");
        }
    }

    #[test]
    fn a_held_deletion_tells_what_becomes_of_the_outside() {
        let (observing, correcting, spec) = (target(TEXT), correcting(), json!({"id": "x", "a": 1}));
        let verdict =
            Verdict { reason: ObservedReason::InSync, text: "x".into(), tag: Tag::default(), generation: Some(2) };
        let table = [
            (&observing, "once nothing holds it: the finalizer is taken off, and the outside stays as it is"),
            (&correcting, "once nothing holds it: the external resource is deleted"),
        ];
        for (target, expected) in table {
            let object = object(target, &spec, &json!({}), &json!({}));
            let facts = Facts { target, is_deployed: true, object: &object, verdict: &verdict };
            let text = told_of(facts, holds(facts, &Leases::default(), NOW.parse().unwrap()));
            let held = "held        no controller holds its Lease at the moment (NoController)\n";
            assert!(text.contains(&format!("{held}follows     {expected}")), "{text}");
        }
    }

    #[test]
    fn an_orphaning_deletion_is_held_by_nothing() {
        let target = correcting();
        let annotations = json!({"driftpoller.dev/paused": "true", "driftpoller.dev/orphan": "true"});
        let orphan = object(&target, &json!({"id": "x"}), &annotations, &json!({}));
        let lease = json!({"spec": {"holderIdentity": "a", "renewTime": NOW}});
        assert_eq!(told(&target, &orphan, Some(lease)), (Vec::new(), Vec::new()));
        let deletion = Deletion::of(&orphan, Some(ending_of(&target, &orphan))).unwrap();
        assert_eq!(deletion.action(), Some("release"));
        assert!(deletion.outlook()[0].contains("ExternalLeftBehind"), "{:?}", deletion.outlook());
        let lines = deletion.lines();
        assert_eq!(lines[0], "since 2026-01-01T00:00:00Z");
        assert_eq!(lines[1], "kept by example.com/other, driftpoller.dev/external (ours)");
    }
}
