//! The correction that would follow a verdict, and what holds it: the controller's guards, and the Leases of both
//! programs.

use drift_api::held_corrections::{Held, Hold};
use drift_api::unwritten::Doubt;
use drift_poller::engine::object::overview::Next;
use jiff::Timestamp;

use super::deleting::last_try;
use super::facts::{Facts, Leases, Unattested};
use super::guards::{guards, is_of_verdict};
use super::hold_words::Words;
use crate::targets::leases::{attestations, attested_texts};

/// Everything that holds a correction, or a deletion, one sentence each; nothing where it would follow.
#[must_use]
pub(crate) fn holds(facts: Facts<'_>, leases: &Leases, now: Timestamp) -> Vec<String> {
    sentences(all_holds(facts, leases, now))
}

fn sentences(holds: Vec<Hold>) -> Vec<String> {
    holds.into_iter().map(|hold| hold.sentence).collect()
}

/// A sentence that is no reason of the controller.
const fn remark(sentence: String) -> Hold {
    Hold { word: "", until: None, sentence }
}

/// The same with the word of each. A sentence that is no reason of the controller has an empty word.
pub(super) fn all_holds(facts: Facts<'_>, leases: &Leases, now: Timestamp) -> Vec<Hold> {
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
    held.extend(of_leases(facts, leases, unattested, now));
    held.extend(unknown_leases(facts, leases));
    held
}

/// Returns the holds that the target and the object show by themselves. A manifest that no poller has seen has no
/// conditions yet, so nothing follows from their absence.
#[must_use]
pub(crate) fn stated_holds(facts: Facts<'_>, now: Timestamp) -> Vec<String> {
    sentences(told(facts, None, now))
}

/// The controller's guards, and what the object's own conditions lack.
fn told(facts: Facts<'_>, unattested: Option<&Unattested>, now: Timestamp) -> Vec<Hold> {
    let mut guards = guards(facts, now);
    if unattested.is_some_and(|unattested| unattested.is_unwritten) {
        // The condition is not the poller's verdict.
        guards.retain(|hold| !is_of_verdict(hold.why));
    }
    let words = Words { facts, now };
    let mut told: Vec<_> = guards.iter().filter_map(|hold| words.of(hold)).collect();
    if facts.object.deleting {
        told.extend(last_try(facts.target, facts.object).map(remark));
    }
    told
}

fn tried_only(facts: Facts<'_>) -> Vec<Hold> {
    let tried = "the target was tried from a file: the programs act on it once it is active".to_owned();
    if facts.is_deployed { Vec::new() } else { vec![remark(tried)] }
}

/// The holds by the Leases. Of windows the guards know more.
fn of_leases(facts: Facts<'_>, leases: &Leases, unattested: Option<Unattested>, now: Timestamp) -> Vec<Hold> {
    let Facts { target, object, .. } = facts;
    if !facts.is_deployed {
        return Vec::new();
    }
    let next = if object.deleting { Next::Deletion } else { Next::Correction };
    let known = leases.holds(now);
    let listed = known.of_target(target).of_object(object, next, now).into_iter();
    let is_left_out = |word: &str| match Held::parse(word) {
        Some(Held::OutsideWindow | Held::OutsideDeletionWindow) => true,
        Some(Held::NotAttested) => unattested.is_some(),
        _ => false,
    };
    let listed: Vec<_> = listed.filter(|hold| !is_left_out(hold.word)).collect();
    unattested.into_iter().map(|unattested| unattested.hold).chain(listed).collect()
}

/// Returns the sentences for Leases that cannot be read. A deletion needs no attestation.
fn unknown_leases(facts: Facts<'_>, leases: &Leases) -> Vec<Hold> {
    let of_controller = leases.controller.as_ref().err().map(|why| ("the controller's holds", why));
    let of_poller = leases.poller.as_ref().err().filter(|_| !facts.object.deleting);
    let unread = of_controller.into_iter().chain(of_poller.map(|why| ("the poller's attestations", why)));
    unread.filter(|_| facts.is_deployed).map(|(what, why)| remark(format!("{what} are not known: {why}"))).collect()
}

/// The reason why the poller does not attest the verdict, as far as it lies in the Lease as a whole, the text of the target
/// or the verdict itself. A deletion needs no attestation.
fn unattested(facts: Facts<'_>, leases: &Leases, now: Timestamp) -> Option<Unattested> {
    let Facts { target, object, .. } = facts;
    let lease = leases.poller.as_ref().ok().filter(|_| facts.is_deployed && !object.deleting)?;
    if attestations(lease.as_ref(), now).is_none() {
        let gone = "no poller holds its Lease at the moment; look at the Pods of drift-poller";
        return Some(Unattested { hold: Hold::not_attested(gone), is_unwritten: false });
    }
    if let Some(hold) = other_text(facts, leases, now) {
        return Some(Unattested { hold, is_unwritten: false });
    }
    let Some(Doubt::Unwritten(word)) = leases.holds(now).doubt_of(&target.name, object) else { return None };
    let because = format!("{}; Events WriteRefused say why", word.sentence());
    Some(Unattested { hold: Hold::not_attested(&because), is_unwritten: true })
}

/// Returns the hold by a poller that has another text of the target, so that its verdict may differ from this one.
fn other_text(facts: Facts<'_>, leases: &Leases, now: Timestamp) -> Option<Hold> {
    let attestations = attestations(leases.poller.as_ref().ok()?.as_ref(), now).filter(|_| facts.is_deployed)?;
    let attestation = attestations.get(&facts.target.name)?;
    let texts = attested_texts(leases.poller.as_ref().ok()?.as_ref(), now);
    let is_other_text = texts.get(&facts.target.name).is_some_and(|text| *text != facts.target.document_hash);
    (is_other_text || attestation.hash != facts.target.verdict_hash).then(|| {
        let because = "it uses another text of the target than this one, which was edited a moment ago, or is refused, as an \
            Event on its ConfigMap says";
        Hold::not_attested(because)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
