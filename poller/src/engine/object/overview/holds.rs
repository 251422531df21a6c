//! The holds of objects and targets: by the object and its target, and by the Leases of both programs.
//!
//! The status page shows all holds of an object, `kubectl drift get` the first, and `explain` those of the Leases beside
//! what the controller's guards say.

use std::collections::BTreeMap;

use drift_api::attestation::Attestation;
use drift_api::condition::CorrectedReason;
use drift_api::held_corrections::{HeldCorrections, HeldObject, Hold, TargetHolds};
use drift_api::object::LeanObject;
use drift_api::unwritten::{Doubt, UnwrittenTargets};
use drift_language::Target;
use jiff::Timestamp;

use super::next::Next;
use crate::engine::object::deletion::{Ending, ending_of};

/// The Leases of both programs, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseHolds {
    /// The attested targets; `None` if that is not known.
    pub attested: Option<BTreeMap<String, Attestation>>,
    /// The verdicts that the poller cannot write. The poller itself knows them of each object.
    pub unwritten: UnwrittenTargets,
    /// The controller's list, `None` within if no controller holds its Lease; `None` if that is not known.
    pub controller: Option<Option<HeldCorrections>>,
}

/// The Leases, as far as they are about one target.
#[derive(Clone, Debug)]
pub struct OfTarget<'l> {
    target: &'l Target,
    /// The attestation of the target, `None` within if there is none; `None` if that is not known.
    attestation: Option<Option<&'l Attestation>>,
    lacks_controller: bool,
    known: TargetHolds,
}

impl LeaseHolds {
    /// Returns the holds of a target.
    #[must_use]
    pub fn of_target<'l>(&'l self, target: &'l Target) -> OfTarget<'l> {
        OfTarget {
            target,
            attestation: self.attested.as_ref().map(|attested| attested.get(&target.name)),
            lacks_controller: matches!(self.controller, Some(None)),
            known: self.controller.iter().flatten().map(|held| held.of_target(&target.name)).next().unwrap_or_default(),
        }
    }

    /// Returns true if the poller is known to attest the target.
    #[must_use]
    pub fn is_attested(&self, target: &str) -> bool {
        self.attested.as_ref().is_some_and(|attested| attested.contains_key(target))
    }

    /// Returns the contradiction of the verdict by the poller's Lease, for an object of this target.
    #[must_use]
    pub fn doubt_of(&self, target: &str, object: &LeanObject) -> Option<Doubt> {
        let attestation = self.attested.as_ref()?.get(target);
        Doubt::of(&object.id, attestation, self.unwritten.get(target)).filter(|_| !object.deleting)
    }
}

impl OfTarget<'_> {
    /// Returns the holds of all the target's corrections.
    #[must_use]
    pub fn whole(&self) -> Vec<Hold> {
        let correct = self.target.correct.mode.corrects();
        let unattested = (correct && self.attestation == Some(None)).then(Hold::target_not_attested);
        let lacks_controller = self.lacks_controller && correct && !self.target.suspend;
        unattested.into_iter().chain(lacks_controller.then(Hold::no_controller)).collect()
    }

    /// Returns the holds that the controller lists for the target. Not each object is held by them.
    #[must_use]
    pub fn listed(&self) -> Vec<Hold> {
        self.known.whole.iter().map(|hold| hold.shown(&self.target.name)).collect()
    }

    /// Returns what holds the next step of an object, the first reason first: the object and its target, or else the
    /// Leases and the windows, if the controller takes that step.
    #[must_use]
    pub fn of_object(&self, object: &LeanObject, next: Next, now: Timestamp) -> Vec<Hold> {
        if let Some(why) = next.held() {
            return vec![self.target.hold(object, why, None, now)];
        }
        if !next.awaits_controller(object) {
            return Vec::new();
        }
        let mut holds: Vec<Hold> = self.lacks_controller.then(Hold::no_controller).into_iter().collect();
        if next == Next::Correction {
            holds.extend(self.unattested(object));
        }
        if !self.known.is_empty() {
            let applying = self.known.applying(&self.target.name, HeldObject::from(object), now);
            holds.extend(applying.into_iter().map(|hold| self.about(object, hold)));
        }
        if next == Next::Correction || ending_of(self.target, object) == Ending::Deleted {
            holds.extend(self.target.correct.window_hold(object, now).filter(|_| !has_begun(object)));
        }
        holds
    }

    /// The hold with the object in its commands.
    fn about(&self, object: &LeanObject, hold: Hold) -> Hold {
        Hold { sentence: self.target.about(object, &hold.sentence), ..hold }
    }

    /// An attestation of another text says nothing of the object.
    fn unattested(&self, object: &LeanObject) -> Option<Hold> {
        match self.attestation? {
            None => Some(Hold::target_not_attested()),
            Some(word) if word.hash == self.target.verdict_hash && word.except.has(&object.id) => {
                Some(Hold::object_not_attested())
            }
            Some(_) => None,
        }
    }
}

