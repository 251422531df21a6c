//! An execution whose requests a test scripts: each check, rendering and answer is one event.
//!
//! The execution is played from its begin for each event, so that it stops where the script ends.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use drift_api::identity::{ObjectRef, ResourceName};
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use jiff::Timestamp;

use super::super::{Destinations, ExecutionEnd, Failure, Interrupt, Operation, Probes, ProgramView, Stage, Write};
use crate::engine::corrections::{Correction, Doubt, StepAnswer, StepOutcome};
use crate::engine::decide::decision::Decision;
use crate::engine::now::Now;
use crate::engine::rendering::{Plan, Reply, Request, Requests, Unrenderable};

/// Step after an event. `Prepare` and `Render` are points at which the script decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Read,
    ReadAgain,
    ReadHolders(Vec<ObjectRef>, ResourceName),
    Decide,
    Prepare,
    Write(Write),
    Render(usize),
    Send { index: usize, begins: bool },
    Pause(Duration),
    End(ExecutionEnd),
}

/// One event of the script.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Begin,
    Read(Result<Option<Box<LeanObject>>, String>),
    HoldersRead { is_claimed: bool },
    Decided(Box<LeanObject>, Decision),
    Dismissed,
    Prepared(Prepared),
    Rendered(Rendered),
    Written(Result<Box<LeanObject>, Failure>),
    Answered(StepAnswer),
    NotSent,
    CutOff,
    Waited(Option<Interrupt>),
}

/// Result of the check before anything is written or sent.
#[derive(Clone, Debug)]
pub(crate) enum Prepared {
    Ready(Plan),
    /// A host asks for a delay.
    Postponed,
    Lacking(Doubt),
    /// The program is shutting down.
    NotNow,
}

/// Result of rendering a request.
#[derive(Clone, Debug)]
pub(crate) enum Rendered {
    Ready,
    Item(&'static str),
    Skipped,
    Fails(Doubt),
}

/// A scripted execution.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    object: LeanObject,
    pub(crate) decision: Decision,
    events: Vec<Event>,
    lacks_input: bool,
}

impl Execution {
    pub(crate) fn new(object: LeanObject, decision: Decision) -> Self {
        Self { object, decision, events: Vec::new(), lacks_input: false }
    }

    /// The same, where an input of the requests is missing.
    pub(crate) fn lacking(object: LeanObject, decision: Decision) -> Self {
        Self { lacks_input: true, ..Self::new(object, decision) }
    }

    /// Returns the newest known state of the object.
    pub(crate) fn object(&self) -> LeanObject {
        self.play().0.object.clone()
    }

    /// Adds an event. Returns what follows.
    pub(crate) fn next(&mut self, event: Event) -> Step {
        self.events.push(event);
        self.play().1
    }

    /// Returns the state after all events in a comparable form.
    pub(crate) fn state(&self) -> String {
        let (execution, step) = self.play();
        format!("{:?} {:?} {:?} {:?} {step:?}", execution.stage, execution.progress, execution.object, execution.due)
    }

    fn play(&self) -> (super::super::Execution, Step) {
        let script = Script::of(&self.events, self.lacks_input);
        let (object, decision) = (self.object.clone(), self.decision.clone());
        let (mut execution, mut step) = super::super::Execution::begin(object, decision, &script, Now::default());
        for event in &self.events {
            step = match event.clone() {
                // They are in the script.
                Event::Begin | Event::Prepared(_) | Event::Rendered(_) => continue,
                Event::Decided(object, decision) => {
                    execution.decided(*object, (decision, None), &script, Now::default())
                }
                Event::Waited(interrupt) => match execution.end_pause(interrupt, Now::default()) {
                    Some(step) => step,
                    None => execution.next(super::super::Event::Dismissed, Now::default()),
                },
                event => execution.next(passed(event), Now::default()),
            };
        }
        let asks = script.lock().asks.take();
        let step = asks.unwrap_or_else(|| shown(&execution, step));
        (execution, step)
    }
}

/// Returns the event as the shell returns it. An answer is in the script.
fn passed(event: Event) -> super::super::Event {
    match event {
        Event::Read(read) => super::super::Event::Read(read),
        Event::HoldersRead { is_claimed } => super::super::Event::HoldersRead { is_claimed },
        Event::Written(written) => super::super::Event::Written(written),
        Event::Answered(_) => super::super::Event::Replied(Reply::TimedOut { is_sent: true }),
        Event::NotSent => super::super::Event::NotSent,
        Event::CutOff => super::super::Event::CutOff,
        _ => super::super::Event::Dismissed,
    }
}

