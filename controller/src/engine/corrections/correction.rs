//! One correction: the external action, its inputs, and the status texts about it.
//!
//! The texts are closed. They contain no value of an object but an item of `forEach`, and of a response only the status
//! code, such an item and the reason of a refusal. A status update without news of K or the claim keeps them.

use drift_api::condition::{
    Claim, ClaimedName, CorrectedReason, CorrectionStatus, DesiredHash, DifferingFields, NotedSecrets, SecretMarks,
    UnseenCreate,
};
use drift_api::identity::ResourceName;

use crate::engine::corrections::claim::Action;
use crate::engine::corrections::outcome::{Doubt, FailedStep, Outcome, Reach, Refusal, Uncertainty, Unstored};

/// Text of a deletion that found nothing, until a poll decides.
const FOUND_NOTHING: &str =
    "delete: nothing is at its address, and the last poll found the external resource: the next poll decides";

/// Text of a deletion that found nothing after a poll that found the resource.
pub const STILL_FOUND: &str = "the deletion finds nothing at its address, and the read still finds the external resource: correct the steps \
     of delete, delete the resource by hand, or annotate the object with driftpoller.dev/orphan=true; it is tried again";

/// One correction to execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// Action on the external resource.
    pub action: Action,
    /// K + 1: the number of the correction once its outcome is definite.
    pub number: u64,
    /// External resource of the correction.
    pub resource: ResourceName,
    /// True if the claim must be written first.
    pub claim_first: bool,
    /// True if the finalizer must be added before the claim.
    pub put_finalizer: bool,
    /// Generation that the correction acts on.
    pub generation: Option<i64>,
    /// Desired state that the correction acts on; `None` for a deletion whose desired state is unknown.
    pub desired_hash: Option<DesiredHash>,
    /// Differing fields: all fields for a creation, or if the verdict names none. Empty for a deletion.
    pub fields: DifferingFields,
    /// Fingerprint of the inputs of the target's requests.
    pub correct_hash: u64,
    /// Fingerprint of the versions of the Secrets in its requests; 0 if they send none.
    pub sent_versions: u64,
    /// Versions of the sent secrets that a person approved. Empty if it sends none or needs no approval.
    pub approved_secrets: SecretMarks,
    /// Record on the object at the time of the decision.
    pub before: CorrectionStatus,
    /// True if the outcome of the previous correction is in doubt, so that this one is its retry.
    pub was_in_doubt: bool,
    /// True if it repeats an interrupted creation of an earlier process, or follows the Job that the process created.
    /// That attempt counted as a correction, but the external system must recognize the request as the same one.
    pub resumes: bool,
    /// True if a Job performs it. The Job continues when this process ends.
    pub by_job: bool,
    /// True if this process created its Job and did not see its end.
    pub was_begun: bool,
    /// Record of the create that it sends, if a repetition could make a second resource.
    pub creating: Option<UnseenCreate>,
    /// True if a poll must come before another try, should the outcome of the create be unknown.
    pub looks_first: bool,
    /// True for a deletion whose resource should exist: the last verdict found it, and no request to delete it was
    /// accepted since.
    pub expects_resource: bool,
    /// True for a deletion that looks for a resource which the read cannot find, after an earlier look found nothing.
    pub looks_again: bool,
}

/// Content of a correction, which distinguishes one Job from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedFor {
    /// Action on the external resource.
    pub action: Action,
    /// Number that identifies the request.
    pub number: u64,
    /// Generation that the correction acts on.
    pub generation: Option<i64>,
    /// Desired state that the correction acts on.
    pub desired_hash: Option<DesiredHash>,
    /// Fingerprint of the inputs of its requests.
    pub correct_hash: u64,
}

impl Correction {
    /// Returns true if its object needs the resource exclusively from now on, claimed before or not.
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

    /// Returns true if the object must record the start before the first external write: for a new claim, for each try
    /// of a replacement, for a create whose repetition could make a second resource, and for a Job. The exceptions for a
    /// Job are an existing record and a retry, because a Job that is refused again and again is no news. After a crash, the next process waits for a poll to show the remaining
    /// state and deletes nothing twice. A deletion needs no verdict, so a poll would not help it.
    #[must_use]
    pub fn is_announced(&self) -> bool {
        let by_job = self.by_job && self.action != Action::Delete;
        self.claim_first
            || self.action == Action::Replace
            || self.creating.is_some() && !by_job
            || by_job && !self.was_announced() && !self.was_in_doubt
    }

