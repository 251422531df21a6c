//! Derives the verdict from a finding and the current verdict.
//!
//! The numbers of the tag are computed here: if the object was in sync before, the correction that this poll verified,
//! and the number of consecutive corrections that left it drifted.

use drift_api::condition::{CurrentVerdict, DesiredHash, ObservedReason, Tag, Verdict};
use drift_api::object::LeanObject;
use std::hash::{DefaultHasher, Hash, Hasher};

use drift_api::condition::closed_text;

use crate::engine::judgement::finding::{Failure, Finding};

/// State of the object at the start of a poll. The result is written only onto this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Basis {
    /// Value of `metadata.generation`; `None` for a kind without it.
    pub generation: Option<i64>,
    /// Hash of the desired state; `None` if rendering fails.
    pub desired_hash: Option<DesiredHash>,
    /// K: the number of corrections with a definite outcome.
    pub correction: u64,
    /// Fingerprint of the secrets that changed since they were sent; 0 if none did.
    pub moved: u64,
    /// True if the external system refused to create this state because the resource exists already. A read that finds
    /// nothing is contradicted then.
    pub contradicted: bool,
    /// True if the record has a create that a poll has to find. Absence must last longer then.
    pub created: bool,
}

impl Basis {
    /// Returns the basis of an object in its current state, with this desired state.
    #[must_use]
    pub fn of(object: &LeanObject, desired_hash: Option<DesiredHash>) -> Self {
        Self {
            generation: object.generation,
            desired_hash,
            correction: object.conditions.correction(),
            moved: tell_apart(&object.conditions.moved_secrets()),
            contradicted: object.conditions.contradict_absence(object.generation, desired_hash),
            created: object.conditions.has_unseen_create(),
        }
    }

    /// Returns true if a current verdict is about this spec.
    #[must_use]
    pub fn is_spoken_of_by(&self, current: &CurrentVerdict) -> bool {
        current.is_of(self.generation, self.desired_hash)
    }

    /// Returns true if a current verdict reports exactly this state as in sync.
    #[must_use]
    pub fn is_in_sync_by(&self, current: &CurrentVerdict) -> bool {
        current.reason == ObservedReason::InSync && self.is_verified_by(current) && self.moved == 0
    }

    /// Returns true if a current verdict is about this spec, this desired state and this correction.
    #[must_use]
    pub fn is_verified_by(&self, current: &CurrentVerdict) -> bool {
        self.is_spoken_of_by(current)
            && current.tag.desired_hash == self.desired_hash
            && current.tag.correction == self.correction
    }

    /// Returns true if two states have the same spec, regardless of corrections between them.
    #[must_use]
    pub fn has_the_spec_of(&self, other: &Self) -> bool {
        match self.generation {
            Some(_) => self.generation == other.generation,
            None => self.desired_hash == other.desired_hash,
        }
    }
}

/// Returns the verdict of a finding.
///
/// `known` matters if another writer removed the condition that proved it.
#[must_use]
pub fn reach_verdict(finding: &Finding, basis: &Basis, current: Option<&CurrentVerdict>, known: &Known) -> Verdict {
    let (latest, seen) = (current, known.in_sync);
    let current = current.filter(|current| basis.is_spoken_of_by(current));
    let seen = seen || current.is_some_and(CurrentVerdict::proves_seen);
    let tag = |correction, unhealed| Tag { desired_hash: basis.desired_hash, correction, unhealed, ..Tag::default() };
    let (reason, text, tag) = match finding {
        Finding::InSync => {
            (ObservedReason::InSync, closed_text(ObservedReason::InSync).into(), tag(basis.correction, 0))
        }
        Finding::Differs(drift) => {
            let reason = if seen { ObservedReason::FieldsDiffer } else { ObservedReason::NotUpdated };
            let tag = tag(basis.correction, count_unhealed(basis, current));
            (reason, drift.text.clone().into(), Tag { fields: drift.fields.clone(), replace: drift.replace, ..tag })
        }
        Finding::Absent if basis.contradicted => {
            let reason = ObservedReason::AbsenceContradicted;
            let tag = tag(basis.correction, count_unhealed(basis, current));
            (reason, closed_text(reason).into(), Tag { seen, ..tag })
        }
        Finding::Absent => {
            let reason = if seen { ObservedReason::ExternalMissing } else { ObservedReason::NotCreated };
            // A create in doubt is no correction that healed nothing.
            let unhealed = match is_unfound(basis, basis.correction, latest, known) {
                true => current.map_or(0, |current| current.tag.unhealed),
                false => count_unhealed(basis, current),
            };
            (reason, closed_text(reason).into(), tag(basis.correction, unhealed))
        }
        Finding::Failed(Failure { reason, text }) => {
            // A failed poll verified nothing, so the verdict repeats the numbers of the previous one.
            let (correction, unhealed) =
                current.map_or((basis.correction, 0), |current| (current.tag.correction, current.tag.unhealed));
            (*reason, text.clone().into(), Tag { seen, ..tag(correction, unhealed) })
        }
    };
    let is_present = matches!(finding, Finding::InSync | Finding::Differs(_));
    let unfound = !is_present && is_unfound(basis, tag.correction, latest, known);
    let was_found = is_present || known.found || latest.is_some_and(CurrentVerdict::proves_found);
    let found = was_found && !tag.seen && !reason.implies_found();
    Verdict { reason, text, tag: Tag { unfound, found, ..tag }, generation: basis.generation }
}

