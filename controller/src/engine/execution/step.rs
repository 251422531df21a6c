//! The protocol between an execution and its surroundings: steps, operations of the shell and their results.

use std::collections::HashMap;
use std::time::Duration;

use drift_api::condition::{CorrectionStatus, StatusFields};
use drift_api::identity::{ObjectRef, ResourceName};
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_systems::Probe;

use super::end::ExecutionEnd;
use crate::engine::corrections::outcome::Doubt;
use crate::engine::corrections::{Correction, Outcome};
use crate::engine::rendering::{Reply, Request, Requests, Unrenderable};

/// Next step of an execution.
#[derive(Debug)]
pub enum Step {
    /// The target decides on the object again, in its newest known state.
    Decide,
    /// The shell performs this operation and returns the result.
    Do(Operation),
    /// Nothing happens until [`Execution::due`](super::Execution::due), unless the object changes first.
    Pause,
    /// The execution ends with this result.
    End(ExecutionEnd),
}

/// One operation of the shell for an object.
#[derive(Debug)]
pub enum Operation {
    /// Read the object live before the decision, while holding a place at this host of the first request.
    Read(Option<String>),
    /// Read the object live again, after a look-up or for the record. It waits for no place at a host.
    ReadAgain,
    /// Read these objects live and check if one of them claims the resource.
    ReadHolders(Vec<ObjectRef>, ResourceName),
    /// Write to the object.
    Write(Write),
    /// Send a request.
    Send(Box<Sending>),
}

/// A request to send.
#[derive(Debug)]
pub struct Sending {
    /// Rendered request.
    pub request: Request,
    /// Number of the correction, for lines of the log.
    pub correction: u64,
    /// True until an external write was accepted. Shutdown may still cancel the correction.
    pub begins: bool,
    /// Host of the first request, to which its secrets may be sent. The connection of a database or directory may have
    /// moved since this was checked.
    pub checked_host: Option<String>,
    /// Probes of unresponsive hosts.
    pub probes: Probes,
}

/// Probes of unresponsive hosts, by host. Such a host gets one request at a time. The probe is acquired before anything is
/// written, so that of many corrections that wait for such a host only one writes its claim.
pub type Probes = HashMap<String, Probe>;

/// A write to the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Add our finalizer, before a claim or alone.
    PutFinalizer(Purpose),
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

impl Write {
    /// Returns true if a request follows, so that the places at hosts are kept.
    #[must_use]
    pub const fn precedes_request(&self) -> bool {
        matches!(self, Self::PutFinalizer(Purpose::Claim) | Self::Status(_, Purpose::Claim))
    }
}

/// The purpose of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Claim the external resource.
    Claim,
    /// Take back a claim for which nothing was sent.
    TakeBack,
    /// Any other purpose.
    Other,
}

/// The result of a step.
#[derive(Clone, Debug)]
pub enum Event {
    /// The live read ended; `None` if the object is gone.
    Read(Result<Option<Box<LeanObject>>, String>),
    /// The former holders of the resource were read live.
    HoldersRead {
        /// True if one of them claims it, or could not be read.
        is_claimed: bool,
    },
    /// There is nothing to do any more, or the program is shutting down.
    Dismissed,
    /// The write succeeded and returned this state, or it failed.
    Written(Result<Box<LeanObject>, Failure>),
    /// The request was answered, or will get no response.
    Replied(Reply),
    /// The request was not sent, because the program is shutting down, the Lease is not fresh, the host has just
    /// asked for a delay, or the connection is to another server since the check.
    NotSent,
    /// The Lease was lost or the drain deadline passed while the request was running.
    CutOff,
    /// The pause is over, or was interrupted.
    Waited(Option<Interrupt>),
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

/// Access of an execution to what its program knows. No call blocks.
pub trait ProgramView {
    /// Renders the requests of a correction; `None` until the Secrets are listed.
    fn requests(&self, object: &LeanObject, correction: &Correction)
    -> Option<Result<Box<dyn Requests>, Unrenderable>>;

    /// Returns true if a correction may begin now: the program is not shutting down, and its Lease is fresh.
    fn may_begin(&self) -> bool;

    /// Returns where the requests go, and which of their credentials is missing.
    fn destinations(&self, requests: &dyn Requests) -> Destinations;

    /// Acquires probes of these hosts, as far as they are unresponsive.
    ///
    /// # Errors
    /// Returns the end of the delay that a host asked for.
    fn take_probes(&self, hosts: &[String], now: Moment) -> Result<Probes, Moment>;
}

/// Destinations of the requests of one correction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destinations {
    /// Host of each request in order, as far as it is known before any request is sent.
    pub hosts: Vec<String>,
    /// Missing credential or secret: its kind, and the cause without its value.
    pub missing: Option<(Doubt, String)>,
}

/// News of a correction for people.
#[derive(Clone, Debug)]
pub enum News {
    /// It is the decision on the object as it was read live.
    Decided,
    /// Its first request is sent.
    Begins,
    /// It cannot be sent for this cause, which the log alone shows: it may contain values.
    Unsendable(String),
    /// A step of this name has this answer that ends the correction.
    NotAccepted {
        /// Name of the step.
        step: String,
        /// Short form of the code.
        status: String,
        /// Reason that the server gives.
        reason: Option<String>,
    },
    /// It ended.
    Ended {
        /// Outcome of the correction.
        outcome: Outcome,
        /// The differences as the poller found them, with redacted values.
        drift: String,
        /// The answers in order: `1: 201, 2: 204`.
        steps: String,
        /// Time since the first request; `None` if none was sent.
        duration: Option<Duration>,
    },
}
