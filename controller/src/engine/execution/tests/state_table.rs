//! Compares the table at the head of `execution.rs` with the state machine.
//!
//! The states are those in which a correction waits for a result. Every order of their results is played, with every
//! result of rendering in between, so that the table has each transition of these corrections.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use drift_api::names::FINALIZER;
use drift_api::object::LeanObject;

use super::script::{Event, Execution, Prepared, Rendered, Step};
use super::{Failure, Interrupt, Purpose, Write};
use crate::engine::corrections::{Action, Correction, Doubt, Refusal, StepAnswer, StepOutcome, Uncertainty};
use crate::engine::decide::decision::Decision;
use crate::engine::fixtures::{bare_object, correction};
use crate::engine::rendering::plan::{Plan, PlannedStep};

/// The file with the table.
const FILE: &str = include_str!("../../execution.rs");

/// Most events of one correction: more of them only repeat pauses.
const LONGEST: usize = 16;

/// The states in the order of the table. The last two are points of the script, which the table leaves out.
const STATES: [&str; 13] = [
    "begin",
    "read",
    "decide",
    "put the finalizer",
    "claim",
    "read again",
    "send",
    "take back",
    "record",
    "pause",
    "read for the record",
    "end",
    SCRIPTED,
];

/// A point at which the script gives the result of a check or of a rendering.
const SCRIPTED: &str = "scripted";

/// The results in the order of the table.
const RESULTS: [&str; 20] = [
    "complete",
    "an input is missing",
    "the object",
    "the object, changed",
    "correct",
    "nothing to do",
    "accepted",
    "in doubt",
    "not sent",
    "cut off",
    "written",
    "written, the object changed",
    "changed meanwhile",
    "refused",
    "gone",
    "no answer",
    "over",
    "the target was edited",
    "checked",
    "rendered",
];

/// A result in a form that can be sent many times.
type Make = fn(&Trial) -> Event;

/// A correction whose results are played.
struct Trial {
    decision: Decision,
    kinds: &'static str,
    lacks_input: bool,
}

impl Trial {
    /// A first create: a look-up and a write.
    fn create(lacks_input: bool) -> Self {
        let correction = Correction { claim_first: true, put_finalizer: true, ..correction(Action::Create) };
        Self { decision: Decision::Correct(Box::new(correction)), kinds: "lw", lacks_input }
    }

    /// A create by an object that has the finalizer.
    fn claiming() -> Self {
        let correction = Correction { claim_first: true, ..correction(Action::Create) };
        Self { decision: Decision::Correct(Box::new(correction)), kinds: "w", lacks_input: false }
    }

    /// An update of a resource that the object owns, with these steps: look-ups (`l`) and writes (`w`).
    fn update(kinds: &'static str) -> Self {
        let decision = Decision::Correct(Box::new(correction(Action::Update)));
        Self { decision, kinds, lacks_input: false }
    }

    fn plan(&self) -> Plan {
        let step = |kind| PlannedStep { looks_up: kind == 'l', ..PlannedStep::default() };
        Plan { steps: self.kinds.chars().map(step).collect(), ..Plan::default() }
    }

    fn begin(&self) -> Execution {
        let new = if self.lacks_input { Execution::lacking } else { Execution::new };
        new(object(), self.decision.clone())
    }
}

fn object() -> LeanObject {
    LeanObject { finalizers: [FINALIZER.into()].into(), ..bare_object() }
}

fn paused() -> LeanObject {
    LeanObject { paused: true, ..object() }
}

fn answered(outcome: StepOutcome) -> Event {
    Event::Answered(StepAnswer::of(outcome))
}

const READ: [(&str, Make); 3] = [
    ("the object", |_| Event::Read(Ok(Some(Box::new(object()))))),
    ("gone", |_| Event::Read(Ok(None))),
    ("no answer", |_| Event::Read(Err(String::new()))),
];

const WRITTEN: [(&str, Make); 5] = [
    ("written", |_| Event::Written(Ok(Box::new(object())))),
    ("refused", |_| Event::Written(Err(Failure::Refused(String::new())))),
    ("changed meanwhile", |_| Event::Written(Err(Failure::Moved))),
    ("gone", |_| Event::Written(Err(Failure::Gone))),
    ("no answer", |_| Event::Written(Err(Failure::Unavailable))),
];

