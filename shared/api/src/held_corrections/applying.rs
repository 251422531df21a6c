//! The holds that apply to one object, in the order in which readers show them.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Held, HeldCorrections, ObjectHold, TargetHold, TargetHolds};
use crate::condition::CurrentVerdict;
use crate::identity::Uid;
use crate::lease::annotation_of_holder;
use crate::names::HELD_CORRECTIONS_ANNOTATION;
use crate::object::LeanObject;

/// Time within which the time of day alone is clear.
const A_DAY: SignedDuration = SignedDuration::from_hours(24);

/// A reason that holds an object, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The word for tables.
    pub word: &'static str,
    /// The time of the next try.
    pub until: Option<Timestamp>,
    /// The reason and the remedy.
    pub sentence: String,
}

impl Hold {
    /// The word if no controller works.
    pub const NO_CONTROLLER: &str = "NoController";
    /// The cause of [`Self::NO_CONTROLLER`].
    pub const NO_CONTROLLER_CAUSE: &str = "no controller holds its Lease at the moment";

    /// No controller works.
    #[must_use]
    pub fn no_controller() -> Self {
        Self::of(Self::NO_CONTROLLER, Self::NO_CONTROLLER_CAUSE)
    }

    /// The list has no room for all held objects.
    fn list_incomplete(target: &str) -> Self {
        let sentence = format!("the controller's list of holds has no room for all objects of target {target}");
        Self::of("ListIncomplete", &sentence)
    }

    /// The poller's Lease does not list the target.
    #[must_use]
    pub fn target_not_attested() -> Self {
        Self::not_attested("its Lease does not list the target at the moment")
    }

    /// The poller's Lease excepts the object from what it attests.
    #[must_use]
    pub fn object_not_attested() -> Self {
        Self::not_attested("it could not renew its verdict on this object")
    }

    /// The poller does not attest the verdict, for this reason.
    #[must_use]
    pub fn not_attested(because: &str) -> Self {
        Self::by(Held::NotAttested, Held::NotAttested.cause(), because)
    }

    /// A hold without a time, with what is known beyond its sentence.
    #[must_use]
    pub fn by(why: Held, sentence: &str, more: &str) -> Self {
        let hold = Self::of(why.as_str(), sentence);
        let more = if more.is_empty() { String::new() } else { format!(": {more}") };
        Self { sentence: hold.sentence + &more, ..hold }
    }

    /// A hold without a time.
    #[must_use]
    pub fn of(word: &'static str, sentence: &str) -> Self {
        Self { word, until: None, sentence: format!("{sentence} ({word})") }
    }

    /// The text for tables. The end has its date if it is not within a day.
    #[must_use]
    pub fn cell(&self, now: Timestamp) -> String {
        let format = |until: &Timestamp| match until.duration_since(now).abs() < A_DAY {
            true => "%H:%M:%SZ",
            false => "%Y-%m-%dT%H:%MZ",
        };
        let until = self.until.map(|until| format!(" until {}", until.strftime(format(&until))));
        format!("{}{}", self.word, until.unwrap_or_default())
    }

    /// The hold as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({"reason": self.word, "until": self.until.map(|until| until.to_string()), "message": self.sentence})
    }
}

impl From<Held> for Hold {
    fn from(why: Held) -> Self {
        Self::by(why, why.cause(), "")
    }
}

impl ObjectHold {
    fn shown(self) -> Hold {
        Hold { word: self.why.as_str(), until: self.until, sentence: self.sentence() }
    }
}

/// An object, as far as the holds of its target depend on it.
#[derive(Clone, Copy, Debug)]
pub struct HeldObject<'o> {
    /// Its `metadata.uid`.
    pub uid: &'o Uid,
    /// True if the breaker holds its correction: it was in sync before it drifted, and is not being deleted.
    pub is_incident: bool,
    /// True if it is being deleted.
    pub is_deleting: bool,
}

impl<'o> From<&'o LeanObject> for HeldObject<'o> {
    fn from(object: &'o LeanObject) -> Self {
        let current = object.conditions.observed().and_then(CurrentVerdict::read);
        let is_incident = !object.deleting && current.is_some_and(|current| current.reason.is_incident());
        Self { uid: &object.id.uid, is_incident, is_deleting: object.deleting }
    }
}

impl HeldCorrections {
    /// The list on the controller's Lease; `None` if no controller holds the Lease.
    #[must_use]
    pub fn on_lease(lease: Option<&Value>, now: Timestamp) -> Option<Self> {
        let text = annotation_of_holder(lease?, HELD_CORRECTIONS_ANNOTATION, now)?;
        Some(text.map(Self::parse).unwrap_or_default())
    }

    /// The holds of a target. A target that is not listed may be one without room.
    #[must_use]
    pub fn of_target(&self, target: &str) -> TargetHolds {
        let listed = self.targets.get(target).cloned();
        listed.unwrap_or_else(|| TargetHolds { left_out: self.left_out, ..TargetHolds::default() })
    }
}

