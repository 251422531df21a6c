//! The decision: what to do for one object now.
//!
//! A drifted object is corrected only when the verdict speaks of exactly this spec and of the state after our last
//! correction, the poller vouches for it, the resource is ours or may become so, and pauses, limits and the breaker
//! allow. Everything else is a reason to do nothing, a note, or a moment to look again.
//! This file must not know how anything is done.

use drift_model::condition::{CorrectedReason, ObservedReason, Standing};
use drift_model::moment::Moment;
use drift_model::object::LeanObject;
use drift_target::{Existing, Mode};

use super::attempts::{Attempts, judge};
use super::claim::{Action, Permission, permit};
use super::decision::{Correction, Decision};
use super::deletion::decide_deletion;
use super::facts::{ObjectFacts, TargetFacts};
use super::held::Held;
use super::limits::Room;
use super::memory::ObjectMemory;
use super::note::{NoteChange, Noted};

/// Everything that a decision depends on.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The object as it was read.
    pub object: &'a LeanObject,
    /// What the templates say of it.
    pub facts: &'a ObjectFacts,
    /// The target.
    pub target: &'a TargetFacts,
    /// What this process remembers of it.
    pub memory: &'a ObjectMemory,
    /// What goes on around it.
    pub surroundings: Surroundings,
    /// Now.
    pub now: Moment,
}

/// What goes on around one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// The target's first full list is read, so that identities and the breaker are complete.
    pub listed: bool,
    /// Another target, first by name, owns the object.
    pub claimed_twice: bool,
    /// The object has the identity that it names.
    pub has_identity: bool,
    /// Another object names the same identity.
    pub identity_shared: bool,
    /// The poller vouches for the target.
    pub vouched: bool,
    /// The breaker holds the object's incident.
    pub breaker_holds: bool,
    /// Whether the target's limits allow one more.
    pub room: Room,
}

/// Decides what to do for an object that nothing is under way for.
#[must_use]
pub fn decide(situation: &Situation<'_>) -> Decision {
    if let Some(held) = not_ours_to_touch(&situation.surroundings) {
        return Decision::Nothing(held);
    }
    let noted = Noted::read(situation.object, situation.memory.noted.as_ref());
    let decision =
        if situation.object.deleting { decide_deletion(situation, &noted) } else { decide_living(situation, &noted) };
    match &decision {
        Decision::Nothing(_) | Decision::Wait { .. } => decision,
        _ => patience(situation).unwrap_or(decision),
    }
}

/// What was refused or overtaken just now is not tried again at every change of the object.
fn patience(situation: &Situation<'_>) -> Option<Decision> {
    let Situation { memory, now, .. } = situation;
    let refused = memory.writes_ready_at().map(|until| (until, Held::WriteRefused));
    let overtaken = memory.races_ready_at().map(|until| (until, Held::RaceLost));
    let (until, why) = refused.into_iter().chain(overtaken).max_by_key(|(until, _)| *until)?;
    (*now < until).then_some(Decision::Wait { until, why })
}

/// Why the target may not so much as take a finalizer off: two targets that each write would never come to rest.
const fn not_ours_to_touch(surroundings: &Surroundings) -> Option<Held> {
    match (surroundings.listed, surroundings.claimed_twice) {
        (false, _) => Some(Held::NotListed),
        (true, true) => Some(Held::ClaimedTwice),
        (true, false) => None,
    }
}

/// Whether a correction that was decided on `before` still holds on `after`, the same object after our own writes.
#[must_use]
pub fn still_stands(before: &LeanObject, after: &LeanObject) -> bool {
    before.generation == after.generation
        && before.deleting == after.deleting
        && before.paused == after.paused
        && before.conditions.observed() == after.conditions.observed()
        && before.view == after.view
}

