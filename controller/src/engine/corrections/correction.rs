//! One correction: what is to be done outside, all that has to be known to do it, and what is said of it on the object.
//!
//! The texts are closed: no value of an object, no part of an answer but its status and what the target's `because` gives. K and the
//! claim are kept wherever nothing new is said of them.

use drift_api::condition::{
    Claim, ClaimedName, CorrectedReason, CorrectionStatus, DesiredHash, DifferingFields, NotedSecrets,
};
use drift_api::identity::ResourceName;
use drift_api::mutants::{Mutant, is_planted};

use crate::engine::corrections::claim::Action;
use crate::engine::corrections::outcome::{Code, Doubt, FailedStep, Outcome, Reach, Refusal, Sighting, Uncertainty};

/// One correction to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// What.
    pub action: Action,
    /// K + 1, the number it will have once its outcome is definite.
    pub number: u64,
    /// The external resource.
    pub resource: ResourceName,
    /// The claim is to be written first.
    pub claim_first: bool,
    /// The finalizer is to be put on before the claim.
    pub put_finalizer: bool,
    /// The generation acted on.
    pub generation: Option<i64>,
    /// The desired state acted on; `None` for a deletion whose desired state cannot be told.
    pub desired_hash: Option<DesiredHash>,
    /// The fields that differ: all of them for a creation, or where the verdict names none. Nothing for a deletion.
    pub fields: DifferingFields,
    /// The fingerprint of what the target's requests are made of.
    pub correct_hash: u64,
    /// The fingerprint of the versions of the Secrets that its requests send; 0 where they send none.
    pub sent_versions: u64,
    /// The record on the object at the time of the decision.
    pub before: CorrectionStatus,
    /// The outcome of the one before it is in doubt, so that this is its retry.
    pub was_in_doubt: bool,
    /// It creates again what an earlier process was interrupted in creating, or follows the Job that it began. That counted as
    /// a correction, and yet the external system must know the request for the same.
    pub resumes: bool,
    /// A Job does it, which goes on when this process ends.
    pub by_job: bool,
    /// Its Job was begun by this process, and how it ended was not seen.
    pub was_begun: bool,
    /// A request of before may have taken the resource away.
    pub may_be_gone: bool,
}

/// The content of a correction, which tells one Job from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedFor {
    /// What.
    pub action: Action,
    /// The number by which it is known.
    pub number: u64,
    /// The generation acted on.
    pub generation: Option<i64>,
    /// The desired state acted on.
    pub desired_hash: Option<DesiredHash>,
    /// What it is made of.
    pub correct_hash: u64,
}

impl Correction {
    /// Returns true if the resource may be gone after this outcome.
    #[must_use]
    pub fn may_have_taken_away(&self, outcome: &Outcome) -> bool {
        let takes_away = match self.action {
            Action::Delete | Action::Replace => true,
            // One of its requests may be a DELETE.
            Action::Update => *outcome != Outcome::Applied,
            Action::Create | Action::Nudge => false,
        };
        takes_away && !outcome.changed_nothing() && !outcome.was_turned_away()
    }

    /// Returns true if it needs the resource for its object alone from now on, claimed before or not.
    #[must_use]
    pub fn takes_resource(&self) -> bool {
        let owns = matches!(self.before.claim, Some(Claim::Owns(_)));
        self.claim_first || self.action == Action::Create && !owns
    }

    /// Returns the content of the correction.
    #[must_use]
    pub const fn asked_for(&self) -> AskedFor {
        let Self { action, generation, desired_hash, correct_hash, .. } = *self;
        AskedFor { action, number: self.asked_as(), generation, desired_hash, correct_hash }
    }

    /// Returns true if the object says that it has begun before the first write outside: where the claim is new, before each
    /// try of a replacement, and before a Job, unless the object says so already or it is tried again: a Job that is turned away
    /// again and again is no news. Whoever finds that after a crash has a poll
    /// tell what is left, and takes nothing away again. A deletion needs no verdict, so that a poll would tell it nothing.
    #[must_use]
    pub fn is_announced(&self) -> bool {
        let by_job = self.by_job && self.action != Action::Delete;
        self.claim_first || self.action == Action::Replace || by_job && !self.was_announced() && !self.was_in_doubt
    }

