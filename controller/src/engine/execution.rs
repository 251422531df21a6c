//! The order in which a decision is executed, as a state machine that is safe after a crash at any point.
//!
//! A correction has these steps: a live read, a decision on it, look-ups, the finalizer, the claim, a second read to
//! check that the object did not change since the decision, the external writes, and the record of the outcome on the
//! object. Each step receives the result of the previous one. The state machine neither waits nor sends: the shell does
//! that, or random histories in tests.

mod end;
mod progress;
mod progress_reports;
mod readiness;
mod recording;
mod sending;
mod sent_secrets;
mod step;

use drift_api::{CorrectionStatus, LeanObject};

use crate::engine::corrections::{Action, Correction, FailedStep, Outcome, Reach};
use crate::engine::decide::decision::Decision;
use progress::Progress;
use recording::Recording;
use sending::unrendered;

pub use end::ExecutionEnd;
pub use readiness::Outgoing;
pub use step::{Event, Failure, Interrupt, Purpose, Readiness, Rendered, Step, StepAnswer, Write};

/// One decision during its execution.
#[derive(Clone, Debug)]
pub struct Execution {
    decision: Decision,
    /// Newest known state. Writes are based on it.
    object: LeanObject,
    /// State that the correction was decided on.
    decided_on: LeanObject,
    stage: Stage,
    progress: Progress,
}

#[derive(Clone, Debug)]
enum Stage {
    /// Before the object is decided anew.
    Opening,
    /// One write to the object.
    Writing,
    /// The finalizer write before the external write of this index. The next two stages use the same index.
    PuttingFinalizer(usize),
    Claiming(usize),
    LookingAgain(usize),
    TakingBack,
    Rendering(usize),
    Sending(usize),
    /// Writes the progress of the request of this index to the object.
    TellingProgress(usize),
    Recording(Box<Recording>),
}

impl Execution {
    /// Creates the execution of a decision that was made on `object`.
    #[must_use]
    pub fn new(object: LeanObject, decision: Decision) -> Self {
        let decided_on = object.clone();
        Self { decision, object, decided_on, stage: Stage::Opening, progress: Progress::default() }
    }

    /// Returns the newest known state of the object.
    #[must_use]
    pub const fn object(&self) -> &LeanObject {
        &self.object
    }

    /// Takes in the object as returned by one of our writes to it.
    fn see(&mut self, object: LeanObject) {
        if object.id == self.object.id && object.is_as_new_as(&self.object) {
            self.object = object;
        }
    }

    /// Returns the correction, if the decision is one.
    #[must_use]
    pub fn correction(&self) -> Option<&Correction> {
        match &self.decision {
            Decision::Correct(correction) => Some(correction),
            _ => None,
        }
    }

    /// Returns true if the correction creates what the poll did not find. A replacement does not: its deletion may still
    /// be in progress, so that a refused create contradicts no poll.
    fn creates(&self) -> bool {
        self.correction().is_some_and(|correction| correction.action == Action::Create)
    }

    /// Processes the result of the last step. Returns the next step.
    pub fn next(&mut self, event: Event) -> Step {
        match (&self.stage, event) {
            (Stage::Opening, Event::Begin) => self.begin(),
            (Stage::Opening, Event::Read(Ok(Some(object)))) => {
                self.object = *object;
                Step::Decide
            }
            (Stage::Opening, Event::Read(Err(sentence))) => Step::End(ExecutionEnd::Unread(sentence)),
            (Stage::Opening, Event::Decided(object, decision)) => self.decided(*object, decision),
            (Stage::Opening, Event::Prepared(readiness)) => self.prepared(readiness),
            (Stage::Opening, Event::HoldersRead { is_claimed }) => self.take_up(is_claimed),
            (Stage::Writing, Event::Written(written)) => self.written(written),
            (Stage::Rendering(index), Event::Rendered(rendered)) => self.rendered(*index, rendered),
            (&Stage::PuttingFinalizer(index), Event::Written(written)) => {
                self.not_landed(written).unwrap_or_else(|| self.claim(index))
            }
            (&Stage::Claiming(index), Event::Written(written)) => {
                self.not_landed(written).unwrap_or_else(|| self.claim_written(index))
            }
            (Stage::LookingAgain(index), Event::Read(read)) => self.seen_again(*index, read),
            (Stage::TakingBack, Event::Written(written)) => {
                // If the write failed, the claim is found current, counts as interrupted, and a poll follows.
                if let Ok(object) = written {
                    self.object = *object;
                }
                Step::End(ExecutionEnd::CalledOff)
            }
            (Stage::Sending(index), event) => self.sent(*index, event),
            (Stage::TellingProgress(index), event) => self.told_progress(*index, event),
            (Stage::Recording(_), event) => self.recording(event),
            (Stage::Opening, Event::Read(Ok(None))) => Step::End(ExecutionEnd::Gone),
            _ => Step::End(ExecutionEnd::Nothing),
        }
    }