    /// Returns true if the object already records the start: an earlier process wrote it, or this process did and could
    /// not see the end.
    #[must_use]
    pub fn was_announced(&self) -> bool {
        self.resumes || self.before.reason == Some(CorrectedReason::CorrectionStarted)
    }

    /// Returns the status that announces the start, including the claim. It repeats why the previous correction failed:
    /// the next one may begin as soon as a poll has seen the result, and readers would miss the reason.
    #[must_use]
    pub fn claim(&self) -> CorrectionStatus {
        let text = match self.action {
            Action::Create => "creating the external resource",
            Action::Replace => "replacing the external resource",
            Action::Update if !self.claim_first => "updating the external resource",
            Action::Update | Action::Delete | Action::Nudge => "adopting the external resource",
        };
        // Nothing was sent yet. A claim that permits only a create stays one until something is sent.
        let claim = if self.claim_first || !self.creates_only() { self.owned() } else { self.before.claim.clone() };
        let text = self.before.after_failure(text);
        let unseen = self.creating.filter(|_| !self.by_job).or(self.before.unseen);
        let started = self.before.keeping(CorrectedReason::CorrectionStarted, &text, self.generation);
        CorrectionStatus { claim, unseen, ..started }
    }

    /// Returns the status while its Job runs. After a crash, it must lead to the same Job.
    #[must_use]
    pub fn underway(&self, sentence: &str) -> CorrectionStatus {
        let interrupted = self.before.still_interrupted(sentence, self.generation).filter(|_| self.resumes);
        let started = || self.before.keeping(CorrectedReason::CorrectionStarted, sentence, self.generation);
        // A resource that it creates is ours, so that a crash does not lose it.
        let claims = self.claim_first || self.creates_only();
        let claim = if claims { self.owned() } else { self.before.claim.clone() };
        CorrectionStatus { claim, ..interrupted.unwrap_or_else(started) }
    }

    fn owned(&self) -> Option<Claim> {
        Some(Claim::Owns(self.resource.clone().into()))
    }

    /// Returns true if the current claim permits only a create.
    fn creates_only(&self) -> bool {
        matches!(self.before.claim, Some(Claim::Claims(_))) && self.action != Action::Nudge
    }

    /// Returns the outcome of a step in doubt. A replacement that has written is not restarted on the old verdict: the
    /// new resource may exist already and would be deleted again.
    #[must_use]
    pub fn in_doubt(&self, step: FailedStep, uncertainty: Uncertainty) -> Outcome {
        match (self.action, step.reach) {
            (Action::Replace, Reach::Further | Reach::Deleted) => Outcome::Halted(step, uncertainty),
            _ => Outcome::Doubtful(step, uncertainty),
        }
    }

    /// Returns the record of this outcome.
    #[must_use]
    pub fn ended(&self, outcome: &Outcome) -> CorrectionStatus {
        let reason = match outcome {
            Outcome::Applied => CorrectedReason::CorrectionApplied,
            Outcome::Underway { .. } => CorrectedReason::CorrectionStarted,
            Outcome::FoundNothing => CorrectedReason::DeletionUnclear,
            Outcome::AllSkipped
            | Outcome::Refused(..)
            | Outcome::AlreadyExists(..)
            | Outcome::Unstored(..)
            | Outcome::Halted(..)
            | Outcome::Doubtful(..) => CorrectedReason::CorrectionFailed,
        };
        let text = match outcome {
            // A poll has judged an earlier try, and its sentence stays until another poll does.
            Outcome::FoundNothing if self.before.reason == Some(CorrectedReason::DeletionUnclear) => {
                self.before.text.clone()
            }
            _ => ended_text(self.action, outcome),
        };
        let mut status = match outcome {
            Outcome::Doubtful(_, Uncertainty { why: Doubt::JobUnseen, .. }) => self.underway(&text),
            _ => self.before.keeping(reason, &text, self.generation),
        };
        if self.counts(outcome) {
            status.correction = self.number;
        }
        status.unseen = self.unseen_after(outcome);
        status.replaced = match self.action {
            Action::Replace => matches!(outcome, Outcome::Applied | Outcome::Underway { .. }),
            // The create restores a resource that the replacement deleted.
            Action::Create => self.before.replaced,
            Action::Update | Action::Delete | Action::Nudge => false,
        };
        let contradicts = matches!(outcome, Outcome::AlreadyExists(..));
        status.exists = self.desired_hash.filter(|_| contradicts);
        status.claim = self.claim_after(outcome);
        if status.claim.is_none() {
            status.secrets = NotedSecrets::default();
        }
        status
    }

