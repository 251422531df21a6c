//! The correction that would follow a verdict, and what holds it: by the target, the object and the Leases of both programs.

use std::collections::BTreeMap;

use drift_api::attestation::Attestation;
use drift_api::condition::{
    ConditionStatus, CorrectedReason, CorrectionStatus, CurrentVerdict, ObservedReason, StoredIds, Verdict,
};
use drift_api::held_corrections::{HeldCorrections, Hold, ObjectHold, ObjectReason};
use drift_api::names::RETRY_REQUESTED_ANNOTATION;
use drift_api::object::LeanObject;
use drift_api::unwritten::Doubt;
use drift_language::{Existing, Mode, Target};
use jiff::Timestamp;
use serde_json::Value;

use drift_poller::engine::judgement::confirmation::NEEDED_TO_FLIP;

use super::deleting::{deletion_holds, paused, suspended, window};
use crate::ownership::{Dispute, stepped_back};
use crate::targets::leases::{attestations, attested_texts, unwritten};

/// What is known of one object and its target.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'f> {
    /// The target.
    pub target: &'f Target,
    /// True if it is one of the cluster, and not tried from a file.
    pub is_deployed: bool,
    /// The object.
    pub object: &'f LeanObject,
    /// What a poll found just now.
    pub verdict: &'f Verdict,
}

impl Facts<'_> {
    /// Returns true if there is something to correct.
    #[must_use]
    pub fn is_drifted(&self) -> bool {
        self.verdict.status() == ConditionStatus::True
    }
}

/// The programs' Leases, as they were read just now: `None` if there is none, or why it cannot be read.
#[derive(Clone, Debug)]
pub(crate) struct Leases {
    /// The poller's.
    pub(crate) poller: Result<Option<Value>, String>,
    /// The controller's.
    pub(crate) controller: Result<Option<Value>, String>,
}

impl Leases {
    /// Returns what the poller's Lease says against the condition of an object of a target.
    pub(crate) fn doubt_of(&self, target: &str, object: &LeanObject, now: Timestamp) -> Option<Doubt> {
        let lease = self.poller.as_ref().ok()?.as_ref();
        let attested = attestations(lease, now)?;
        Doubt::of(&object.id, attested.get(target), unwritten(lease, now).get(target)).filter(|_| !object.deleting)
    }
}

#[cfg(test)]
impl Default for Leases {
    fn default() -> Self {
        Self { poller: Ok(None), controller: Ok(None) }
    }
}

