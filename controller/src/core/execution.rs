//! The order in which a decision is carried out, as a state machine that a crash at any point leaves safe.
//!
//! A correction: live read, decision on that, finalizer, claim, a last look that the object is still what was decided on,
//! the requests one after the other, and what came of them on the object. Each step is told what came of the one before.
//! It waits for nothing and sends nothing itself: the shell does, and random histories do instead of it.
//! It must not know what a request looks like, or when a correction is due.

use std::time::Duration;

use drift_model::backoff::Series;
use drift_model::condition::CorrectionStatus;
use drift_model::moment::Moment;
use drift_model::object::LeanObject;

use super::claim::Action;
use super::correction::Correction;
use super::decide::still_stands;
use super::decision::Decision;
use super::executed::Executed;
use super::outcome::{Doubt, Outcome, StepOutcome};

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read the object live.
    Read,
    /// Decide anew, on the object as it was read.
    Decide,
    /// Render the requests, and see whether they may go out.
    Prepare,
    /// Write to the object.
    Write(Write),
    /// Send the request of this index.
    Send(usize),
    /// Wait, unless something happens to the object first.
    Pause(Duration),
    /// Nothing more: this became of it.
    End(Executed),
}

/// A write to the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Put our finalizer on.
    PutFinalizer,
    /// Take our finalizer off.
    ReleaseFinalizer {
        /// The external resource is left behind.
        left_behind: bool,
    },
    /// Put this in place of the status that stands.
    Status(CorrectionStatus, Purpose),
}

/// What a status is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To claim the external resource.
    Claim,
    /// To take a claim back for which nothing was sent.
    TakeBack,
    /// To say what came of a correction.
    Outcome,
    /// To say anything else.
    Word,
}

/// What came of a step.
#[derive(Clone, Debug)]
pub enum Event {
    /// The execution begins.
    Begin,
    /// The live read ended; `None` where the object is gone.
    Read(Result<Option<Box<LeanObject>>, String>),
    /// It was decided anew, on this state of the object.
    Decided(Box<LeanObject>, Decision),
    /// Nothing is to be done any more.
    Dismissed,
    /// The requests were looked at.
    Prepared(Readiness),
    /// The write landed and gave this state, or did not.
    Written(Result<Box<LeanObject>, Failure>),
    /// The request was answered, or is known to stay without an answer.
    Answered(StepOutcome),
    /// The request was not sent: the program ends, or the Lease is not fresh.
    NotSent,
    /// The request was under way when the Lease was lost or the time to drain was over.
    CutOff,
    /// The pause is over, or was cut short.
    Waited(Option<Interrupt>),
}

/// Whether the requests of a correction may go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// So many may.
    Ready(usize),
    /// A host asked to be left alone until then.
    Postponed(Moment),
    /// One of them cannot be sent.
    Unsendable(Doubt),
    /// The program ends, or the Lease is not fresh.
    NotNow,
}

/// Why a write did not land.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The object is not in the state that it was written onto.
    Moved,
    /// The object is gone.
    Gone,
    /// The API server refuses it, for the reason in this sentence.
    Refused(String),
    /// No answer.
    Unavailable,
    /// Nothing was sent, since the Lease is not ours.
    NotLeading,
}

/// What cut a pause short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// The object is being deleted.
    Deleting,
    /// The target works by another text, or is gone.
    Superseded,
    /// The Lease is lost, or the time to drain is over.
    CutOff,
}

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

