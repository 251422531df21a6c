use drift_model::condition::CorrectedReason;
use proptest::prelude::*;

use super::*;
use crate::core::claim::Action;
use crate::core::fixtures::{bare_object, correction};
use crate::core::outcome::StepOutcome;

/// A first create: the finalizer is due, and the claim.
fn first_create() -> Execution {
    let correction = Correction { claim_first: true, put_finalizer: true, ..correction(Action::Create) };
    Execution::new(bare_object(), Decision::Correct(Box::new(correction)))
}

fn state(version: u64) -> Box<LeanObject> {
    Box::new(LeanObject { resource_version: version.to_string(), ..bare_object() })
}

fn decided(execution: &Execution) -> Event {
    Event::Decided(Box::new(execution.object().clone()), execution.decision.clone())
}

/// A first create up to its first request.
fn claimed() -> Execution {
    let mut execution = first_create();
    assert_eq!(execution.next(Event::Begin), Step::Read);
    assert_eq!(execution.next(Event::Read(Ok(Some(state(2))))), Step::Decide);
    let answer = decided(&execution);
    assert_eq!(execution.next(answer), Step::Prepare);
    assert_eq!(execution.next(Event::Prepared(Readiness::Ready(2))), Step::Write(Write::PutFinalizer));
    let claim = execution.next(Event::Written(Ok(state(3))));
    assert!(matches!(claim, Step::Write(Write::Status(_, Purpose::Claim))), "{claim:?}");
    assert_eq!(execution.next(Event::Written(Ok(state(4)))), Step::Send(0));
    execution
}

/// The same, refused by the external system, up to the write that says so.
fn refused() -> Execution {
    let mut execution = claimed();
    let step = execution.next(Event::Answered(StepOutcome::Refused { status: 409 }));
    let Step::Write(Write::Status(status, Purpose::Outcome)) = step else { unreachable!("{step:?}") };
    assert_eq!(status.reason, Some(CorrectedReason::CorrectionFailed));
    execution
}

fn is_corrected(step: &Step, is_written: bool) -> bool {
    matches!(step, Step::End(ExecutionEnd::Corrected { written, .. }) if *written == is_written)
}

#[test]
fn requests_follow_each_other_until_one_is_not_accepted() {
    let mut execution = claimed();
    assert_eq!(execution.next(Event::Answered(StepOutcome::Accepted)), Step::Send(1));
    let step = execution.next(Event::Answered(StepOutcome::Accepted));
    assert!(matches!(step, Step::Write(Write::Status(_, Purpose::Outcome))), "{step:?}");
    assert!(is_corrected(&execution.next(Event::Written(Ok(state(5)))), true));
}

#[test]
fn an_object_that_changes_under_the_claim_takes_it_back() {
    let mut execution = first_create();
    execution.next(Event::Begin);
    execution.next(Event::Read(Ok(Some(state(2)))));
    let answer = decided(&execution);
    execution.next(answer);
    execution.next(Event::Prepared(Readiness::Ready(1)));
    execution.next(Event::Written(Ok(state(3))));
    let paused = LeanObject { paused: true, ..*state(4) };
    let step = execution.next(Event::Written(Ok(Box::new(paused))));
    assert!(matches!(step, Step::Write(Write::Status(_, Purpose::TakeBack))), "{step:?}");
    assert_eq!(execution.next(Event::Written(Err(Failure::Moved))), Step::End(ExecutionEnd::CalledOff));
}