/// Returns true if a correction or a deletion has begun. It continues outside of a window.
fn has_begun(object: &LeanObject) -> bool {
    let record = object.conditions.correction_status();
    record.reason == Some(CorrectedReason::CorrectionStarted) && record.generation == object.generation
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::engine::fixtures::{TEXT, target};
    use drift_api::held_corrections::Held;
    use drift_api::names::FINALIZER;
    use serde_json::json;

    const NOW: &str = "2026-01-01T12:00:00Z";
    /// Both windows open at night.
    const CORRECT: &str = "\n  correct:
    mode: Correct
    windows: [{cron: '0 22 * * *', duration: 1h}]
    deletionWindows: [{cron: '0 23 * * *', duration: 1h}]
    http:
      create: [{method: POST, url: 'http://h/x'}]
      update: [{method: PUT, url: 'http://h/x'}]
      delete: [{method: DELETE, url: 'http://h/x'}]
";

    fn attested(text: &str) -> Option<BTreeMap<String, Attestation>> {
        Some(BTreeMap::from([("t".to_owned(), Attestation::parse(text).unwrap())]))
    }

    fn listed(holds: &str) -> Option<Option<HeldCorrections>> {
        Some(Some(HeldCorrections::parse(&format!("{{\"targets\": {{\"t\": {holds}}}}}"))))
    }

    /// An object of the target with this record, which owns its resource.
    fn object(target: &Target, record: &str, more: &serde_json::Value) -> LeanObject {
        let mut metadata = json!({"name": "web", "uid": "u", "generation": 1});
        metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let conditions = json!([
            {"type": "driftObserved", "status": "True", "reason": "FieldsDiffer", "observedGeneration": 1,
                "message": "x [desired 3f2a9c71d04b58e6, correction 2]"},
            {"type": "driftCorrected", "status": "True", "reason": record, "observedGeneration": 1,
                "message": "correction 2, owns \"x\": x"}]);
        let whole = json!({"metadata": metadata, "spec": {"id": "x", "a": 1}, "status": {"conditions": conditions}});
        LeanObject::prune(&whole, &target.all_fields)
    }

    fn words(leases: &LeaseHolds, target: &Target, object: &LeanObject, next: Next) -> String {
        let holds = leases.of_target(target).of_object(object, next, NOW.parse().unwrap());
        holds.into_iter().map(|hold| hold.word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_next_step_has_its_holds() {
        let target = target(TEXT);
        let windowed = crate::engine::fixtures::target(&format!("{}{CORRECT}", TEXT.trim_end()));
        let object = |target: &Target, more| self::object(target, "CorrectionApplied", &more);
        let (drifted, windowed_drifted) = (object(&target, json!({})), object(&windowed, json!({})));
        let deletion = |finalizers: &[&str]| json!({"deletionTimestamp": NOW, "finalizers": finalizers});
        let (ours, foreign) = (deletion(&[FINALIZER]), deletion(&["example.com/other"]));
        let (deleting, without) = (object(&target, ours.clone()), object(&target, foreign));
        let orphan = json!({"deletionTimestamp": NOW, "finalizers": [FINALIZER],
            "annotations": {"driftpoller.dev/orphan": "true"}});
        let (windowed_deleting, orphan) = (object(&windowed, ours.clone()), object(&windowed, orphan));
        let begun = self::object(&windowed, "CorrectionStarted", &json!({}));
        let begun_deletion = self::object(&windowed, "CorrectionStarted", &ours);

        let good = || attested(&target.verdict_hash);
        let none = || Some(BTreeMap::new());
        let excepted = || attested(&format!("{} except u", target.verdict_hash));
        let leases = |attested, controller| LeaseHolds { attested, controller, ..LeaseHolds::default() };
        let nothing = || listed("{}");
        let open = || listed(r#"{"whole": ["BreakerOpen 15/29 20%"]}"#);
        let (correction, deletion) = (Next::Correction, Next::Deletion);
        let table = [
            // Drifted.
            (leases(good(), nothing()), &target, &drifted, correction, ""),
            (leases(good(), open()), &target, &drifted, correction, "BreakerOpen"),
            (leases(good(), open()), &target, &drifted, Next::Held(Held::Observing), "Observing"),
            (leases(good(), Some(None)), &target, &drifted, Next::Held(Held::NotVerified), "NotVerified"),
            (leases(good(), Some(None)), &target, &drifted, correction, "NoController"),
            (leases(none(), Some(None)), &target, &drifted, correction, "NoController NotAttested"),
            (leases(none(), open()), &target, &drifted, correction, "NotAttested BreakerOpen"),
            (leases(excepted(), nothing()), &target, &drifted, correction, "NotAttested"),
            (leases(attested("0123 except u"), nothing()), &target, &drifted, correction, ""),
            (leases(None, open()), &target, &drifted, correction, "BreakerOpen"),
            (leases(good(), None), &target, &drifted, correction, ""),
            (leases(none(), None), &target, &drifted, correction, "NotAttested"),
            (leases(none(), Some(None)), &target, &drifted, Next::Poll, ""),
            (leases(none(), Some(None)), &target, &drifted, Next::Nothing, ""),
            // Deleting.
            (leases(good(), nothing()), &target, &deleting, deletion, ""),
            (leases(good(), Some(None)), &target, &deleting, deletion, "NoController"),
            (leases(none(), nothing()), &target, &deleting, deletion, ""),
            (leases(good(), open()), &target, &deleting, deletion, ""),
            (leases(good(), listed(r#"{"whole": ["TargetTaken"]}"#)), &target, &deleting, deletion, "TargetTaken"),
            (leases(good(), Some(None)), &target, &without, deletion, ""),
            // Windows are closed.
            (leases(good(), nothing()), &windowed, &windowed_drifted, correction, "OutsideWindow"),
            (leases(None, None), &windowed, &windowed_drifted, correction, "OutsideWindow"),
            (leases(good(), nothing()), &windowed, &begun, correction, ""),
            (leases(good(), nothing()), &windowed, &windowed_deleting, deletion, "OutsideDeletionWindow"),
            (leases(good(), Some(None)), &windowed, &windowed_deleting, deletion, "NoController OutsideDeletionWindow"),
            (leases(good(), nothing()), &windowed, &begun_deletion, deletion, ""),
            (leases(good(), nothing()), &windowed, &orphan, deletion, ""),
        ];
        for (leases, target, object, next, expected) in table {
            assert_eq!(words(&leases, target, object, next), expected, "{leases:?} {next:?} {object:?}");
        }
    }

    #[test]
    fn a_whole_target_is_held_if_it_corrects() {
        let observing = target(TEXT);
        let correcting = format!("{}{CORRECT}", TEXT.trim_end());
        let suspended = target(&correcting.replace("  interval: 30s", "  interval: 30s\n  suspend: true"));
        let leases = LeaseHolds { attested: Some(BTreeMap::new()), controller: Some(None), ..LeaseHolds::default() };
        let unknown = LeaseHolds::default();
        for (leases, target, expected) in [
            (&leases, &observing, &[][..]),
            (&leases, &target(&correcting), &["NotAttested", "NoController"]),
            (&leases, &suspended, &["NotAttested"]),
            (&unknown, &target(&correcting), &[]),
        ] {
            let words: Vec<_> = leases.of_target(target).whole().into_iter().map(|hold| hold.word).collect();
            assert_eq!(words, expected, "{:?}", target.correct.mode);
        }
    }
}
