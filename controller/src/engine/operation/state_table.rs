//! Compares the state table of a correction in `docs/design/architecture.md` with the engine.
//!
//! The states are the operations of the shell. Every order of their results is played, so that the table has each
//! transition of these corrections.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use drift_api::LeanObject;
use drift_api::names::FINALIZER;

use super::{Answer, Next, OngoingDecision, Operation};
use crate::engine::corrections::{Action, Correction, Doubt, Refusal, StepOutcome, Uncertainty};
use crate::engine::decide::decision::Decision;
use crate::engine::execution::{Event, Failure, Interrupt, Purpose, Readiness, Rendered, StepAnswer, Write};
use crate::engine::fixtures::{at, bare_object, correction};
use crate::engine::rendering::plan::{Plan, PlannedStep};

/// The page with the table.
const PAGE: &str = include_str!("../../../../docs/design/architecture.md");

/// Most results of one correction: more of them only repeat pauses.
const LONGEST: usize = 14;

/// The states in the order of the page.
const STATES: [&str; 14] = [
    "check",
    "read",
    "decide",
    "prepare",
    "render",
    "put the finalizer",
    "claim",
    "read again",
    "send",
    "take back",
    "record",
    "pause",
    "read for the record",
    "end",
];

/// The results in the order of the page.
const RESULTS: [&str; 25] = [
    "complete",
    "an input is missing",
    "the object",
    "the object, changed",
    "correct",
    "nothing to do",
    "may be sent",
    "a host asks for a delay",
    "cannot be sent",
    "may not be sent now",
    "ready",
    "skipped",
    "fails",
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
];

/// A result in a form that can be sent many times.
type Make = fn(&Trial) -> Event;

/// A correction whose results are played.
struct Trial {
    decision: Decision,
    kinds: &'static str,
}

impl Trial {
    /// A first create: a look-up and a write.
    fn create() -> Self {
        let correction = Correction { claim_first: true, put_finalizer: true, ..correction(Action::Create) };
        Self { decision: Decision::Correct(Box::new(correction)), kinds: "lw" }
    }

    /// An update of a resource that the object owns, with these steps: look-ups (`l`) and writes (`w`).
    fn update(kinds: &'static str) -> Self {
        Self { decision: Decision::Correct(Box::new(correction(Action::Update))), kinds }
    }

    fn plan(&self) -> Plan {
        let step = |kind| PlannedStep { looks_up: kind == 'l', ..PlannedStep::default() };
        Plan { steps: self.kinds.chars().map(step).collect(), ..Plan::default() }
    }

