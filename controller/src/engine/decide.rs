//! Decides the next action for one object.
//!
//! A drifted object is corrected only under these conditions: the verdict matches exactly this spec and the state after
//! our last correction, the poller attests it, the resource is ours or may become ours, and delays, limits and the
//! breaker allow it. Every other case is a reason to do nothing, a status write, or a time for the next look.

mod approval;
pub mod attempts;
pub mod attestation;
pub mod decision;
pub mod deletion;
mod drifted;
pub mod facts;
pub mod mass_drift_breaker;
mod ownership;
pub mod situation;
mod status_writes;
mod stored_ids;
mod unseen_create;

use drift_api::{
    Claim, ConditionStatus, CorrectedReason, CorrectionStatus, CurrentVerdict, LeanObject, Moment, ObservedReason,
    ResourceName,
};
use drift_language::{Existing, TargetState};

use self::drifted::{Drift, decide_contradicted, decide_drifted};
use self::ownership::{decide_among_others, without_given_up};
use self::stored_ids::{polled_first, without_stored_ids};
use crate::engine::corrections::{Action, Held};
use crate::engine::decide::decision::Decision;
use crate::engine::decide::deletion::decide_deletion;
use crate::engine::decide::situation::{Situation, Surroundings};

/// Decides the next action for an object without running work.
#[must_use]
pub fn decide(situation: &Situation<'_>) -> Decision {
    if let Some(held) = not_ours_to_touch(&situation.surroundings) {
        return Decision::Nothing(held);
    }
    let is_released = situation.object.deleting && !situation.object.has_finalizer();
    if situation.object.conditions.are_of_newer_version() && !is_released {
        return Decision::Nothing(Held::NewerVersion);
    }
    let status = situation.status();
    let decision =
        if situation.object.deleting { decide_deletion(situation, &status) } else { decide_living(situation, &status) };
    let decision = if_target_governs(situation, decision);
    match writable_from(situation, &decision) {
        Some((until, why)) if situation.now < until => Decision::Wait { until, why },
        _ => decision,
    }
}

/// Returns the earliest time of the decided write, given the results of the last writes; `None` if nothing is written.
///
/// A deletion does not wait for status writes. Otherwise a status that is always refused would keep the
/// finalizer for ever.
fn writable_from(situation: &Situation<'_>, decision: &Decision) -> Option<(Moment, Held)> {
    let Situation { object, memory, now, .. } = situation;
    let writes = &memory.writes;
    let (refused, is_repair) = match decision {
        Decision::Nothing(_) | Decision::Wait { .. } => return None,
        Decision::Correct(correction) if correction.action == Action::Delete => (Moment::START, false),
        Decision::Correct(_) => (writes.status_ready_at(), false),
        Decision::WriteStatus(_) | Decision::TakeUp { .. } => (writes.status_ready_at(), true),
        Decision::PutFinalizer | Decision::ReleaseFinalizer { .. } => (writes.finalizer_ready_at(), !object.deleting),
    };
    let repaired = if is_repair { writes.repair_ready_at(*now) } else { Moment::START };
    let reasons =
        [(refused, Held::WriteRefused), (writes.races_ready_at(), Held::RaceLost), (repaired, Held::WriteUndone)];
    reasons.into_iter().max_by_key(|(until, _)| *until)
}

/// Replaces an action that the state of the target forbids. Drift always shows that state, because every other reason
/// ends without effect.
fn if_target_governs(situation: &Situation<'_>, decision: Decision) -> Decision {
    let Situation { object, surroundings, .. } = situation;
    let rules = surroundings.state.rules();
    let may_act = if object.deleting { rules.deletes } else { rules.corrects };
    let drifts = object.conditions.observed().is_some_and(|condition| condition.status == ConditionStatus::True);
    let is_idle = matches!(decision, Decision::Nothing(_)) && (object.deleting || !drifts);
    if may_act || is_idle {
        return decision;
    }
    Decision::Nothing(match surroundings.state {
        TargetState::Taken => Held::TargetTaken,
        _ => Held::TargetFormer,
    })
}

/// Returns the reason why the target may not even remove a finalizer.
const fn not_ours_to_touch(surroundings: &Surroundings) -> Option<Held> {
    if surroundings.listed { None } else { Some(Held::NotListed) }
}

/// Returns true if a correction that was decided on `before` is still valid for `after`, the same object after
/// our own writes.
#[must_use]
pub fn still_stands(before: &LeanObject, after: &LeanObject) -> bool {
    before.generation == after.generation
        && before.deleting == after.deleting
        && before.paused == after.paused
        && before.orphan == after.orphan
        && before.given_up() == after.given_up()
        && before.approved() == after.approved()
        && before.window_open_until() == after.window_open_until()
        && before.conditions.observed() == after.conditions.observed()
        && before.view == after.view
}

