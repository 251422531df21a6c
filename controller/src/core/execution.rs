//! The order in which a decision is carried out, as a state machine that a crash at any point leaves safe.
//!
//! A correction: live read, decision on that, finalizer, claim, a last look that the object is still what was decided on,
//! the requests one after the other, and what came of them on the object. Each step is told what came of the one before.
//! It waits for nothing and sends nothing itself: the shell does, and random histories do instead of it.
//! It must not know what a request looks like, or when a correction is due.

mod end;
mod recording;
mod step;

use drift_model::condition::CorrectionStatus;
use drift_model::object::LeanObject;

use super::correction::Correction;
use super::decide::still_stands;
use super::decision::Decision;
use super::outcome::{Doubt, Outcome};
use recording::Recording;

pub use end::ExecutionEnd;
pub use step::{Event, Failure, Interrupt, Purpose, Readiness, Step, Write};

/// One decision on its way.
#[derive(Clone, Debug)]
pub struct Execution {
    decision: Decision,
    /// The newest state that we know; what is written goes onto it.
    object: LeanObject,
    /// The state that the correction was decided on.
    decided_on: LeanObject,
    stage: Stage,
    claimed: bool,
    requests: usize,
}

#[derive(Clone, Debug)]
enum Stage {
    /// Until the object is decided anew.
    Opening,
    /// A single write.
    Writing,
    PuttingFinalizer,
    Claiming,
    TakingBack,
    Sending(usize),
    Recording(Recording),
}

impl Execution {
    /// Carries out a decision that was made on `object`.
    #[must_use]
    pub fn new(object: LeanObject, decision: Decision) -> Self {
        let decided_on = object.clone();
        Self { decision, object, decided_on, stage: Stage::Opening, claimed: false, requests: 0 }
    }

    /// The newest state of the object that is known.
    #[must_use]
    pub const fn object(&self) -> &LeanObject {
        &self.object
    }

    /// The correction, if it is one.
    #[must_use]
    pub fn correction(&self) -> Option<&Correction> {
        match &self.decision {
            Decision::Correct(correction) => Some(correction),
            _ => None,
        }
    }

    /// What follows from what came of the step before.
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
            (Stage::Writing, Event::Written(written)) => self.written(written),
            (Stage::PuttingFinalizer, Event::Written(written)) => {
                self.not_landed(written).unwrap_or_else(|| self.claim())
            }
            (Stage::Claiming, Event::Written(written)) => self.not_landed(written).unwrap_or_else(|| {
                self.claimed = true;
                self.send_first()
            }),
            (Stage::TakingBack, Event::Written(written)) => {
                // Where it failed the claim is found standing, counts as interrupted, and a poll follows.
                if let Ok(object) = written {
                    self.object = *object;
                }
                Step::End(ExecutionEnd::CalledOff)
            }
            (Stage::Sending(index), event) => self.sent(*index, &event),
            (Stage::Recording(_), event) => self.recording(event),
            (Stage::Opening, Event::Read(Ok(None))) => Step::End(ExecutionEnd::Gone),
            _ => Step::End(ExecutionEnd::Nothing),
        }
    }

    /// A live read comes before an external write, and before a finalizer is taken off. Other writes test what they were
    /// decided on.
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
            Decision::Correct(_) => {
                self.decision = decision;
                return Step::Prepare;
            }
            Decision::WriteStatus(status) => Write::Status(status.clone(), Purpose::Word),
            Decision::PutFinalizer => Write::PutFinalizer,
            Decision::ReleaseFinalizer { left_behind } => Write::ReleaseFinalizer { left_behind: *left_behind },
        };
        self.decision = decision;
        self.stage = Stage::Writing;
        Step::Write(write)
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
            Readiness::Unsendable(why) => self.record(Outcome::Doubtful { why, retry_after: None, step: 0 }),
            Readiness::Ready(requests) => {
                self.requests = requests;
                if self.correction().is_some_and(|correction| correction.put_finalizer) {
                    self.stage = Stage::PuttingFinalizer;
                    return Step::Write(Write::PutFinalizer);
                }
                self.claim()
            }
        }
    }

    fn claim(&mut self) -> Step {
        match self.correction().filter(|correction| correction.claim_first).map(Correction::claim) {
            Some(claim) if still_stands(&self.decided_on, &self.object) => {
                self.stage = Stage::Claiming;
                Step::Write(Write::Status(claim, Purpose::Claim))
            }
            _ => self.send_first(),
        }
    }

    /// What follows where a write that prepares the first request did not land; `None` where it did.
    fn not_landed(&mut self, written: Result<Box<LeanObject>, Failure>) -> Option<Step> {
        let ended = match written {
            Ok(object) => {
                self.object = *object;
                return None;
            }
            Err(Failure::Refused(sentence)) => {
                ExecutionEnd::Refused { finalizer: matches!(self.stage, Stage::PuttingFinalizer), sentence }
            }
            Err(Failure::Gone) => ExecutionEnd::Gone,
            Err(Failure::Moved | Failure::Unavailable | Failure::NotLeading) => ExecutionEnd::CalledOff,
        };
        Some(Step::End(ended))
    }

    /// The last look before the first request.
    fn send_first(&mut self) -> Step {
        if still_stands(&self.decided_on, &self.object) {
            self.stage = Stage::Sending(0);
            return Step::Send(0);
        }
        self.call_off()
    }

    /// Nothing was sent, so the claim says too much.
    fn call_off(&mut self) -> Step {
        match self.correction().filter(|_| self.claimed).map(|correction| correction.before.clone()) {
            Some(before) => {
                self.stage = Stage::TakingBack;
                Step::Write(Write::Status(before, Purpose::TakeBack))
            }
            None => Step::End(ExecutionEnd::CalledOff),
        }
    }

    fn sent(&mut self, index: usize, event: &Event) -> Step {
        let cut_off = Outcome::Doubtful { why: Doubt::CutOff, retry_after: None, step: index };
        match event {
            Event::Answered(answer) => match Outcome::after_step(index, *answer) {
                Some(outcome) => self.record(outcome),
                None if index + 1 < self.requests => {
                    self.stage = Stage::Sending(index + 1);
                    Step::Send(index + 1)
                }
                None => self.record(Outcome::Applied),
            },
            Event::NotSent if index == 0 => self.call_off(),
            Event::NotSent => self.record(cut_off),
            // It is the next leader's to say.
            _ => self.corrected(cut_off, None, false),
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
