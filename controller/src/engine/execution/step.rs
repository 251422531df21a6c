//! The protocol between an execution and its executor: steps and their results.

use std::sync::Arc;
use std::time::Duration;

use drift_api::{CorrectionStatus, LeanObject, Moment, ObjectRef, ResourceName, StatusFields};

use super::end::ExecutionEnd;
use crate::engine::corrections::outcome::{Code, StepOutcome, Uncertainty};
use crate::engine::decide::decision::Decision;
use crate::engine::rendering::plan::Plan;

/// Next step of an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read the object live before the decision.
    Read,
    /// Read the object live again, to write a status onto its current state. This read needs no place at a host.
    ReadAgain,
    /// Read these objects live and check if one of them claims the resource.
    ReadHolders(Vec<ObjectRef>, ResourceName),
    /// Decide anew on the object as it was read.
    Decide,
    /// Render the requests and check if they may be sent.
    Prepare,
    /// Write to the object.
    Write(Write),
    /// Render the request of this step, using the responses to earlier steps.
    Render(usize),
    /// Send the request rendered last.
    Send {
        /// Index of the step.
        index: usize,
        /// First external write. Shutdown may still cancel it.
        begins: bool,
    },
    /// Wait, unless the object changes first.
    Pause(Duration),
    /// End the execution with this result.
    End(ExecutionEnd),
}

/// A write to the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Add our finalizer.
    PutFinalizer,
    /// Remove our finalizer.
    ReleaseFinalizer {
        /// True if the external resource is left behind.
        left_behind: bool,
    },
    /// Replace the current status.
    Status(CorrectionStatus, Purpose),
    /// Write the status with the outcome of a correction, together with its stored fields.
    Outcome(CorrectionStatus, StatusFields),
}

/// The purpose of a status write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Claim the external resource.
    Claim,
    /// Take back a claim for which nothing was sent.
    TakeBack,
    /// Write any other status.
    Word,
}

/// The result of a step.
#[derive(Clone, Debug)]
pub enum Event {
    /// The execution begins.
    Begin,
    /// The check of the inputs ended.
    Checked {
        /// True if an input of the requests is missing.
        lacks_something: bool,
    },
    /// The live read ended; `None` if the object is gone.
    Read(Result<Option<Box<LeanObject>>, String>),
    /// The former holders of the resource were read live.
    HoldersRead {
        /// True if one of them claims it, or could not be read.
        is_claimed: bool,
    },
    /// The object was decided anew on this state.
    Decided(Box<LeanObject>, Decision),
    /// There is nothing to do any more.
    Dismissed,
    /// The requests were checked.
    Prepared(Readiness),
    /// The request was rendered, skipped, or failed to render.
    Rendered(Rendered),
    /// The write succeeded and returned this state, or it failed.
    Written(Result<Box<LeanObject>, Failure>),
    /// The request was answered, or will get no response.
    Answered(StepAnswer),
    /// The request was not sent, because the program is shutting down or the Lease is not fresh.
    NotSent,
    /// The Lease was lost or the drain deadline passed while the request was running.
    CutOff,
    /// The pause is over, or was interrupted.
    Waited(Option<Interrupt>),
}

/// Result of the request of a step.
#[derive(Clone, Debug)]
pub struct StepAnswer {
    /// Meaning of the response.
    pub outcome: StepOutcome,
    /// Code of the response, if there was one.
    pub code: Option<Code>,
    /// Part of the response to store in the object's status.
    pub stored: StatusFields,
    /// Part of the step at which it ended.
    pub label: Option<Arc<str>>,
    /// Object, if the request was a write to the object itself.
    pub object: Option<Box<LeanObject>>,
}

impl StepAnswer {
    /// Creates an answer with only this meaning.
    #[must_use]
    pub const fn of(outcome: StepOutcome) -> Self {
        Self { outcome, code: None, stored: StatusFields::NONE, label: None, object: None }
    }
}

/// Answer to "may the requests of a correction be sent?".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// The requests may be sent.
    Ready(Plan),
    /// A host asked for a delay until then.
    Postponed(Moment),
    /// The request with this label cannot be sent.
    Unsendable(Option<Arc<str>>, Uncertainty),
    /// The program is shutting down, or the Lease is not fresh.
    NotNow,
}

/// Result of rendering a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rendered {
    /// The request can be sent.
    Ready,
    /// The request for one item can be sent; the label names the step and the item. The same step is rendered again
    /// after its answer.
    Item(Arc<str>),
    /// The target skips the request.
    Skipped,
    /// Rendering failed, for this reason.
    Fails(Uncertainty),
}

/// Reason why a write failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The object changed since the state that the write was based on.
    Moved,
    /// The object is gone.
    Gone,
    /// The API server refuses the write, for this reason.
    Refused(String),
    /// The API server did not respond.
    Unavailable,
    /// Nothing was sent, because we do not hold the Lease.
    NotLeading,
}

/// Cause of an interrupted pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// The target was edited or removed.
    Superseded,
    /// The Lease is lost, or the drain deadline is over.
    CutOff,
}
