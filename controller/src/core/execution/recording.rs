//! What came of a correction is said on the object, for as long as it takes.
//!
//! What was done outside must not be forgotten while the process lives: a write that does not land is tried again, each
//! time onto what stands by then. Until it has landed no other correction of the object begins. Only a deletion, the end
//! of the target's text and the loss of the Lease do not wait for it. This file must not know how a correction is done.

use drift_model::backoff::Series;
use drift_model::condition::CorrectionStatus;

use super::end::ExecutionEnd;
use super::{Event, Execution, Failure, Interrupt, Purpose, Stage, Step, Write};
use crate::core::claim::Action;
use crate::core::outcome::Outcome;

/// The outcome of a correction, until it stands on the object.
#[derive(Clone, Debug)]
pub(super) struct Recording {
    outcome: Outcome,
    status: Option<CorrectionStatus>,
    races: u32,
    failures: u32,
    last: Option<Failure>,
}

impl Execution {
    /// Says on the object what came of the correction. A deletion that was done needs no word: the object goes.
    pub(super) fn record(&mut self, outcome: Outcome) -> Step {
        let is_deletion = self.correction().is_some_and(|correction| correction.action == Action::Delete);
        if is_deletion && outcome == Outcome::Applied {
            return self.corrected(outcome, None, false);
        }
        self.write_outcome(Recording { outcome, status: None, races: 0, failures: 0, last: None })
    }

    fn write_outcome(&mut self, mut recording: Recording) -> Step {
        let standing = self.object.conditions.correction_status();
        let outcome = recording.outcome.clone();
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

    pub(super) fn recording(&mut self, event: Event) -> Step {
        let Stage::Recording(recording) = &mut self.stage else { return Step::End(ExecutionEnd::Nothing) };
        match event {
            Event::Written(Ok(object)) => {
                let (outcome, status) = (recording.outcome.clone(), recording.status.take());
                self.object = *object;
                self.corrected(outcome, status, true)
            }
            Event::Written(Err(failure)) => self.not_recorded(failure),
            Event::Waited(interrupt) => {
                let refused = matches!(recording.last, Some(Failure::Refused(_)));
                let given_up = match interrupt {
                    Some(Interrupt::CutOff) => refused || !recording.outcome.is_definite(),
                    // Whoever works for the object by the present text must not wait for a write that is refused.
                    Some(Interrupt::Superseded) => refused,
                    None => false,
                };
                if given_up { self.give_up() } else { Step::ReadAgain }
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
            Event::Read(Ok(None)) => {
                let outcome = recording.outcome.clone();
                self.corrected(outcome, None, false)
            }
            _ => self.give_up(),
        }
    }

    /// An object that is being deleted waits for nothing but the deletion.
    fn not_recorded(&mut self, failure: Failure) -> Step {
        let Stage::Recording(recording) = &mut self.stage else { return Step::End(ExecutionEnd::Nothing) };
        recording.last = Some(failure.clone());
        let series = match failure {
            Failure::Moved => {
                recording.races = recording.races.saturating_add(1);
                return Step::Pause(Series::RACE_LOST.delay(recording.races));
            }
            Failure::Gone => {
                let outcome = recording.outcome.clone();
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
        let Stage::Recording(recording) = &mut self.stage else { return Step::End(ExecutionEnd::Nothing) };
        let (outcome, status) = (recording.outcome.clone(), recording.status.take());
        let status = status.filter(|_| outcome.is_definite());
        self.corrected(outcome, status, false)
    }
}