fn decide_living(situation: &Situation<'_>, status: &CorrectionStatus) -> Decision {
    let Situation { object, target, .. } = situation;
    if object.has_finalizer() && !target.deletes() {
        return Decision::ReleaseFinalizer { left_behind: true };
    }
    if !target.mode.corrects() {
        return Decision::Nothing(Held::Observing);
    }
    if let Some(status) = without_given_up(situation, status) {
        return Decision::WriteStatus(status);
    }
    // A status that another writer removed is restored first. A claim that only exists in memory is lost with the
    // process, and the poller does not verify a correction that it cannot see.
    if let Some(lost) = situation.memory.lost_status(object) {
        return Decision::WriteStatus(lost.clone().in_scope(target.scope));
    }
    let goes_on = situation.memory.knows_to_go_on(status) && situation.may_name_what_it_owns(status);
    let is_interrupted = status.reason == Some(CorrectedReason::CorrectionStarted) && !goes_on;
    if is_interrupted {
        return Decision::WriteStatus(status.interrupted(object.generation));
    }
    let resource = match situation.permitted_resource() {
        Ok(resource) => resource,
        Err(held) => return Decision::Nothing(held),
    };
    if let Some(decision) = decide_among_others(situation, status, &resource) {
        return decision;
    }
    if let Some(decision) = without_stored_ids(situation, status).or_else(|| polled_first(situation, status)) {
        return decision;
    }
    if needs_finalizer(situation, status, &resource) {
        return Decision::PutFinalizer;
    }
    if let Some(moved) = situation.with_moved_secrets(status, &resource) {
        return Decision::WriteStatus(moved);
    }
    decide_by_verdict(situation, status, &resource)
}

/// With Adopt, the finalizer is due on first sight. Otherwise it is due on claimed resources, because the target may
/// have gained its `delete` later.
fn needs_finalizer(situation: &Situation<'_>, status: &CorrectionStatus, resource: &ResourceName) -> bool {
    let is_claimed = status.claim.as_ref().is_some_and(|claim| claim.name().names(resource));
    let due = is_claimed || situation.target.existing == Existing::Adopt;
    due && situation.target.deletes() && !situation.object.has_finalizer()
}

fn decide_by_verdict(situation: &Situation<'_>, status: &CorrectionStatus, resource: &ResourceName) -> Decision {
    let Situation { object, facts, .. } = situation;
    let Some(current) = object.conditions.observed().and_then(CurrentVerdict::read) else {
        return Decision::Nothing(Held::NoVerdict);
    };
    if facts.desired_hash.is_none() {
        return Decision::Nothing(Held::TemplateFails);
    }
    let is_other_spec = current.generation != object.generation;
    let is_other_desired = current.tag.desired_hash != facts.desired_hash;
    if is_other_spec || is_other_desired {
        return Decision::Nothing(Held::VerdictOutdated);
    }
    if current.tag.correction != status.correction {
        return Decision::Nothing(Held::NotVerified);
    }
    match current.reason {
        ObservedReason::InSync => decide_in_sync(situation, status, resource),
        reason if reason.status() == ConditionStatus::True && situation.target.actions.nudge => {
            decide_drifted(situation, status, &Drift { current: &current, action: Action::Nudge, resource })
        }
        ObservedReason::NotCreated | ObservedReason::ExternalMissing => {
            decide_drifted(situation, status, &Drift { current: &current, action: Action::Create, resource })
        }
        ObservedReason::NotUpdated | ObservedReason::FieldsDiffer => {
            let action = if current.tag.replace { Action::Replace } else { Action::Update };
            decide_drifted(situation, status, &Drift { current: &current, action, resource })
        }
        ObservedReason::AbsenceContradicted => decide_contradicted(situation, status),
        _ => Decision::Nothing(Held::VerdictUnknown),
    }
}

fn decide_in_sync(situation: &Situation<'_>, status: &CorrectionStatus, resource: &ResourceName) -> Decision {
    let generation = situation.object.generation;
    let cleared = || {
        // A claim that only permits a create is void once another party created the resource.
        let claim = status.claim.clone().filter(|claim| matches!(claim, Claim::Owns(_)));
        // Without a claim, a correction in effect would look like ownership. A nudge owns nothing, and its correction is
        // in effect all the same.
        let (reason, text) = match claim.is_some() || situation.target.actions.nudge {
            true => (CorrectedReason::CorrectionApplied, "in sync again"),
            false => (CorrectedReason::NotOurs, "in sync, and the object does not own the external resource"),
        };
        Decision::WriteStatus(CorrectionStatus { claim, unseen: None, ..status.keeping(reason, text, generation) })
    };
    match status.reason {
        Some(CorrectedReason::NotOurs | CorrectedReason::AwaitingApproval)
            if status.correction == 0 && status.claim.is_none() =>
        {
            Decision::WriteStatus(CorrectionStatus::default())
        }
        Some(CorrectedReason::NotOurs) if status.claim.is_none() => Decision::Nothing(Held::InSync),
        Some(CorrectedReason::NotOurs) => cleared(),
        Some(
            CorrectedReason::CorrectionStarted
            | CorrectedReason::CorrectionFailed
            | CorrectedReason::AttemptsExhausted
            | CorrectedReason::CreationInDoubt
            | CorrectedReason::AwaitingApproval
            | CorrectedReason::IdentityFree,
        ) => cleared(),
        // The identity or the scope was changed back, so the status is no longer true.
        Some(CorrectedReason::IdentityChanged) if status.owned().is_some_and(|owned| owned.names(resource)) => {
            cleared()
        }
        // The replacement helped. Later drift may be replaced again.
        _ if status.replaced => Decision::WriteStatus(CorrectionStatus { replaced: false, ..status.clone() }),
        _ => Decision::Nothing(Held::InSync),
    }
}

#[cfg(test)]
mod tests;