/// Returns the results of this step.
fn results_of(state: &str, step: &Step) -> Vec<(&'static str, Make)> {
    match (state, step) {
        (_, Step::Prepare) => vec![
            ("checked", |trial| Event::Prepared(Prepared::Ready(trial.plan()))),
            ("checked", |_| Event::Prepared(Prepared::Postponed)),
            ("checked", |_| Event::Prepared(Prepared::Lacking(Doubt::CredentialUnavailable))),
            ("checked", |_| Event::Prepared(Prepared::NotNow)),
        ],
        (_, Step::Render(_)) => vec![
            ("rendered", |_| Event::Rendered(Rendered::Ready)),
            ("rendered", |_| Event::Rendered(Rendered::Skipped)),
            ("rendered", |_| Event::Rendered(Rendered::Fails(Doubt::TemplateFails))),
        ],
        ("read", _) => READ.to_vec(),
        ("read again" | "read for the record", _) => {
            let changed: (&str, Make) = ("the object, changed", |_| Event::Read(Ok(Some(Box::new(paused())))));
            READ.into_iter().chain([changed]).collect()
        }
        ("decide", _) => vec![
            ("correct", |trial| Event::Decided(Box::new(object()), trial.decision.clone())),
            ("nothing to do", |_| Event::Dismissed),
        ],
        ("send", _) => vec![
            ("accepted", |_| answered(StepOutcome::Accepted)),
            ("refused", |_| {
                let refusal = Refusal { code: 422.into(), because: None };
                answered(StepOutcome::Refused { refusal, did_nothing: true })
            }),
            ("in doubt", |_| answered(StepOutcome::Indefinite(Uncertainty::unanswered(Doubt::NoAnswer)))),
            ("not sent", |_| Event::NotSent),
            ("cut off", |_| Event::CutOff),
        ],
        ("put the finalizer" | "claim", _) => {
            let changed: (&str, Make) = ("written, the object changed", |_| Event::Written(Ok(Box::new(paused()))));
            WRITTEN.into_iter().chain([changed]).collect()
        }
        ("take back" | "record", _) => WRITTEN.to_vec(),
        ("pause", _) => vec![
            ("over", |_| Event::Waited(None)),
            ("the target was edited", |_| Event::Waited(Some(Interrupt::Superseded))),
            ("cut off", |_| Event::Waited(Some(Interrupt::CutOff))),
        ],
        _ => Vec::new(),
    }
}

/// Returns the state in which the correction waits for the result of this step.
fn state_of(step: &Step, before: &str) -> &'static str {
    match step {
        Step::Read | Step::ReadHolders(..) => "read",
        Step::Decide => "decide",
        Step::Prepare | Step::Render(_) => SCRIPTED,
        Step::ReadAgain if ["pause", "record"].contains(&before) => "read for the record",
        Step::ReadAgain => "read again",
        Step::Write(Write::PutFinalizer(_)) => "put the finalizer",
        Step::Write(Write::Status(_, Purpose::Claim)) => "claim",
        Step::Write(Write::Status(_, Purpose::TakeBack)) => "take back",
        Step::Write(Write::Outcome(..)) => "record",
        Step::Write(Write::Status(_, Purpose::Other) | Write::ReleaseFinalizer { .. }) => "another write",
        Step::Send { .. } => "send",
        Step::Pause(_) => "pause",
        Step::End(_) => "end",
    }
}

type Found = BTreeMap<(usize, usize), BTreeSet<usize>>;

fn place(all: &[&str], name: &str) -> usize {
    all.iter().position(|other| *other == name).unwrap_or_else(|| unreachable!("no name: {name}"))
}

/// A correction after some events: the last state of the table, and the result there.
struct Reached {
    execution: Execution,
    step: Step,
    state: &'static str,
    /// State and result before the points of the script that follow.
    from: (usize, usize),
}

/// Plays every order of results. Adds the states that follow each state and result.
fn explore(trial: &Trial, found: &mut Found) {
    let mut execution = trial.begin();
    let step = execution.next(Event::Begin);
    let result = if trial.lacks_input { "an input is missing" } else { "complete" };
    let from = (place(&STATES, "begin"), place(&RESULTS, result));
    let state = state_of(&step, "begin");
    found.entry(from).or_default().insert(place(&STATES, state));
    // The shortest orders come first, so that none is cut off which a longer one reached before.
    let (mut all, mut known) = (VecDeque::from([(Reached { execution, step, state, from }, 0)]), BTreeSet::new());
    while let Some((reached, length)) = all.pop_front() {
        if !known.insert(format!("{} {:?} {}", reached.state, reached.from, reached.execution.state()))
            || length >= LONGEST
        {
            continue;
        }
        for (result, make) in results_of(reached.state, &reached.step) {
            let mut execution = reached.execution.clone();
            let step = execution.next(make(trial));
            let is_scripted = reached.state == SCRIPTED;
            let from = match is_scripted {
                true => reached.from,
                false => (place(&STATES, reached.state), place(&RESULTS, result)),
            };
            let state = state_of(&step, STATES[from.0]);
            if state != SCRIPTED {
                found.entry(from).or_default().insert(place(&STATES, state));
            }
            all.push_back((Reached { execution, step, state, from }, length + usize::from(!is_scripted)));
        }
    }
}

/// Returns the rows of the table. Results with the same next states share a row.
fn rows() -> Vec<String> {
    let mut found = Found::new();
    let updates = [Trial::update("lw"), Trial::update("ww")];
    let trials = [Trial::create(false), Trial::create(true), Trial::claiming()].into_iter().chain(updates);
    trials.for_each(|trial| explore(&trial, &mut found));
    let mut rows: Vec<(usize, Vec<&str>, BTreeSet<usize>)> = Vec::new();
    for ((state, result), next) in found {
        match rows.iter_mut().find(|(other, _, same)| *other == state && *same == next) {
            Some((_, results, _)) => results.push(RESULTS[result]),
            None => rows.push((state, vec![RESULTS[result]], next)),
        }
    }
    let row = |(state, results, next): &(usize, Vec<&str>, BTreeSet<usize>)| {
        let next: Vec<&str> = next.iter().map(|state| STATES[*state]).collect();
        format!("//! | {} | {} | {} |", STATES[*state], results.join("; "), next.join("; "))
    };
    rows.iter().map(row).collect()
}

#[test]
fn the_head_of_the_file_has_every_transition() {
    let rows = rows();
    let rows_of_file: Vec<&str> = FILE.lines().filter(|line| line.starts_with("//! | ")).skip(1).collect();
    assert_eq!(rows_of_file, rows, "\n{}", rows.join("\n"));
}
