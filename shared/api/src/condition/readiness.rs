//! The conditions `Ready`, `Reconciling` and `Stalled` of `ready: true`.
//!
//! kstatus reads them, and through it Flux and Helm; so do Argo CD and `kubectl wait`. They follow from the verdict and
//! the correction record, so this function of both is all that there is to them.

use super::{
    Condition, ConditionKind, ConditionStatus, Conditions, CorrectedReason, CurrentVerdict, Message, ObservedReason,
    Placed, Verdict,
};
use crate::facts;

/// The entries of `ready: true` on an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadinessEntries {
    /// The present ones, in the order of [`Self::KINDS`].
    pub placed: Vec<Placed>,
    /// The field `status.observedGeneration`.
    pub observed_generation: Option<i64>,
}

impl ReadinessEntries {
    /// The conditions of `ready: true`.
    pub const KINDS: [ConditionKind; 3] = [ConditionKind::Ready, ConditionKind::Reconciling, ConditionKind::Stalled];

    /// Returns them boxed; `None` if the object has none.
    pub(super) fn of(placed: Vec<Placed>, observed_generation: Option<i64>) -> Option<Box<Self>> {
        let entries = Self { placed, observed_generation };
        (entries != Self::default()).then(|| Box::new(entries))
    }
}

/// A change of one entry in the list of conditions. Without `condition` the entry is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryWrite {
    /// The entry as it was read; `None` if the list had none.
    pub placed: Option<Placed>,
    /// The condition to write.
    pub condition: Option<Condition>,
}

/// Returns the changes of an object's readiness that a verdict causes: none if the entries are right.
///
/// `corrects` is true if the target corrects drift. `now` (RFC 3339) is the transition time of a changed status.
#[must_use]
pub fn readiness_writes(verdict: &Verdict, conditions: &Conditions, corrects: bool, now: &str) -> Vec<EntryWrite> {
    let was_ours = || conditions.observed().and_then(CurrentVerdict::read).is_some_and(|current| current.tag.ready);
    if !verdict.tag.ready && !was_ours() {
        return Vec::new();
    }
    let due = if verdict.tag.ready { Some(judge(verdict, conditions, corrects)) } else { None };
    let present = conditions.readiness.as_ref().map(|entries| entries.placed.as_slice()).unwrap_or_default();
    let writes = ReadinessEntries::KINDS.into_iter().filter_map(|kind| {
        let placed = present.iter().find(|placed| placed.condition.kind == kind);
        let current = placed.map(|placed| &placed.condition);
        let condition = due.as_ref().and_then(|due| due.condition(kind, current, now));
        let is_right = match (&condition, current) {
            (Some(due), Some(current)) => due.says_the_same(current),
            (None, None) => true,
            _ => false,
        };
        (!is_right).then(|| EntryWrite { placed: placed.cloned(), condition })
    });
    writes.collect()
}

/// The readiness of an object.
struct Readiness {
    ready: ConditionStatus,
    stalled: bool,
    reason: &'static str,
    message: String,
    generation: Option<i64>,
}

fn judge(verdict: &Verdict, conditions: &Conditions, corrects: bool) -> Readiness {
    let of_verdict = |ready, stalled| Readiness {
        ready,
        stalled,
        reason: verdict.reason.as_str(),
        // As the verdict's own condition says it, cut to its size.
        message: Message::from(facts::fit(&verdict.text, &verdict.tag)).sentence().to_owned(),
        generation: verdict.generation,
    };
    // The record of an older spec says nothing about this one.
    let record = conditions.corrected().filter(|record| record.observed_generation == verdict.generation);
    let held = record.and_then(|record| Some((record, CorrectedReason::parse(&record.reason)?)));
    let held = held.filter(|(_, reason)| reason.needs_a_person());
    match (verdict.reason, held) {
        (ObservedReason::InSync, _) => of_verdict(ConditionStatus::True, false),
        // A person has to act.
        (
            ObservedReason::RuleError
            | ObservedReason::NotAllowed
            | ObservedReason::AbsenceContradicted
            | ObservedReason::AllMissing,
            _,
        ) => of_verdict(ConditionStatus::False, true),
        (reason, Some((record, held))) if reason.status() == ConditionStatus::True => Readiness {
            reason: held.as_str(),
            message: record.message.text().to_owned(),
            ..of_verdict(ConditionStatus::False, true)
        },
        // Nothing in sight removes the drift. Before the first sync, another operator may still be at work.
        (reason, None) if reason.is_incident() && !corrects => of_verdict(ConditionStatus::False, true),
        (reason, _) if reason.is_incident() || verdict.tag.seen => of_verdict(ConditionStatus::Unknown, false),
        _ => of_verdict(ConditionStatus::False, false),
    }
}

