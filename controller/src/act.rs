//! Does what was decided for one object, in the one order that a crash at any point leaves safe.
//!
//! Finalizer before claim, claim before the first request, requests before the note. Between the claim and the first
//! request the object must still be what was decided on. This file decides nothing but whether to go on.

use std::sync::Arc;

use drift_cluster::client::WriteError;
use drift_cluster::process::clock;
use drift_cluster::process::kill_point::{KillPoint, reach};
use drift_model::condition::{CorrectedReason, CorrectionStatus};
use drift_model::moment::Moment;
use drift_model::object::LeanObject;
use drift_target::Target;

use crate::core::claim::Action;
use crate::core::correction::Correction;
use crate::core::decide::still_stands;
use crate::core::limits::Taken;
use crate::core::outcome::{Doubt, Outcome};
use crate::letting_go::Releaser;
use crate::notices::Announcer;
use crate::pen::Pen;
use crate::record::{Finished, record};
use crate::steps::{HostPlace, StepSender, render};

/// One thing to do for an object.
#[derive(Clone, Debug)]
pub enum Work {
    /// Correct or delete outside.
    Correct(Box<Correction>),
    /// Write a status, or remove the one that stands.
    WriteStatus(CorrectionStatus),
    /// Put the finalizer on.
    PutFinalizer,
    /// Take the finalizer off.
    ReleaseFinalizer {
        /// The external resource is left behind.
        left_behind: bool,
    },
}

/// What a correction was given before the object was judged for the last time. It is given back when nothing more is asked
/// of the external system: the note that follows may be refused for ever, which is no reason to hold up others.
#[derive(Debug, Default)]
pub struct Granted {
    /// Of the target's limits.
    pub limits: Option<Taken>,
    /// At the host of the first step.
    pub place: Option<HostPlace>,
}

/// What became of the object.
#[derive(Clone, Debug)]
pub enum Newest {
    /// It is so.
    State(Box<LeanObject>),
    /// It is gone.
    Gone,
    /// The watch will tell.
    Unknown,
}

/// Which part of an object is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// Our condition.
    Status,
    /// Our finalizer alone.
    Finalizer,
}

/// How it ended.
#[derive(Clone, Debug)]
pub enum Ended {
    /// The status was written, or removed.
    StatusWritten(CorrectionStatus),
    /// The finalizer was put on or taken off.
    FinalizerWritten,
    /// The object was not as it was read, or the API server did not answer: to be decided anew.
    Lost,
    /// The API server refuses the write.
    Refused {
        /// Which.
        write: Write,
        /// Why.
        sentence: String,
    },
    /// The correction was called off before anything was sent.
    CalledOff,
    /// A host asked to be left alone before anything was written or sent.
    Postponed(Moment),
    /// The correction came to an end.
    Corrected {
        /// What it came to.
        outcome: Outcome,
        /// The correction.
        correction: Box<Correction>,
        /// The status that came to stand.
        status: Option<CorrectionStatus>,
    },
}

/// The hands of one target.
#[derive(Clone, Debug)]
pub struct Hands {
    /// The target.
    pub target: Arc<Target>,
    /// Writes to objects.
    pub pen: Pen,
    /// Writes outside.
    pub steps: StepSender,
    /// Says what happened.
    pub announcer: Announcer,
}

impl Hands {
    /// Does it on the object as it was just read.
    pub async fn work(&self, object: LeanObject, work: Work) -> (Newest, Ended) {
        match work {
            Work::Correct(correction) => self.correct(object, &correction, Granted::default()).await,
            Work::WriteStatus(status) => {
                reach(KillPoint::ControllerBeforeNote);
                let written = self.pen.write_status(&object, &status).await;
                reach(KillPoint::ControllerAfterNote);
                self.settle(&object, (Write::Status, written), |written| {
                    // In sync again without our doing: the poller tells.
                    if status.reason != Some(CorrectedReason::CorrectionApplied) {
                        self.announcer.status(&self.pen.kind, written, &status);
                    }
                    Ended::StatusWritten(status.clone())
                })
            }
            Work::PutFinalizer => {
                let written = self.pen.put_finalizer(&object).await;
                self.settle(&object, (Write::Finalizer, written), |_| Ended::FinalizerWritten)
            }
            Work::ReleaseFinalizer { left_behind } => {
                let written = self.releaser().release(&object, left_behind).await;
                self.settle(&object, (Write::Finalizer, written), |_| Ended::FinalizerWritten)
            }
        }
    }

