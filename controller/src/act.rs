//! Does what was decided for one object, in the one order that a crash at any point leaves safe.
//!
//! Finalizer before claim, claim before the first request, requests before the note. Between the claim and the first
//! request the object must still be what was decided on. This file decides nothing but whether to go on.

use std::sync::Arc;

use drift_cluster::client::WriteError;
use drift_cluster::process::clock;
use drift_cluster::process::kill_point::{KillPoint, reach};
use drift_model::condition::CorrectedReason;
use drift_model::moment::Moment;
use drift_model::object::LeanObject;
use drift_target::Target;

use crate::core::claim::Action;
use crate::core::decide::still_stands;
use crate::core::decision::Correction;
use crate::core::limits::Taken;
use crate::core::note::{NoteChange, Noted};
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
    Correct(Order),
    /// Write a note.
    Note(NoteChange),
    /// Remove the note.
    RemoveNote,
    /// Put the finalizer on.
    PutFinalizer,
    /// Take the finalizer off.
    ReleaseFinalizer {
        /// The external resource is left behind.
        left_behind: bool,
    },
}

/// A correction to be done, and what stood before it.
#[derive(Clone, Debug)]
pub struct Order {
    /// The correction.
    pub correction: Correction,
    /// What stood.
    pub noted: Noted,
    /// Whether the one before it was in doubt.
    pub was_in_doubt: bool,
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

/// How it ended.
#[derive(Clone, Debug)]
pub enum Ended {
    /// The write landed; a note that came to stand.
    Written(Option<NoteChange>),
    /// The note was removed.
    NoteRemoved,
    /// The object was not as it was read, or the API server did not answer: to be decided anew.
    Lost,
    /// The API server refuses the write, for the reason in this sentence.
    Refused(String),
    /// The correction was called off before anything was sent.
    CalledOff,
    /// A host asked to be left alone before anything was written or sent.
    Postponed(Moment),
    /// The correction came to an end.
    Corrected {
        /// What it came to.
        outcome: Outcome,
        /// Whether it was a deletion.
        deletion: bool,
        /// The note that came to stand.
        change: Option<NoteChange>,
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
            Work::Correct(order) => self.correct(object, &order, Granted::default()).await,
            Work::Note(change) => {
                reach(KillPoint::ControllerBeforeNote);
                let written = self.pen.write_note(&object, &change).await;
                reach(KillPoint::ControllerAfterNote);
                self.settle(&object, written, |written| {
                    // In sync again without our doing: the poller tells.
                    if change.reason != CorrectedReason::CorrectionApplied {
                        self.announcer.noted(&self.pen.kind, written, &change);
                    }
                    Ended::Written(Some(change.clone()))
                })
            }
            Work::RemoveNote => {
                reach(KillPoint::ControllerBeforeNote);
                let written = self.pen.remove_note(&object).await;
                reach(KillPoint::ControllerAfterNote);
                self.settle(&object, written, |_| Ended::NoteRemoved)
            }
            Work::PutFinalizer => {
                let written = self.pen.put_finalizer(&object).await;
                self.settle(&object, written, |_| Ended::Written(None))
            }
            Work::ReleaseFinalizer { left_behind } => {
                let written = self.releaser().release(&object, left_behind).await;
                self.settle(&object, written, |_| Ended::Written(None))
            }
        }
    }

    /// Takes finalizers off.
    #[must_use]
    pub const fn releaser(&self) -> Releaser<'_> {
        Releaser { pen: &self.pen, announcer: &self.announcer }
    }

    /// Corrects.
    pub async fn correct(&self, object: LeanObject, order: &Order, granted: Granted) -> (Newest, Ended) {
        let rendered = match render(&self.target, &object, &order.correction) {
            Ok(rendered) => rendered,
            Err(cause) => {
                tracing::warn!(target_name = self.target.name, object = %object.id, "not corrected: {cause}");
                let outcome = Outcome::Doubtful { why: Doubt::TemplateFails, retry_after: None, step: 0 };
                drop(granted);
                return self.finish(object, order, outcome).await;
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
            return self.finish(object, order, outcome).await;
        }
        let prepared = match self.prepare(object, order).await {
            Ok(prepared) => prepared,
            Err(ended) => return ended,
        };
        tracing::info!(
            target_name = self.target.name,
            object = %prepared.id,
            action = order.correction.action.as_str(),
            correction = order.correction.number,
            "correcting"
        );
        let Granted { limits, place } = granted;
        let outcome = self.steps.send(&rendered, place).await;
        drop(limits);
        tracing::info!(
            target_name = self.target.name,
            object = %prepared.id,
            action = order.correction.action.as_str(),
            correction = order.correction.number,
            outcome = ?outcome,
            "corrected"
        );
        self.finish(prepared, order, outcome).await
    }

    /// Finalizer, then claim, as far as they are due.
    async fn prepare(&self, object: LeanObject, order: &Order) -> Result<LeanObject, (Newest, Ended)> {
        let decided_on = object.clone();
        let mut object = object;
        if order.correction.put_finalizer {
            let written = self.pen.put_finalizer(&object).await;
            object = written.map_err(|error| self.call_off(&object, error))?;
        }
        let claims = order.correction.claim_first && still_stands(&decided_on, &object);
        if claims {
            let claim = NoteChange::claim(&order.noted, &order.correction);
            reach(KillPoint::ControllerBeforeClaim);
            let written = self.pen.write_note(&object, &claim).await;
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

    async fn finish(&self, object: LeanObject, order: &Order, outcome: Outcome) -> (Newest, Ended) {
        let deletion = order.correction.action == Action::Delete;
        let ended = |change| Ended::Corrected { outcome, deletion, change };
        let is_cut_off = !outcome.is_definite() && self.steps.term.is_cancelled();
        // A deletion that was done needs no note: the object goes. A cut-off one is the next leader's.
        if is_cut_off || (deletion && outcome == Outcome::Applied) {
            return (Newest::State(Box::new(object)), ended(None));
        }
        let finished =
            Finished { correction: &order.correction, noted: &order.noted, outcome, was_in_doubt: order.was_in_doubt };
        let recorded = record(&self.pen, &self.announcer, object, (&finished, &self.steps.term)).await;
        let newest = recorded.object.map_or(Newest::Unknown, |object| Newest::State(Box::new(object)));
        (newest, ended(recorded.change))
    }

    fn call_off(&self, object: &LeanObject, error: WriteError) -> (Newest, Ended) {
        match self.settle(object, Err(error), |_| Ended::CalledOff) {
            (newest, Ended::Lost) => (newest, Ended::CalledOff),
            other => other,
        }
    }

    fn settle(
        &self,
        object: &LeanObject,
        written: Result<LeanObject, WriteError>,
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
            Err(WriteError::Refused(sentence)) => (Newest::Unknown, Ended::Refused(sentence)),
        }
    }
}
