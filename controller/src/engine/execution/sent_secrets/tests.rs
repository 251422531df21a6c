use super::*;
use crate::engine::corrections::{Action, Correction, Doubt, Refusal, StepAnswer, StepOutcome, Uncertainty};
use crate::engine::execution::tests::script::{Event, Execution, Prepared, Rendered, Step};
use crate::engine::execution::{ExecutionEnd, Write};
use crate::engine::fixtures::{bare_object, correction, owns, status};
use crate::engine::rendering::plan::{Plan, PlannedStep};
use drift_api::condition::{CorrectionStatus, NotedSecrets, SecretMark, SecretMarks};
use drift_api::secrets::labelled_secrets::SecretVersion;

fn names(text: &str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// The secrets `a` and `b` in this version.
fn marks(version: &str) -> SecretMarks {
    let version = SecretVersion { uid: "u".to_owned(), resource_version: version.to_owned() };
    ["a", "b"].into_iter().map(|name| (name.to_owned(), Some(SecretMark::of(name, "k", &version)))).collect()
}

/// A record of both secrets in this version.
fn noted(version: &str) -> NotedSecrets {
    NotedSecrets::default().after_sending(&names("a b"), &names(""), &marks(version))
}

/// The record `before` after `sent` were sent in version 2, and `unsent` were not.
fn after(before: &NotedSecrets, sent: &str, unsent: &str) -> NotedSecrets {
    before.after_sending(&names(sent), &names(unsent), &marks("2"))
}

/// The result of rendering and sending a request.
#[derive(Clone)]
enum Does {
    Skip,
    Answer(StepOutcome),
    AnswerItem(StepOutcome),
    Fail,
}

/// A correction that sends the secrets of each step in version 2.
struct Correcting {
    action: Action,
    claims: bool,
    before: NotedSecrets,
    /// Secrets of each step, separated by spaces.
    sends: &'static [&'static str],
    deletion: usize,
    is_sendable: bool,
}

impl Correcting {
    fn plan(&self) -> Plan {
        let step = |sends: &&str| PlannedStep { sends: names(sends), ..PlannedStep::default() };
        Plan { steps: self.sends.iter().map(step).collect(), secrets: marks("2"), deletion: self.deletion }
    }

