use drift_api::condition::{CorrectedReason, StatusFields, UnseenCreate};
use drift_api::identity::ObjectRef;
use drift_api::names::FINALIZER;
use drift_language::JobStage;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::engine::corrections::{Action, Doubt, Refusal, StepAnswer, StepOutcome, Uncertainty};
use crate::engine::fixtures::{bare_object, correction, owns, set_corrected, status};
use crate::engine::rendering::plan::{Plan, PlannedStep};
use script::{Event, Execution, Prepared, Rendered, Step};

mod for_each;
pub(super) mod script;
mod state_table;

/// A first create that still needs the finalizer and the claim.
fn first_create() -> Execution {
    let correction = Correction { claim_first: true, put_finalizer: true, ..correction(Action::Create) };
    Execution::new(bare_object(), Decision::Correct(Box::new(correction)))
}

fn state(version: u64) -> Box<LeanObject> {
    let finalizers = [FINALIZER.into()].into();
    Box::new(LeanObject { resource_version: version.to_string().as_str().into(), finalizers, ..bare_object() })
}

fn decided(execution: &Execution) -> Event {
    Event::Decided(Box::new(execution.object().clone()), execution.decision.clone())
}

/// Steps, each named by its index: look-ups (`l`) and writes (`w`).
fn plan(kinds: &str) -> Plan {
    let step = |(index, kind): (usize, char)| PlannedStep {
        label: Some(index.to_string().into()),
        looks_up: kind == 'l',
        ..PlannedStep::default()
    };
    Plan { steps: kinds.chars().enumerate().map(step).collect(), ..Plan::default() }
}

/// The same, where the first `deletion` steps delete the resource.
fn deletion(kinds: &str, deletion: usize) -> Plan {
    Plan { deletion, ..plan(kinds) }
}

/// An execution whose requests may be sent, at its first request.
fn ready(mut execution: Execution, plan: Plan) -> Execution {
    assert_eq!(execution.next(Event::Begin), Step::Read);
    assert_eq!(execution.next(Event::Read(Ok(Some(state(2))))), Step::Decide);
    let answer = decided(&execution);
    assert_eq!(execution.next(answer), Step::Prepare);
    assert_eq!(execution.next(Event::Prepared(Prepared::Ready(plan))), Step::Render(0));
    execution
}

const fn send(index: usize, begins: bool) -> Step {
    Step::Send { index, begins }
}

const ACCEPTED: Event = answered(StepOutcome::Accepted);
const READY: Event = Event::Rendered(Rendered::Ready);
const SKIPPED: Event = Event::Rendered(Rendered::Skipped);
const FAILS: Event = Event::Rendered(Rendered::Fails(Doubt::TemplateFails));

/// The request for an item with this label.
fn item(label: &'static str) -> Event {
    Event::Rendered(Rendered::Item(label))
}

/// An answer without stored fields.
const fn answered(outcome: StepOutcome) -> Event {
    Event::Answered(StepAnswer::of(outcome))
}

/// An accepted answer with these stored fields.
fn stored(stored: StatusFields) -> Event {
    Event::Answered(StepAnswer { stored, ..StepAnswer::of(StepOutcome::Accepted) })
}

/// Returns the outcome that is about to be written.
fn outcome(step: &Step) -> &CorrectionStatus {
    let Step::Write(Write::Outcome(status, _)) = step else { unreachable!("{step:?}") };
    status
}

/// A first create, up to its first request.
fn claimed() -> Execution {
    let mut execution = ready(first_create(), plan("ww"));
    assert_eq!(execution.next(READY), Step::Write(Write::PutFinalizer(Purpose::Claim)));
    let claim = execution.next(Event::Written(Ok(state(3))));
    assert!(matches!(claim, Step::Write(Write::Status(_, Purpose::Claim))), "{claim:?}");
    assert_eq!(execution.next(Event::Written(Ok(state(4)))), send(0, true));
    execution
}

/// The same, refused by the external system, up to the write of the outcome.
fn refused() -> Execution {
    let mut execution = claimed();
    let step = execution.next(answered(no(409)));
    assert_eq!(outcome(&step).reason, Some(CorrectedReason::CorrectionFailed));
    execution
}

fn no(status: u16) -> StepOutcome {
    StepOutcome::Refused { refusal: Refusal { code: status.into(), because: None }, did_nothing: true }
}