    /// Takes finalizers off.
    #[must_use]
    pub const fn releaser(&self) -> Releaser<'_> {
        Releaser { pen: &self.pen, announcer: &self.announcer }
    }

    /// Corrects.
    pub async fn correct(&self, object: LeanObject, correction: &Correction, granted: Granted) -> (Newest, Ended) {
        let rendered = match render(&self.target, &object, correction) {
            Ok(rendered) => rendered,
            Err(cause) => {
                tracing::warn!(target_name = self.target.name, object = %object.id, "not corrected: {cause}");
                let outcome = Outcome::Doubtful { why: Doubt::TemplateFails, retry_after: None, step: 0 };
                drop(granted);
                return self.finish(object, correction, outcome).await;
            }
        };
        if !self.steps.may_act() {
            return (Newest::State(Box::new(object)), Ended::CalledOff);
        }
        if let Some(until) = self.steps.paused_until(&rendered, clock::now()) {
            return (Newest::State(Box::new(object)), Ended::Postponed(until));
        }
        if let Err(outcome) = self.steps.check_credentials(&rendered) {
            drop(granted);
            return self.finish(object, correction, outcome).await;
        }
        let prepared = match self.prepare(object, correction).await {
            Ok(prepared) => prepared,
            Err(ended) => return ended,
        };
        tracing::info!(
            target_name = self.target.name,
            object = %prepared.id,
            action = correction.action.as_str(),
            correction = correction.number,
            "correcting"
        );
        let Granted { limits, place } = granted;
        let outcome = self.steps.send(&rendered, place).await;
        drop(limits);
        tracing::info!(
            target_name = self.target.name,
            object = %prepared.id,
            action = correction.action.as_str(),
            correction = correction.number,
            outcome = ?outcome,
            "corrected"
        );
        self.finish(prepared, correction, outcome).await
    }

    /// Finalizer, then claim, as far as they are due.
    async fn prepare(&self, object: LeanObject, correction: &Correction) -> Result<LeanObject, (Newest, Ended)> {
        let decided_on = object.clone();
        let mut object = object;
        if correction.put_finalizer {
            let written = self.pen.put_finalizer(&object).await;
            object = written.map_err(|error| self.call_off(&object, error))?;
        }
        let claims = correction.claim_first && still_stands(&decided_on, &object);
        if claims {
            reach(KillPoint::ControllerBeforeClaim);
            let written = self.pen.write_status(&object, &correction.claim()).await;
            reach(KillPoint::ControllerAfterClaim);
            object = written.map_err(|error| self.call_off(&object, error))?;
        }
        if still_stands(&decided_on, &object) {
            return Ok(object);
        }
        if claims {
            // Where this fails the claim is found standing, counts as interrupted, and a poll follows.
            let before = decided_on.conditions.corrected.as_ref();
            if let Ok(restored) = self.pen.restore(&object, before).await {
                object = restored;
            }
        }
        Err((Newest::State(Box::new(object)), Ended::CalledOff))
    }

    async fn finish(&self, object: LeanObject, correction: &Correction, outcome: Outcome) -> (Newest, Ended) {
        let deletion = correction.action == Action::Delete;
        let ended = |status| Ended::Corrected { outcome, correction: Box::new(correction.clone()), status };
        let is_cut_off = !outcome.is_definite() && self.steps.term.is_cancelled();
        // A deletion that was done needs no note: the object goes. A cut-off one is the next leader's.
        if is_cut_off || (deletion && outcome == Outcome::Applied) {
            return (Newest::State(Box::new(object)), ended(None));
        }
        let finished = Finished { correction, outcome };
        let recorded = record(&self.pen, &self.announcer, object, (&finished, &self.steps.term)).await;
        let newest = recorded.object.map_or(Newest::Unknown, |object| Newest::State(Box::new(object)));
        (newest, ended(recorded.status))
    }

    fn call_off(&self, object: &LeanObject, error: WriteError) -> (Newest, Ended) {
        match self.settle(object, (Write::Status, Err(error)), |_| Ended::CalledOff) {
            (newest, Ended::Lost) => (newest, Ended::CalledOff),
            other => other,
        }
    }

    fn settle(
        &self,
        object: &LeanObject,
        (write, written): (Write, Result<LeanObject, WriteError>),
        ended: impl FnOnce(&LeanObject) -> Ended,
    ) -> (Newest, Ended) {
        match written {
            Ok(written) => {
                let ended = ended(&written);
                (Newest::State(Box::new(written)), ended)
            }
            Err(WriteError::Gone) => (Newest::Gone, Ended::Lost),
            Err(WriteError::Moved | WriteError::NotLeading) => (Newest::Unknown, Ended::Lost),
            Err(WriteError::Unavailable(sentence)) => {
                tracing::warn!(object = %object.id, "a write did not land: {sentence}");
                (Newest::Unknown, Ended::Lost)
            }
            Err(WriteError::Refused(sentence)) => (Newest::Unknown, Ended::Refused { write, sentence }),
        }
    }
}