#[test]
fn only_before_the_first_request_a_stop_takes_the_claim_back() {
    let step = claimed().next(Event::NotSent);
    assert!(matches!(step, Step::Write(Write::Status(_, Purpose::TakeBack))), "{step:?}");
    let mut begun = claimed();
    begun.next(Event::Answered(StepOutcome::Accepted));
    let step = begun.next(Event::NotSent);
    assert!(matches!(step, Step::Write(Write::Status(_, Purpose::Outcome))), "{step:?}");
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
        assert!(matches!(step, Step::Write(Write::Status(_, Purpose::Outcome))), "{step:?}");
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
fn a_definite_outcome_outlives_the_lease_and_is_kept_where_it_is_given_up() {
    let mut execution = refused();
    execution.next(Event::Written(Err(Failure::NotLeading)));
    assert_eq!(execution.next(Event::Waited(Some(Interrupt::CutOff))), Step::ReadAgain);
    let step = execution.clone().next(Event::Dismissed);
    assert!(matches!(step, Step::End(ExecutionEnd::Corrected { status: Some(_), written: false, .. })), "{step:?}");
    // Who leads again must not wait for a write that is refused.
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
        Just(StepOutcome::Refused { status: 409 }),
        Just(StepOutcome::Indefinite { why: Doubt::NoAnswer, retry_after: None }),
    ];
    let interrupt = prop_oneof![Just(Interrupt::Superseded), Just(Interrupt::CutOff)];
    // Most histories are to come as far as the outcome.
    prop_oneof![
        6 => Just(Event::Begin),
        6 => object().prop_map(|object| Event::Read(Ok(Some(Box::new(object))))),
        1 => Just(Event::Read(Ok(None))),
        1 => Just(Event::Read(Err(String::new()))),
        3 => Just(Event::Dismissed),
        6 => Just(Event::Prepared(Readiness::Ready(2))),
        1 => Just(Event::Prepared(Readiness::NotNow)),
        8 => object().prop_map(|object| Event::Written(Ok(Box::new(object)))),
        4 => failure.prop_map(|failure| Event::Written(Err(failure))),
        6 => answer.prop_map(Event::Answered),
        1 => Just(Event::NotSent),
        1 => Just(Event::CutOff),
        4 => proptest::option::of(interrupt).prop_map(Event::Waited),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn no_request_goes_out_unclaimed_or_after_its_outcome(events in proptest::collection::vec(event(), 0..120)) {
        let mut execution = first_create();
        let (mut step, mut claimed, mut sent) = (execution.next(Event::Begin), false, 0);
        let (mut recording, mut gone) = (false, false);
        for event in events {
            // Each step is answered by an event of its kind.
            let fits = match step {
                Step::Read | Step::ReadAgain => matches!(event, Event::Read(_) | Event::Dismissed),
                Step::Decide => matches!(event, Event::Dismissed | Event::Begin),
                Step::Prepare => matches!(event, Event::Prepared(_)),
                Step::Write(_) => matches!(event, Event::Written(_)),
                Step::Send(_) => matches!(event, Event::Answered(_) | Event::NotSent | Event::CutOff),
                Step::Pause(_) => matches!(event, Event::Waited(_)),
                Step::End(_) => false,
            };
            if !fits {
                continue;
            }
            if let Step::Write(Write::Status(_, Purpose::Claim)) = step {
                claimed |= matches!(event, Event::Written(Ok(_)));
            }
            gone |= matches!(event, Event::Read(Ok(None)) | Event::Written(Err(Failure::Gone)));
            let event = if matches!((&step, &event), (Step::Decide, Event::Begin)) { decided(&execution) } else { event };
            step = execution.next(event);
            match &step {
                Step::Send(index) => {
                    prop_assert!(claimed && !recording);
                    prop_assert_eq!(*index, sent);
                    sent += 1;
                }
                Step::Read | Step::Decide | Step::Prepare => prop_assert!(!recording),
                Step::Write(Write::Status(_, Purpose::Outcome)) => recording = true,
                Step::Write(Write::Status(_, Purpose::TakeBack)) => prop_assert!(claimed && sent <= 1),
                Step::End(end) => {
                    prop_assert_eq!(end.sent_nothing() && sent > 1, false);
                    if let ExecutionEnd::Corrected { outcome, status, .. } = end {
                        prop_assert!(!outcome.is_definite() || gone || status.is_some(), "{end:?}");
                    }
                }
                _ => {}
            }
        }
    }
}
