//! The Leases of the programs: their holders, the poller's attestations, and the controller's holds.

use std::collections::BTreeMap;
use std::time::Duration;

use drift_api::attestation::Attestation;
use drift_api::condition::CurrentVerdict;
use drift_api::held_corrections::{HeldCorrections, TargetHold, TargetHolds};
use drift_api::names::{ATTESTED_TARGETS_ANNOTATION, HELD_CORRECTIONS_ANNOTATION};
use drift_api::object::LeanObject;
use jiff::Timestamp;
use serde_json::{Value, json};

/// The age up to which a Lease counts as held: the controller takes a poller with an older renewal as gone.
const FRESH_WITHIN: Duration = Duration::from_secs(40);

/// A reason of the controller that holds an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hold {
    /// The word for tables.
    pub(crate) word: &'static str,
    /// The time of the next try.
    pub(crate) until: Option<Timestamp>,
    /// The reason and the remedy.
    pub(crate) sentence: String,
}

impl Hold {
    /// The text for tables.
    #[must_use]
    pub(crate) fn cell(&self) -> String {
        let until = self.until.map(|until| format!(" until {}", until.strftime("%H:%M:%SZ")));
        format!("{}{}", self.word, until.unwrap_or_default())
    }

    /// The hold as JSON.
    #[must_use]
    pub(crate) fn json(&self) -> Value {
        json!({"reason": self.word, "until": self.until.map(|until| until.to_string()), "message": self.sentence})
    }
}

/// Returns true if a program holds the Lease now.
pub(crate) fn is_held(lease: Option<&Value>, now: Timestamp) -> bool {
    let spec = |field: &str| lease.and_then(|lease| lease.get("spec")?.get(field)?.as_str());
    let renewed = spec("renewTime").and_then(|time| time.parse::<Timestamp>().ok());
    let is_fresh = renewed.is_some_and(|renewed| now.duration_since(renewed).unsigned_abs() <= FRESH_WITHIN);
    is_fresh && spec("holderIdentity").is_some_and(|holder| !holder.is_empty())
}

/// The attestations of the poller that holds this Lease; `None` if none holds it.
#[must_use]
pub(crate) fn attestations(lease: Option<&Value>, now: Timestamp) -> Option<BTreeMap<String, Attestation>> {
    let text = annotation_of_holder(lease?, ATTESTED_TARGETS_ANNOTATION, now)?;
    let list: BTreeMap<String, String> = text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    Some(list.into_iter().filter_map(|(target, text)| Some((target, Attestation::parse(&text)?))).collect())
}

/// The corrections that the controller with this Lease holds; `None` if no controller holds the Lease.
#[must_use]
pub(crate) fn held_corrections(lease: Option<&Value>, now: Timestamp) -> Option<HeldCorrections> {
    let text = annotation_of_holder(lease?, HELD_CORRECTIONS_ANNOTATION, now)?;
    Some(text.map(HeldCorrections::parse).unwrap_or_default())
}

/// The annotation, which may be missing; `None` if no program holds the Lease.
fn annotation_of_holder<'l>(lease: &'l Value, name: &str, now: Timestamp) -> Option<Option<&'l str>> {
    let annotations = lease.pointer("/metadata/annotations");
    is_held(Some(lease), now).then(|| annotations.and_then(|all| all.get(name)).and_then(Value::as_str))
}