fn decide_living(situation: &Situation<'_>, noted: &Noted) -> Decision {
    let Situation { object, target, .. } = situation;
    if object.has_finalizer() && !target.deletes() {
        return Decision::ReleaseFinalizer { left_behind: true };
    }
    if target.mode == Mode::Observe {
        return Decision::Nothing(Held::Observing);
    }
    if let Some(restoring) = restore(situation, noted) {
        return restoring;
    }
    if noted.reason == Some(CorrectedReason::CorrectionStarted) {
        return Decision::Note(NoteChange::interrupted(noted, object.generation));
    }
    let identity = match permitted_identity(situation) {
        Ok(identity) => identity,
        Err(held) => return Decision::Nothing(held),
    };
    if needs_finalizer(situation, noted, identity) {
        return Decision::PutFinalizer;
    }
    decide_by_verdict(situation, noted, identity)
}

/// The object's identity, if the target lets anything be done for it at all.
pub(super) fn permitted_identity<'a>(situation: &Situation<'a>) -> Result<&'a str, Held> {
    let facts = situation.facts;
    match facts.suspended {
        None => return Err(Held::TemplateFails),
        Some(true) => return Err(Held::Suspended),
        Some(false) => {}
    }
    if situation.object.paused {
        return Err(Held::Paused);
    }
    match facts.allowed {
        None => Err(Held::TemplateFails),
        Some(false) => Err(Held::NotAllowed),
        Some(true) => facts.identity.as_deref().ok_or(Held::TemplateFails),
    }
}

/// With Adopt on first sight, and on whatever is ours already (the target may have got its `delete` later).
fn needs_finalizer(situation: &Situation<'_>, noted: &Noted, identity: &str) -> bool {
    let due = noted.owns.as_deref() == Some(identity) || situation.target.existing == Existing::Adopt;
    due && situation.target.deletes() && !situation.object.has_finalizer() && situation.surroundings.has_identity
}

fn decide_by_verdict(situation: &Situation<'_>, noted: &Noted, identity: &str) -> Decision {
    let Situation { object, facts, .. } = situation;
    let Some(standing) = object.conditions.observed().and_then(Standing::read) else {
        return Decision::Nothing(Held::NoVerdict);
    };
    if facts.wish.is_none() {
        return Decision::Nothing(Held::TemplateFails);
    }
    if standing.generation != object.generation || standing.tag.wish != facts.wish {
        return Decision::Nothing(Held::VerdictOutdated);
    }
    if standing.tag.correction != noted.correction {
        return Decision::Nothing(Held::NotVerified);
    }
    match standing.reason {
        ObservedReason::InSync => decide_in_sync(situation, noted, identity),
        ObservedReason::NotCreated | ObservedReason::ExternalMissing => {
            decide_drifted(situation, noted, &Drift { standing: &standing, action: Action::Create, identity })
        }
        ObservedReason::NotUpdated | ObservedReason::FieldsDiffer => {
            decide_drifted(situation, noted, &Drift { standing: &standing, action: Action::Update, identity })
        }
        _ => Decision::Nothing(Held::VerdictUnknown),
    }
}

/// A note that another writer took away is put back before anything else: a claim that stands in our memory alone is
/// lost with the process, and the poller does not verify a correction that it cannot see.
fn restore(situation: &Situation<'_>, noted: &Noted) -> Option<Decision> {
    let change = situation.memory.noted.as_ref().filter(|_| noted.lost)?;
    Some(match situation.memory.restore_ready_at() {
        Some(until) if situation.now < until => Decision::Wait { until, why: Held::NotVerified },
        _ => Decision::Note(change.clone()),
    })
}

fn decide_in_sync(situation: &Situation<'_>, noted: &Noted, identity: &str) -> Decision {
    let cleared = |noted: &Noted| {
        let generation = situation.object.generation;
        Decision::Note(NoteChange::keeping(noted, CorrectedReason::CorrectionApplied, "in sync again", generation))
    };
    match noted.reason {
        Some(CorrectedReason::NotOurs) => Decision::RemoveNote,
        Some(CorrectedReason::CorrectionFailed | CorrectedReason::AttemptsExhausted) => cleared(noted),
        // The identity was edited back: the note would be a lie for ever.
        Some(CorrectedReason::IdentityChanged) if noted.owns.as_deref() == Some(identity) => cleared(noted),
        _ => Decision::Nothing(Held::InSync),
    }
}