    /// Returns the status to write over the current one; `None` if the current one is complete.
    ///
    /// A doubt that persists is written once. A definite outcome is already counted if another writer has written its
    /// number meanwhile: the next leader interrupted the correction, or repeated it with the same key.
    #[must_use]
    pub fn to_record(&self, current: &CorrectionStatus, outcome: &Outcome) -> Option<CorrectionStatus> {
        let status = self.ended(outcome);
        let current = current.clone().in_scope(self.resource.scope);
        let counted = self.counts(outcome) && current.correction >= self.number;
        // Another cause is news, such as another fault of a Secret.
        let has_other_cause = outcome.sent_nothing() && status.text != current.text;
        // Only the text may differ: two other consecutive doubts count as one.
        let repeats = CorrectionStatus { text: String::new(), ..status.clone() }
            == CorrectionStatus { text: String::new(), ..current };
        let known = !self.counts(outcome) && self.was_in_doubt && repeats && !has_other_cause;
        (!counted && !known).then_some(status)
    }

    /// Returns the claim after the correction.
    ///
    /// A claim that was written for this correction, or that permits only a create, depends on the outcome. If the
    /// correction certainly changed nothing, the claim is dropped. A rejected create changed nothing either, but is
    /// retried: a resource that another party creates meanwhile must not become ours. If the correction may have
    /// succeeded, the resource is ours, so that it is not lost.
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
            // Without new information, the retry uses the same claim.
            (true, Outcome::Doubtful(..)) if !self.claim_first => self.before.claim.clone(),
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
        Outcome::FoundNothing => FOUND_NOTHING.to_owned(),
        Outcome::AllSkipped if action == Action::Replace => {
            format!("{verb}: every write that makes it anew was skipped")
        }
        Outcome::AllSkipped => format!("{verb}: every write was skipped"),
        Outcome::Refused(step, refusal) => format!("{}: {}", at(step), refused_text(refusal)),
        Outcome::AlreadyExists(step, refusal) => {
            let refused = refused_text(refusal);
            format!("{}: {refused}; it seems to exist already, so the create is tried once an hour", at(step))
        }
        Outcome::Unstored(step, cause) if outcome.changed_nothing() => format!("{}: {cause}", at(step)),
        Outcome::Unstored(step, cause) if action == Action::Create && *cause != Unstored::Refused => {
            format!(
                "{}: accepted, but {cause}: what was made is not known here; it is tried again in an hour",
                at(step)
            )
        }
        Outcome::Unstored(step, cause) => format!("{}: accepted, but {cause}", at(step)),
        Outcome::Halted(step, Uncertainty { why: Doubt::TemplateFails, .. }) => {
            format!("{}: a template cannot be evaluated with the answers; the steps before it were done", at(step))
        }
        Outcome::Halted(step, uncertainty) if outcome.changed_nothing() => format!("{}: {uncertainty}", at(step)),
        Outcome::Halted(step, uncertainty) => {
            format!("{}: {uncertainty}; the steps before it were done, and the next poll tells", at(step))
        }
        Outcome::Doubtful(step, uncertainty) => format!("{}: {uncertainty}; it is tried again", at(step)),
    }
}

fn refused_text(Refusal { code, because }: &Refusal) -> String {
    match because {
        Some(because) => format!("{}: {because}", code.short()),
        None => format!("the external system refuses it with {code}"),
    }
}

#[cfg(test)]
mod tests;
