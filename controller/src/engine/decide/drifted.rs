//! Guards of a correction: may the action follow the verdict, and is it time?

use drift_api::condition::{CorrectedReason, CorrectionStatus, DifferingFields};
use drift_language::Mode;

use super::state::Case;
use crate::engine::correction_limits::Room;
use crate::engine::corrections::{Action, Held, Permission};
use crate::engine::decide::attempts::{Attempts, judge};
use crate::engine::decide::decision::Decision;

/// The refusal that contradicts the poll was of another spec or another desired state.
pub(super) fn other_contradiction(case: &Case<'_>) -> Option<Decision> {
    (!contradicts_absence(case)).then_some(Decision::Nothing(Held::VerdictUnknown))
}

/// The target has no steps for the action.
pub(super) fn no_action(case: &Case<'_>) -> Option<Decision> {
    let has_steps = case.situation.target.actions.has(case.action()?);
    (!has_steps).then_some(Decision::Nothing(Held::NoAction))
}

/// The poller does not attest the verdict.
pub(super) fn not_attested(case: &Case<'_>) -> Option<Decision> {
    (!case.situation.surroundings.attested).then_some(Decision::Nothing(Held::NotAttested))
}

/// Too many objects drifted at once. New objects are created all the same.
pub(super) fn breaker_open(case: &Case<'_>) -> Option<Decision> {
    let is_incident = case.current.as_ref().is_some_and(|current| current.reason.is_incident());
    (is_incident && case.situation.surroundings.breaker_holds).then_some(Decision::Nothing(Held::BreakerOpen))
}

/// Too many objects drifted at once, whatever the object was before.
pub(super) fn breaker_open_for_all(case: &Case<'_>) -> Option<Decision> {
    case.situation.surroundings.breaker_holds.then_some(Decision::Nothing(Held::BreakerOpen))
}

/// Another writer hid or forged the verdict a moment ago.
pub(super) fn hidden_before(case: &Case<'_>) -> Option<Decision> {
    let until = case.situation.memory.believed_from().filter(|until| case.situation.now < *until)?;
    Some(Decision::Wait { until, why: Held::NotAttested })
}

/// Ownership does not permit the action, or a claim would be made while not all claims are known.
pub(super) fn not_permitted(case: &Case<'_>) -> Option<Decision> {
    let Case { situation, status, .. } = case;
    match case.permission()? {
        Permission::Granted { claim_first } => {
            let claims = claim_first || case.is_for(Action::Create) && status.owned().is_none();
            let is_early = claims && !situation.surroundings.scope_complete;
            is_early.then_some(Decision::Nothing(Held::ScopeIncomplete))
        }
        Permission::NotOurs => {
            let text = "the external resource was there before this object and the target does not adopt";
            let unclaimed = CorrectionStatus { claim: None, ..status.clone() };
            let written = case.write_once(&unclaimed, CorrectedReason::NotOurs, text);
            written.or(Some(Decision::Nothing(Held::NotOurs)))
        }
        Permission::IdentityChanged => {
            let written = case.write_once(status, CorrectedReason::IdentityChanged, &change_of_identity(case));
            written.or(Some(Decision::Nothing(Held::IdentityChanged)))
        }
    }
}

/// Returns what changed since the claim was made: the scope of the target, or the identity of the object.
fn change_of_identity(case: &Case<'_>) -> String {
    let claimed_in = case.status.owned().and_then(|owned| owned.scope);
    match case.situation.facts.scope.zip(claimed_in).filter(|(scope, claimed_in)| claimed_in != scope) {
        Some((scope, claimed_in)) => {
            format!("the target's scope changed from {claimed_in} to {scope}; the owned resource is left as it is")
        }
        None => "the object names another external resource now; the owned one is left as it is".to_owned(),
    }
}

/// The result of the correction by another text of the target is unknown. The status records the outcome of a
/// correction, so it is written even while the scope is incomplete.
pub(super) fn in_doubt_by_another_text(case: &Case<'_>) -> Option<Decision> {
    let Case { situation, status, .. } = case;
    let text = "the target changed while the result of the correction is unknown";
    let is_in_doubt = situation.memory.delay.doubts_another(situation.target.correct_hash);
    is_in_doubt.then(|| Decision::WriteStatus(status.in_doubt(text, situation.object.generation)))
}

/// A replacement did not remove the difference: it waits for an edit or a request, and says so once.
pub(super) fn replaced_in_vain(case: &Case<'_>) -> Option<Decision> {
    if !is_replaced_in_vain(case) || retry_is_requested(case) {
        return None;
    }
    let fields = case.fields();
    let what = if fields == DifferingFields::every() { "the external resource".to_owned() } else { fields.to_string() };
    let text = format!(
        "replaced, and {what} still differs: not replaced again until the object is edited, or `kubectl drift retry \
         KIND/NAME` requests it; write desired as the external system shows it, or add a rule to compare"
    );
    let written = case.write_once(&case.status, CorrectedReason::AttemptsExhausted, &text);
    written.or(Some(Decision::Nothing(Held::AttemptsExhausted)))
}

