//! The requests of a correction, one after the other: each is rendered with the answers to those before it, and skipped,
//! sent, or the end.
//!
//! The finalizer and the claim come right before the first write, so that a look-up that ends the correction leaves no trace. What
//! was looked up may have taken long: the object is read once more before the first write, unless a write to it has just shown it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use drift_api::condition::{NotedSecrets, StatusFields};
use drift_api::mutants::{Mutant, is_planted};
use drift_api::object::LeanObject;
use drift_api::requests::job::JobStage;

use super::deletion_found_nothing::AnswersSeen;
use super::end::ExecutionEnd;
use super::step::{Event, Failure, Purpose, Rendered, Step, StepAnswer, Write};
use super::{Execution, Stage};
use crate::engine::corrections::claim::Action;
use crate::engine::corrections::correction::Correction;
use crate::engine::corrections::outcome::{Doubt, FailedStep, Outcome, Reach, StepOutcome, Uncertainty};
use crate::engine::decide::still_stands;
use crate::engine::rendering::plan::Plan;

/// The progress of the requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    pub(super) plan: Plan,
    /// The claim was written for this correction.
    claimed: bool,
    /// The object was not seen since something was looked up.
    looked_up: bool,
    /// A write was sent.
    wrote: bool,
    /// One that does not take the resource away.
    made: bool,
    /// The statements of the answers about the resource.
    pub(super) answers_seen: AnswersSeen,
    /// The last write was accepted, and is not done.
    underway: Option<Outcome>,
    /// A write was sent that goes on by itself.
    pub(super) is_open: bool,
    /// The last reported stage.
    pub(super) told: Option<JobStage>,
    /// The stage that is being reported.
    pub(super) telling: Option<JobStage>,
    /// The secrets that the record named before.
    pub(super) noted: NotedSecrets,
    /// The secrets that arrived.
    pub(super) sent: BTreeSet<String>,
    /// The parts of the answers to store in the object's status.
    pub(super) stored: StatusFields,
}

impl Progress {
    /// Returns true if nothing was sent yet, nor written on the object.
    const fn is_silent(&self) -> bool {
        !self.looked_up && !self.claimed && !self.wrote
    }
}

impl Execution {
    /// Turns to a step; what was to be taken away must be gone before anything else is done.
    pub(super) fn turn_to(&mut self, index: usize) -> Step {
        let progress = &mut self.progress;
        if index == progress.plan.deletion
            && let Some(underway) = progress.underway.take()
        {
            return self.record(underway);
        }
        if index < progress.plan.steps.len() {
            self.stage = Stage::Rendering(index);
            return Step::Render(index);
        }
        // A look-up that was answered told a deletion that nothing is left. Where nothing was asked, nobody knows.
        let deletes = self.correction().is_some_and(|correction| correction.action == Action::Delete);
        let is_gone = deletes && (self.progress.wrote || self.progress.looked_up);
        self.record(if self.progress.made || is_gone { Outcome::Applied } else { Outcome::AllSkipped })
    }

    pub(super) fn rendered(&mut self, index: usize, rendered: Rendered) -> Step {
        match rendered {
            Rendered::Ready if self.progress.wrote || !self.progress.plan.writes(index) => self.send(index),
            Rendered::Ready => self.prepare_first_write(index),
            Rendered::Skipped => self.turn_to(index + 1),
            Rendered::Fails(why) if self.progress.wrote => {
                let step = self.failed(index, Reach::Further);
                self.record(Outcome::Halted(step, Uncertainty::unanswered(why)))
            }
            Rendered::Fails(why) => {
                let step = self.failed(index, if self.progress.is_silent() { Reach::Unsent } else { Reach::Unwritten });
                self.record(Outcome::Doubtful(step, Uncertainty::unanswered(why)))
            }
        }
    }

    fn prepare_first_write(&mut self, index: usize) -> Step {
        if self.correction().is_some_and(|correction| correction.put_finalizer) {
            self.stage = Stage::PuttingFinalizer(index);
            return Step::Write(Write::PutFinalizer);
        }
        self.claim(index)
    }