fn shown(execution: &super::super::Execution, step: super::super::Step) -> Step {
    match step {
        super::super::Step::Decide => Step::Decide,
        super::super::Step::Pause => Step::Pause(execution.due.unwrap_or_default() - Moment::START),
        super::super::Step::End(end) => Step::End(end),
        super::super::Step::Do(Operation::Read(_)) => Step::Read,
        super::super::Step::Do(Operation::ReadAgain) => Step::ReadAgain,
        super::super::Step::Do(Operation::ReadHolders(holders, resource)) => Step::ReadHolders(holders, resource),
        super::super::Step::Do(Operation::Write(write)) => Step::Write(write),
        super::super::Step::Do(Operation::Send(sending)) => match execution.stage {
            Stage::Sending(index) => Step::Send { index, begins: sending.begins },
            _ => unreachable!("a request is sent in no other stage"),
        },
    }
}

/// Scripted requests, and what the program knows of them.
#[derive(Clone)]
struct Script(Arc<Mutex<Lines>>);

struct Lines {
    lacks_input: bool,
    prepared: Option<Prepared>,
    renderings: VecDeque<Rendered>,
    answers: VecDeque<StepAnswer>,
    /// Label of the item rendered last.
    item: Option<&'static str>,
    /// True if the last answer leaves the step open, which needs no other rendering.
    is_open: bool,
    /// True once the execution began.
    has_begun: bool,
    /// First point at which the script ended.
    asks: Option<Step>,
}

impl Script {
    fn of(events: &[Event], lacks_input: bool) -> Self {
        let (mut prepared, mut renderings, mut answers) = (None, VecDeque::new(), VecDeque::new());
        for event in events {
            match event {
                Event::Prepared(found) => prepared = Some(found.clone()),
                Event::Rendered(rendered) => renderings.push_back(rendered.clone()),
                Event::Answered(answer) => answers.push_back(answer.clone()),
                _ => {}
            }
        }
        let lines = Lines {
            lacks_input,
            prepared,
            renderings,
            answers,
            item: None,
            is_open: false,
            has_begun: false,
            asks: None,
        };
        Self(Arc::new(Mutex::new(lines)))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl ProgramView for Script {
    fn requests(&self, _: &LeanObject, _: &Correction) -> Option<Result<Box<dyn Requests>, Unrenderable>> {
        Some(Ok(Box::new(self.clone())))
    }

    fn may_begin(&self) -> bool {
        let mut lines = self.lock();
        if lines.prepared.is_none() {
            lines.asks.get_or_insert(Step::Prepare);
        }
        !matches!(lines.prepared, Some(Prepared::NotNow))
    }

    fn destinations(&self, _: &dyn Requests) -> Destinations {
        let mut lines = self.lock();
        let is_check = !std::mem::replace(&mut lines.has_begun, true);
        let missing = match &lines.prepared {
            _ if is_check => lines.lacks_input.then_some(Doubt::SecretUnavailable),
            Some(Prepared::Lacking(why)) => Some(*why),
            _ => None,
        };
        Destinations { hosts: Vec::new(), missing: missing.map(|why| (why, "a cause".to_owned())) }
    }

    fn take_probes(&self, _: &[String], _: Moment) -> Result<Probes, Moment> {
        match self.lock().prepared {
            Some(Prepared::Postponed) => Err(Moment::START + Duration::from_secs(9)),
            _ => Ok(Probes::new()),
        }
    }
}

impl Requests for Script {
    fn plan(&self) -> Plan {
        match &self.lock().prepared {
            Some(Prepared::Ready(plan)) => plan.clone(),
            _ => Plan::default(),
        }
    }

    fn render(&mut self, index: usize) -> Result<Option<Request>, Unrenderable> {
        let mut lines = self.lock();
        lines.item = None;
        if lines.asks.is_some() {
            return Ok(None);
        }
        if std::mem::take(&mut lines.is_open) {
            return Ok(Some(Request::Statements(Vec::new())));
        }
        match lines.renderings.pop_front() {
            Some(Rendered::Ready) => Ok(Some(Request::Statements(Vec::new()))),
            Some(Rendered::Item(label)) => {
                lines.item = Some(label);
                Ok(Some(Request::Statements(Vec::new())))
            }
            Some(Rendered::Skipped) => Ok(None),
            Some(Rendered::Fails(doubt)) => Err(Unrenderable { label: None, cause: "a cause".to_owned(), doubt }),
            None => {
                lines.asks.get_or_insert(Step::Render(index));
                Ok(None)
            }
        }
    }

    fn item_label(&self, _: usize) -> Option<Arc<str>> {
        self.lock().item.map(Arc::from)
    }

    fn judge(&mut self, _: usize, reply: Reply, _: Timestamp) -> StepAnswer {
        let mut lines = self.lock();
        let answer = lines.answers.pop_front().unwrap_or_else(|| reply.unanswered());
        lines.is_open = matches!(answer.outcome, StepOutcome::Open(_));
        answer
    }
}