impl Readiness {
    /// Returns the condition to have over `current`; `None` if there should be none.
    fn condition(&self, kind: ConditionKind, current: Option<&Condition>, now: &str) -> Option<Condition> {
        let status = match kind {
            ConditionKind::Ready => self.ready,
            ConditionKind::Reconciling if self.ready != ConditionStatus::True && !self.stalled => ConditionStatus::True,
            ConditionKind::Stalled if self.stalled => ConditionStatus::True,
            _ => return None,
        };
        Some(Condition {
            kind,
            status,
            reason: self.reason.into(),
            message: self.message.as_str().into(),
            observed_generation: self.generation,
            last_transition_time: Condition::transition_time(current, status, now),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::condition::{StatusFields, Tag};
    use crate::object::LeanObject;
    use crate::object::field_paths::FieldPaths;
    use crate::object::status_patch::{condition_patch, removal_patch};
    use serde_json::{Value, json};

    const NOW: &str = "2026-01-01T00:00:00Z";

    fn verdict(reason: ObservedReason, seen: bool) -> Verdict {
        let tag = Tag { seen, ready: true, ..Tag::default() };
        Verdict { reason, text: "text".into(), tag, generation: Some(3) }
    }

    fn conditions(entries: &[Value]) -> Conditions {
        Conditions::from_status(Some(&json!({"conditions": entries, "observedGeneration": 3})))
    }

    fn record(reason: CorrectedReason) -> Value {
        json!({"type": "driftCorrected", "status": reason.status().as_str(), "reason": reason.as_str(), "message": "m",
            "observedGeneration": 3})
    }

    /// Returns the conditions that a bare object gets, as `Ready False FieldsDiffer, Stalled True FieldsDiffer`.
    fn shown(verdict: &Verdict, held: Option<CorrectedReason>, corrects: bool) -> String {
        let entries: Vec<Value> = held.into_iter().map(record).collect();
        let writes = readiness_writes(verdict, &conditions(&entries), corrects, NOW);
        let due = writes.iter().map(|write| write.condition.as_ref().unwrap());
        let words = due.map(|due| format!("{} {} {}", due.kind.as_str(), due.status.as_str(), due.reason));
        words.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn readiness_follows_the_verdict_and_the_record() {
        use CorrectedReason::{AttemptsExhausted, CorrectionFailed, NotOurs};
        use ObservedReason::*;
        let table = [
            (InSync, false, None, true, "Ready True InSync"),
            (InSync, false, Some(NotOurs), true, "Ready True InSync"),
            (NotYetPolled, false, None, true, "Ready False NotYetPolled, Reconciling True NotYetPolled"),
            (NotCreated, false, None, true, "Ready False NotCreated, Reconciling True NotCreated"),
            (NotUpdated, false, None, false, "Ready False NotUpdated, Reconciling True NotUpdated"),
            (NotCreated, false, Some(NotOurs), true, "Ready False NotOurs, Stalled True NotOurs"),
            (FieldsDiffer, false, None, true, "Ready Unknown FieldsDiffer, Reconciling True FieldsDiffer"),
            (
                FieldsDiffer,
                false,
                Some(CorrectionFailed),
                true,
                "Ready Unknown FieldsDiffer, Reconciling True FieldsDiffer",
            ),
            (FieldsDiffer, false, None, false, "Ready False FieldsDiffer, Stalled True FieldsDiffer"),
            (
                ExternalMissing,
                false,
                Some(AttemptsExhausted),
                true,
                "Ready False AttemptsExhausted, Stalled True AttemptsExhausted",
            ),
            (PollTimedOut, false, None, true, "Ready False PollTimedOut, Reconciling True PollTimedOut"),
            (PollTimedOut, true, Some(NotOurs), true, "Ready Unknown PollTimedOut, Reconciling True PollTimedOut"),
            (RuleError, true, None, true, "Ready False RuleError, Stalled True RuleError"),
            (
                AbsenceContradicted,
                true,
                Some(CorrectionFailed),
                true,
                "Ready False AbsenceContradicted, Stalled True AbsenceContradicted",
            ),
            (AllMissing, true, None, true, "Ready False AllMissing, Stalled True AllMissing"),
        ];
        for (reason, seen, held, corrects, expected) in table {
            assert_eq!(shown(&verdict(reason, seen), held, corrects), expected);
        }
    }

    #[test]
    fn the_record_of_an_older_spec_holds_nothing() {
        let mut edited = verdict(ObservedReason::NotUpdated, false);
        edited.generation = Some(4);
        let shown = shown(&edited, Some(CorrectedReason::AttemptsExhausted), true);
        assert_eq!(shown, "Ready False NotUpdated, Reconciling True NotUpdated");
    }

    #[test]
    fn right_entries_are_not_written_again() {
        let long = "x".repeat(2_000);
        for (reason, text) in ObservedReason::ALL.iter().flat_map(|reason| [(reason, "text"), (reason, long.as_str())])
        {
            let verdict = Verdict { text: text.to_owned().into(), ..verdict(*reason, false) };
            let fields = |conditions: &Conditions| {
                StatusFields::NONE.with_entries(readiness_writes(&verdict, conditions, true, NOW))
            };
            let mut object = json!({"metadata": {"uid": "u", "generation": 3, "resourceVersion": "5"}});
            object["status"] = json!({"conditions": [{"type": "Other"}, {"type": "Stalled", "status": "True"}]});
            let mut paths = FieldPaths::default();
            paths.readiness = true;
            let lean = |object: &Value| LeanObject::prune(object, &paths);
            let read = lean(&object);
            let fields_of_read = fields(&read.conditions);
            let patch = condition_patch(&read, Some(3), &verdict.to_condition(None, NOW), &fields_of_read);
            json_patch::patch(&mut object, &patch).unwrap();
            let read = lean(&object);
            let written = &read.conditions;
            assert!(fields(written).is_empty(), "{reason}: {object}");
            let said = Verdict::said_by(written.observed().unwrap()).unwrap();
            assert_eq!(readiness_writes(&said, written, true, NOW), [], "{reason}: read back");
            assert_eq!(object["status"]["conditions"][0], json!({"type": "Other"}));

            let patch = removal_patch(&read, written.observed.as_ref().unwrap());
            json_patch::patch(&mut object, &patch).unwrap();
            assert_eq!(object["status"]["conditions"], json!([{"type": "Other"}]), "all go together");
        }
    }

    #[test]
    fn entries_go_when_the_target_no_longer_asks_for_them() {
        let with = verdict(ObservedReason::InSync, false);
        let mut without = with.clone();
        without.tag.ready = false;
        let theirs = json!({"type": "Ready", "status": "True"});
        let ours = |verdict: &Verdict| conditions(&[verdict.to_condition(None, NOW).to_json(), theirs.clone()]);
        let removed = readiness_writes(&without, &ours(&with), true, NOW);
        assert!(matches!(&removed[..], [EntryWrite { placed: Some(placed), condition: None }] if placed.index == 1));
        assert_eq!(readiness_writes(&without, &ours(&without), true, NOW), [], "a Ready of another writer stays");
    }
}