    pub(super) fn claim(&mut self, index: usize) -> Step {
        match self.correction().filter(|correction| correction.is_announced()).map(Correction::claim) {
            Some(claim) if self.still_stands() => {
                self.stage = Stage::Claiming(index);
                Step::Write(Write::Status(claim, Purpose::Claim))
            }
            None if self.progress.looked_up => {
                self.stage = Stage::LookingAgain(index);
                Step::ReadAgain
            }
            _ => self.send_first_write(index),
        }
    }

    pub(super) fn claim_written(&mut self, index: usize) -> Step {
        self.progress.claimed = true;
        self.send_first_write(index)
    }

    pub(super) fn seen_again(&mut self, index: usize, read: Result<Option<Box<LeanObject>>, String>) -> Step {
        match read {
            Ok(Some(object)) => {
                self.object = *object;
                self.send_first_write(index)
            }
            Ok(None) => Step::End(ExecutionEnd::Gone),
            Err(_) => self.call_off(),
        }
    }

    /// The last look before the first write.
    fn send_first_write(&mut self, index: usize) -> Step {
        if self.still_stands() { self.send(index) } else { self.call_off() }
    }

    /// Returns true if the correction holds on the object as it is known now. Somebody may have taken the finalizer off since it was
    /// decided on, or put: without it no deletion would see what is made.
    fn still_stands(&self) -> bool {
        let is_put = self.correction().is_some_and(|correction| correction.put_finalizer);
        let needs_finalizer = is_put || self.decided_on.has_finalizer();
        is_planted(Mutant::ChangedMeanwhile)
            || still_stands(&self.decided_on, &self.object) && (self.object.has_finalizer() || !needs_finalizer)
    }

    pub(super) fn send(&mut self, index: usize) -> Step {
        self.stage = Stage::Sending(index);
        Step::Send { index, begins: !(self.progress.wrote || self.progress.is_open) }
    }

    /// Nothing was written outside, so the claim says too much.
    fn call_off(&mut self) -> Step {
        self.forget_secrets();
        match self.correction().filter(|_| self.progress.claimed).map(|correction| correction.before.clone()) {
            Some(before) => {
                self.stage = Stage::TakingBack;
                Step::Write(Write::Status(before, Purpose::TakeBack))
            }
            None => Step::End(ExecutionEnd::CalledOff),
        }
    }

    /// What follows where a write that prepares the first request did not land; `None` where it did.
    pub(super) fn not_landed(&mut self, written: Result<Box<LeanObject>, Failure>) -> Option<Step> {
        let ended = match written {
            Ok(object) => {
                self.object = *object;
                self.progress.looked_up = false;
                return None;
            }
            Err(Failure::Refused(sentence)) => {
                ExecutionEnd::Refused { finalizer: matches!(self.stage, Stage::PuttingFinalizer(_)), sentence }
            }
            Err(Failure::Gone) => ExecutionEnd::Gone,
            Err(Failure::Moved | Failure::Unavailable | Failure::NotLeading) => ExecutionEnd::CalledOff,
        };
        Some(Step::End(ended))
    }

    pub(super) fn sent(&mut self, index: usize, event: Event) -> Step {
        match event {
            Event::Answered(StepAnswer { outcome: answer, stored, label, object }) => {
                label.into_iter().for_each(|label| self.name_step(index, label));
                object.into_iter().for_each(|object| self.see(*object));
                self.progress.stored.extend(stored);
                self.answered(index, answer)
            }
            Event::NotSent if !self.progress.is_open => self.not_sent(index),
            // It is the next leader's to say.
            _ => {
                let step = self.failed(index, self.reach(index, false));
                let cut_off = Outcome::Doubtful(step, Uncertainty::unanswered(Doubt::CutOff));
                self.corrected(cut_off, None, false)
            }
        }
    }

