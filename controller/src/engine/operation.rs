//! The execution of one decision: the next operation, and the places that are held meanwhile.
//!
//! [`Execution`] defines the order of the steps. If a correction lacks a Secret, the object is not read live. A pause
//! holds no places. Recording an outcome needs no place at a host or within the target's limits.

use drift_api::{JobStage, LeanObject, Moment, ObjectInputs, ObjectRef, ResourceName};

use crate::engine::correction_limits::Taken;
use crate::engine::corrections::{Correction, Held};
use crate::engine::decide::decision::Decision;
use crate::engine::execution::{Event, Execution, ExecutionEnd, Interrupt, Purpose, Step, Write};

/// One operation of the shell for an object.
#[derive(Clone, Debug)]
pub struct Work {
    /// Newest known state of the object.
    pub object: LeanObject,
    /// Correction, if the object is corrected.
    pub correction: Option<Box<Correction>>,
    /// Operation for the shell to perform.
    pub operation: Operation,
    /// True if places at hosts are kept. Otherwise they are released first.
    pub keeps_hosts: bool,
}

/// One kind of operation for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Check that all inputs of the requests are present, without network calls.
    Check,
    /// Read the object live, holding a place at the host of the first request.
    Read,
    /// Read the object live, without waiting for a place at a host.
    ReadAgain,
    /// Read these objects live and check if one of them claims the resource.
    ReadHolders(Vec<ObjectRef>, ResourceName),
    /// Render the requests and check if they may be sent.
    Prepare {
        /// True if the object was not read live.
        is_unread: bool,
    },
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
    /// Release all places for a while.
    Pause,
    /// Report the end and release all places for good.
    End(ExecutionEnd),
}

/// Continuation after an event.
#[derive(Debug)]
pub enum Next {
    /// The shell performs this work and returns the result.
    Do(Box<Work>),
    /// The object is decided on again.
    Decide {
        /// Object as it was read.
        object: Box<LeanObject>,
        /// False if no read was made.
        was_read: bool,
    },
    /// Nothing happens until [`OngoingDecision::due`]. The shell releases all places.
    Pause(Box<Work>),
    /// Nothing follows. The shell reports the end.
    End(Box<Work>, Box<ExecutionEnd>),
}

/// Decision on an object that was read live.
#[derive(Debug)]
pub struct Answer {
    /// Newest known state of the object.
    pub object: Box<LeanObject>,
    /// Decision on that state.
    pub decision: Decision,
    /// Place of a correction within the target's limits. It is released once all external requests are done. The record
    /// on the object comes later and may be refused for ever, which must not block other corrections.
    pub taken: Option<Taken>,
}

/// One decision during its execution.
#[derive(Debug)]
pub struct OngoingDecision {
    execution: Execution,
    taken: Option<Taken>,
    is_decided: bool,
    is_unread: bool,
    /// True once the object was seen being deleted.
    deleting: bool,
    /// End of the pause.
    due: Option<Moment>,
}

impl OngoingDecision {
    /// Begins the execution of a decision that was made on `object`.
    #[must_use]
    pub fn begin(object: LeanObject, decision: Decision, now: Moment) -> (Self, Next) {
        let execution = Execution::new(object, decision);
        let mut ongoing =
            Self { execution, taken: None, is_decided: false, is_unread: false, deleting: false, due: None };
        let next = ongoing.follow(Event::Begin, now);
        (ongoing, next)
    }

    /// Returns the newest known state of the object.
    #[must_use]
    pub const fn object(&self) -> &LeanObject {
        self.execution.object()
    }

    /// Returns the end of the current pause.
    #[must_use]
    pub const fn due(&self) -> Option<Moment> {
        self.due
    }

    /// Returns the number of the correction, and the object's inputs before and after the values that it stored.
    #[must_use]
    pub fn own_store(&self, end: &ExecutionEnd) -> Option<(u64, ObjectInputs, ObjectInputs)> {
        self.execution.own_store(end)
    }

    /// Processes the result of an operation.
    pub fn take(&mut self, event: Event, now: Moment) -> Next {
        match event {
            Event::Checked { lacks_something: true } => {
                self.is_unread = true;
                let object = Box::new(self.execution.object().clone());
                self.follow(Event::Read(Ok(Some(object))), now)
            }
            Event::Checked { lacks_something: false } => Next::Do(self.work(Operation::Read)),
            event => self.follow(event, now),
        }
    }

    /// Processes the decision on the object as it was read; `None` if there is nothing to do.
    pub fn answer(&mut self, answer: Option<Answer>, now: Moment) -> Next {
        let Some(Answer { object, decision, taken }) = answer else { return self.follow(Event::Dismissed, now) };
        self.is_decided = true;
        self.taken = taken;
        self.follow(Event::Decided(object, decision), now)
    }

    /// Ends a pause that is over or that `interrupt` cuts short.
    pub fn end_pause(&mut self, interrupt: Option<Interrupt>, now: Moment) -> Option<Next> {
        self.due.take()?;
        Some(self.follow(Event::Waited(interrupt), now))
    }

    /// Records that the object is being deleted. Returns true the first time, because a deletion interrupts
    /// a pause once.
    pub fn note_deletion(&mut self) -> bool {
        !std::mem::replace(&mut self.deleting, true)
    }

    /// Records the progress of a Job. The first call releases the correction's place. Returns `Some` if there is news:
    /// inside, the reason for missing progress, or `None` if the Job makes progress.
    pub fn note_stage(&mut self, stage: Option<JobStage>) -> Option<Option<Held>> {
        let gives_place_back = self.taken.as_mut().is_some_and(Taken::begin_job);
        (gives_place_back || stage.is_some()).then_some(stage.and_then(Held::of_job))
    }

    fn follow(&mut self, event: Event, now: Moment) -> Next {
        let operation = match self.execution.next(event) {
            Step::Read if self.execution.correction().is_some() => Operation::Check,
            Step::Read => Operation::Read,
            Step::ReadAgain => Operation::ReadAgain,
            Step::ReadHolders(holders, resource) => Operation::ReadHolders(holders, resource),
            Step::Decide => {
                let object = Box::new(self.execution.object().clone());
                return Next::Decide { object, was_read: !self.is_unread };
            }
            Step::Prepare => Operation::Prepare { is_unread: self.is_unread },
            Step::Write(write) => {
                if matches!(write, Write::Outcome(..) | Write::Status(_, Purpose::TakeBack)) {
                    self.taken = None;
                }
                Operation::Write(write)
            }
            Step::Render(index) => Operation::Render(index),
            Step::Send { index, begins } => Operation::Send { index, begins },
            Step::Pause(pause) => {
                self.taken = None;
                self.due = Some(now + pause);
                return Next::Pause(self.work(Operation::Pause));
            }
            Step::End(end) => {
                self.taken = None;
                return Next::End(self.work(Operation::End(end.clone())), Box::new(end));
            }
        };
        Next::Do(self.work(operation))
    }

    fn work(&self, operation: Operation) -> Box<Work> {
        let object = self.execution.object().clone();
        let correction = self.execution.correction().cloned().map(Box::new);
        // Writes to the object need no place at a host.
        Box::new(Work { object, correction, operation, keeps_hosts: !self.is_decided || self.taken.is_some() })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod state_table;
