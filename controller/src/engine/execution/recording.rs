//! Writes the outcome of a correction to the object, and retries until the write lands.
//!
//! What was done outside must not be forgotten while the process lives: a write that does not land is tried again, each time onto
//! what stands by then. Until it has landed no other correction of the object begins. Only a deletion, the end of the target's text
//! and the loss of the Lease do not wait for it.

use drift_api::condition::{CorrectionStatus, StatusFields};
use drift_api::timing::backoff::Series;

use super::end::ExecutionEnd;
use super::{Event, Execution, Failure, Interrupt, Stage, Step, Write};
use crate::engine::corrections::claim::Action;
use crate::engine::corrections::outcome::{FailedStep, Outcome, Reach};

/// The outcome of a correction, until it stands on the object.
#[derive(Clone, Debug)]
pub(super) struct Recording {
    outcome: Outcome,
    status: Option<CorrectionStatus>,
    races: u32,
    failures: u32,
    last: Option<Failure>,
    /// The stored fields were refused, so the next write omits them.
    alone: bool,
    /// The word that stands without what is stored, and the outcome that it tells.
    told: Option<Box<(Outcome, CorrectionStatus)>>,
}

impl Execution {
    /// Says on the object what came of the correction. A deletion that was done, or skipped, needs no word: the object goes.
    pub(super) fn record(&mut self, outcome: Outcome) -> Step {
        self.note_secrets(&outcome);
        let is_deletion = self.correction().is_some_and(|correction| correction.action == Action::Delete);
        if is_deletion && matches!(outcome, Outcome::Applied | Outcome::AllSkipped) {
            return self.corrected(outcome, None, false);
        }
        self.write_outcome(Box::new(Recording {
            outcome,
            status: None,
            races: 0,
            failures: 0,
            last: None,
            alone: false,
            told: None,
        }))
    }

    fn write_outcome(&mut self, mut recording: Box<Recording>) -> Step {
        let current = self.object.conditions.correction_status();
        let made = recording.outcome.clone();
        let outcome = if recording.alone { without_fields(made) } else { made };
        let stored = if recording.alone { StatusFields::NONE } else { self.progress.stored.clone() };
        let to_record = self.correction().and_then(|correction| correction.to_record(&current, &outcome));
        // What is stored goes with the word that stands where nothing new is to be said.
        let Some(status) =
            to_record.or_else(|| Some(current).filter(|current| current.reason.is_some() && !stored.is_empty()))
        else {
            return self.corrected(outcome, None, false);
        };
        if stored.is_empty() && status.stands(self.object.conditions.corrected()) {
            return self.corrected(outcome, Some(status), true);
        }
        recording.status = Some(status.clone());
        self.stage = Stage::Recording(recording);
        Step::Write(Write::Outcome(status, stored))
    }

    pub(super) fn recording(&mut self, event: Event) -> Step {
        let Stage::Recording(recording) = &mut self.stage else { return Step::End(ExecutionEnd::Nothing) };
        match event {
            Event::Written(Ok(object)) if recording.alone => {
                recording.alone = false;
                recording.told =
                    recording.status.take().map(|status| Box::new((without_fields(recording.outcome.clone()), status)));
                recording.failures = recording.failures.saturating_add(1);
                let pause = Series::WRITE_REFUSED.delay(recording.failures);
                recording.last = Some(Failure::Refused(String::new()));
                self.object = *object;
                if self.object.deleting { self.give_up() } else { Step::Pause(pause) }
            }
            Event::Written(Ok(object)) => {
                let (outcome, status) = (recording.outcome.clone(), recording.status.take());
                self.object = *object;
                self.corrected(outcome, status, true)
            }
            Event::Written(Err(failure)) => self.not_recorded(failure),
            Event::Waited(interrupt) => {
                let refused = matches!(recording.last, Some(Failure::Refused(_)));
                let is_news = recording.outcome.is_definite() || !self.progress.stored.is_empty();
                let given_up = match interrupt {
                    Some(Interrupt::CutOff) => refused || !is_news,
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
                let is_waited_for = raced || self.is_needed_by_deletion(recording.last.as_ref());
                if self.object.deleting && !is_waited_for { self.give_up() } else { self.write_outcome(recording) }
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
        let is_needed = self.is_needed_by_deletion(Some(&failure));
        let is_news = !self.progress.stored.is_empty();
        let Stage::Recording(recording) = &mut self.stage else { return Step::End(ExecutionEnd::Nothing) };
        recording.last = Some(failure.clone());
        if matches!(failure, Failure::Refused(_)) {
            // K and the claim must not be lost with a field that the kind does not take.
            recording.alone = is_news && !recording.alone && recording.told.is_none();
            if recording.alone {
                let recording = recording.clone();
                return self.write_outcome(recording);
            }
        }
        let series = match failure {
            Failure::Moved => {
                recording.races = recording.races.saturating_add(1);
                return Step::Pause(Series::RACE_LOST.delay(recording.races));
            }
            Failure::Gone => {
                let outcome = recording.outcome.clone();
                return self.corrected(outcome, None, false);
            }
            Failure::NotLeading if !recording.outcome.is_definite() && !is_news => return self.give_up(),
            Failure::Refused(_) => Series::WRITE_REFUSED,
            Failure::Unavailable | Failure::NotLeading => Series::API_UNAVAILABLE,
        };
        recording.failures = recording.failures.saturating_add(1);
        let pause = series.delay(recording.failures);
        if self.object.deleting && !is_needed { self.give_up() } else { Step::Pause(pause) }
    }

    /// Returns true if a deletion may have to know what is to be stored. What is refused holds up no deletion.
    fn is_needed_by_deletion(&self, last: Option<&Failure>) -> bool {
        !self.progress.stored.is_empty() && !matches!(last, Some(Failure::Refused(_)))
    }

    /// Gives up the write. A certain outcome stays in memory.
    fn give_up(&mut self) -> Step {
        let Stage::Recording(recording) = &mut self.stage else { return Step::End(ExecutionEnd::Nothing) };
        if let Some((outcome, status)) = recording.told.take().map(|told| *told) {
            return self.corrected(outcome, Some(status), true);
        }
        let (outcome, status) = (recording.outcome.clone(), recording.status.take());
        let status = status.filter(|_| outcome.is_definite());
        self.corrected(outcome, status, false)
    }
}

/// What a correction came to whose fields the API server refuses: what was made is not known here.
fn without_fields(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Applied => {
            let step = FailedStep { label: None, reach: Reach::Further };
            Outcome::Unstored(step, "the API server refuses what is to be stored".to_owned())
        }
        outcome => outcome,
    }
}