#[test]
fn only_a_refused_create_contradicts_the_poll() {
    let exists = || answered(StepOutcome::AlreadyExists(Refusal { code: 409.into(), because: None }));
    let create = claimed().next(exists());
    assert!(outcome(&create).exists.is_some() && outcome(&create).claim.is_none(), "{create:?}");
    let mut later = claimed();
    later.next(ACCEPTED);
    later.next(READY);
    assert!(outcome(&later.next(exists())).exists.is_some());
    let replace = || Execution::new(bare_object(), Decision::Correct(Box::new(correction(Action::Replace))));
    for (mut other, is_announced) in [(ready(update(), plan("w")), false), (ready(replace(), plan("w")), true)] {
        other.next(READY);
        if is_announced {
            other.next(Event::Written(Ok(state(3))));
        }
        let step = other.next(exists());
        assert_eq!((outcome(&step).exists, outcome(&step).correction), (None, 8), "{step:?}");
    }
}

fn is_corrected(step: &Step, is_written: bool) -> bool {
    matches!(step, Step::End(ExecutionEnd::Corrected { written, .. }) if *written == is_written)
}

#[test]
fn requests_follow_each_other_until_one_is_not_accepted() {
    let mut execution = claimed();
    assert_eq!(execution.next(ACCEPTED), Step::Render(1));
    assert_eq!(execution.next(READY), send(1, false));
    assert_eq!(outcome(&execution.next(ACCEPTED)).reason, Some(CorrectedReason::CorrectionApplied));
    assert!(is_corrected(&execution.next(Event::Written(Ok(state(5)))), true));
}

/// An update of a resource that we own.
fn update() -> Execution {
    Execution::new(bare_object(), Decision::Correct(Box::new(correction(Action::Update))))
}

#[test]
fn after_a_look_up_the_object_is_read_again() {
    let mut create = ready(first_create(), plan("lw"));
    assert_eq!(create.next(READY), send(0, true));
    assert_eq!(create.next(ACCEPTED), Step::Render(1));
    assert_eq!(create.next(READY), Step::Write(Write::PutFinalizer(Purpose::Claim)));

    let mut update = ready(update(), plan("lww"));
    update.next(READY);
    update.next(ACCEPTED);
    assert_eq!(update.next(READY), Step::ReadAgain);
    let paused = LeanObject { paused: true, ..*state(4) };
    let changed = update.clone().next(Event::Read(Ok(Some(Box::new(paused)))));
    assert_eq!(changed, Step::End(ExecutionEnd::CalledOff), "nothing was written, so it was none");
    assert_eq!(update.clone().next(Event::Read(Err(String::new()))), Step::End(ExecutionEnd::CalledOff));
    assert_eq!(update.next(Event::Read(Ok(Some(state(4))))), send(1, true));
    assert_eq!(update.next(ACCEPTED), Step::Render(2));
    assert_eq!(update.next(READY), send(2, false));
}

#[test]
fn nothing_is_made_once_the_finalizer_is_gone() {
    let bare = || Box::new(LeanObject { finalizers: Box::default(), ..*state(4) });
    let mut create = ready(first_create(), plan("w"));
    create.next(READY);
    create.next(Event::Written(Ok(state(3))));
    let step = create.next(Event::Written(Ok(bare())));
    assert!(matches!(step, Step::Write(Write::Status(_, Purpose::TakeBack))), "{step:?}");

    let mut update = ready(update(), plan("lw"));
    update.next(READY);
    update.next(ACCEPTED);
    update.next(READY);
    assert_eq!(update.next(Event::Read(Ok(Some(bare())))), Step::End(ExecutionEnd::CalledOff));
}

#[test]
fn a_record_that_is_removed_during_a_look_up_is_restored_first() {
    let mut owner = *state(2);
    let record = status(7, owns("db")).keeping(CorrectedReason::CorrectionApplied, "created", Some(3));
    set_corrected(&mut owner.conditions, &record);
    let read = |owner: &LeanObject| Event::Read(Ok(Some(Box::new(owner.clone()))));
    let mut update = Execution::new(owner.clone(), Decision::Correct(Box::new(correction(Action::Update))));
    update.next(Event::Begin);
    update.next(read(&owner));
    let answer = decided(&update);
    update.next(answer);
    update.next(Event::Prepared(Prepared::Ready(plan("lw"))));
    update.next(READY);
    update.next(ACCEPTED);
    assert_eq!(update.next(READY), Step::ReadAgain);
    assert_eq!(update.clone().next(read(&owner)), send(1, true));
    assert_eq!(update.next(read(&state(3))), Step::End(ExecutionEnd::CalledOff));
}