/// As many corrections in a row healed nothing as the target allows. The next try follows in an hour.
pub(super) fn attempts_exhausted(case: &Case<'_>) -> Option<Decision> {
    let Attempts::Exhausted { until } = attempts(case) else { return None };
    let status = &case.status;
    let wait = Decision::Wait { until, why: Held::AttemptsExhausted };
    if lost_what_it_made(case) || case.state.is_contradicted() || finds_existing(case) {
        // The outcome of the correction is already on the object, with more detail.
        return Some(wait);
    }
    let text = &status.after_failure(Held::AttemptsExhausted.cause());
    // A status without another replacement request says nothing about the last replacement. A create may end one.
    let status = &CorrectionStatus { replaced: status.replaced && case.is_for(Action::Create), ..status.clone() };
    case.write_once(status, CorrectedReason::AttemptsExhausted, text).or(Some(wait))
}

/// Returns how many attempts are left.
fn attempts(case: &Case<'_>) -> Attempts {
    let Case { situation, .. } = case;
    let is_hopeless =
        case.state.is_contradicted() || lost_what_it_made(case) || finds_existing(case) || is_replaced_in_vain(case);
    let unhealed = if is_hopeless { u32::MAX } else { unhealed(case) };
    let retry = situation.object.retry_requested();
    judge(situation.memory, unhealed, situation.target.limits.attempts, retry, situation.now)
}

/// The delay after the last correction is not over. An operator sees an edit by itself and gets time to act first.
pub(super) fn delayed(case: &Case<'_>) -> Option<Decision> {
    let Case { situation, .. } = case;
    let (delay, now) = (&situation.memory.delay, situation.now);
    let ready = match attempts(case) {
        Attempts::Left => delay.ready_at(unhealed(case), now),
        Attempts::OneMore | Attempts::Exhausted { .. } => now,
    };
    let acts = case.is_for(Action::Nudge).then(|| delay.edited_at() + situation.target.settle);
    let until = acts.map_or(ready, |acts| ready.max(acts));
    (now < until).then(|| Decision::Wait { until, why: delay.awaits(now) })
}

/// The last request could not be sent.
pub(super) fn unsendable(case: &Case<'_>) -> Option<Decision> {
    let Case { situation, .. } = case;
    let until = situation.memory.unsent_until(situation.object.retry_requested(), situation.now)?;
    Some(Decision::Wait { until, why: Held::Unsendable })
}

/// The target's windows are closed.
pub(super) fn outside_window(case: &Case<'_>) -> Option<Decision> {
    let until = case.situation.closed_until(case.action()?, &case.status)?;
    let why = if case.state.is_deleting() { Held::OutsideDeletionWindow } else { Held::OutsideWindow };
    Some(Decision::Wait { until, why })
}

/// With Approve, only a person asks for another create.
pub(super) fn retry_awaited(case: &Case<'_>) -> Option<Decision> {
    let is_asked = case.situation.target.mode != Mode::Approve || retry_is_requested(case);
    (!is_asked).then_some(Decision::Nothing(Held::AwaitingApproval))
}

/// The read of the target is not proved, and another create waits to be found. A replacement is not left without its
/// create.
pub(super) fn read_unproved(case: &Case<'_>) -> Option<Decision> {
    if case.situation.surroundings.may_create || case.status.replaced {
        return None;
    }
    case.correction()?.creating.map(|_| Decision::Nothing(Held::ReadUnproved))
}

/// The limits of the target are used up.
pub(super) fn limited(case: &Case<'_>) -> Option<Decision> {
    match case.situation.surroundings.room {
        Room::Free => None,
        Room::AfterAnEnd => Some(Decision::Nothing(Held::Limited)),
        Room::From(until) => Some(Decision::Wait { until, why: Held::Limited }),
    }
}

fn retry_is_requested(case: &Case<'_>) -> bool {
    case.situation.memory.retry_is_requested(case.situation.object.retry_requested())
}

/// Returns the number of corrections in a row after which the poller still found a difference.
fn unhealed(case: &Case<'_>) -> u32 {
    case.current.as_ref().map_or(0, |current| current.tag.unhealed)
}

fn is_replaced_in_vain(case: &Case<'_>) -> bool {
    case.is_for(Action::Replace) && case.current.as_ref().is_some_and(|current| current.replaces_in_vain(&case.status))
}

fn lost_what_it_made(case: &Case<'_>) -> bool {
    let Case { situation, .. } = case;
    case.is_for(Action::Create) && situation.memory.delay.lost_what_it_made(situation.target.correct_hash)
}

/// Returns true if a create found a resource that the poll does not. The poller does not say so itself if another writer
/// hid or restored a condition.
fn finds_existing(case: &Case<'_>) -> bool {
    case.is_for(Action::Create) && contradicts_absence(case)
}

fn contradicts_absence(case: &Case<'_>) -> bool {
    let Case { situation, status, .. } = case;
    status.contradicts_absence(situation.object.generation, situation.facts.desired_hash)
}
