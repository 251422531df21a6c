//! The decision for a drifted object: a correction, the reason against one, or the time of the next look.
//!
//! The first part decides if the object may be corrected at all, given other claimants and ownership. The second part
//! decides on the timing.

use drift_api::{CorrectedReason, CorrectionStatus, CurrentVerdict, DifferingFields, Moment, ResourceName};
use drift_language::Mode;

use super::approval::without_approval;
use super::status_writes::write_once;
use super::unseen_create::without_knowledge;
use crate::engine::correction_limits::Room;
use crate::engine::corrections::claim::permit;
use crate::engine::corrections::{Action, Correction, Held, Permission};
use crate::engine::decide::attempts::{Attempts, judge};
use crate::engine::decide::decision::Decision;
use crate::engine::decide::situation::Situation;

/// A verdict that may be acted on.
pub(super) struct Drift<'a> {
    pub(super) current: &'a CurrentVerdict,
    pub(super) action: Action,
    pub(super) resource: &'a ResourceName,
}

impl Drift<'_> {
    /// Returns the differing fields: all fields if the resource is missing. A verdict that names no fields gives no
    /// information on them, so none may be skipped.
    fn fields(&self) -> DifferingFields {
        let named = &self.current.tag.fields;
        let is_told = self.action != Action::Create && !named.is_empty();
        if is_told { named.clone() } else { DifferingFields::every() }
    }

    fn correction(&self, situation: &Situation<'_>, status: &CorrectionStatus, claim_first: bool) -> Correction {
        let needs_finalizer = situation.target.deletes() && !situation.object.has_finalizer();
        Correction {
            claim_first,
            put_finalizer: claim_first && needs_finalizer,
            fields: self.fields(),
            ..situation.correction(self.action, self.resource, status)
        }
    }

    /// Returns the status text for a replacement that the external system accepted without removing the difference.
    fn never_fits(&self) -> String {
        let fields = self.fields();
        let what =
            if fields == DifferingFields::every() { "the external resource".to_owned() } else { fields.to_string() };
        format!(
            "replaced, and {what} still differs: not replaced again until the object is edited or a retry is requested; \
             write desired as the external system shows it, or add a rule to compare"
        )
    }
}

pub(super) fn decide_drifted(situation: &Situation<'_>, status: &CorrectionStatus, drift: &Drift<'_>) -> Decision {
    let Situation { target, surroundings, .. } = situation;
    let has_steps = match drift.action {
        Action::Create => target.actions.create,
        Action::Update => target.actions.update,
        Action::Replace => target.actions.replace,
        Action::Nudge => target.actions.nudge,
        Action::Delete => false,
    };
    if !has_steps {
        return Decision::Nothing(Held::NoAction);
    }
    if !surroundings.attested {
        return Decision::Nothing(Held::NotAttested);
    }
    if drift.current.reason.is_incident() && surroundings.breaker_holds {
        return Decision::Nothing(Held::BreakerOpen);
    }
    if let Some(until) = situation.memory.believed_from().filter(|until| situation.now < *until) {
        return Decision::Wait { until, why: Held::NotAttested };
    }
    match permit(drift.action, status.claim.as_ref(), drift.resource, target.existing) {
        Permission::Granted { claim_first }
            if (claim_first || drift.action == Action::Create && status.owned().is_none())
                && !surroundings.scope_complete =>
        {
            Decision::Nothing(Held::ScopeIncomplete)
        }
        Permission::Granted { claim_first } => decide_timing(situation, status, drift, claim_first),
        Permission::NotOurs => write_once(
            situation,
            &CorrectionStatus { claim: None, ..status.clone() },
            CorrectedReason::NotOurs,
            "the external resource was there before this object and the target does not adopt",
            Decision::Nothing(Held::NotOurs),
        ),
        Permission::IdentityChanged => write_once(
            situation,
            status,
            CorrectedReason::IdentityChanged,
            &change_of_identity(status, drift.resource),
            Decision::Nothing(Held::IdentityChanged),
        ),
    }
}

/// Returns what changed since the claim was made: the scope of the target, or the identity of the object.
fn change_of_identity(status: &CorrectionStatus, resource: &ResourceName) -> String {
    match status.owned().and_then(|owned| owned.scope).filter(|claimed_in| *claimed_in != resource.scope) {
        Some(claimed_in) => format!(
            "the target's scope changed from {claimed_in} to {}; the owned resource is left as it is",
            resource.scope
        ),
        None => "the object names another external resource now; the owned one is left as it is".to_owned(),
    }
}