#[test]
fn what_is_put_off_leaves_no_trace() {
    let pause = std::time::Duration::from_secs(10);
    let put_off = Step::End(ExecutionEnd::PutOff(pause));
    let mut looked = ready(first_create(), plan("lw"));
    looked.next(READY);
    assert_eq!(looked.next(answered(StepOutcome::NotNow { pause })), put_off);
    let mut nudge = ready(update(), plan("w"));
    nudge.next(READY);
    assert_eq!(nudge.next(answered(StepOutcome::Overtaken)), Step::End(ExecutionEnd::CalledOff), "as a lost race");
    for answer in [StepOutcome::NotNow { pause }, StepOutcome::Overtaken] {
        let taken_back = claimed().next(answered(answer));
        assert!(matches!(taken_back, Step::Write(Write::Status(_, Purpose::TakeBack))), "{taken_back:?}");
    }
}

/// An update by a Job that was created.
fn begun_job() -> Execution {
    let correction = Correction { by_job: true, ..correction(Action::Update) };
    let job = Execution::new(bare_object(), Decision::Correct(Box::new(correction)));
    let mut job = ready(job, plan("lw"));
    job.next(READY);
    job.next(ACCEPTED);
    let claim = job.next(READY);
    let Step::Write(Write::Status(status, Purpose::Claim)) = claim else { unreachable!("{claim:?}") };
    assert_eq!((status.reason, status.correction), (Some(CorrectedReason::CorrectionStarted), 7));
    assert_eq!(job.next(Event::Written(Ok(state(4)))), send(1, true));
    assert_eq!(job.next(open(None)), send(1, false));
    job
}

fn open(stage: Option<JobStage>) -> Event {
    answered(StepOutcome::Open(stage))
}

#[test]
fn a_job_is_looked_at_until_its_end() {
    let mut job = begun_job();
    for stage in [Some(JobStage::WithoutPod), Some(JobStage::Running), None] {
        assert_eq!(job.next(open(stage)), send(1, false), "nothing is written for a stage");
    }
    assert_eq!(outcome(&job.next(ACCEPTED)).reason, Some(CorrectedReason::CorrectionApplied));
}

#[test]
fn a_job_that_was_begun_is_never_called_off() {
    let step = begun_job().next(Event::NotSent);
    let Step::End(ExecutionEnd::Corrected { outcome, status, .. }) = step else { unreachable!("{step:?}") };
    let Outcome::Doubtful(_, Uncertainty { why, .. }) = outcome else { unreachable!("{outcome:?}") };
    assert_eq!((why, status), (Doubt::CutOff, None), "the claim stands for whoever comes after");
}

#[test]
fn what_is_not_ours_is_told_as_left_behind() {
    let delete = Execution::new(bare_object(), Decision::Correct(Box::new(correction(Action::Delete))));
    let mut delete = ready(delete, deletion("w", 1));
    assert_eq!(delete.next(READY), send(0, true));
    let end = delete.next(answered(StepOutcome::LeftBehind));
    let Step::End(ExecutionEnd::Corrected { outcome, .. }) = end else { unreachable!("{end:?}") };
    assert_eq!(outcome, Outcome::AllSkipped, "which takes the finalizer off with the word that something stays");
}

#[test]
fn a_refused_look_up_leaves_no_trace() {
    let mut create = ready(first_create(), plan("lw"));
    create.next(READY);
    let step = create.next(answered(no(404)));
    let status = outcome(&step);
    assert_eq!((status.correction, &status.claim), (8, &None));
    assert_eq!(status.text, "create, step 0: the external system refuses it with status 404");
}

#[test]
fn a_template_that_fails_counts_only_after_a_write() {
    let mut first = ready(update(), plan("lww"));
    first.next(READY);
    first.next(ACCEPTED);
    assert_eq!(outcome(&first.next(FAILS)).correction, 7, "nothing was written");

    let mut second = ready(update(), plan("ww"));
    second.next(READY);
    second.next(ACCEPTED);
    let step = second.next(FAILS);
    let status = outcome(&step);
    assert_eq!((status.correction, status.reason), (8, Some(CorrectedReason::CorrectionFailed)));
    assert!(status.text.starts_with("update, step 1: a template"), "{}", status.text);
}

