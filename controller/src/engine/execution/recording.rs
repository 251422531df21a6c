//! Writes the outcome of a correction to the object, and retries until the write succeeds.
//!
//! Completed external work must be remembered while the process lives. A failed write is retried on the current state
//! of the object. Until it succeeds, no other correction of the object begins. Only a deletion, an edit of the target
//! and the loss of the Lease do not wait for it.

use drift_api::approval::ObjectInputs;
use drift_api::condition::{CorrectionStatus, StatusFields};
use drift_api::timing::backoff::Series;

use super::end::ExecutionEnd;
use super::{Event, Execution, Failure, Interrupt, Operation, Stage, Step, Write};
use crate::engine::corrections::outcome::Unstored;
use crate::engine::corrections::{Action, FailedStep, Outcome, Reach};

/// Outcome of a correction until it is written to the object.
#[derive(Clone, Debug)]
pub(super) struct Recording {
    outcome: Outcome,
    status: Option<CorrectionStatus>,
    races: u32,
    failures: u32,
    last: Option<Failure>,
    /// True if the stored fields were refused, so that the next write omits them.
    alone: bool,
    /// Outcome and status that were written without the stored fields.
    told: Option<Box<(Outcome, CorrectionStatus)>>,
}

impl Execution {
    /// Writes the outcome to the object. A completed or skipped deletion needs no status, because the
    /// object is removed.
    pub(super) fn record(&mut self, outcome: Outcome) -> Step {
        self.conclude_secrets(&outcome);
        if self.progress.reached < self.progress.plan.deletion {
            self.forget_create();
        }
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

    /// Returns the number of the correction, and the object's inputs before and after the values that it stored; `None`
    /// if it stored none, or if another writer changed an input meanwhile.
    #[must_use]
    pub fn own_store(&self, end: &ExecutionEnd) -> Option<(u64, ObjectInputs, ObjectInputs)> {
        let ExecutionEnd::Corrected { correction, written: true, .. } = end else { return None };
        let (stored, before, after) = (&self.progress.stored, &self.decided_on, &self.object);
        let is_own = !stored.is_empty() && ObjectInputs::differ_only_by(stored, before, after);
        is_own.then(|| (correction.asked_as(), ObjectInputs::of(before), ObjectInputs::of(after)))
    }

    fn write_outcome(&mut self, mut recording: Box<Recording>) -> Step {
        let current = self.object.conditions.correction_status();
        let made = recording.outcome.clone();
        let outcome = if recording.alone { without_fields(made) } else { made };
        let stored = if recording.alone { StatusFields::NONE } else { self.progress.stored.clone() };
        let to_record = self.correction().and_then(|correction| correction.to_record(&current, &outcome));
        // If the status needs no change, the stored fields are written together with the current one.
        let Some(status) =
            to_record.or_else(|| Some(current).filter(|current| current.reason.is_some() && !stored.is_empty()))
        else {
            return self.corrected(outcome, None, false);
        };
        let status = CorrectionStatus { ids: status.ids.clone().after(&stored), ..status };
        if stored.is_empty() && status.stands(self.object.conditions.corrected()) {
            return self.corrected(outcome, Some(status), true);
        }
        recording.status = Some(status.clone());
        self.release();
        self.write(Stage::Recording(recording), Write::Outcome(status, stored))
    }

    pub(super) fn recording(&mut self, event: Event) -> Step {
        let counts = self.counts_now();
        let Stage::Recording(recording) = &mut self.stage else { return self.end(ExecutionEnd::Nothing) };
        match event {
            Event::Written(Ok(object)) if recording.alone => {
                recording.alone = false;
                recording.told =
                    recording.status.take().map(|status| Box::new((without_fields(recording.outcome.clone()), status)));
                recording.failures = recording.failures.saturating_add(1);
                let pause = Series::WRITE_REFUSED.delay(recording.failures);
                recording.last = Some(Failure::Refused(String::new()));
                self.object = *object;
                if self.object.deleting { self.give_up() } else { self.pause(pause) }
            }
            Event::Written(Ok(object)) => {
                let (outcome, status) = (recording.outcome.clone(), recording.status.take());
                self.object = *object;
                self.corrected(outcome, status, true)
            }
            Event::Written(Err(failure)) => self.not_recorded(failure),
            Event::Waited(interrupt) => {
                let refused = matches!(recording.last, Some(Failure::Refused(_)));
                let is_news = counts || !self.progress.stored.is_empty();
                let given_up = match interrupt {
                    Some(Interrupt::CutOff) => refused || !is_news,
                    // The engine of the new target version must not wait for a refused write.
                    Some(Interrupt::Superseded) => refused,
                    None => false,
                };
                if given_up { self.give_up() } else { Step::Do(Operation::ReadAgain) }
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
                let pause = Series::API_UNAVAILABLE.delay(recording.failures);
                self.pause(pause)
            }
            Event::Read(Ok(None)) => {
                let outcome = recording.outcome.clone();
                self.corrected(outcome, None, false)
            }
            _ => self.give_up(),
        }
    }

    /// Handles a failed write. An object that is being deleted waits only for data that its deletion needs.
    fn not_recorded(&mut self, failure: Failure) -> Step {
        let is_needed = self.is_needed_by_deletion(Some(&failure));
        let is_news = !self.progress.stored.is_empty();
        let counts = self.counts_now();
        let Stage::Recording(recording) = &mut self.stage else { return self.end(ExecutionEnd::Nothing) };
        recording.last = Some(failure.clone());
        if matches!(failure, Failure::Refused(_)) {
            // A field that the kind does not accept must not prevent the record of K and the claim.
            recording.alone = is_news && !recording.alone && recording.told.is_none();
            if recording.alone {
                let recording = recording.clone();
                return self.write_outcome(recording);
            }
        }
        let series = match failure {
            Failure::Moved => {
                recording.races = recording.races.saturating_add(1);
                let pause = Series::RACE_LOST.delay(recording.races);
                return self.pause(pause);
            }
            Failure::Gone => {
                let outcome = recording.outcome.clone();
                return self.corrected(outcome, None, false);
            }
            Failure::NotLeading if !counts && !is_news => return self.give_up(),
            Failure::Refused(_) => Series::WRITE_REFUSED,
            Failure::Unavailable | Failure::NotLeading => Series::API_UNAVAILABLE,
        };
        recording.failures = recording.failures.saturating_add(1);
        let pause = series.delay(recording.failures);
        if self.object.deleting && !is_needed { self.give_up() } else { self.pause(pause) }
    }

    /// Returns true if a deletion may need the stored fields. A refused write does not delay a deletion.
    fn is_needed_by_deletion(&self, last: Option<&Failure>) -> bool {
        !self.progress.stored.is_empty() && !matches!(last, Some(Failure::Refused(_)))
    }

    /// Stops the retries. A certain outcome stays in memory.
    fn give_up(&mut self) -> Step {
        let Stage::Recording(recording) = &mut self.stage else { return self.end(ExecutionEnd::Nothing) };
        if let Some((outcome, status)) = recording.told.take().map(|told| *told) {
            return self.corrected(outcome, Some(status), true);
        }
        let (outcome, status) = (recording.outcome.clone(), recording.status.take());
        let status = status.filter(|_| self.counts(&outcome));
        self.corrected(outcome, status, false)
    }

    /// Returns true if the outcome that is being recorded uses up the number of the correction.
    fn counts_now(&self) -> bool {
        matches!(&self.stage, Stage::Recording(recording) if self.counts(&recording.outcome))
    }

    fn counts(&self, outcome: &Outcome) -> bool {
        self.correction().is_some_and(|correction| correction.counts(outcome))
    }
}

/// Returns the outcome of a correction whose stored fields the API server refuses, so that the created resource
/// is unknown here.
fn without_fields(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Applied => {
            let step = FailedStep { label: None, reach: Reach::Further };
            Outcome::Unstored(step, Unstored::Refused)
        }
        outcome => outcome,
    }
}