    /// Reads live before an external write and before a finalizer is removed. Other writes test the state that they
    /// were decided on.
    fn begin(&mut self) -> Step {
        match &self.decision {
            Decision::Correct(_) | Decision::ReleaseFinalizer { .. } => Step::Read,
            decision => self.carry_out(decision.clone()),
        }
    }

    fn decided(&mut self, object: LeanObject, decision: Decision) -> Step {
        self.object = object;
        self.decided_on = self.object.clone();
        self.carry_out(decision)
    }

    fn carry_out(&mut self, decision: Decision) -> Step {
        let write = match &decision {
            Decision::Nothing(_) | Decision::Wait { .. } => return Step::End(ExecutionEnd::Nothing),
            Decision::Correct(correction) => {
                self.progress.noted = correction.before.secrets.clone();
                self.decision = decision;
                return Step::Prepare;
            }
            Decision::TakeUp { resource, holders, .. } => {
                let step = Step::ReadHolders(holders.clone(), resource.clone());
                self.decision = decision;
                return step;
            }
            Decision::WriteStatus(status) => Write::Status(status.clone(), Purpose::Word),
            Decision::PutFinalizer => Write::PutFinalizer,
            Decision::ReleaseFinalizer { left_behind } => Write::ReleaseFinalizer { left_behind: *left_behind },
        };
        self.decision = decision;
        self.stage = Stage::Writing;
        Step::Write(write)
    }

    /// Takes the resource, unless one of its former holders still claims it.
    fn take_up(&mut self, is_claimed: bool) -> Step {
        match &self.decision {
            Decision::TakeUp { status, .. } if !is_claimed => self.carry_out(Decision::WriteStatus(status.clone())),
            _ => Step::End(ExecutionEnd::StillTaken),
        }
    }

    fn written(&mut self, written: Result<Box<LeanObject>, Failure>) -> Step {
        let failure = match written {
            Ok(object) => {
                self.object = *object;
                return Step::End(match &self.decision {
                    Decision::WriteStatus(status) => ExecutionEnd::Written(status.clone()),
                    _ => ExecutionEnd::Patched,
                });
            }
            Err(failure) => failure,
        };
        Step::End(match failure {
            Failure::Gone => ExecutionEnd::Gone,
            Failure::Refused(sentence) => {
                ExecutionEnd::Refused { finalizer: !matches!(self.decision, Decision::WriteStatus(_)), sentence }
            }
            Failure::Moved | Failure::Unavailable | Failure::NotLeading => ExecutionEnd::Lost,
        })
    }

    fn prepared(&mut self, readiness: Readiness) -> Step {
        match readiness {
            Readiness::NotNow => Step::End(ExecutionEnd::CalledOff),
            Readiness::Postponed(until) => Step::End(ExecutionEnd::Postponed(until)),
            Readiness::Unsendable(label, why) => {
                self.record(unrendered(FailedStep { label, reach: Reach::Unsent }, why))
            }
            // A Secret changed since the decision, which is made again.
            Readiness::Ready(plan) if !self.sends_what_was_approved(&plan) => Step::End(ExecutionEnd::CalledOff),
            Readiness::Ready(plan) => {
                self.progress.plan = plan;
                self.turn_to(0)
            }
        }
    }

    fn corrected(&self, outcome: Outcome, status: Option<CorrectionStatus>, written: bool) -> Step {
        match &self.decision {
            Decision::Correct(correction) => {
                Step::End(ExecutionEnd::Corrected { correction: correction.clone(), outcome, status, written })
            }
            _ => Step::End(ExecutionEnd::Nothing),
        }
    }
}

#[cfg(test)]
mod tests;