/// The holds of a target that hold this object, the most severe first, and missing rights last: not each of them holds it.
#[must_use]
pub(crate) fn holds_of((target, holds): (&str, &TargetHolds), object: &LeanObject, now: Timestamp) -> Vec<Hold> {
    let current = object.conditions.observed().and_then(CurrentVerdict::read);
    // The breaker holds neither deletions nor new objects.
    let is_incident = !object.deleting && current.is_some_and(|current| current.reason.is_incident());
    let alone = holds.of_object(&object.id.uid, now);
    let is_breaker = |hold: &TargetHold| matches!(hold, TargetHold::BreakerOpen { .. });
    let breaks = is_incident && holds.whole.iter().any(is_breaker);
    let applies = |hold: &TargetHold| match hold {
        TargetHold::KindUnusable | TargetHold::RightsMissing => true,
        TargetHold::BreakerOpen { .. } => is_incident,
        // An object with a reason of its own does not wait for a slot.
        TargetHold::Limited { .. } => alone.is_none() && !breaks,
    };
    let whole = holds.whole.iter().filter(|hold| applies(hold));
    let whole = whole.map(|hold| Hold { word: hold.as_str(), until: None, sentence: hold.sentence(target) });
    let alone = alone.map(|hold| Hold { word: hold.why.as_str(), until: hold.until, sentence: hold.sentence() });
    let (last, first): (Vec<_>, Vec<_>) = whole.partition(|hold| hold.word == TargetHold::RightsMissing.as_str());
    first.into_iter().chain(alone).chain(last).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_api::object::field_paths::FieldPaths;

    const NOW: &str = "2026-01-01T00:00:30Z";

    fn words(annotation: &Value, reason: &str, deleting: bool) -> Vec<&'static str> {
        let lease = json!({"metadata": {"annotations": {HELD_CORRECTIONS_ANNOTATION: annotation.to_string()}},
            "spec": {"holderIdentity": "a", "renewTime": NOW}});
        let now = NOW.parse().unwrap();
        let held = held_corrections(Some(&lease), now).unwrap();
        let mut metadata = json!({"name": "web", "uid": "u"});
        if deleting {
            metadata["deletionTimestamp"] = json!(NOW);
        }
        let object = json!({"metadata": metadata, "status": {"conditions": [
            {"type": "driftObserved", "status": "True", "reason": reason, "message": "x [desired 3f2a9c71d04b58e6]"}]}});
        let object = LeanObject::prune(&object, &FieldPaths::default());
        let none = TargetHolds::default();
        let holds = holds_of(("t", held.targets.get("t").unwrap_or(&none)), &object, now);
        holds.into_iter().map(|hold| hold.word).collect()
    }

    #[test]
    fn only_holds_that_apply_are_named() {
        let of = |whole: Value, objects: Value| json!({"targets": {"t": {"whole": whole, "objects": objects}}});
        let all = of(json!(["Limited 3", "BreakerOpen 15/29", "RightsMissing"]), json!({}));
        let delayed = |until: &str| of(json!(["Limited 3"]), json!({"u": format!("Delayed until {until}")}));
        for (annotation, reason, deleting, expected) in [
            (&all, "FieldsDiffer", false, &["BreakerOpen", "RightsMissing"][..]),
            (&all, "NotCreated", false, &["Limited", "RightsMissing"]),
            (&all, "FieldsDiffer", true, &["Limited", "RightsMissing"]),
            (&delayed("2026-01-01T00:01:00Z"), "FieldsDiffer", false, &["Delayed"]),
            (&delayed("2026-01-01T00:00:29Z"), "FieldsDiffer", false, &["Limited"]),
            (&of(json!(["Tired"]), json!({"u": "Bored"})), "FieldsDiffer", false, &[]),
            (&json!("{"), "FieldsDiffer", false, &[]),
            (&json!({}), "FieldsDiffer", false, &[]),
        ] {
            assert_eq!(words(annotation, reason, deleting), expected, "{annotation} {reason}");
        }
    }

    #[test]
    fn an_expired_lease_holds_nothing() {
        let lease = |renewed: &str| json!({"metadata": {}, "spec": {"holderIdentity": "a", "renewTime": renewed}});
        let held = |renewed: &str| held_corrections(Some(&lease(renewed)), NOW.parse().unwrap());
        assert_eq!(held(NOW), Some(HeldCorrections::default()), "a controller of another version lists nothing");
        assert_eq!(held("2025-12-31T23:59:00Z"), None);
        assert_eq!(held_corrections(None, NOW.parse().unwrap()), None);
    }
}
