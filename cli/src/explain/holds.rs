//! The correction that would follow a verdict, and what holds it: the controller's guards, and the Leases of both
//! programs.

use drift_api::held_corrections::{HeldCorrections, Hold};
use drift_api::unwritten::Doubt;
use jiff::Timestamp;

use super::deleting::last_try;
use super::facts::{Facts, Leases, Unattested};
use super::guards::{guards, is_of_verdict};
use super::hold_words::Words;
use crate::targets::leases::{attestations, attested_texts};

/// Everything that holds a correction, or a deletion, one sentence each; nothing where it would follow.
#[must_use]
pub(crate) fn holds(facts: Facts<'_>, leases: &Leases, now: Timestamp) -> Vec<String> {
    about(facts, all(facts, leases, now))
}

/// Returns the holds that the target and the object show by themselves. A manifest that no poller has seen has no
/// conditions yet, so nothing follows from their absence.
#[must_use]
pub(crate) fn stated_holds(facts: Facts<'_>, now: Timestamp) -> Vec<String> {
    about(facts, told(facts, None, now))
}

/// Names the object in the commands of its holds.
fn about(facts: Facts<'_>, held: Vec<String>) -> Vec<String> {
    held.into_iter().map(|sentence| facts.target.about(facts.object, &sentence)).collect()
}

fn all(facts: Facts<'_>, leases: &Leases, now: Timestamp) -> Vec<String> {
    let Facts { target, object, .. } = facts;
    let unattested = unattested(facts, leases, now);
    let told = told(facts, unattested.as_ref(), now);
    let is_held_by_us = !object.deleting || object.has_finalizer();
    if object.conditions.are_of_newer_version() || !is_held_by_us {
        return told;
    }
    let is_due = object.deleting || facts.is_drifted() && target.correct.mode.corrects();
    if !is_due {
        // Nothing follows. What was found just now may still be by another text than the poller's.
        return other_text(facts, leases, now).into_iter().chain(told).collect();
    }
    let mut held = tried_only(facts);
    held.extend(told);
    held.extend(of_controller(facts, leases, now));
    held.extend(unknown_attestations(facts, leases));
    held
}

/// The sentences for the controller's guards, and for what the object's own conditions lack.
fn told(facts: Facts<'_>, unattested: Option<&Unattested>, now: Timestamp) -> Vec<String> {
    let mut guards = guards(facts, unattested.is_none(), now);
    if unattested.is_some_and(|unattested| unattested.is_unwritten) {
        // The condition is not the poller's verdict.
        guards.retain(|hold| !is_of_verdict(hold.why));
    }
    let words = Words { facts, unattested, now };
    let mut told: Vec<_> = guards.iter().filter_map(|hold| words.of(hold)).collect();
    if facts.object.deleting {
        told.extend(last_try(facts.target, facts.object));
    }
    told
}

fn tried_only(facts: Facts<'_>) -> Vec<String> {
    let tried = "the target was tried from a file: the programs act on it once it is active".to_owned();
    if facts.is_deployed { Vec::new() } else { vec![tried] }
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

/// Returns the sentence for a Lease of the poller that cannot be read, so that its attestations are unknown.
fn unknown_attestations(facts: Facts<'_>, leases: &Leases) -> Option<String> {
    let why = leases.poller.as_ref().err().filter(|_| facts.is_deployed && !facts.object.deleting)?;
    Some(format!("the poller's attestations are not known: {why}"))
}

/// A deletion needs no attestation.
fn unattested(facts: Facts<'_>, leases: &Leases, now: Timestamp) -> Option<Unattested> {
    let Facts { target, object, .. } = facts;
    let lease = leases.poller.as_ref().ok().filter(|_| facts.is_deployed && !object.deleting)?;
    let because = |sentence: &str| Some(Unattested { sentence: sentence.to_owned(), is_unwritten: false });
    let Some(attestations) = attestations(lease.as_ref(), now) else {
        return because(
            "no poller holds its Lease at the moment, so no poller confirms the verdict: look at the Pods of \
             drift-poller",
        );
    };
    if let Some(other) = other_text(facts, leases, now) {
        return because(&other);
    }
    if let Some(Doubt::Unwritten(word)) = leases.doubt_of(&target.name, object, now) {
        let sentence = word.sentence();
        let sentence =
            format!("{sentence}, so it does not attest what stands on the object: Events WriteRefused say why");
        return Some(Unattested { sentence, is_unwritten: true });
    }
    match attestations.get(&target.name) {
        None => because(&Hold::target_not_attested().sentence),
        Some(attestation) if attestation.except.has(&object.id) => because(&Hold::object_not_attested().sentence),
        Some(_) => None,
    }
}

/// Returns the sentence for a poller that has another text of the target, so that its verdict may differ from this one.
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