    /// Returns the secrets recorded by each write of a status. Without another result the process is cut off.
    fn noted_by(&self, does: &[Does]) -> Vec<NotedSecrets> {
        let claim = if self.claims { None } else { owns("db") };
        let before = CorrectionStatus { secrets: self.before.clone(), ..status(7, claim) };
        let correction = Correction { claim_first: self.claims, before, ..correction(self.action) };
        let decision = Decision::Correct(Box::new(correction));
        let mut execution = Execution::new(bare_object(), decision.clone());
        let object = Box::new(bare_object());
        let (mut does, mut answer, mut said) = (does.iter().cloned(), None, Vec::new());
        let mut event = Event::Begin;
        loop {
            event = match execution.next(event) {
                Step::Read | Step::ReadAgain => Event::Read(Ok(Some(object.clone()))),
                Step::Decide => Event::Decided(object.clone(), decision.clone()),
                Step::Prepare if self.is_sendable => Event::Prepared(Prepared::Ready(self.plan())),
                Step::Prepare => Event::Prepared(Prepared::Lacking(Doubt::SecretUnavailable)),
                Step::Render(_) => Event::Rendered(match does.next() {
                    Some(Does::Skip) => Rendered::Skipped,
                    Some(Does::Fail) => Rendered::Fails(Doubt::TemplateFails),
                    Some(Does::Answer(outcome)) => {
                        answer = Some(outcome);
                        Rendered::Ready
                    }
                    Some(Does::AnswerItem(outcome)) => {
                        answer = Some(outcome);
                        Rendered::Item("item")
                    }
                    None => Rendered::Ready,
                }),
                Step::Send { .. } => {
                    answer.take().map_or(Event::CutOff, |outcome| Event::Answered(StepAnswer::of(outcome)))
                }
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
}

fn doubt() -> StepOutcome {
    StepOutcome::Indefinite(Uncertainty::unanswered(Doubt::NoAnswer))
}

fn no() -> StepOutcome {
    StepOutcome::Refused { refusal: Refusal { code: 409.into(), because: None }, did_nothing: true }
}

fn yes() -> Does {
    Does::Answer(StepOutcome::Accepted)
}

fn updating(before: &NotedSecrets, sends: &'static [&'static str]) -> Correcting {
    Correcting { action: Action::Update, claims: false, before: before.clone(), sends, deletion: 0, is_sendable: true }
}

fn creating(sends: &'static [&'static str]) -> Correcting {
    Correcting {
        action: Action::Create,
        claims: true,
        before: NotedSecrets::default(),
        sends,
        deletion: 0,
        is_sendable: true,
    }
}

#[test]
fn what_was_accepted_is_noted() {
    let old = noted("1");
    let update = updating(&old, &["a", "b"]);
    assert_eq!(update.noted_by(&[yes(), yes()]), [noted("2")]);
    assert_eq!(update.noted_by(&[yes(), Does::Answer(no())]), [after(&old, "a", "")], "b is still to be sent");
    assert_eq!(update.noted_by(&[yes(), Does::Fail]), [after(&old, "a", "")]);
    assert_eq!(update.noted_by(&[Does::Answer(no())]), std::slice::from_ref(&old));
    assert_eq!(update.noted_by(&[Does::Answer(doubt())]), [old], "it may not have arrived");
}

#[test]
fn a_secret_of_two_steps_needs_both() {
    let old = noted("1");
    let update = updating(&old, &["a", "a b"]);
    assert_eq!(update.noted_by(&[yes(), yes()]), [noted("2")]);
    assert_eq!(update.noted_by(&[yes(), Does::Answer(no())]), std::slice::from_ref(&old));
    assert_eq!(update.noted_by(&[yes(), Does::Skip]), [after(&old, "a", "")]);
}

#[test]
fn an_adopted_resource_keeps_what_was_not_sent() {
    let none = NotedSecrets::default();
    let kept = after(&none, "a", "");
    let update = Correcting { claims: true, ..updating(&none, &["a", "b"]) };
    let said = update.noted_by(&[yes(), Does::Skip]);
    assert_eq!(said, [kept.clone(), kept.clone()], "its claim, and its outcome");
    assert_eq!(kept.compared(&marks("2")).moved().count(), 0, "the password is not touched");
    assert_eq!(kept.compared(&marks("3")).moved().count(), 2, "a later version is sent");
    assert_eq!(update.noted_by(&[]), std::slice::from_ref(&kept), "interrupted: the verdict still differs");
    let lost = update.noted_by(&[yes(), Does::Answer(doubt())]);
    assert_eq!(lost.last(), Some(&after(&none, "a", "b")), "it may have been sent, so it is sent again");
    assert_eq!(update.noted_by(&[yes(), Does::Answer(no())]).last(), Some(&kept), "it was refused");
}

#[test]
fn an_interrupted_creation_sends_its_later_secrets_again() {
    let none = NotedSecrets::default();
    let create = creating(&["a", "b"]);
    let (all, first) = (after(&none, "a b", ""), after(&none, "a", "b"));
    assert_eq!(create.noted_by(&[yes(), yes()]), [first.clone(), all.clone()], "its claim, and its outcome");
    assert_eq!(create.noted_by(&[]), std::slice::from_ref(&first), "only the claim stands");
    assert_eq!(first.compared(&marks("2")).moved().collect::<Vec<_>>(), ["b"]);
    assert_eq!(create.noted_by(&[Does::Answer(doubt())]), [first.clone(), first.clone()]);
    for ends in [Does::Answer(doubt()), Does::Answer(no()), Does::Fail] {
        assert_eq!(create.noted_by(&[yes(), ends]), [first.clone(), first.clone()]);
    }
    assert_eq!(create.noted_by(&[Does::Answer(no())]), [first.clone(), none.clone()], "nothing was made");
    assert_eq!(creating(&["a b"]).noted_by(&[]), std::slice::from_ref(&all), "one request makes the whole resource");
    let skipped = create.noted_by(&[Does::Skip, Does::Answer(doubt())]);
    assert_eq!(skipped, [all.clone(), all.clone()], "the second request makes it");
    assert_eq!(create.noted_by(&[yes(), Does::Skip]).last(), Some(&all), "the target does not send it");
}

#[test]
fn a_list_is_sent_once_all_its_items_are() {
    let (none, old) = (NotedSecrets::default(), noted("1"));
    let item = |outcome| Does::AnswerItem(outcome);
    let yes = || item(StepOutcome::Accepted);
    let update = updating(&old, &["a", "b"]);
    assert_eq!(update.noted_by(&[yes(), yes(), Does::Skip, Does::Skip]), [after(&old, "a", "")]);
    assert_eq!(update.noted_by(&[yes(), item(no())]), std::slice::from_ref(&old));
    assert_eq!(updating(&none, &["a"]).noted_by(&[yes(), item(no())]), [after(&none, "", "a")]);
    let create = creating(&["a", "b"]);
    assert_eq!(create.noted_by(&[yes()]), [after(&none, "", "a b")], "cut off before the second item");
    assert_eq!(create.noted_by(&[item(doubt())]).last(), Some(&after(&none, "", "a b")));
}

#[test]
fn the_first_write_of_an_update_in_doubt_is_sent_again() {
    let none = NotedSecrets::default();
    let update = updating(&none, &["a", "b"]);
    assert_eq!(update.noted_by(&[Does::Answer(doubt())]), [after(&none, "", "a")]);
    let adopting = Correcting { claims: true, ..update };
    let adopted = after(&none, "", "");
    assert_eq!(adopting.noted_by(&[Does::Answer(doubt())]), [adopted, after(&none, "", "a")]);
}

#[test]
fn a_replaced_resource_has_nothing_of_the_former_one() {
    let old = noted("2");
    let replace = Correcting { action: Action::Replace, deletion: 1, ..updating(&old, &["", "a", "b"]) };
    let unsent = after(&old, "", "a b");
    assert_eq!(replace.noted_by(&[yes(), yes(), yes()]), [unsent.clone(), noted("2")], "its start, and its outcome");
    assert_eq!(replace.noted_by(&[]), std::slice::from_ref(&unsent));
    assert_eq!(replace.noted_by(&[yes(), yes(), Does::Answer(no())]).last(), Some(&after(&old, "a", "b")));
    assert_eq!(replace.noted_by(&[Does::Answer(no())]).last(), Some(&old), "it was not deleted");
    let again = Correcting { claims: false, before: old.clone(), ..creating(&["a", "b"]) };
    assert_eq!(again.noted_by(&[yes(), Does::Answer(no())]), [after(&old, "a", "b")], "made again, without b");
}

#[test]
fn a_doubt_keeps_what_was_noted_before() {
    let old = noted("1");
    let create = Correcting { before: old.clone(), ..creating(&["a b"]) };
    let said = create.noted_by(&[Does::Answer(doubt())]);
    assert!(said.iter().all(|said| *said == old), "either version may have arrived: {said:?}");
}

#[test]
fn what_cannot_be_sent_keeps_the_record() {
    let old = noted("1");
    let update = Correcting { is_sendable: false, ..updating(&old, &["a", "b"]) };
    assert_eq!(update.noted_by(&[]), [old], "a Secret is missing");
}

#[test]
fn only_approved_versions_are_sent() {
    let prepared = |approved: SecretMarks, plan: Plan| {
        let correction = Correction { approved_secrets: approved, ..correction(Action::Update) };
        let mut execution = Execution::new(bare_object(), Decision::Correct(Box::new(correction)));
        execution.next(Event::Begin);
        execution.next(Event::Read(Ok(Some(Box::new(bare_object())))));
        let decision = execution.decision.clone();
        execution.next(Event::Decided(Box::new(bare_object()), decision));
        execution.next(Event::Prepared(Prepared::Ready(plan)))
    };
    let plan = || updating(&NotedSecrets::default(), &["a"]).plan();
    let approved = |version: &str| SecretMarks::from([("a".to_owned(), marks(version).get("a").copied().flatten())]);
    let missing = || SecretMarks::from([("a".to_owned(), None)]);
    let called_off = Step::End(ExecutionEnd::CalledOff);
    assert_eq!(prepared(approved("2"), plan()), Step::Render(0));
    assert_eq!(prepared(approved("1"), plan()), called_off, "it changed after the decision");
    assert_eq!(prepared(missing(), plan()), called_off, "it appeared after the decision");
    assert_eq!(prepared(approved("1"), Plan { secrets: SecretMarks::new(), ..plan() }), called_off);
    assert_eq!(prepared(SecretMarks::new(), plan()), Step::Render(0), "without an approval");
}
