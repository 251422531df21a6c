//! Guards that come before any action: may the object be touched, and are its record and its finalizer right?

use drift_api::condition::CorrectedReason;
use drift_language::Existing;

use super::state::Case;
use crate::engine::corrections::Held;
use crate::engine::decide::decision::Decision;

/// The first full list is not read, so identities and the breaker are incomplete. Not even a finalizer is removed.
pub(super) fn not_listed(case: &Case<'_>) -> Option<Decision> {
    (!case.situation.surroundings.listed).then_some(Decision::Nothing(Held::NotListed))
}

/// A condition has words that this version cannot read.
pub(super) fn of_newer_version(case: &Case<'_>) -> Option<Decision> {
    case.situation.object.conditions.are_of_newer_version().then_some(Decision::Nothing(Held::NewerVersion))
}

/// The target no longer deletes, so the finalizer has no purpose.
pub(super) fn finalizer_unneeded(case: &Case<'_>) -> Option<Decision> {
    let is_unneeded = case.situation.object.has_finalizer() && !case.situation.target.deletes();
    is_unneeded.then_some(Decision::ReleaseFinalizer { left_behind: true })
}

/// The target only observes.
pub(super) fn only_observed(case: &Case<'_>) -> Option<Decision> {
    (!case.situation.target.mode.corrects()).then_some(Decision::Nothing(Held::Observing))
}

/// Another writer removed the status, which is restored first. A claim that only exists in memory is lost with the
/// process, and the poller does not verify a correction that it cannot see.
pub(super) fn status_lost(case: &Case<'_>) -> Option<Decision> {
    let lost = case.situation.memory.lost_status(case.situation.object)?;
    Some(Decision::WriteStatus(lost.clone().in_scope(case.situation.facts.scope)))
}

/// The status says that a correction runs, and this process knows of none.
pub(super) fn interrupted(case: &Case<'_>) -> Option<Decision> {
    let Case { situation, status, .. } = case;
    let goes_on = situation.memory.knows_to_go_on(status) && situation.may_name_what_it_owns(status);
    let is_interrupted = status.reason == Some(CorrectedReason::CorrectionStarted) && !goes_on;
    is_interrupted.then(|| Decision::WriteStatus(status.interrupted(situation.object.generation)))
}

/// The target is suspended, as a whole or for the object.
pub(super) fn suspended(case: &Case<'_>) -> Option<Decision> {
    match case.situation.facts.suspended {
        None => Some(Decision::Nothing(Held::TemplateFails)),
        Some(true) => Some(Decision::Nothing(Held::Suspended)),
        Some(false) => None,
    }
}

/// A person paused the object.
pub(super) fn paused(case: &Case<'_>) -> Option<Decision> {
    case.situation.object.paused.then_some(Decision::Nothing(Held::Paused))
}

/// A requirement of the target does not hold.
pub(super) fn not_allowed(case: &Case<'_>) -> Option<Decision> {
    match case.situation.facts.allowed {
        None => Some(Decision::Nothing(Held::TemplateFails)),
        Some(false) => Some(Decision::Nothing(Held::NotAllowed)),
        Some(true) => None,
    }
}

/// The name of the resource is unknown.
pub(super) fn unnamed(case: &Case<'_>) -> Option<Decision> {
    case.resource.is_none().then_some(Decision::Nothing(Held::TemplateFails))
}

/// The finalizer is due: with Adopt on first sight, else on claimed resources, because the target may have gained its
/// `delete` later.
pub(super) fn finalizer_needed(case: &Case<'_>) -> Option<Decision> {
    let Case { situation, status, .. } = case;
    let resource = case.resource.as_ref()?;
    let is_claimed = status.claim.as_ref().is_some_and(|claim| claim.name().names(resource));
    let due = is_claimed || situation.target.existing == Existing::Adopt;
    let is_missing = situation.target.deletes() && !situation.object.has_finalizer();
    (due && is_missing).then_some(Decision::PutFinalizer)
}

/// The set of moved secrets changed since the status recorded it.
pub(super) fn secrets_moved(case: &Case<'_>) -> Option<Decision> {
    case.situation.with_moved_secrets(&case.status, case.resource.as_ref()?).map(Decision::WriteStatus)
}
