//! The controller's guards, asked about one object from outside.
//!
//! The memory of the running controller is not known here: delays, limits, other objects and unfinished lists. Its
//! Lease lists what follows from them.

use drift_api::condition::{ConditionStatus, CorrectedReason, CorrectionStatus, CurrentVerdict, Placed, SecretMarks};
use drift_api::held_corrections::Held;
use drift_api::identity::{Holders, Ownership, Rights};
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_controller::engine::correction_limits::Room;
use drift_controller::engine::decide::facts::{ObjectFacts, TargetFacts};
use drift_controller::engine::decide::holds::{Hold, holds};
use drift_controller::engine::decide::situation::{Situation, Surroundings};
use drift_controller::engine::memory::ObjectMemory;
use drift_language::{Target, TargetState};
use jiff::Timestamp;

use super::facts::Facts;

/// Returns every guard that would hold the object with the verdict of just now, then what its own verdict lacks.
pub(super) fn guards(facts: Facts<'_>, now: Timestamp) -> Vec<Hold> {
    let Facts { target, object, verdict, .. } = facts;
    let mut judged = object.clone();
    if !object.deleting && !object.conditions.are_of_newer_version() {
        let condition = verdict.to_condition(object.conditions.observed(), &now.to_string());
        judged.conditions.observed = Some(Placed::new(0, condition));
    }
    let mut held = held(target, &judged, now);
    let holds = |held: &[Hold], why: Held| held.iter().any(|hold| hold.why == why);
    let is_disputed = holds(&held, Held::IdentityTaken) || holds(&held, Held::IdentityContested);
    // Each of them is also the reason for which the poller gives no verdict.
    let is_unpolled = [Held::Suspended, Held::NotAllowed, Held::TemplateFails].iter().any(|why| holds(&held, *why));
    held.retain(|hold| match hold.why {
        Held::NotOurs => !is_disputed,
        Held::Observing => facts.is_drifted(),
        Held::VerdictUnknown => !is_unpolled,
        why => is_known(why),
    });
    if facts.is_drifted() && target.correct.mode.corrects() && !object.deleting {
        held.retain(|hold| !is_of_verdict(hold.why));
        held.extend(lacking(target, object, now).filter(|_| !facts.is_unseen()));
    }
    held
}

fn held(target: &Target, object: &LeanObject, now: Timestamp) -> Vec<Hold> {
    let (of_target, of_object) = (TargetFacts::of(target), ObjectFacts::of(target, object));
    let memory = ObjectMemory::of(object, Moment::START);
    holds(&Situation {
        object,
        facts: &of_object,
        target: &of_target,
        memory: &memory,
        secrets: None,
        declared_secrets: Some(&SecretMarks::new()),
        surroundings: surroundings(target, object, now),
        now: Moment::START,
    })
}

/// Surroundings in which nothing holds the object that cannot be seen from outside.
fn surroundings(target: &Target, object: &LeanObject, now: Timestamp) -> Surroundings {
    let until = target.correct.outside_window(object, now);
    let record = object.conditions.correction_status();
    Surroundings {
        listed: true,
        rights: Rights { ownership: ownership(target, object, &record), shared: false },
        scope_complete: true,
        state: TargetState::Live,
        attested: true,
        breaker_holds: false,
        window_opens: until.map(|until| Moment::START + until.duration_since(now).unsigned_abs()),
        may_create: true,
        room: Room::Free,
    }
}

/// The right to the resource, by the object's own record.
fn ownership(target: &Target, object: &LeanObject, record: &CorrectionStatus) -> Ownership {
    let named = target.identity_of(&object.view.open()).ok();
    match record.reason {
        _ if named.is_some_and(|named| object.gives_up(&named)) => Ownership::None,
        Some(CorrectedReason::IdentityTaken) => Ownership::Taken(Holders::parse(&record.text)),
        Some(CorrectedReason::IdentityContested) => Ownership::Contested(Holders::parse(&record.text)),
        _ if record.owned().is_some() => Ownership::Held,
        _ => Ownership::Free,
    }
}

/// Returns what the current verdict of the object lacks for a correction.
fn lacking(target: &Target, object: &LeanObject, now: Timestamp) -> Option<Hold> {
    let current = object.conditions.observed().and_then(CurrentVerdict::read);
    let is_drift = current.is_some_and(|current| current.reason.status() == ConditionStatus::True);
    let held = held(target, object, now).into_iter().find(|hold| is_of_verdict(hold.why));
    held.or_else(|| (!is_drift).then_some(Hold { why: Held::NoVerdict, record: None }))
}

/// Returns true for a hold that depends on the verdict alone.
pub(super) const fn is_of_verdict(why: Held) -> bool {
    matches!(why, Held::NoVerdict | Held::VerdictOutdated | Held::VerdictUnknown | Held::NotVerified | Held::InSync)
}

/// Returns true unless the hold follows from the memory of the running controller. Its Lease lists those.
fn is_known(why: Held) -> bool {
    why == Held::NewerVersion || !why.is_published()
}