    fn begin(&self) -> (OngoingDecision, Next) {
        OngoingDecision::begin(object(), self.decision.clone(), at(0))
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

/// Returns the results of the operation.
fn results_of(state: &str) -> Vec<(&'static str, Make)> {
    match state {
        "check" => vec![
            ("complete", |_| Event::Checked { lacks_something: false }),
            ("an input is missing", |_| Event::Checked { lacks_something: true }),
        ],
        "read" => READ.to_vec(),
        "read again" | "read for the record" => {
            let changed: (&str, Make) = ("the object, changed", |_| Event::Read(Ok(Some(Box::new(paused())))));
            READ.into_iter().chain([changed]).collect()
        }
        "decide" => vec![
            ("correct", |trial| Event::Decided(Box::new(object()), trial.decision.clone())),
            ("nothing to do", |_| Event::Dismissed),
        ],
        "prepare" => vec![
            ("may be sent", |trial| Event::Prepared(Readiness::Ready(trial.plan()))),
            ("a host asks for a delay", |_| Event::Prepared(Readiness::Postponed(at(9)))),
            ("cannot be sent", |_| {
                Event::Prepared(Readiness::Unsendable(None, Uncertainty::unanswered(Doubt::TemplateFails)))
            }),
            ("may not be sent now", |_| Event::Prepared(Readiness::NotNow)),
        ],
        "render" => vec![
            ("ready", |_| Event::Rendered(Rendered::Ready)),
            ("skipped", |_| Event::Rendered(Rendered::Skipped)),
            ("fails", |_| Event::Rendered(Rendered::Fails(Uncertainty::unanswered(Doubt::TemplateFails)))),
        ],
        "send" => vec![
            ("accepted", |_| answered(StepOutcome::Accepted)),
            ("refused", |_| {
                let refusal = Refusal { code: 422.into(), because: None };
                answered(StepOutcome::Refused { refusal, did_nothing: true })
            }),
            ("in doubt", |_| answered(StepOutcome::Indefinite(Uncertainty::unanswered(Doubt::NoAnswer)))),
            ("not sent", |_| Event::NotSent),
            ("cut off", |_| Event::CutOff),
        ],
        "put the finalizer" | "claim" => {
            let changed: (&str, Make) = ("written, the object changed", |_| Event::Written(Ok(Box::new(paused()))));
            WRITTEN.into_iter().chain([changed]).collect()
        }
        "take back" | "record" => WRITTEN.to_vec(),
        "pause" => vec![
            ("over", |_| Event::Waited(None)),
            ("the target was edited", |_| Event::Waited(Some(Interrupt::Superseded))),
            ("cut off", |_| Event::Waited(Some(Interrupt::CutOff))),
        ],
        _ => Vec::new(),
    }
}

/// Returns the state after `before`, in which the correction waits for the next result.
fn state_of(next: &Next, before: &str) -> &'static str {
    let work = match next {
        Next::Do(work) => work,
        Next::Decide { .. } => return "decide",
        Next::Pause(_) => return "pause",
        Next::End(..) => return "end",
    };
    match &work.operation {
        Operation::Check => "check",
        Operation::Read | Operation::ReadHolders(..) => "read",
        Operation::ReadAgain if ["pause", "record"].contains(&before) => "read for the record",
        Operation::ReadAgain => "read again",
        Operation::Prepare { .. } => "prepare",
        Operation::Write(Write::PutFinalizer) => "put the finalizer",
        Operation::Write(Write::Status(_, Purpose::Claim)) => "claim",
        Operation::Write(Write::Status(_, Purpose::TakeBack)) => "take back",
        Operation::Write(Write::Outcome(..)) => "record",
        Operation::Write(Write::Status(_, Purpose::Word) | Write::ReleaseFinalizer { .. }) => "another write",
        Operation::Render(_) => "render",
        Operation::Send { .. } => "send",
        Operation::Pause => "pause",
        Operation::End(_) => "end",
    }
}

fn follow(ongoing: &mut OngoingDecision, event: Event) -> Next {
    match event {
        Event::Decided(object, decision) => ongoing.answer(Some(Answer { object, decision, taken: None }), at(0)),
        Event::Dismissed => ongoing.answer(None, at(0)),
        Event::Waited(interrupt) => {
            ongoing.end_pause(interrupt, at(0)).unwrap_or_else(|| unreachable!("a pause has an end"))
        }
        event => ongoing.take(event, at(0)),
    }
}

/// Plays every order of results. Returns the states that follow each state and result.
fn explore(trial: &Trial, found: &mut BTreeMap<(usize, usize), BTreeSet<usize>>) {
    let place = |all: &[&str], name: &str| {
        all.iter().position(|other| *other == name).unwrap_or_else(|| unreachable!("no name: {name}"))
    };
    // The shortest orders come first, so that none is cut off which a longer one reached before.
    let (mut orders, mut known) = (VecDeque::from([Vec::<Make>::new()]), BTreeSet::new());
    while let Some(order) = orders.pop_front() {
        let play = || {
            let (mut ongoing, next) = trial.begin();
            let mut state = state_of(&next, "");
            for make in &order {
                state = state_of(&follow(&mut ongoing, make(trial)), state);
            }
            (ongoing, state)
        };
        let (ongoing, state) = play();
        if !known.insert(format!("{state} {ongoing:?}")) || order.len() >= LONGEST {
            continue;
        }
        for (result, make) in results_of(state) {
            let after = state_of(&follow(&mut play().0, make(trial)), state);
            found.entry((place(&STATES, state), place(&RESULTS, result))).or_default().insert(place(&STATES, after));
            orders.push_back(order.iter().copied().chain([make]).collect());
        }
    }
}

/// Returns the rows of the table. Results with the same next states share a row.
fn rows() -> Vec<String> {
    let mut found = BTreeMap::new();
    [Trial::create(), Trial::update("lw"), Trial::update("ww")].iter().for_each(|trial| explore(trial, &mut found));
    let mut rows: Vec<(usize, Vec<&str>, BTreeSet<usize>)> = Vec::new();
    for ((state, result), next) in found {
        match rows.iter_mut().find(|(other, _, same)| *other == state && *same == next) {
            Some((_, results, _)) => results.push(RESULTS[result]),
            None => rows.push((state, vec![RESULTS[result]], next)),
        }
    }
    let row = |(state, results, next): &(usize, Vec<&str>, BTreeSet<usize>)| {
        let next: Vec<&str> = next.iter().map(|state| STATES[*state]).collect();
        format!("| {} | {} | {} |", STATES[*state], results.join("; "), next.join("; "))
    };
    rows.iter().map(row).collect()
}

#[test]
fn the_page_has_every_transition() {
    let rows = rows();
    let page: Vec<&str> = PAGE.lines().collect();
    let at = page.iter().position(|line| *line == rows[0]).unwrap_or_else(|| unreachable!("{}", rows.join("\n")));
    let end = page[at..].iter().position(|line| !line.starts_with('|')).unwrap_or(page.len() - at);
    assert_eq!(page[at..at + end], rows, "\n{}", rows.join("\n"));
}
