//! One decision while it is carried out: what is to be done next, and what is held meanwhile.
//!
//! The order of the steps is that of [`Execution`]. Nothing is read live for a correction that lacks a Secret, a pause
//! holds nothing, and an outcome is recorded without a place at a host or within the target's limits.

use drift_api::identity::ObjectRef;
use drift_api::identity::ResourceName;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;

use crate::engine::correction_limits::Taken;
use crate::engine::corrections::correction::Correction;
use crate::engine::corrections::held::Held;
use crate::engine::corrections::outcome::Sighting;
use crate::engine::decide::decision::Decision;
use crate::engine::execution::{Event, Execution, ExecutionEnd, Interrupt, Purpose, Step, Write};

/// One operation of the shell for an object.
#[derive(Clone, Debug)]
pub struct Work {
    /// The newest known state of the object.
    pub object: LeanObject,
    /// The correction, if the object is corrected.
    pub correction: Option<Box<Correction>>,
    /// The decision for one object.
    pub operation: Operation,
    /// Places at hosts are kept; otherwise they are given back first.
    pub keeps_hosts: bool,
}

/// What to do for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// See whether everything that the requests need is there, without asking anybody.
    Check,
    /// Read the object live, with a place at the host of the first request.
    Read,
    /// Read the object live. Nothing outside is waited for.
    ReadAgain,
    /// Read these objects live, and see whether one of them claims the resource.
    ReadHolders(Vec<ObjectRef>, ResourceName),
    /// Render the requests, and see whether they may go out.
    Prepare {
        /// The object was not read live.
        is_unread: bool,
    },
    /// Write to the object.
    Write(Write),
    /// Render the request of this step, with the answers to those before it.
    Render(usize),
    /// Send the request that was rendered last.
    Send {
        /// The step.
        index: usize,
        /// Nothing was written outside before it, so that the program's end still holds it up.
        begins: bool,
    },
    /// Give everything back for a while.
    Pause,
    /// Report the end, and give everything back for good.
    End(ExecutionEnd),
}

/// What follows.
#[derive(Debug)]
pub enum Next {
    /// The shell does this; the result comes back.
    Do(Box<Work>),
    /// The object is decided on again.
    Decide {
        /// The object as it was read.
        object: Box<LeanObject>,
        /// False if no read was made.
        was_read: bool,
    },
    /// Nothing is done until [`OngoingDecision::due`]; the shell gives everything back.
    Pause(Box<Work>),
    /// Nothing follows; the shell reports the end.
    End(Box<Work>, ExecutionEnd),
}

/// The decision on an object that was read live.
#[derive(Debug)]
pub struct Answer {
    /// The newest known state.
    pub object: Box<LeanObject>,
    /// The decision on that state.
    pub decision: Decision,
    /// A correction's place within the target's limits. It is given back once nothing more is asked of the external
    /// system: the record on the object that follows may be refused for ever, which is no reason to hold up others.
    pub taken: Option<Taken>,
}

/// One decision while it is carried out.
#[derive(Debug)]
pub struct OngoingDecision {
    execution: Execution,
    taken: Option<Taken>,
    is_decided: bool,
    is_unread: bool,
    /// The object was seen to be deleted.
    deleting: bool,
    /// The end of the pause.
    due: Option<Moment>,
}

impl OngoingDecision {
    /// Begins to carry out a decision that was made on `object`.
    #[must_use]
    pub fn begin(object: LeanObject, decision: Decision, now: Moment) -> (Self, Next) {
        let execution = Execution::new(object, decision);
        let mut ongoing =
            Self { execution, taken: None, is_decided: false, is_unread: false, deleting: false, due: None };
        let next = ongoing.follow(Event::Begin, now);
        (ongoing, next)
    }

    /// The newest known state of the object.
    #[must_use]
    pub const fn object(&self) -> &LeanObject {
        self.execution.object()
    }

    /// The end of the pause, while there is one.
    #[must_use]
    pub const fn due(&self) -> Option<Moment> {
        self.due
    }

    /// Returns true if this end is that of a deletion that found nothing where a poll saw the resource last.
    #[must_use]
    pub fn misses_what_was_seen(&self, end: &ExecutionEnd) -> bool {
        self.execution.misses_what_was_seen(end)
    }

    /// Takes in the result of an operation.
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

    /// Takes in the decision on the object as it was read; `None` if nothing is to be done.
    pub fn answer(&mut self, answer: Option<Answer>, now: Moment) -> Next {
        let Some(Answer { object, decision, taken }) = answer else { return self.follow(Event::Dismissed, now) };
        self.is_decided = true;
        self.taken = taken;
        self.follow(Event::Decided(object, decision), now)
    }

    /// Ends a pause that is over, or is cut short by what this says.
    pub fn end_pause(&mut self, interrupt: Option<Interrupt>, now: Moment) -> Option<Next> {
        self.due.take()?;
        Some(self.follow(Event::Waited(interrupt), now))
    }

    /// Notes that the object is being deleted. Returns true the first time: it cuts a pause short once.
    pub fn note_deletion(&mut self) -> bool {
        !std::mem::replace(&mut self.deleting, true)
    }

    /// Notes how far something that goes on by itself has come. Its place is free from the first time on. Returns the
    /// reason why it makes no progress, `None` inside if it makes some, where there is news.
    pub fn note_sighting(&mut self, sighting: Option<&Sighting>) -> Option<Option<Held>> {
        let gives_place_back = self.taken.as_mut().is_some_and(Taken::begin_job);
        let held = sighting.and_then(|sighting| Held::of_job(sighting.stage));
        (gives_place_back || sighting.is_some()).then_some(held)
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
                return Next::End(self.work(Operation::End(end.clone())), end);
            }
        };
        Next::Do(self.work(operation))
    }

    fn work(&self, operation: Operation) -> Box<Work> {
        let object = self.execution.object().clone();
        let correction = self.execution.correction().cloned().map(Box::new);
        // Nobody else waits at the host for a write to the object.
        Box::new(Work { object, correction, operation, keeps_hosts: !self.is_decided || self.taken.is_some() })
    }
}