    /// Returns true if the object says already that it has begun: a process that is no more said so, or this one, which could not see
    /// how it ended.
    #[must_use]
    pub fn was_announced(&self) -> bool {
        self.resumes || self.before.reason == Some(CorrectedReason::CorrectionStarted)
    }

    /// What is then said, with the claim. Why the one before failed is said on: the next Job may begin as soon as a poll has seen what
    /// that one left, and nobody could read it.
    #[must_use]
    pub fn claim(&self) -> CorrectionStatus {
        let text = match self.action {
            Action::Create => "creating the external resource",
            Action::Replace => "replacing the external resource",
            Action::Update if !self.claim_first => "updating the external resource",
            Action::Update | Action::Delete | Action::Nudge => "adopting the external resource",
        };
        // Nothing was sent yet: a claim that permits no more than to create stays one until something is.
        let claim = if self.claim_first || !self.creates_only() { self.owned() } else { self.before.claim.clone() };
        let has_failed = self.by_job && self.before.reason == Some(CorrectedReason::CorrectionFailed);
        let text = if has_failed { format!("{text}; before: {}", self.before.text) } else { text.to_owned() };
        CorrectionStatus { claim, ..self.before.keeping(CorrectedReason::CorrectionStarted, &text, self.generation) }
    }

    /// What is said while its Job goes on. Whoever finds it after a crash must find the same Job.
    #[must_use]
    pub fn underway(&self, sentence: &str) -> CorrectionStatus {
        let interrupted = self.before.still_interrupted(sentence, self.generation).filter(|_| self.resumes);
        let started = || self.before.keeping(CorrectedReason::CorrectionStarted, sentence, self.generation);
        // What it makes is ours, lest a crash lose it.
        let claims = self.claim_first || self.creates_only();
        let claim = if claims { self.owned() } else { self.before.claim.clone() };
        CorrectionStatus { claim, ..interrupted.unwrap_or_else(started) }
    }

    fn owned(&self) -> Option<Claim> {
        Some(Claim::Owns(self.resource.clone().into()))
    }

    /// Returns true if the claim that stands permits no more than to create.
    fn creates_only(&self) -> bool {
        matches!(self.before.claim, Some(Claim::Claims(_))) && self.action != Action::Nudge
    }

    /// The same of how far it has come.
    #[must_use]
    pub fn seen(&self, sighting: &Sighting) -> CorrectionStatus {
        self.underway(&format!("{}: {}: {}", self.action.as_str(), Code::Job.short(), sighting.because))
    }

    /// What a step whose outcome is open makes of it. A replacement that has written is not begun anew by the verdict of
    /// before: what it made may be there already, and would be taken away once more.
    #[must_use]
    pub fn in_doubt(&self, step: FailedStep, uncertainty: Uncertainty) -> Outcome {
        match (self.action, step.reach) {
            (Action::Replace, Reach::Further) => Outcome::Halted(step, uncertainty),
            _ => Outcome::Doubtful(step, uncertainty),
        }
    }

    /// Returns the record of this outcome.
    #[must_use]
    pub fn ended(&self, outcome: &Outcome) -> CorrectionStatus {
        let reason = match outcome {
            Outcome::Applied => CorrectedReason::CorrectionApplied,
            Outcome::Underway { .. } => CorrectedReason::CorrectionStarted,
            Outcome::AllSkipped
            | Outcome::Refused(..)
            | Outcome::Unstored(..)
            | Outcome::Halted(..)
            | Outcome::Doubtful(..) => CorrectedReason::CorrectionFailed,
        };
        let text = ended_text(self.action, outcome);
        let mut status = match outcome {
            Outcome::Doubtful(_, Uncertainty { why: Doubt::JobUnseen, .. }) => self.underway(&text),
            _ => self.before.keeping(reason, &text, self.generation),
        };
        if outcome.is_definite() && !is_planted(Mutant::SameNumber) {
            status.correction = self.number;
        }
        status.replaced = match self.action {
            Action::Replace => matches!(outcome, Outcome::Applied | Outcome::Underway { .. }),
            // Creates what the replacement deleted.
            Action::Create => self.before.replaced,
            Action::Update | Action::Delete | Action::Nudge => false,
        };
        status.claim = self.claim_after(outcome);
        if status.claim.is_none() {
            status.secrets = NotedSecrets::default();
        }
        status
    }

