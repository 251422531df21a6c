use super::*;
use crate::engine::StepAnswer;
use crate::engine::corrections::{Action, Correction, Doubt, Refusal, StepOutcome, Uncertainty};
use crate::engine::execution::ExecutionEnd;
use crate::engine::execution::{Event, Readiness, Rendered, Step, Write};
use crate::engine::fixtures::{bare_object, correction, status};
use crate::engine::rendering::plan::{Plan, PlannedStep};
use drift_api::{CorrectionStatus, NotedSecrets, SecretMark, SecretMarks, SecretVersion, SentVersions};

fn marks(version: &str) -> SecretMarks {
    let version = SecretVersion { uid: "u".to_owned(), resource_version: version.to_owned() };
    ["a", "b"].into_iter().map(|name| (name.to_owned(), SecretMark::of(name, "k", &version))).collect()
}

fn noted(names: &[&str], version: &str) -> NotedSecrets {
    let sent = names.iter().map(|name| (*name).to_owned()).collect();
    NotedSecrets::default().after_sending(&sent, &marks(version))
}

/// Two writes, each of which sends one secret in this version.
fn plan(version: &str) -> Plan {
    let step = |name: &str| PlannedStep { sends: [name.to_owned()].into(), ..PlannedStep::default() };
    Plan { steps: vec![step("a"), step("b")], secrets: marks(version), deletion: 0 }
}

/// Returns the secrets recorded by each write, if the requests have these answers.
fn noted_by(action: Action, before: &NotedSecrets, answers: &[StepOutcome]) -> Vec<NotedSecrets> {
    let creates = action == Action::Create;
    let claim = if creates { None } else { crate::engine::fixtures::owns("db") };
    let before = CorrectionStatus { secrets: before.clone(), ..status(7, claim) };
    let correction = Correction { claim_first: creates, before, ..correction(action) };
    let decision = Decision::Correct(Box::new(correction));
    let mut execution = Execution::new(bare_object(), decision.clone());
    let object = Box::new(bare_object());
    let mut answers = answers.iter();
    let mut said = Vec::new();
    let mut event = Event::Begin;
    loop {
        event = match execution.next(event) {
            Step::Read | Step::ReadAgain => Event::Read(Ok(Some(object.clone()))),
            Step::Decide => Event::Decided(object.clone(), decision.clone()),
            Step::Prepare => Event::Prepared(Readiness::Ready(plan("2"))),
            Step::Render(_) => Event::Rendered(Rendered::Ready),
            Step::Send { .. } => match answers.next() {
                Some(answer) => Event::Answered(StepAnswer::of(answer.clone())),
                None => Event::CutOff,
            },
            Step::Write(Write::Status(status, _) | Write::Outcome(status, _)) => {
                said.push(status.secrets);
                Event::Written(Ok(object.clone()))
            }
            Step::Write(_) => Event::Written(Ok(object.clone())),
            Step::ReadHolders(..) => Event::HoldersRead { is_claimed: true },
            Step::Pause(_) => Event::Waited(None),
            Step::End(_) => return said,
        }
    }
}

const DOUBT: StepOutcome = StepOutcome::Indefinite(Uncertainty::unanswered(Doubt::NoAnswer));

fn no() -> StepOutcome {
    StepOutcome::Refused { refusal: Refusal { code: 409.into(), because: None }, did_nothing: true }
}

#[test]
fn what_was_accepted_is_noted() {
    let both = [StepOutcome::Accepted, StepOutcome::Accepted];
    let old = noted(&["a", "b"], "1");
    assert_eq!(noted_by(Action::Update, &old, &both), [noted(&["a", "b"], "2")]);
    let one = noted_by(Action::Update, &old, &[StepOutcome::Accepted, no()]);
    assert_eq!(one, [noted(&["a"], "2")], "b is in no version that it has, so it has moved");
    assert_eq!(noted_by(Action::Update, &old, &[no()]), std::slice::from_ref(&old));
    assert_eq!(noted_by(Action::Update, &old, &[DOUBT]), [old], "it may not have arrived");
}

#[test]
fn a_creation_notes_before_it_sends() {
    let (none, all) = (NotedSecrets::default(), noted(&["a", "b"], "2"));
    let both = [StepOutcome::Accepted, StepOutcome::Accepted];
    assert_eq!(noted_by(Action::Create, &none, &both), [all.clone(), all.clone()], "its claim, and its outcome");
    assert_eq!(noted_by(Action::Create, &none, &[]), std::slice::from_ref(&all), "interrupted: only the claim stands");
    assert_eq!(noted_by(Action::Create, &none, &[DOUBT]), [all.clone(), all.clone()]);
    assert_eq!(noted_by(Action::Create, &none, &[no()]), [all, none], "nothing was made");
}

#[test]
fn a_doubt_keeps_what_was_noted_before() {
    let old = noted(&["a", "b"], "1");
    let said = noted_by(Action::Create, &old, &[DOUBT]);
    assert!(said.iter().all(|said| *said == old), "nobody knows which version arrived: {said:?}");
}

#[test]
fn only_approved_versions_are_sent() {
    let prepared = |approved: SentVersions, plan: Plan| {
        let correction = Correction { approved_secrets: approved, ..correction(Action::Update) };
        let mut execution = Execution::new(bare_object(), Decision::Correct(Box::new(correction)));
        execution.next(Event::Begin);
        execution.next(Event::Read(Ok(Some(Box::new(bare_object())))));
        let decision = execution.decision.clone();
        execution.next(Event::Decided(Box::new(bare_object()), decision));
        execution.next(Event::Prepared(Readiness::Ready(plan)))
    };
    let approved = |version: &str| SentVersions::from([("a".to_owned(), marks(version).get("a").copied())]);
    let missing = || SentVersions::from([("a".to_owned(), None)]);
    let called_off = Step::End(ExecutionEnd::CalledOff);
    assert_eq!(prepared(approved("2"), plan("2")), Step::Render(0));
    assert_eq!(prepared(approved("1"), plan("2")), called_off, "it changed after the decision");
    assert_eq!(prepared(missing(), plan("2")), called_off, "it appeared after the decision");
    assert_eq!(prepared(approved("1"), Plan { secrets: SecretMarks::new(), ..plan("2") }), called_off);
    assert_eq!(prepared(SentVersions::new(), plan("2")), Step::Render(0), "without an approval");
}