/// The outcome of a correction, until it stands on the object.
#[derive(Clone, Debug)]
struct Recording {
    outcome: Outcome,
    status: Option<CorrectionStatus>,
    races: u32,
    failures: u32,
    last: Option<Failure>,
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
            (Stage::Opening, Event::Read(Err(sentence))) => Step::End(Executed::Unread(sentence)),
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
                Step::End(Executed::CalledOff)
            }
            (Stage::Sending(index), event) => self.sent(*index, &event),
            (Stage::Recording(_), event) => self.recording(event),
            (Stage::Opening, Event::Read(Ok(None))) => Step::End(Executed::Gone),
            _ => Step::End(Executed::Nothing),
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
            Decision::Nothing(_) | Decision::Wait { .. } => return Step::End(Executed::Nothing),
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
                    Decision::WriteStatus(status) => Executed::Written(status.clone()),
                    _ => Executed::Patched,
                });
            }
            Err(failure) => failure,
        };
        Step::End(match failure {
            Failure::Gone => Executed::Gone,
            Failure::Refused(sentence) => {
                Executed::Refused { finalizer: !matches!(self.decision, Decision::WriteStatus(_)), sentence }
            }
            Failure::Moved | Failure::Unavailable | Failure::NotLeading => Executed::Lost,
        })
    }

    fn prepared(&mut self, readiness: Readiness) -> Step {
        match readiness {
            Readiness::NotNow => Step::End(Executed::CalledOff),
            Readiness::Postponed(until) => Step::End(Executed::Postponed(until)),
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
                Executed::Refused { finalizer: matches!(self.stage, Stage::PuttingFinalizer), sentence }
            }
            Err(Failure::Gone) => Executed::Gone,
            Err(Failure::Moved | Failure::Unavailable | Failure::NotLeading) => Executed::CalledOff,
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
            None => Step::End(Executed::CalledOff),
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

    /// Says on the object what came of the correction. A deletion that was done needs no word: the object goes.
    fn record(&mut self, outcome: Outcome) -> Step {
        let is_deletion = self.correction().is_some_and(|correction| correction.action == Action::Delete);
        if is_deletion && outcome == Outcome::Applied {
            return self.corrected(outcome, None, false);
        }
        self.write_outcome(Recording { outcome, status: None, races: 0, failures: 0, last: None })
    }

    fn write_outcome(&mut self, mut recording: Recording) -> Step {
        let standing = self.object.conditions.correction_status();
        let outcome = recording.outcome;
        let Some(status) = self.correction().and_then(|correction| correction.to_record(&standing, &outcome)) else {
            return self.corrected(outcome, None, false);
        };
        if status.stands(self.object.conditions.corrected()) {
            return self.corrected(outcome, Some(status), true);
        }
        recording.status = Some(status.clone());
        self.stage = Stage::Recording(recording);
        Step::Write(Write::Status(status, Purpose::Outcome))
    }

    fn recording(&mut self, event: Event) -> Step {
        let Stage::Recording(recording) = &mut self.stage else { return Step::End(Executed::Nothing) };
        match event {
            Event::Written(Ok(object)) => {
                let (outcome, status) = (recording.outcome, recording.status.take());
                self.object = *object;
                self.corrected(outcome, status, true)
            }
            Event::Written(Err(failure)) => self.not_recorded(failure),
            Event::Waited(interrupt) => {
                let refused = matches!(recording.last, Some(Failure::Refused(_)));
                let given_up = match interrupt {
                    Some(Interrupt::CutOff) => !recording.outcome.is_definite(),
                    // Whoever works for the object by the present text must not wait for a write that is refused.
                    Some(Interrupt::Superseded) => refused,
                    Some(Interrupt::Deleting) | None => false,
                };
                if given_up { self.give_up() } else { Step::Read }
            }
            Event::Read(Ok(Some(live))) => {
                let recording = recording.clone();
                self.object = *live;
                let raced = matches!(recording.last, None | Some(Failure::Moved));
                if self.object.deleting && !raced { self.give_up() } else { self.write_outcome(recording) }
            }
            Event::Read(Err(_)) => {
                recording.failures = recording.failures.saturating_add(1);
                Step::Pause(Series::API_UNAVAILABLE.delay(recording.failures))
            }
            _ => {
                let outcome = recording.outcome;
                self.corrected(outcome, None, false)
            }
        }
    }

    /// What was done outside must not be forgotten while the process lives: the write is tried again, each time onto what
    /// stands by then. An object that is being deleted waits for nothing but the deletion.
    fn not_recorded(&mut self, failure: Failure) -> Step {
        let Stage::Recording(recording) = &mut self.stage else { return Step::End(Executed::Nothing) };
        recording.last = Some(failure.clone());
        let series = match failure {
            Failure::Moved => {
                recording.races = recording.races.saturating_add(1);
                return Step::Pause(Series::RACE_LOST.delay(recording.races));
            }
            Failure::Gone => {
                let outcome = recording.outcome;
                return self.corrected(outcome, None, false);
            }
            Failure::NotLeading if !recording.outcome.is_definite() => return self.give_up(),
            Failure::Refused(_) => Series::WRITE_REFUSED,
            Failure::Unavailable | Failure::NotLeading => Series::API_UNAVAILABLE,
        };
        recording.failures = recording.failures.saturating_add(1);
        let pause = series.delay(recording.failures);
        if self.object.deleting { self.give_up() } else { Step::Pause(pause) }
    }

    /// What is not written is remembered all the same, where it is certain.
    fn give_up(&mut self) -> Step {
        let Stage::Recording(recording) = &mut self.stage else { return Step::End(Executed::Nothing) };
        let (outcome, status) = (recording.outcome, recording.status.take());
        self.corrected(outcome, status.filter(|_| outcome.is_definite()), false)
    }

    fn corrected(&self, outcome: Outcome, status: Option<CorrectionStatus>, written: bool) -> Step {
        match &self.decision {
            Decision::Correct(correction) => {
                Step::End(Executed::Corrected { correction: correction.clone(), outcome, status, written })
            }
            _ => Step::End(Executed::Nothing),
        }
    }
}

#[cfg(test)]
mod tests;