impl TargetHolds {
    /// The holds that apply to an object, the most severe first, and missing rights last: not each of them holds it. Where none
    /// is known and some are not listed, that the list is incomplete.
    #[must_use]
    pub fn applying(&self, target: &str, object: HeldObject<'_>, now: Timestamp) -> Vec<Hold> {
        let alone = self.of_object(object.uid, now);
        let is_breaker = |hold: &TargetHold| matches!(hold, TargetHold::BreakerOpen(_));
        let breaks = object.is_incident && self.whole.iter().any(is_breaker);
        let applies = |hold: &TargetHold| match hold {
            TargetHold::KindUnusable | TargetHold::RightsMissing | TargetHold::TargetTaken => true,
            TargetHold::TargetFormer => !object.is_deleting,
            // The breaker holds neither deletions nor new objects.
            TargetHold::BreakerOpen(_) => object.is_incident,
            // An object with a reason of its own does not wait for a slot.
            TargetHold::Limited { .. } => alone.is_none() && !breaks,
        };
        let whole = self.whole.iter().filter(|hold| applies(hold)).map(|hold| hold.shown(target));
        let (last, first): (Vec<_>, Vec<_>) = whole.partition(|hold| hold.word == TargetHold::RightsMissing.as_str());
        let mut holds: Vec<_> = first.into_iter().chain(alone.map(ObjectHold::shown)).chain(last).collect();
        if holds.is_empty() && self.left_out > 0 {
            holds.push(Hold::list_incomplete(target));
        }
        holds
    }
}

impl TargetHold {
    /// The hold for people.
    #[must_use]
    pub fn shown(self, target: &str) -> Hold {
        Hold { word: self.as_str(), until: None, sentence: self.sentence(target) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::object::field_paths::FieldPaths;

    const NOW: &str = "2026-01-01T00:00:30Z";

    fn words(annotation: &Value, reason: &str, deleting: bool) -> Vec<&'static str> {
        let lease = json!({"metadata": {"annotations": {HELD_CORRECTIONS_ANNOTATION: annotation.to_string()}},
            "spec": {"holderIdentity": "a", "renewTime": NOW}});
        let now = NOW.parse().unwrap();
        let held = HeldCorrections::on_lease(Some(&lease), now).unwrap();
        let mut metadata = json!({"name": "web", "uid": "u"});
        if deleting {
            metadata["deletionTimestamp"] = json!(NOW);
        }
        let object = json!({"metadata": metadata, "status": {"conditions": [
            {"type": "driftObserved", "status": "True", "reason": reason, "message": "x [desired 3f2a9c71d04b58e6]"}]}});
        let object = LeanObject::prune(&object, &FieldPaths::default());
        let holds = held.of_target("t").applying("t", (&object).into(), now);
        holds.into_iter().map(|hold| hold.word).collect()
    }

    #[test]
    fn only_holds_that_apply_are_named() {
        let of = |whole: Value, objects: Value| json!({"targets": {"t": {"whole": whole, "objects": objects}}});
        let all = of(json!(["Limited 3", "BreakerOpen 15/29 20%", "RightsMissing"]), json!({}));
        let delayed = |until: &str| of(json!(["Limited 3"]), json!({"u": format!("Delayed until {until}")}));
        for (annotation, reason, deleting, expected) in [
            (&all, "FieldsDiffer", false, &["BreakerOpen", "RightsMissing"][..]),
            (&all, "NotCreated", false, &["Limited", "RightsMissing"]),
            (&all, "FieldsDiffer", true, &["Limited", "RightsMissing"]),
            (&of(json!(["TargetFormer"]), json!({})), "FieldsDiffer", false, &["TargetFormer"]),
            (&of(json!(["TargetFormer"]), json!({})), "FieldsDiffer", true, &[]),
            (&of(json!(["TargetTaken"]), json!({})), "FieldsDiffer", true, &["TargetTaken"]),
            (&delayed("2026-01-01T00:01:00Z"), "FieldsDiffer", false, &["Delayed"]),
            (&delayed("2026-01-01T00:00:29Z"), "FieldsDiffer", false, &["Limited"]),
            (
                &of(json!([]), json!({"u": "Unsendable until 2026-01-01T00:00:29Z"})),
                "FieldsDiffer",
                false,
                &["Unsendable"],
            ),
            (&of(json!(["Tired"]), json!({"u": "Bored"})), "FieldsDiffer", false, &[]),
            (&json!("{"), "FieldsDiffer", false, &[]),
            (&json!({}), "FieldsDiffer", false, &[]),
        ] {
            assert_eq!(words(annotation, reason, deleting), expected, "{annotation} {reason}");
        }
    }

    #[test]
    fn an_incomplete_list_shows_where_nothing_else_is_known() {
        let left_out = |whole: Value| json!({"targets": {"t": {"whole": whole, "objects": {}, "leftOut": 2}}});
        for (annotation, expected) in [
            (left_out(json!([])), &["ListIncomplete"][..]),
            (left_out(json!(["BreakerOpen 15/29 20%"])), &["BreakerOpen"]),
            (json!({"targets": {}, "leftOut": 1}), &["ListIncomplete"]),
            (json!({"targets": {"t": {"whole": []}}, "leftOut": 1}), &[]),
            (json!({"targets": {"other": {"leftOut": 2}}}), &[]),
        ] {
            assert_eq!(words(&annotation, "FieldsDiffer", false), expected, "{annotation}");
        }
    }

    #[test]
    fn an_expired_lease_holds_nothing() {
        let lease = |renewed: &str| json!({"metadata": {}, "spec": {"holderIdentity": "a", "renewTime": renewed}});
        let held = |renewed: &str| HeldCorrections::on_lease(Some(&lease(renewed)), NOW.parse().unwrap());
        assert_eq!(held(NOW), Some(HeldCorrections::default()), "a controller of another version lists nothing");
        assert_eq!(held("2025-12-31T23:59:00Z"), None);
        assert_eq!(HeldCorrections::on_lease(None, NOW.parse().unwrap()), None);
    }
}