#[test]
fn only_what_asked_nobody_sent_nothing() {
    let ended = |mut execution: Execution, event: Event| {
        outcome(&execution.next(event));
        match execution.next(Event::Written(Ok(state(9)))) {
            Step::End(end) => end.sent_nothing(),
            step => unreachable!("{step:?}"),
        }
    };
    let indefinite = |why| answered(StepOutcome::Indefinite(Uncertainty::unanswered(why)));
    let sending = |plan: Plan| {
        let mut execution = ready(update(), plan);
        assert_eq!(execution.next(READY), send(0, true));
        execution
    };
    let mut opened = update();
    opened.next(Event::Begin);
    opened.next(Event::Read(Ok(Some(state(2)))));
    opened.next(decided(&update()));
    let unsendable = Event::Prepared(Prepared::Lacking(Doubt::CredentialUnavailable));
    assert!(ended(opened, unsendable));
    assert!(ended(ready(update(), plan("w")), FAILS));
    assert!(ended(sending(plan("w")), indefinite(Doubt::AddressRefused)));
    assert!(!ended(sending(plan("w")), indefinite(Doubt::TokenUnavailable)), "the token server was asked");
    assert!(!ended(sending(plan("w")), indefinite(Doubt::NoAnswer)));
    assert!(!ended(claimed(), indefinite(Doubt::AddressRefused)), "the claim was written for it");
    let mut looked_up = sending(plan("lw"));
    looked_up.next(ACCEPTED);
    assert!(!ended(looked_up, FAILS), "something was looked up");
}

#[test]
fn an_update_that_writes_nothing_failed() {
    let mut update = ready(update(), plan("lw"));
    update.next(READY);
    update.next(ACCEPTED);
    let step = update.next(SKIPPED);
    assert_eq!((outcome(&step).correction, &*outcome(&step).text), (8, "update: every write was skipped"));
}

#[test]
fn a_deletion_is_done_only_where_something_was_asked() {
    let delete = || Execution::new(bare_object(), Decision::Correct(Box::new(correction(Action::Delete))));
    // The answer to each step, if it is sent.
    let (done, nothing, skipped) = (Some(StepOutcome::Accepted), Some(StepOutcome::NotThere), None);
    let table = [
        ("w", vec![&skipped], Outcome::AllSkipped),
        ("lw", vec![&skipped, &skipped], Outcome::AllSkipped),
        ("lw", vec![&done, &skipped], Outcome::Applied),
        ("lw", vec![&nothing, &skipped], Outcome::Applied),
        ("w", vec![&nothing], Outcome::Applied),
        ("ww", vec![&done, &skipped], Outcome::Applied),
    ];
    for (kinds, answers, expected) in table {
        let mut delete = ready(delete(), deletion(kinds, kinds.len()));
        let steps = answers.iter().map(|answer| {
            if answer.is_some() {
                delete.next(READY);
            }
            delete.next((*answer).clone().map_or(SKIPPED, answered))
        });
        let step = steps.last();
        let Some(Step::End(ExecutionEnd::Corrected { outcome, status: None, .. })) = step else {
            unreachable!("{kinds} {answers:?}: {step:?}")
        };
        assert_eq!(outcome, expected, "{kinds} {answers:?}");
    }
}

/// Returns true if a deletion of these steps, each answered or skipped, finds nothing where a resource should be.
fn finds_nothing(expects_resource: bool, (kinds, answers): (&str, &[Option<StepOutcome>])) -> bool {
    let correction = Correction { expects_resource, ..correction(Action::Delete) };
    let delete = Execution::new(bare_object(), Decision::Correct(Box::new(correction)));
    let mut delete = ready(delete, deletion(kinds, kinds.len()));
    let steps = answers.iter().map(|answer| {
        if answer.is_some() {
            delete.next(READY);
        }
        delete.next(answer.clone().map_or(SKIPPED, answered))
    });
    match steps.last() {
        Some(Step::Write(Write::Outcome(status, _))) => {
            assert_eq!(status.reason, Some(CorrectedReason::DeletionUnclear), "{kinds} {answers:?}");
            true
        }
        Some(Step::End(ExecutionEnd::Corrected { .. })) => false,
        step => unreachable!("{kinds} {answers:?}: {step:?}"),
    }
}

#[test]
fn a_deletion_that_finds_nothing_proves_no_absence() {
    let (done, nothing, skipped) = (Some(StepOutcome::Accepted), Some(StepOutcome::NotThere), None);
    for (kinds, answers, expected) in [
        ("w", &[&nothing][..], true),
        ("ww", &[&nothing, &nothing], true),
        ("lw", &[&nothing, &skipped], true),
        ("lw", &[&done, &skipped], true),
        ("w", &[&done], false),
        ("w", &[&skipped], true),
        ("ww", &[&done, &nothing], false),
        ("ww", &[&nothing, &done], false),
    ] {
        let answers: Vec<_> = answers.iter().map(|answer| (*answer).clone()).collect();
        assert_eq!(finds_nothing(true, (kinds, &answers)), expected, "{kinds} {answers:?}");
        assert!(!finds_nothing(false, (kinds, &answers)), "nothing was expected: {kinds} {answers:?}");
    }
}