/// A verdict that may be acted on.
struct Drift<'a> {
    standing: &'a Standing,
    action: Action,
    identity: &'a str,
}

fn decide_drifted(situation: &Situation<'_>, noted: &Noted, drift: &Drift<'_>) -> Decision {
    let Situation { target, surroundings, .. } = situation;
    let has_steps = match drift.action {
        Action::Create => target.actions.create,
        Action::Update => target.actions.update,
        Action::Delete => false,
    };
    if !has_steps {
        return Decision::Nothing(Held::NoAction);
    }
    if !surroundings.vouched {
        return Decision::Nothing(Held::NotVouched);
    }
    if !surroundings.has_identity {
        return Decision::Nothing(Held::IdentityTaken);
    }
    if drift.standing.reason.is_incident() && surroundings.breaker_holds {
        return Decision::Nothing(Held::BreakerOpen);
    }
    if let Some(until) = situation.memory.believed_from().filter(|until| situation.now < *until) {
        return Decision::Wait { until, why: Held::NotVouched };
    }
    match permit(drift.action, noted.owns.as_deref(), drift.identity, target.existing) {
        Permission::Granted { claim_first } => decide_timing(situation, noted, drift, claim_first),
        Permission::NotOurs => note_once(
            situation,
            noted,
            CorrectedReason::NotOurs,
            "the external resource was there before this object and the target does not adopt",
            Decision::Nothing(Held::NotOurs),
        ),
        Permission::IdentityChanged => note_once(
            situation,
            noted,
            CorrectedReason::IdentityChanged,
            "the object names another external resource now; the owned one is left as it is",
            Decision::Nothing(Held::IdentityChanged),
        ),
    }
}

fn decide_timing(situation: &Situation<'_>, noted: &Noted, drift: &Drift<'_>, claim_first: bool) -> Decision {
    let Situation { object, target, memory, now, .. } = *situation;
    let unhealed = drift.standing.tag.unhealed;
    let attempts = judge(memory, unhealed, target.limits.attempts, object.retry_requested.as_deref(), now);
    let ready = match attempts {
        Attempts::Exhausted { until } => {
            let wait = Decision::Wait { until, why: Held::AttemptsExhausted };
            let text = "corrections in a row healed nothing; one is tried every hour";
            return note_once(situation, noted, CorrectedReason::AttemptsExhausted, text, wait);
        }
        Attempts::OneMore => now,
        Attempts::Left => memory.ready_at(unhealed, now),
    };
    if now < ready {
        return Decision::Wait { until: ready, why: Held::Delayed };
    }
    match situation.surroundings.room {
        Room::Free => {}
        Room::AfterAnEnd => return Decision::Nothing(Held::Limited),
        Room::From(until) => return Decision::Wait { until, why: Held::Limited },
    }
    Decision::Correct(Correction {
        action: drift.action,
        number: noted.correction.saturating_add(1),
        identity: drift.identity.to_owned(),
        claim_first,
        put_finalizer: claim_first && target.deletes() && !object.has_finalizer(),
        generation: object.generation,
    })
}

/// Writes the note, or does `otherwise` where it stands already.
fn note_once(
    situation: &Situation<'_>,
    noted: &Noted,
    reason: CorrectedReason,
    text: &str,
    otherwise: Decision,
) -> Decision {
    let change = NoteChange::keeping(noted, reason, text, situation.object.generation);
    if change.stands(situation.object.conditions.corrected()) { otherwise } else { Decision::Note(change) }
}

#[cfg(test)]
mod tests;
