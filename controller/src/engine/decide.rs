//! Decides the next action for one object.
//!
//! A drifted object is corrected only under these conditions: the verdict matches exactly this spec and the state after
//! our last correction, the poller attests it, the resource is ours or may become ours, and delays, limits and the
//! breaker allow it. Every other case is a reason to do nothing, a status write, or a time for the next look.

mod approval;
pub mod attempts;
pub mod attestation;
pub mod decision;
mod deletion;
mod drifted;
pub mod facts;
mod guards;
pub mod holds;
pub mod mass_drift_breaker;
mod ownership;
mod preparation;
pub mod situation;
mod state;
mod stored_ids;
mod unseen_create;

use drift_api::condition::ConditionStatus;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_language::TargetState;

use self::guards::GUARDS;
use self::state::Case;
use crate::engine::corrections::{Action, Held};
use crate::engine::decide::decision::Decision;
use crate::engine::decide::situation::Situation;

/// Decides the next action for an object without running work: the first guard with a decision decides, else the state of
/// the object.
#[must_use]
pub fn decide(situation: &Situation<'_>) -> Decision {
    let case = Case::of(situation);
    let decision = GUARDS.iter().find_map(|guard| guard.decide(&case)).unwrap_or_else(|| case.act());
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
        // The claim of its first correction puts the finalizer first.
        Decision::Correct(_) => (writes.status_ready_at().max(writes.finalizer_ready_at()), false),
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
    let is_untouched = matches!(decision, Decision::Nothing(Held::NotListed | Held::NewerVersion));
    let is_idle = matches!(decision, Decision::Nothing(_)) && (object.deleting || !drifts);
    if may_act || is_untouched || is_idle {
        return decision;
    }
    Decision::Nothing(match surroundings.state {
        TargetState::Taken => Held::TargetTaken,
        _ => Held::TargetFormer,
    })
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

#[cfg(test)]
mod tests;