    fn not_sent(&mut self, index: usize) -> Step {
        if !self.progress.wrote {
            return self.call_off();
        }
        let step = self.failed(index, Reach::Further);
        self.record_doubt(step, Uncertainty::unanswered(Doubt::CutOff))
    }

    /// It was asked for and not done, so that it is as if it was not asked for.
    fn put_off(&mut self, index: usize, pause: Duration) -> Step {
        match self.not_sent(index) {
            Step::End(ExecutionEnd::CalledOff) => Step::End(ExecutionEnd::PutOff(pause)),
            step => step,
        }
    }

    fn answered(&mut self, index: usize, answer: StepOutcome) -> Step {
        let is_write = self.progress.plan.writes(index);
        let did_nothing = match &answer {
            StepOutcome::Accepted | StepOutcome::NotThere | StepOutcome::Underway { .. } | StepOutcome::Unstored(_) => {
                !is_write
            }
            StepOutcome::Refused { did_nothing, .. } => *did_nothing,
            StepOutcome::Indefinite(uncertainty) => uncertainty.why.sent_nothing(),
            StepOutcome::Open(_) => false,
            StepOutcome::NotNow { .. } | StepOutcome::Overtaken | StepOutcome::LeftBehind => true,
        };
        let asked_nobody = match &answer {
            StepOutcome::Indefinite(uncertainty) => uncertainty.why.asked_nobody() && self.progress.is_silent(),
            _ => false,
        };
        self.progress.answers_seen.note(&answer);
        let step = self.failed(index, if asked_nobody { Reach::Unsent } else { self.reach(index, did_nothing) });
        match answer {
            StepOutcome::Open(sighting) => self.go_on(index, sighting),
            StepOutcome::NotNow { pause } => self.put_off(index, pause),
            StepOutcome::Overtaken => self.not_sent(index),
            StepOutcome::LeftBehind => self.record(Outcome::AllSkipped),
            StepOutcome::Refused { refusal, .. } => self.record(Outcome::Refused(step, refusal)),
            StepOutcome::Unstored(cause) => self.record(Outcome::Unstored(step, cause)),
            StepOutcome::Indefinite(uncertainty) => self.record_doubt(step, uncertainty),
            accepted if !is_write && accepted.is_accepted() => {
                self.progress.looked_up = true;
                self.turn_to(index + 1)
            }
            StepOutcome::Accepted | StepOutcome::NotThere => self.accepted(index, None),
            StepOutcome::Underway { retry_after } => self.accepted(index, Some(Outcome::Underway { retry_after })),
        }
    }

    fn record_doubt(&mut self, step: FailedStep, uncertainty: Uncertainty) -> Step {
        match self.correction().map(|correction| correction.in_doubt(step, uncertainty)) {
            Some(outcome) => self.record(outcome),
            None => Step::End(ExecutionEnd::Nothing),
        }
    }

    /// A write was accepted. Within a deletion the last one says whether the resource is gone.
    fn accepted(&mut self, index: usize, underway: Option<Outcome>) -> Step {
        self.progress.wrote = true;
        self.note_accepted(index);
        self.progress.made |= index >= self.progress.plan.deletion;
        match underway {
            Some(underway) if index >= self.progress.plan.deletion => self.record(underway),
            underway => {
                self.progress.underway = underway;
                self.turn_to(index + 1)
            }
        }
    }

    /// How far the correction has come with a step that ends it.
    fn reach(&self, index: usize, did_nothing: bool) -> Reach {
        let Progress { plan, wrote, .. } = &self.progress;
        if *wrote {
            Reach::Further
        } else if did_nothing || !plan.writes(index) {
            Reach::Unwritten
        } else {
            Reach::FirstWrite
        }
    }

    /// What this step sent ended at a part of it that is called so.
    fn name_step(&mut self, index: usize, label: Arc<str>) {
        if let Some(step) = self.progress.plan.steps.get_mut(index) {
            step.label = Some(label);
        }
    }

    fn failed(&self, index: usize, reach: Reach) -> FailedStep {
        FailedStep { label: self.progress.plan.label(index), reach }
    }
}