#[test]
fn the_last_write_says_whether_a_deletion_is_done() {
    let underway = || answered(StepOutcome::Underway { retry_after: None });
    let ended = |answers: [Event; 2], last: Event| {
        let delete = Execution::new(bare_object(), Decision::Correct(Box::new(correction(Action::Delete))));
        let mut delete = ready(delete, deletion("www", 3));
        for answer in answers {
            delete.next(READY);
            delete.next(answer);
        }
        match delete.next(last) {
            Step::End(ExecutionEnd::Corrected { outcome, .. }) => outcome,
            step => {
                let text = outcome(&step).text.clone();
                assert!(text.contains("not done yet"), "{text}");
                Outcome::Underway { retry_after: None }
            }
        }
    };
    assert_eq!(ended([underway(), ACCEPTED], SKIPPED), Outcome::Applied);
    assert_eq!(ended([ACCEPTED, underway()], SKIPPED), Outcome::Underway { retry_after: None });
}

#[test]
fn what_follows_a_deletion_waits_until_it_is_done() {
    let replaced = |answer| {
        let mut execution = ready(update(), deletion("ww", 1));
        execution.next(READY);
        execution.next(answered(answer))
    };
    assert_eq!(replaced(StepOutcome::Accepted), Step::Render(1));
    assert!(outcome(&replaced(StepOutcome::Underway { retry_after: None })).text.contains("not done yet"));
}

/// A replacement of our resource, whose deletion is about to be sent.
fn begun(plan: Plan) -> Execution {
    let replacement = Execution::new(bare_object(), Decision::Correct(Box::new(correction(Action::Replace))));
    let mut execution = ready(replacement, plan);
    let Step::Write(Write::Status(said, Purpose::Claim)) = execution.next(READY) else { unreachable!("no word of it") };
    assert_eq!((said.reason, said.correction), (Some(CorrectedReason::CorrectionStarted), 7));
    assert_eq!(execution.next(Event::Written(Ok(state(4)))), send(0, true));
    execution
}

#[test]
fn a_replacement_in_doubt_after_a_write_is_counted() {
    let doubt = || answered(StepOutcome::Indefinite(Uncertainty::unanswered(Doubt::NoAnswer)));
    let first = begun(deletion("ww", 1)).next(doubt());
    assert_eq!(outcome(&first).correction, 7, "nothing was made yet, so it is tried again");
    for plan in [deletion("ww", 1), plan("ww")] {
        for cut in [doubt(), Event::NotSent] {
            let mut execution = begun(plan.clone());
            execution.next(ACCEPTED);
            execution.next(READY);
            let step = execution.next(cut);
            let status = outcome(&step);
            assert_eq!((status.correction, status.reason), (8, Some(CorrectedReason::CorrectionFailed)));
            assert!(status.text.starts_with("replace, step 1: ") && status.text.ends_with("the next poll tells"));
        }
    }
}

#[test]
fn a_create_that_was_not_sent_is_not_on_record() {
    let creating = UnseenCreate { number: 8, request: 1, sent: 1, accepted: false };
    let ended = |plan: Plan, answers: &[StepOutcome]| {
        let replacement = Correction { creating: Some(creating), ..correction(Action::Replace) };
        let mut execution = ready(Execution::new(bare_object(), Decision::Correct(Box::new(replacement))), plan);
        execution.next(READY);
        execution.next(Event::Written(Ok(state(4))));
        let (last, before) = answers.split_last().unwrap();
        for answer in before {
            execution.next(answered(answer.clone()));
            execution.next(READY);
        }
        outcome(&execution.next(answered(last.clone()))).unseen
    };
    let underway = StepOutcome::Underway { retry_after: None };
    let doubt = StepOutcome::Indefinite(Uncertainty::unanswered(Doubt::NoAnswer));
    // The steps of `delete` and `create`, and steps of its own, which may make the new resource first.
    for (plan, answers, expected) in [
        (deletion("ww", 1), vec![underway.clone()], None),
        (deletion("ww", 1), vec![doubt.clone()], None),
        (deletion("ww", 1), vec![StepOutcome::Accepted, doubt.clone()], Some(creating)),
        (plan("ww"), vec![underway.clone()], None),
        (plan("ww"), vec![doubt.clone()], Some(creating)),
        (plan("ww"), vec![StepOutcome::Accepted, underway], Some(UnseenCreate { accepted: true, ..creating })),
    ] {
        assert_eq!(ended(plan.clone(), &answers), expected, "{plan:?} {answers:?}");
    }
}