/// Takes the contradiction off the record when one more create may begin. The next poll that finds nothing is drift
/// again, and the create follows from that: an Unknown leads to no correction. In mode Approve only a person asks for it.
pub(super) fn decide_contradicted(situation: &Situation<'_>, status: &CorrectionStatus) -> Decision {
    let &Situation { object, target, memory, now, facts, .. } = situation;
    if !status.contradicts_absence(object.generation, facts.desired_hash) {
        return Decision::Nothing(Held::VerdictUnknown);
    }
    if !target.actions.create {
        return Decision::Nothing(Held::NoAction);
    }
    match judge(memory, u32::MAX, target.limits.attempts, object.retry_requested(), now) {
        Attempts::Exhausted { until } => Decision::Wait { until, why: Held::AttemptsExhausted },
        Attempts::Left | Attempts::OneMore => match situation.closed_until(Action::Create, status) {
            Some(until) => Decision::Wait { until, why: Held::OutsideWindow },
            None if situation.surroundings.breaker_holds => Decision::Nothing(Held::BreakerOpen),
            None if target.mode == Mode::Approve && !memory.retry_is_requested(object.retry_requested()) => {
                Decision::Nothing(Held::AwaitingApproval)
            }
            None => Decision::WriteStatus(status.without_contradiction()),
        },
    }
}

fn decide_timing(
    situation: &Situation<'_>,
    status: &CorrectionStatus,
    drift: &Drift<'_>,
    claim_first: bool,
) -> Decision {
    let &Situation { object, target, memory, now, .. } = situation;
    if memory.delay.doubts_another(target.correct_hash) {
        let text = "the target changed while the result of the correction is unknown";
        // The status records the outcome of a correction, so it is written even while the scope is incomplete.
        return Decision::WriteStatus(status.in_doubt(text, object.generation));
    }
    let unhealed = drift.current.tag.unhealed;
    let retry = object.retry_requested();
    let in_vain = drift.action == Action::Replace && drift.current.replaces_in_vain(status);
    let hopeless = match drift.action {
        Action::Create => without_knowledge(situation, status),
        _ if in_vain && !memory.retry_is_requested(retry) => Some(without_replacement(situation, status, drift)),
        _ => None,
    };
    let correction = || drift.correction(situation, status, claim_first);
    if let Some(decision) = hopeless.or_else(|| without_approval(situation, correction)) {
        return decision;
    }
    let lost = drift.action == Action::Create && memory.delay.lost_what_it_made(target.correct_hash);
    // The poller does not say so itself if another writer hid or restored a condition.
    let exists =
        drift.action == Action::Create && status.contradicts_absence(object.generation, situation.facts.desired_hash);
    let unhealed_here = if lost || in_vain || exists { u32::MAX } else { unhealed };
    let attempts = judge(memory, unhealed_here, target.limits.attempts, retry, now);
    let ready = match attempts {
        // The outcome of the correction is already on the object, with more detail.
        Attempts::Exhausted { until } if lost || exists => {
            return Decision::Wait { until, why: Held::AttemptsExhausted };
        }
        Attempts::Exhausted { until } => return wait_exhausted(situation, status, drift, until),
        Attempts::OneMore => now,
        Attempts::Left => memory.delay.ready_at(unhealed, now),
    };
    // An operator sees an edit by itself and gets time to act first.
    let ready = if drift.action == Action::Nudge { ready.max(memory.delay.edited_at() + target.settle) } else { ready };
    if now < ready {
        return Decision::Wait { until: ready, why: memory.delay.awaits(now) };
    }
    if let Some(until) = memory.unsent_until(retry, now) {
        return Decision::Wait { until, why: Held::Unsendable };
    }
    if let Some(until) = situation.closed_until(drift.action, status) {
        return Decision::Wait { until, why: Held::OutsideWindow };
    }
    begin(situation, status, correction())
}

/// Begins the correction, as far as the proof of the read and the limits of the target allow.
fn begin(situation: &Situation<'_>, status: &CorrectionStatus, correction: Correction) -> Decision {
    // A replacement is not left without its create.
    let is_unproved = correction.creating.is_some() && !situation.surroundings.may_create && !status.replaced;
    if is_unproved {
        return Decision::Nothing(Held::ReadUnproved);
    }
    match situation.surroundings.room {
        Room::Free => Decision::Correct(Box::new(correction)),
        Room::AfterAnEnd => Decision::Nothing(Held::Limited),
        Room::From(until) => Decision::Wait { until, why: Held::Limited },
    }
}

/// Waits for an edit or a request after a replacement that did not remove the difference, and says so once.
fn without_replacement(situation: &Situation<'_>, status: &CorrectionStatus, drift: &Drift<'_>) -> Decision {
    let wait = Decision::Nothing(Held::AttemptsExhausted);
    write_once(situation, status, CorrectedReason::AttemptsExhausted, &drift.never_fits(), wait)
}

/// Waits for the next try after corrections that healed nothing, and says so once.
fn wait_exhausted(situation: &Situation<'_>, status: &CorrectionStatus, drift: &Drift<'_>, until: Moment) -> Decision {
    let wait = Decision::Wait { until, why: Held::AttemptsExhausted };
    let text = &status.after_failure("corrections in a row healed nothing; one is tried every hour");
    // A status without another replacement request says nothing about the last replacement. A create may end one.
    let replaced = status.replaced && drift.action == Action::Create;
    let status = &CorrectionStatus { replaced, ..status.clone() };
    write_once(situation, status, CorrectedReason::AttemptsExhausted, text, wait)
}