    /// What is to be written of its outcome onto what stands by now; `None` where that says it all.
    ///
    /// A doubt that lasts is written once. A definite outcome whose number somebody has written meanwhile is counted
    /// already (the leader that followed us interrupted it, or did it again with the same key).
    #[must_use]
    pub fn to_record(&self, current: &CorrectionStatus, outcome: &Outcome) -> Option<CorrectionStatus> {
        let status = self.ended(outcome);
        let current = current.clone().in_scope(self.resource.scope);
        let counted = outcome.is_definite() && current.correction >= self.number;
        // The sentence aside: two doubts in turn are one.
        let repeats = CorrectionStatus { text: String::new(), ..status.clone() }
            == CorrectionStatus { text: String::new(), ..current };
        let known = !outcome.is_definite() && self.was_in_doubt && repeats;
        (!counted && !known).then_some(status)
    }

    /// What is claimed after it.
    ///
    /// A claim that was written for this very correction, or that permits no more than to create, depends on the
    /// outcome: where it is certain that nothing came about, nothing is claimed. A create that was turned away did
    /// nothing either, but is tried again: what somebody else makes meanwhile must not become ours. What may have been
    /// done is ours, lest we lose what we made.
    fn claim_after(&self, outcome: &Outcome) -> Option<Claim> {
        if !self.claim_first && !self.creates_only() {
            return self.before.claim.clone();
        }
        let name = ClaimedName::from(self.resource.clone());
        if self.action == Action::Create && outcome.was_turned_away() {
            return Some(Claim::Claims(name));
        }
        match (outcome.changed_nothing(), outcome) {
            (false, _) => Some(Claim::Owns(name)),
            // Nothing was learned: it is tried again as before.
            (true, Outcome::Doubtful(..)) if !self.claim_first => self.before.claim.clone(),
            (true, _) if is_planted(Mutant::RefusedClaimKept) => Some(Claim::Owns(name)),
            (true, _) => None,
        }
    }
}

fn ended_text(action: Action, outcome: &Outcome) -> String {
    let verb = action.as_str();
    let at = |step: &FailedStep| match &step.label {
        Some(label) => format!("{verb}, step {label}"),
        None => verb.to_owned(),
    };
    match outcome {
        Outcome::Applied => format!("{verb}d"),
        Outcome::Underway { .. } => format!("{verb}: accepted, and not done yet; it is asked for again"),
        Outcome::AllSkipped if action == Action::Replace => {
            format!("{verb}: every write that makes it anew was skipped")
        }
        Outcome::AllSkipped => format!("{verb}: every write was skipped"),
        Outcome::Refused(step, Refusal { code, because: Some(because) }) => {
            format!("{}: {}: {because}", at(step), code.short())
        }
        Outcome::Refused(step, Refusal { code, because: None }) => {
            format!("{}: the external system refuses it with {code}", at(step))
        }
        Outcome::Unstored(step, cause) if outcome.changed_nothing() => format!("{}: {cause}", at(step)),
        Outcome::Unstored(step, cause) if action == Action::Create => {
            format!(
                "{}: accepted, but {cause}: what was made is not known here; it is tried again in an hour",
                at(step)
            )
        }
        Outcome::Unstored(step, cause) => format!("{}: accepted, but {cause}", at(step)),
        Outcome::Halted(step, Uncertainty { why: Doubt::TemplateFails, .. }) => {
            format!("{}: a template cannot be evaluated with the answers; the steps before it were done", at(step))
        }
        Outcome::Halted(step, uncertainty) => {
            format!("{}: {uncertainty}; the steps before it were done, and the next poll tells", at(step))
        }
        Outcome::Doubtful(step, uncertainty) => format!("{}: {uncertainty}; it is tried again", at(step)),
    }
}

#[cfg(test)]
mod tests;