#[test]
fn a_replacement_that_makes_nothing_anew_failed() {
    let mut execution = begun(deletion("ww", 1));
    execution.next(ACCEPTED);
    let step = execution.next(SKIPPED);
    assert_eq!(outcome(&step).text, "replace: every write that makes it anew was skipped");
    let step = begun(plan("w")).next(Event::NotSent);
    assert!(matches!(step, Step::Write(Write::Status(_, Purpose::TakeBack))), "{step:?}");
}

#[test]
fn an_object_that_changes_under_the_claim_takes_it_back() {
    let mut execution = ready(first_create(), plan("w"));
    execution.next(READY);
    execution.next(Event::Written(Ok(state(3))));
    let paused = LeanObject { paused: true, ..*state(4) };
    let step = execution.next(Event::Written(Ok(Box::new(paused))));
    assert!(matches!(step, Step::Write(Write::Status(_, Purpose::TakeBack))), "{step:?}");
    assert_eq!(execution.next(Event::Written(Err(Failure::Moved))), Step::End(ExecutionEnd::CalledOff));
}

#[test]
fn a_stop_before_the_first_request_unclaims() {
    let step = claimed().next(Event::NotSent);
    assert!(matches!(step, Step::Write(Write::Status(_, Purpose::TakeBack))), "{step:?}");
    let mut begun = claimed();
    begun.next(ACCEPTED);
    begun.next(READY);
    let step = begun.next(Event::NotSent);
    assert!(matches!(step, Step::Write(Write::Outcome(..))), "{step:?}");
}

#[test]
fn what_is_cut_off_is_said_by_the_next_leader() {
    assert!(is_corrected(&claimed().next(Event::CutOff), false));
}

#[test]
fn an_outcome_is_written_however_often_that_fails() {
    let mut execution = refused();
    for failure in [Failure::Unavailable, Failure::Refused("403".to_owned()), Failure::Moved, Failure::NotLeading] {
        let step = execution.next(Event::Written(Err(failure)));
        assert!(matches!(step, Step::Pause(_)), "{step:?}");
        assert_eq!(execution.next(Event::Waited(None)), Step::ReadAgain);
        let step = execution.next(Event::Read(Ok(Some(state(9)))));
        assert!(matches!(step, Step::Write(Write::Outcome(..))), "{step:?}");
    }
    assert!(is_corrected(&execution.next(Event::Written(Ok(state(10)))), true));
}

#[test]
fn an_outcome_that_is_refused_holds_up_no_deletion() {
    let mut execution = refused();
    execution.next(Event::Written(Err(Failure::Refused("403".to_owned()))));
    assert_eq!(execution.next(Event::Waited(None)), Step::ReadAgain);
    let deleting = LeanObject { deleting: true, ..*state(9) };
    let step = execution.next(Event::Read(Ok(Some(Box::new(deleting)))));
    let Step::End(ExecutionEnd::Corrected { status: Some(status), written: false, .. }) = &step else {
        unreachable!("{step:?}")
    };
    assert_eq!(status.claim, None, "what was refused is not ours, and that must not be forgotten");
}

#[test]
fn a_definite_outcome_outlives_the_lease() {
    let mut execution = refused();
    execution.next(Event::Written(Err(Failure::NotLeading)));
    assert_eq!(execution.next(Event::Waited(Some(Interrupt::CutOff))), Step::ReadAgain);
    let step = execution.clone().next(Event::Dismissed);
    assert!(matches!(step, Step::End(ExecutionEnd::Corrected { status: Some(_), written: false, .. })), "{step:?}");
    // The next leader must not wait for a refused write.
    execution.next(Event::Read(Ok(Some(state(9)))));
    execution.next(Event::Written(Err(Failure::Refused("403".to_owned()))));
    let step = execution.next(Event::Waited(Some(Interrupt::CutOff)));
    assert!(matches!(step, Step::End(ExecutionEnd::Corrected { status: Some(_), written: false, .. })), "{step:?}");
}