/// What a correction of this verdict would do.
#[must_use]
pub(crate) fn action(facts: Facts<'_>) -> &'static str {
    match facts.verdict.reason {
        _ if facts.object.deleting => "delete",
        _ if facts.target.correct.actions().nudge => "nudge",
        reason if reason.is_absence() => "create",
        _ if facts.verdict.tag.replace => "replace",
        _ => "update",
    }
}

/// Everything that holds a correction, or a deletion, one sentence each; nothing where it would follow.
#[must_use]
pub(crate) fn holds(facts: Facts<'_>, leases: &Leases, now: Timestamp) -> Vec<String> {
    if let Some(why) = newer_version(facts.object) {
        return vec![why];
    }
    if facts.object.deleting {
        if !facts.object.has_finalizer() {
            // It ends without these programs: nothing waits for them.
            return Vec::new();
        }
        let mut held = tried_only(facts);
        held.extend(deletion_holds(facts.target, facts.object, now));
        held.extend(of_approval(facts.target, facts.object));
        // A deletion needs no attestation.
        held.extend(of_controller(facts, leases, now));
        return held;
    }
    let other = other_text(facts, leases, now);
    if let Some(why) = idle(facts) {
        return other.into_iter().chain(of_ownership(facts)).chain([why]).collect();
    }
    let mut held = tried_only(facts);
    held.extend(other);
    held.extend(of_target(facts));
    held.extend(paused(facts.object));
    held.extend(window(facts.target, facts.object, now));
    held.extend(of_ownership(facts));
    // The condition is not the poller's verdict then: `of_leases` says so.
    let is_unwritten = matches!(leases.doubt_of(&facts.target.name, facts.object, now), Some(Doubt::Unwritten(_)));
    if !(facts.is_deployed && is_unwritten) {
        held.extend(of_conditions(facts));
    }
    held.extend(of_approval(facts.target, facts.object));
    held.extend(of_leases(facts, leases, now));
    held
}

/// What of this the target and the object say by themselves. A manifest that no poller has seen has no conditions yet: then nothing
/// follows from them.
#[must_use]
pub(crate) fn stated_holds(facts: Facts<'_>, now: Timestamp) -> Vec<String> {
    if let Some(why) = newer_version(facts.object) {
        return vec![why];
    }
    let approval = of_approval(facts.target, facts.object);
    if facts.object.deleting {
        return deletion_holds(facts.target, facts.object, now).into_iter().chain(approval).collect();
    }
    if let Some(why) = idle(facts) {
        return of_ownership(facts).into_iter().chain([why]).collect();
    }
    let mut held = of_target(facts);
    held.extend(paused(facts.object));
    held.extend(window(facts.target, facts.object, now));
    held.extend(approval);
    held.extend(of_ownership(facts));
    if facts.object.conditions.observed().is_some() {
        held.extend(of_conditions(facts));
    }
    held
}

/// The hold by a condition that this version cannot read. What else it says is unknown.
fn newer_version(object: &LeanObject) -> Option<String> {
    let hold = ObjectHold { why: ObjectReason::NewerVersion, until: None };
    object.conditions.are_of_newer_version().then(|| hold.sentence())
}

/// The hold by ids that are no longer those which the steps stored.
fn changed_ids(target: &Target, object: &LeanObject, note: &CorrectionStatus) -> Option<String> {
    let present = StoredIds::of(target.correct.stored(), object.view.open().get("status"));
    let is_stored = |name: &str| target.correct.stored().any(|stored| stored == name);
    let changed = note.ids.describe_changed(&present, is_stored)?;
    Some(format!(
        "another writer changed or removed {changed} (StoredIdChanged): nothing is sent until it is set back, or the object gives the \
         resource up"
    ))
}

fn tried_only(facts: Facts<'_>) -> Vec<String> {
    let tried = "the target was tried from a file: the programs act on it once it is active".to_owned();
    if facts.is_deployed { Vec::new() } else { vec![tried] }
}

/// Why nothing would be corrected, whatever else holds it.
fn idle(facts: Facts<'_>) -> Option<String> {
    let Facts { target, verdict, .. } = facts;
    match verdict.status() {
        ConditionStatus::False => Some("it is in sync: there is nothing to correct".to_owned()),
        ConditionStatus::Unknown if target.suspend => Some(suspended(target)),
        ConditionStatus::Unknown if verdict.reason == ObservedReason::Suspended => {
            Some("the target's `suspendWhen` holds for it: no polls and no corrections meanwhile".to_owned())
        }
        ConditionStatus::Unknown if verdict.reason == ObservedReason::AbsenceContradicted => Some(format!(
            "the external system refused the create because it exists already: one create an hour is tried, or one at once by a \
             new value of the annotation {RETRY_REQUESTED_ANNOTATION}"
        )),
        ConditionStatus::Unknown if verdict.reason == ObservedReason::AllMissing => Some(format!(
            "the read finds none of the target's resources: one that is found ends this, and a new value of the annotation \
             {RETRY_REQUESTED_ANNOTATION} confirms the loss of this one"
        )),
        ConditionStatus::Unknown => {
            Some("the poll gave no result, and the controller corrects only drift that a poll found".to_owned())
        }
        ConditionStatus::True if !target.correct.mode.corrects() => {
            Some("the target only observes: its `correct.mode` is Observe".to_owned())
        }
        ConditionStatus::True => None,
    }
}

fn of_target(facts: Facts<'_>) -> Vec<String> {
    let actions = facts.target.correct.actions();
    let action = action(facts);
    let has_it = match action {
        "create" => actions.create,
        "update" => actions.update,
        "replace" => actions.replace,
        _ => actions.nudge,
    };
    if has_it { Vec::new() } else { vec![format!("the target has no steps for {action}")] }
}

/// Who else has or claims the external resource, and what the object itself gives up.
fn of_ownership(facts: Facts<'_>) -> Vec<String> {
    let Facts { target, object, .. } = facts;
    if !target.correct.mode.corrects() || target.correct.actions().nudge {
        return Vec::new();
    }
    let dispute = Dispute::of(&object.conditions.correction_status());
    stepped_back(target, object).into_iter().chain(dispute.map(|dispute| dispute.sentence())).collect()
}

fn of_conditions(facts: Facts<'_>) -> Vec<String> {
    let Facts { target, object, verdict, .. } = facts;
    let mut held = Vec::new();
    let note = object.conditions.correction_status();
    let touches_what_was_there = !verdict.reason.is_absence() && !target.correct.actions().nudge;
    let is_disputed = Dispute::of(&note).is_some();
    let is_refused = note.owned().is_none() && !is_disputed && target.correct.existing == Existing::Refuse;
    if touches_what_was_there && is_refused {
        held.push(
            "the external resource was not created for this object, and `correct.existing` is Refuse (NotOurs)"
                .to_owned(),
        );
    }
    if note.reason == Some(CorrectedReason::IdentityChanged) {
        let claimed_in = note.owned().and_then(|owned| owned.scope).filter(|claimed_in| *claimed_in != target.scope.id);
        held.push(match claimed_in {
            Some(claimed_in) => format!(
                "the target's scope changed from {claimed_in} to {}, and what it owns is in the former (IdentityChanged): `scope: \"id \
                 {claimed_in}\"` in the target keeps the claim, if that is the same external system",
                target.scope.id
            ),
            None => "its identity was edited, and what it had before is still outside (IdentityChanged)".to_owned(),
        });
    }
    held.extend(changed_ids(target, object, &note));
    match object.conditions.observed().and_then(CurrentVerdict::read).filter(|current| current.reason.status() == ConditionStatus::True) {
        None => held.push(format!(
            "the controller acts on the object's conditions, and driftObserved is not True yet; {}",
            confirmation(target, verdict.reason)
        )),
        Some(current) if !current.is_of(object.generation, verdict.tag.desired_hash) || current.tag.desired_hash != verdict.tag.desired_hash => {
            held.push("driftObserved speaks of an older spec; the next poll renews it".to_owned());
        }
        Some(current) if current.tag.correction != note.correction => held.push(format!(
            "correction {} is to be verified by a poll first; driftObserved speaks of correction {}",
            note.correction, current.tag.correction
        )),
        Some(current) if current.replaces_in_vain(&note) => held.push(format!(
            "a replacement was accepted and the same fields differ (AttemptsExhausted): nothing until an edit, or a new value of the \
             annotation {RETRY_REQUESTED_ANNOTATION}; write desired as the external system shows it, or add a rule to compare"
        )),
        Some(current) if note.reason == Some(CorrectedReason::CreationInDoubt) && current.reason.is_absence() => held.push(format!(
            "the last create may have made a resource that the read does not find (CreationInDoubt): look in the external system, and \
             correct the read, delete what is there, or set a new value of the annotation {RETRY_REQUESTED_ANNOTATION} to create again"
        )),
        Some(current) if current.tag.unhealed >= target.correct.limits.attempts => held.push(format!(
            "{} corrections in a row changed nothing (AttemptsExhausted): one try an hour, or at once by a new value of the annotation \
             {RETRY_REQUESTED_ANNOTATION}",
            current.tag.unhealed
        )),
        Some(_) => {}
    }
    held
}

/// The command that approves the next correction, if the correction waits for that.
fn of_approval(target: &Target, object: &LeanObject) -> Option<String> {
    let hash = object.awaits_approval().filter(|_| target.correct.mode == Mode::Approve)?;
    let object = object.id.as_arguments(&target.objects.kind);
    Some(format!(
        "the correction awaits approval {hash} (AwaitingApproval): `kubectl drift approve {object}` shows and approves it"
    ))
}

/// How often the poller has to find this before it says so.
fn confirmation(target: &Target, reason: ObservedReason) -> String {
    let polls = if reason.is_absence() { target.confirm.absent } else { target.confirm.drift };
    let flapping = polls.max(NEEDED_TO_FLIP);
    let polls = if polls == 1 { "a poll has".to_owned() } else { format!("{polls} polls in a row have") };
    format!(
        "{polls} to find it first, and {flapping} in a row while its verdict keeps changing (Event VerdictFlapping)"
    )
}

fn of_leases(facts: Facts<'_>, leases: &Leases, now: Timestamp) -> Vec<String> {
    if !facts.is_deployed {
        return Vec::new();
    }
    let mut held = of_controller(facts, leases, now);
    match leases.poller.as_ref().map(|lease| attestations(lease.as_ref(), now)) {
        Err(why) => held.push(format!("the poller's attestations are not known: {why}")),
        Ok(None) => held.push("no poller holds its Lease at the moment, so no poller confirms the verdict: look at the Pods of drift-poller".to_owned()),
        Ok(Some(attestations)) => held.extend(unattested(facts, leases, (&attestations, now))),
    }
    held
}

/// The holds that the controller lists on its Lease, or that no controller runs.
fn of_controller(facts: Facts<'_>, leases: &Leases, now: Timestamp) -> Vec<String> {
    let Facts { target, object, .. } = facts;
    if !facts.is_deployed {
        return Vec::new();
    }
    let holds = match leases.controller.as_ref().map(|lease| HeldCorrections::on_lease(lease.as_ref(), now)) {
        Err(why) => return vec![format!("the controller's holds are not known: {why}")],
        Ok(None) => vec![Hold::no_controller()],
        Ok(Some(held)) => held.of_target(&target.name).applying(&target.name, object.into(), now),
    };
    holds.into_iter().map(|hold| hold.sentence).collect()
}

/// Why the poller does not attest what stands on the object.
fn unattested(
    facts: Facts<'_>,
    leases: &Leases,
    (attestations, now): (&BTreeMap<String, Attestation>, Timestamp),
) -> Option<String> {
    if let Some(Doubt::Unwritten(word)) = leases.doubt_of(&facts.target.name, facts.object, now) {
        return Some(format!(
            "{}, so it does not attest what stands on the object: Events WriteRefused say why",
            word.sentence()
        ));
    }
    match attestations.get(&facts.target.name) {
        None => Some("the poller does not attest the target at the moment (its Lease does not list it)".to_owned()),
        // Exceptions to another text say nothing of this one.
        Some(attestation) if attestation.hash != facts.target.verdict_hash => None,
        Some(attestation) => attestation
            .except
            .has(&facts.object.id)
            .then(|| "the poller could not renew its verdict on this object and does not attest it".to_owned()),
    }
}

/// That the poller goes by another text of the target: what was found just now by this one is not what it says.
fn other_text(facts: Facts<'_>, leases: &Leases, now: Timestamp) -> Option<String> {
    let attestations = attestations(leases.poller.as_ref().ok()?.as_ref(), now).filter(|_| facts.is_deployed)?;
    let attestation = attestations.get(&facts.target.name)?;
    let texts = attested_texts(leases.poller.as_ref().ok()?.as_ref(), now);
    let is_other_text = texts.get(&facts.target.name).is_some_and(|text| *text != facts.target.document_hash);
    (is_other_text || attestation.hash != facts.target.verdict_hash).then(|| {
        "the poller attests another text of the target than this one: it was edited a moment ago, or is refused, as an Event on its \
         ConfigMap says"
            .to_owned()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
