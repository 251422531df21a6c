//! The order in which a decision is carried out, as a state machine that a crash at any point leaves safe.
//!
//! A correction: live read, decision on that, look-ups, finalizer, claim, a last look that the object is still what was decided on,
//! the writes, and what came of them on the object. Each step is told what came of the one before. It waits for nothing and sends
//! nothing itself: the shell does, and random histories do instead of it.

mod deletion_found_nothing;
mod end;
mod progress_reports;
mod readiness;
mod recording;
mod sending;
mod sent_secrets;
mod step;

use drift_api::condition::CorrectionStatus;
use drift_api::mutants::{Mutant, is_planted};
use drift_api::object::LeanObject;

use crate::engine::corrections::correction::Correction;
use crate::engine::corrections::outcome::{FailedStep, Outcome, Reach, Uncertainty};
use crate::engine::decide::decision::Decision;
use recording::Recording;
use sending::Progress;

pub use end::ExecutionEnd;
pub use readiness::Outgoing;
pub use step::{Event, Failure, Interrupt, Purpose, Readiness, Rendered, Step, StepAnswer, Write};

/// One decision on its way.
#[derive(Clone, Debug)]
pub struct Execution {
    decision: Decision,
    /// The newest state that we know; what is written goes onto it.
    object: LeanObject,
    /// The state that the correction was decided on.
    decided_on: LeanObject,
    stage: Stage,
    progress: Progress,
}

#[derive(Clone, Debug)]
enum Stage {
    /// Until the object is decided anew.
    Opening,
    /// A single write.
    Writing,
    /// Before the write of this index, as the two that follow.
    PuttingFinalizer(usize),
    Claiming(usize),
    LookingAgain(usize),
    TakingBack,
    Rendering(usize),
    Sending(usize),
    /// How far what the write of this index began has come is said on the object.
    TellingProgress(usize),
    Recording(Box<Recording>),
}

impl Execution {
    /// Carries out a decision that was made on `object`.
    #[must_use]
    pub fn new(object: LeanObject, decision: Decision) -> Self {
        let decided_on = object.clone();
        Self { decision, object, decided_on, stage: Stage::Opening, progress: Progress::default() }
    }

    /// The newest state of the object that is known.
    #[must_use]
    pub const fn object(&self) -> &LeanObject {
        &self.object
    }

    /// Takes in the object as a write to the object itself left it.
    fn see(&mut self, object: LeanObject) {
        if object.id == self.object.id && object.is_as_new_as(&self.object) {
            self.object = object;
        }
    }

    /// The correction, if it is one.
    #[must_use]
    pub fn correction(&self) -> Option<&Correction> {
        match &self.decision {
            Decision::Correct(correction) => Some(correction),
            _ => None,
        }
    }

    /// Takes in the result of the last step. Returns the next step.
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
                // Where it failed the claim is found current, counts as interrupted, and a poll follows.
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

    /// A live read comes before an external write, and before a finalizer is taken off. Other writes test what they were
    /// decided on.
    fn begin(&mut self) -> Step {
        match &self.decision {
            Decision::Correct(_) if is_planted(Mutant::NoLiveRead) => self.carry_out(self.decision.clone()),
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
            Decision::Correct(_) => {
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

    /// The resource is nobody else's, unless one of those who had it claims it.
    fn take_up(&mut self, is_claimed: bool) -> Step {
        match &self.decision {
            Decision::TakeUp { status, .. } if !is_claimed || is_planted(Mutant::HolderUnread) => {
                self.carry_out(Decision::WriteStatus(status.clone()))
            }
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
                let step = FailedStep { label, reach: Reach::Unsent };
                self.record(Outcome::Doubtful(step, Uncertainty::unanswered(why)))
            }
            Readiness::Ready(plan) => {
                self.progress.plan = plan;
                self.expect_secrets();
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