fn event() -> impl Strategy<Value = Event> {
    let object = || {
        let rarely = || proptest::bool::weighted(0.1);
        (rarely(), rarely()).prop_map(|(deleting, paused)| LeanObject { deleting, paused, ..bare_object() })
    };
    let failure = prop_oneof![
        Just(Failure::Moved),
        Just(Failure::Gone),
        Just(Failure::Refused(String::new())),
        Just(Failure::Unavailable),
        Just(Failure::NotLeading),
    ];
    let answer = prop_oneof![
        Just(StepOutcome::Accepted),
        Just(no(409)),
        Just(StepOutcome::Underway { retry_after: None }),
        Just(StepOutcome::Indefinite(Uncertainty::unanswered(Doubt::NoAnswer))),
    ];
    let interrupt = prop_oneof![Just(Interrupt::Superseded), Just(Interrupt::CutOff)];
    // Most histories should reach the outcome.
    prop_oneof![
        6 => Just(Event::Begin),
        6 => object().prop_map(|object| Event::Read(Ok(Some(Box::new(object))))),
        1 => Just(Event::Read(Ok(None))),
        1 => Just(Event::Read(Err(String::new()))),
        3 => Just(Event::Dismissed),
        6 => "[lw]{1,4}".prop_map(|kinds| Event::Prepared(Prepared::Ready(plan(&kinds)))),
        8 => Just(READY),
        2 => Just(item("0[a]")),
        2 => Just(SKIPPED),
        1 => Just(FAILS),
        1 => Just(Event::Prepared(Prepared::NotNow)),
        8 => object().prop_map(|object| Event::Written(Ok(Box::new(object)))),
        4 => failure.prop_map(|failure| Event::Written(Err(failure))),
        6 => answer.prop_map(answered),
        1 => Just(Event::NotSent),
        1 => Just(Event::CutOff),
        4 => proptest::option::of(interrupt).prop_map(Event::Waited),
    ]
}

fn id(value: &str) -> StatusFields {
    [("id", json!(value))].into_iter().collect()
}

/// Returns the status and the fields that are about to be written.
fn said(step: &Step) -> (Option<CorrectedReason>, StatusFields) {
    let Step::Write(Write::Outcome(status, stored)) = step else { unreachable!("{step:?}") };
    (status.reason, stored.clone())
}

#[test]
fn what_is_stored_comes_with_the_outcome_until_it_stands() {
    let mut applied = claimed();
    assert_eq!(applied.next(stored(id("lb-1"))), Step::Render(1));
    assert_eq!(applied.next(READY), send(1, false));
    let step = applied.next(ACCEPTED);
    assert_eq!(said(&step), (Some(CorrectedReason::CorrectionApplied), id("lb-1")));
    assert!(matches!(applied.next(Event::Written(Err(Failure::Moved))), Step::Pause(_)));
    assert_eq!(applied.next(Event::Waited(None)), Step::ReadAgain);
    let again = applied.next(Event::Read(Ok(Some(state(7)))));
    assert_eq!(said(&again), (Some(CorrectedReason::CorrectionApplied), id("lb-1")));
}

#[test]
fn a_later_step_that_fails_loses_nothing_that_is_stored() {
    let answers = [no(409), StepOutcome::Indefinite(Uncertainty::unanswered(Doubt::NoAnswer))];
    for answer in answers {
        let mut failed = claimed();
        failed.next(stored(id("lb-1")));
        failed.next(READY);
        let step = failed.next(answered(answer.clone()));
        assert_eq!(said(&step), (Some(CorrectedReason::CorrectionFailed), id("lb-1")), "{answer:?}");
        // The end of the term drops a doubt, but not the fields to store.
        assert!(matches!(failed.next(Event::Written(Err(Failure::Unavailable))), Step::Pause(_)));
        assert_eq!(failed.next(Event::Waited(Some(Interrupt::CutOff))), Step::ReadAgain, "{answer:?}");
        let deleting = Box::new(LeanObject { deleting: true, ..*state(8) });
        let step = failed.next(Event::Read(Ok(Some(deleting))));
        assert_eq!(said(&step).1, id("lb-1"), "the deletion needs it");
    }
}

#[test]
fn a_field_that_is_refused_loses_no_word() {
    let refused = || Event::Written(Err(Failure::Refused("422".to_owned())));
    let mut applied = ready(first_create(), plan("w"));
    applied.next(READY);
    applied.next(Event::Written(Ok(state(3))));
    applied.next(Event::Written(Ok(state(4))));
    applied.next(stored(id("lb-1")));
    let step = applied.next(refused());
    assert_eq!(said(&step), (Some(CorrectedReason::CorrectionFailed), StatusFields::NONE));
    assert!((outcome(&step).correction, outcome(&step).owned().is_some()) == (8, true), "{step:?}");
    assert!(matches!(applied.next(Event::Written(Ok(state(5)))), Step::Pause(_)));
    let superseded = applied.clone().next(Event::Waited(Some(Interrupt::Superseded)));
    assert!(is_corrected(&superseded, true), "{superseded:?}");
    assert_eq!(applied.next(Event::Waited(None)), Step::ReadAgain);
    let step = applied.next(Event::Read(Ok(Some(state(6)))));
    assert_eq!(said(&step).1, id("lb-1"), "it is tried again");
    assert!(matches!(applied.next(refused()), Step::Pause(_)));
}

