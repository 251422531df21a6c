//! The words between an execution and whoever carries it out: what is to be done next, and what came of it.

use std::sync::Arc;
use std::time::Duration;

use drift_api::condition::{CorrectionStatus, StatusFields};
use drift_api::identity::ObjectRef;
use drift_api::identity::ResourceName;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;

use super::end::ExecutionEnd;
use crate::engine::corrections::outcome::{Doubt, StepOutcome};
use crate::engine::decide::decision::Decision;
use crate::engine::rendering::plan::Plan;

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Read the object live, before anything is decided on it.
    Read,
    /// Read it live once more, to write what must be said onto what stands by now. Nothing outside is waited for.
    ReadAgain,
    /// Read these objects live, and see whether one of them claims the resource.
    ReadHolders(Vec<ObjectRef>, ResourceName),
    /// Decide anew, on the object as it was read.
    Decide,
    /// Render the requests, and see whether they may go out.
    Prepare,
    /// Write to the object.
    Write(Write),
    /// Render the request of this step, with the answers to those before it.
    Render(usize),
    /// Send the request that was rendered last.
    Send {
        /// Of which step.
        index: usize,
        /// Nothing was written outside before it, so that the program's end still holds it up.
        begins: bool,
    },
    /// Wait, unless something happens to the object first.
    Pause(Duration),
    /// Nothing more: this became of it.
    End(ExecutionEnd),
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
    /// Put this there, which says what came of a correction, and what is stored of it in the same write.
    Outcome(CorrectionStatus, StatusFields),
}

/// The purpose of a status write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To claim the external resource.
    Claim,
    /// To take a claim back for which nothing was sent.
    TakeBack,
    /// To say anything else.
    Word,
}

/// The result of a step.
#[derive(Clone, Debug)]
pub enum Event {
    /// The execution begins.
    Begin,
    /// The check ended.
    Checked {
        /// Something that the requests need is missing.
        lacks_something: bool,
    },
    /// The live read ended; `None` where the object is gone.
    Read(Result<Option<Box<LeanObject>>, String>),
    /// The objects that had the resource were read live.
    HoldersRead {
        /// One of them claims it, or could not be read.
        is_claimed: bool,
    },
    /// It was decided anew, on this state of the object.
    Decided(Box<LeanObject>, Decision),
    /// Nothing is to be done any more.
    Dismissed,
    /// The requests were looked at.
    Prepared(Readiness),
    /// The request was rendered, or not.
    Rendered(Rendered),
    /// The write landed and gave this state, or did not.
    Written(Result<Box<LeanObject>, Failure>),
    /// The request was answered, or is known to stay without an answer.
    Answered(StepAnswer),
    /// The request was not sent: the program ends, or the Lease is not fresh.
    NotSent,
    /// The request was under way when the Lease was lost or the time to drain was over.
    CutOff,
    /// The pause is over, or was cut short.
    Waited(Option<Interrupt>),
}

/// The answer to the request of a step.
#[derive(Clone, Debug)]
pub struct StepAnswer {
    /// The meaning of the answer.
    pub outcome: StepOutcome,
    /// The part of the answer to store in the object's status.
    pub stored: StatusFields,
    /// The part of the step at which it ended.
    pub label: Option<Arc<str>>,
    /// The object, if the request was a write to the object itself.
    pub object: Option<Box<LeanObject>>,
}

impl StepAnswer {
    /// An answer with this meaning alone.
    #[must_use]
    pub const fn of(outcome: StepOutcome) -> Self {
        Self { outcome, stored: StatusFields::NONE, label: None, object: None }
    }
}

/// The answer to "may the requests of a correction go out?".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// They may.
    Ready(Plan),
    /// A host asked to be left alone until then.
    Postponed(Moment),
    /// The one that is called so cannot be sent.
    Unsendable(Option<Arc<str>>, Doubt),
    /// The program ends, or the Lease is not fresh.
    NotNow,
}

/// The result of rendering a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rendered {
    /// It can be sent.
    Ready,
    /// The target says that it is not to be sent.
    Skipped,
    /// It cannot be, for this reason.
    Fails(Doubt),
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

/// The cause that cut a pause short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// The target works by another text, or is gone.
    Superseded,
    /// The Lease is lost, or the time to drain is over.
    CutOff,
}