/// What this process knows about an object's resource without the current verdict.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// True if it saw the object in sync at this spec.
    pub in_sync: bool,
    /// K at the last poll that found the resource; `None` if no poll did.
    pub found_at: Option<u64>,
    /// True if a poll found the resource at any generation, and it was not deleted for a replacement since.
    pub found: bool,
    /// Accepted corrections in a row that left the same difference, as this process saw them.
    pub in_vain: u8,
}

/// Returns true if the record has a create, and no poll since that correction found the resource.
pub fn is_unfound(basis: &Basis, correction: u64, latest: Option<&CurrentVerdict>, known: &Known) -> bool {
    let was_found = latest.is_some_and(|latest| latest.has_found_since(correction));
    basis.created && !was_found && known.found_at.is_none_or(|found_at| found_at < correction)
}

/// Hashes the names of the changed secrets, so that a basis can be copied; 0 for none.
fn tell_apart(moved: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new();
    moved.hash(&mut hasher);
    if moved.is_empty() { 0 } else { hasher.finish().max(1) }
}

/// Returns the number of consecutive verified corrections that left the object drifted, including this poll.
fn count_unhealed(basis: &Basis, current: Option<&CurrentVerdict>) -> u32 {
    match current {
        Some(current) if current.reason != ObservedReason::InSync => {
            current.tag.unhealed.saturating_add(u32::from(basis.correction > current.tag.correction))
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::judgement::drift::Drift;
    use ObservedReason::*;
    use drift_api::condition::{ConditionStatus, DifferingFields};
    use serde_json::json;

    fn desired_hash(seed: u32) -> Option<DesiredHash> {
        Some(DesiredHash::of(&json!(seed)))
    }

    fn basis(generation: i64, correction: u64) -> Basis {
        Basis {
            generation: Some(generation),
            desired_hash: desired_hash(1),
            correction,
            moved: 0,
            contradicted: false,
            created: false,
        }
    }

    fn current(reason: ObservedReason, generation: i64, tag: Tag) -> CurrentVerdict {
        CurrentVerdict { reason, tag: Tag { desired_hash: desired_hash(1), ..tag }, generation: Some(generation) }
    }

    fn corrected(correction: u64, unhealed: u32) -> Tag {
        Tag { correction, unhealed, ..Tag::default() }
    }

    #[test]
    fn drift_is_an_incident_only_after_in_sync() {
        let seen = Tag { seen: true, ..Tag::default() };
        let cases = [
            (None, NotUpdated, NotCreated),
            (Some(current(InSync, 3, Tag::default())), FieldsDiffer, ExternalMissing),
            (Some(current(InSync, 2, Tag::default())), NotUpdated, NotCreated),
            (Some(current(FieldsDiffer, 3, Tag::default())), FieldsDiffer, ExternalMissing),
            (Some(current(ExternalMissing, 3, Tag::default())), FieldsDiffer, ExternalMissing),
            (Some(current(NotCreated, 3, Tag::default())), NotUpdated, NotCreated),
            (Some(current(PollTimedOut, 3, Tag::default())), NotUpdated, NotCreated),
            (Some(current(PollTimedOut, 3, seen.clone())), FieldsDiffer, ExternalMissing),
            (Some(current(PollTimedOut, 2, seen)), NotUpdated, NotCreated),
        ];
        for (current, differs, absent) in cases {
            let reason = |finding| reach_verdict(&finding, &basis(3, 0), current.as_ref(), &Known::default()).reason;
            assert_eq!(reason(Finding::Differs("x".into())), differs, "{current:?}");
            assert_eq!(reason(Finding::Absent), absent, "{current:?}");
        }
    }

    #[test]
    fn without_generations_a_changed_desired_state_is_a_changed_spec() {
        let without = |seed| Basis { generation: None, desired_hash: desired_hash(seed), ..basis(0, 0) };
        let mut current = current(InSync, 0, Tag::default());
        current.generation = None;
        let reason = |basis| reach_verdict(&Finding::Absent, &basis, Some(&current), &Known::default()).reason;
        assert_eq!(reason(without(1)), ExternalMissing);
        assert_eq!(reason(without(2)), NotCreated);
    }

    #[test]
    fn a_changed_desired_state_of_one_generation_is_drift() {
        let mut current = current(InSync, 3, Tag::default());
        current.tag.desired_hash = desired_hash(2);
        let verdict = reach_verdict(&Finding::Differs("x".into()), &basis(3, 0), Some(&current), &Known::default());
        assert_eq!(verdict.reason, FieldsDiffer);
    }

    #[test]
    fn a_create_is_unfound_until_a_poll_finds_it() {
        let created = Basis { created: true, ..basis(3, 5) };
        let verdict = |finding: &Finding, current: Option<&CurrentVerdict>, known| {
            reach_verdict(finding, &created, current, &known)
        };
        let said = |verdict: Verdict| CurrentVerdict { reason: verdict.reason, tag: verdict.tag, generation: Some(3) };
        let timed_out = Finding::Failed(Failure::of(PollTimedOut));
        let nothing = Known::default();
        let before = current(NotCreated, 3, corrected(4, 2));
        let absent = verdict(&Finding::Absent, Some(&before), nothing);
        assert!(absent.tag.unfound && absent.tag.unhealed == 2, "it counts as no correction in vain: {absent:?}");
        let absent = said(absent);
        assert!(verdict(&Finding::Absent, Some(&absent), nothing).tag.unfound);
        assert!(verdict(&timed_out, Some(&absent), nothing).tag.unfound);
        for present in [Finding::InSync, Finding::Differs("x".into())] {
            let found = verdict(&present, Some(&absent), nothing);
            assert!(!found.tag.unfound);
            let unknown = said(verdict(&timed_out, Some(&said(found.clone())), nothing));
            for current in [said(found), unknown] {
                assert!(!verdict(&Finding::Absent, Some(&current), nothing).tag.unfound, "{current:?}");
            }
        }
        let remembered = Known { found_at: Some(5), ..nothing };
        assert!(!verdict(&Finding::Absent, None, remembered).tag.unfound, "another writer removed the condition");
        assert!(verdict(&Finding::Absent, None, Known { found_at: Some(4), ..nothing }).tag.unfound);
        assert!(!reach_verdict(&Finding::Absent, &basis(3, 5), None, &nothing).tag.unfound, "no create to find");
    }

    #[test]
    fn a_found_resource_stays_found_through_edits() {
        let verdict = |finding: &Finding, current: &CurrentVerdict, known| {
            reach_verdict(finding, &basis(3, 5), Some(current), &known)
        };
        let timed_out = Finding::from(PollTimedOut);
        let nothing = Known::default();
        for (reason, seen, is_found) in [
            (InSync, false, true),
            (FieldsDiffer, false, true),
            (NotUpdated, false, true),
            (ExternalMissing, false, true),
            (Settling, false, true),
            (PollTimedOut, true, true),
            (PollTimedOut, false, false),
            (NotCreated, false, false),
        ] {
            // The spec was edited since, so nothing is known at this generation.
            let before = current(reason, 2, Tag { seen, ..Tag::default() });
            for finding in [&Finding::Absent, &timed_out] {
                let after = verdict(finding, &before, nothing);
                assert_eq!(after.tag.found, is_found, "{reason} then {finding:?}");
                let said = CurrentVerdict { reason: after.reason, tag: after.tag, generation: Some(2) };
                assert_eq!(verdict(&Finding::Absent, &said, nothing).tag.found, is_found, "{reason}, later");
            }
            let known = Known { found: true, ..nothing };
            assert!(verdict(&timed_out, &before, known).tag.found, "another writer changed the condition");
        }
        let same = current(InSync, 3, Tag::default());
        for finding in [Finding::InSync, Finding::Differs("x".into()), Finding::Absent, timed_out] {
            assert!(
                !verdict(&finding, &same, Known { found: true, ..nothing }).tag.found,
                "it is implied: {finding:?}"
            );
        }
    }

    #[test]
    fn unhealed_counts_verified_corrections_in_a_row() {
        let unhealed = |basis: Basis, current: Option<CurrentVerdict>| {
            reach_verdict(&Finding::Absent, &basis, current.as_ref(), &Known::default()).tag.unhealed
        };
        assert_eq!(unhealed(basis(3, 5), None), 0);
        assert_eq!(unhealed(basis(3, 5), Some(current(FieldsDiffer, 3, corrected(5, 2)))), 2, "the same correction");
        assert_eq!(unhealed(basis(3, 6), Some(current(FieldsDiffer, 3, corrected(5, 2)))), 3, "one more");
        assert_eq!(unhealed(basis(3, 6), Some(current(FieldsDiffer, 2, corrected(5, 2)))), 0, "a new generation");
        assert_eq!(unhealed(basis(3, 6), Some(current(InSync, 3, corrected(5, 0)))), 0, "after in sync");
        assert_eq!(unhealed(basis(3, 6), Some(current(PollTimedOut, 3, corrected(5, 2)))), 3, "through an outage");
    }

    #[test]
    fn a_refused_create_makes_an_absence_unknown() {
        let contradicted = Basis { contradicted: true, ..basis(3, 6) };
        let reach = |finding, current: Option<CurrentVerdict>| {
            reach_verdict(&finding, &contradicted, current.as_ref(), &Known::default())
        };
        let first = reach(Finding::Absent, Some(current(ExternalMissing, 3, corrected(5, 2))));
        assert_eq!((first.reason, first.status()), (AbsenceContradicted, ConditionStatus::Unknown));
        let told = Tag { desired_hash: desired_hash(1), seen: true, ..corrected(6, 3) };
        assert_eq!(first.tag, told, "the correction is verified, and counts as one that healed nothing");
        let again = reach(Finding::Absent, Some(current(AbsenceContradicted, 3, told)));
        assert_eq!((&again.reason, &again.text, &again.tag), (&first.reason, &first.text, &first.tag));
        for (finding, reason) in [
            (Finding::InSync, InSync),
            (Finding::Differs("x".into()), NotUpdated),
            (Finding::from(PollTimedOut), PollTimedOut),
        ] {
            assert_eq!(reach(finding, None).reason, reason);
        }
        let withdrawn = reach_verdict(
            &Finding::Absent,
            &basis(3, 6),
            Some(&current(AbsenceContradicted, 3, first.tag)),
            &Known::default(),
        );
        assert_eq!(
            (withdrawn.reason, withdrawn.tag),
            (ExternalMissing, Tag { desired_hash: desired_hash(1), ..corrected(6, 3) })
        );
    }

    #[test]
    fn only_a_difference_names_fields() {
        let fields = DifferingFields::named(["a"]);
        let drift = Drift { fields: fields.clone(), replace: true, ..Drift::from("x") };
        let tag = |finding: &Finding| reach_verdict(finding, &basis(3, 5), None, &Known::default()).tag;
        let differs = tag(&Finding::Differs(drift));
        assert_eq!((differs.fields, differs.replace), (fields, true));
        for finding in [Finding::InSync, Finding::Absent, Finding::from(PollTimedOut)] {
            let tag = tag(&finding);
            assert!(tag.fields.is_empty() && !tag.replace, "{finding:?}");
        }
    }

    #[test]
    fn a_failed_poll_verifies_nothing_and_forgets_nothing() {
        let finding = Finding::from(PollTimedOut);
        let before = current(FieldsDiffer, 3, corrected(5, 2));
        let tag = reach_verdict(&finding, &basis(3, 6), Some(&before), &Known::default()).tag;
        assert_eq!(
            tag,
            Tag { desired_hash: desired_hash(1), seen: true, correction: 5, unhealed: 2, ..Tag::default() }
        );
        let tag = reach_verdict(&finding, &basis(4, 6), Some(&before), &Known::default()).tag;
        assert_eq!(tag, Tag { desired_hash: desired_hash(1), found: true, correction: 6, ..Tag::default() });
    }
}