#[test]
fn a_resource_is_taken_up_once_nobody_claims_it() {
    let resource = crate::engine::fixtures::resource("db");
    let status = CorrectionStatus::default().freed(None);
    let take_up = |holders: &[ObjectRef]| {
        let decision =
            Decision::TakeUp { resource: resource.clone(), holders: holders.to_vec(), status: status.clone() };
        Execution::new(bare_object(), decision)
    };
    let written = || Step::Write(Write::Status(status.clone(), Purpose::Other));
    let holders = [ObjectRef { kind: "Role.demo.example".into(), namespace: None, name: "other".into() }];
    for (is_claimed, expected) in [(true, Step::End(ExecutionEnd::StillTaken)), (false, written())] {
        let mut execution = take_up(&holders);
        assert_eq!(execution.next(Event::Begin), Step::ReadHolders(holders.to_vec(), resource.clone()));
        assert_eq!(execution.next(Event::HoldersRead { is_claimed }), expected);
    }
    assert_eq!(take_up(&[]).next(Event::Begin), written(), "none is left to read");
}

#[test]
fn an_answer_that_cannot_be_stored_is_a_failure() {
    let mut lost = claimed();
    let step = lost.next(answered(StepOutcome::Unstored("store.id: no field `id`".to_owned())));
    let status = outcome(&step);
    assert_eq!((status.reason, status.correction), (Some(CorrectedReason::CorrectionFailed), 8));
    assert!(status.owned().is_some(), "what was made is ours, whatever its name");
    assert_eq!(
        status.text,
        "create, step 0: accepted, but store.id: no field `id`: what was made is not known here; it is tried again in an hour"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn no_request_goes_out_unclaimed_or_after_its_outcome(events in proptest::collection::vec(event(), 0..120)) {
        let mut execution = first_create();
        let (mut step, mut claimed, mut steps) = (execution.next(Event::Begin), false, Plan::default());
        let (mut next, mut repeats, mut wrote, mut recording, mut gone) = (0, false, false, false, false);
        for event in events {
            // Each step gets an event of its kind.
            let fits = match step {
                Step::Read | Step::ReadAgain => matches!(event, Event::Read(_) | Event::Dismissed),
                Step::Decide => matches!(event, Event::Dismissed | Event::Begin),
                Step::Prepare => matches!(event, Event::Prepared(_)),
                Step::Write(_) => matches!(event, Event::Written(_)),
                Step::Render(_) => matches!(event, Event::Rendered(_)),
                Step::Send { .. } => matches!(event, Event::Answered(_) | Event::NotSent | Event::CutOff),
                Step::ReadHolders(..) => matches!(event, Event::HoldersRead { .. }),
                Step::Pause(_) => matches!(event, Event::Waited(_)),
                Step::End(_) => false,
            };
            if !fits {
                continue;
            }
            if let Step::Write(Write::Status(_, Purpose::Claim)) = step {
                claimed |= matches!(event, Event::Written(Ok(_)));
            }
            if let Event::Prepared(Prepared::Ready(plan)) = &event {
                steps = plan.clone();
            }
            if let Step::Send { index, .. } = step {
                wrote |= steps.writes(index) && matches!(event, Event::Answered(_) | Event::CutOff);
            }
            if let Event::Rendered(rendered) = &event {
                repeats = matches!(rendered, Rendered::Item(_));
            }
            gone |= matches!(event, Event::Read(Ok(None)) | Event::Written(Err(Failure::Gone)));
            let event = if matches!((&step, &event), (Step::Decide, Event::Begin)) { decided(&execution) } else { event };
            step = execution.next(event);
            match &step {
                Step::Render(index) => {
                    let is_next = *index >= next || repeats && *index + 1 == next;
                    prop_assert!(!recording && is_next, "in their order, and each once without items");
                    next = index + 1;
                }
                Step::Send { index, begins } => {
                    prop_assert!(!recording && *index + 1 == next);
                    prop_assert!(claimed == steps.writes(*index) || wrote, "a claim comes right before the first write");
                    prop_assert_eq!(*begins, !wrote);
                }
                Step::Read | Step::Decide | Step::Prepare => prop_assert!(!recording),
                Step::Write(Write::Outcome(..)) => recording = true,
                Step::Write(Write::Status(_, Purpose::TakeBack)) => prop_assert!(claimed && !wrote),
                Step::End(end) => {
                    prop_assert!(!(end.sent_nothing() && wrote));
                    if let ExecutionEnd::Corrected { outcome, status, .. } = end {
                        prop_assert!(!outcome.is_definite() || gone || status.is_some(), "{end:?}");
                    }
                }
                _ => {}
            }
        }
    }
}
