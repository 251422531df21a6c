//! Known histories of the poller's verdicts: removed ones, requested polls, and hosts that pause.

use drift_api::condition::ConditionStatus;
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;

use crate::events::Event;
use crate::events::Event::{
    Advance, AnswerReads, Ask, Attend, Change, Crash, Create, Deliver, Forbid, Make, Pass, PauseHost, Remove, Rest,
    Step, Strip,
};
use crate::known::{PLAIN, active, ends_well, minutes, played};
use crate::outside::Fault;
use crate::quiet::Ending;
use crate::targets::Text;
use crate::world::Who::Poller;
use crate::world::World;

/// A target that only looks.
const OBSERVING: Text = Text { correct: false, ..PLAIN };

/// Returns a history with an object in sync, some seconds after a regular poll.
fn in_sync() -> Vec<Event> {
    let begun = [Make { resource: 0, value: 1 }, Create { object: 0, resource: 0, value: 1, labels: 1 }, Rest];
    active(OBSERVING, begun.into_iter().chain(minutes(3)))
}

fn with(before: &[Event], after: impl IntoIterator<Item = Event>) -> Vec<Event> {
    before.iter().cloned().chain(after).collect()
}

/// Returns the object as the programs read it.
fn object(world: &World) -> LeanObject {
    LeanObject::prune(&world.api.objects["a"], &FieldPaths::default())
}

/// Returns the status and the reason of the verdict.
fn verdict(world: &World) -> (Option<ConditionStatus>, String) {
    let observed = object(world).conditions.observed().cloned();
    (observed.as_ref().map(|condition| condition.status), observed.map_or_else(String::new, |it| it.reason.to_string()))
}

#[test]
fn a_removed_verdict_is_back_before_the_next_poll() {
    for (before, status) in [
        (vec![], ConditionStatus::False),
        (vec![Change { resource: 0, value: 7 }], ConditionStatus::True),
        (vec![Remove { resource: 0 }], ConditionStatus::True),
    ] {
        let before = with(&in_sync(), before.into_iter().chain(minutes(3)));
        let removed = with(&before, [Strip { object: 0, observed: true }]);
        assert_eq!(verdict(&played(&removed)).0, None, "{status:?}");
        let back = with(&removed, [Rest, Pass(2), Rest]);
        assert_eq!(verdict(&played(&back)).0, Some(status));
        ends_well(back, [Rest], Ending::Free);
    }
}

#[test]
fn an_object_freed_again_gets_its_true_verdict() {
    let rejected = with(&in_sync(), [Forbid { object: 0, forbidden: true }].into_iter().chain(minutes(5)));
    let world = played(&rejected);
    let writes = world.ledger.writes;
    assert_eq!(verdict(&world).0, Some(ConditionStatus::Unknown));
    let freed = with(&rejected, [Forbid { object: 0, forbidden: false }, Rest, Pass(2), Rest]);
    let world = played(&freed);
    assert_eq!((verdict(&world).0, world.ledger.writes), (Some(ConditionStatus::False), writes + 1));
}

#[test]
fn a_write_whose_answer_was_lost_is_our_own() {
    let begun = [Create { object: 0, resource: 0, value: 1, labels: 1 }, Deliver(Poller, 9), Attend(Poller)];
    // Absence is confirmed by the second poll.
    let polled = [Advance(Poller, 2), Pass(3), Attend(Poller), Advance(Poller, 2), Attend(Poller)];
    let events = active(OBSERVING, [Rest].into_iter().chain(begun).chain(polled));
    let lost = with(&events, [Step(Poller, 0, Fault::LostAfter)]);
    assert_eq!(verdict(&played(&lost)).0, Some(ConditionStatus::True), "the write is not the next step");
    let (before, world) = (played(&lost), played(&with(&lost, [Rest, Pass(5), Rest])));
    assert_eq!(world.ledger.writes, before.ledger.writes, "it is written again");
    assert_eq!(world.outside.reads, before.outside.reads, "it is taken for another writer's");
    assert!(world.attestation("alpha").is_some_and(|attestation| attestation.except.is_empty()));
}

#[test]
fn an_object_told_to_wait_is_polled_afterwards() {
    let limited = with(&in_sync(), [AnswerReads(Fault::RateLimited)].into_iter().chain(minutes(4)));
    let world = played(&limited);
    // Three polls would have been due in two of the delays of 100 s.
    let reads = world.outside.reads - played(&in_sync()).outside.reads;
    assert!((2..=3).contains(&reads), "{reads}");
    let later = with(&limited, minutes(4));
    assert_eq!(verdict(&played(&later)).1, "RateLimited");
    let answered = with(&later, [AnswerReads(Fault::None)].into_iter().chain(minutes(2)));
    assert_eq!(verdict(&played(&answered)).0, Some(ConditionStatus::False));
}

#[test]
fn a_paused_poll_is_late_and_not_failed() {
    let paused = with(&in_sync(), [PauseHost(130)].into_iter().chain(minutes(2)));
    let (before, world) = (played(&in_sync()), played(&paused));
    assert_eq!(world.outside.reads, before.outside.reads, "the host is asked during the pause");
    assert_eq!((verdict(&world).0, world.ledger.writes), (Some(ConditionStatus::False), before.ledger.writes));
    let longer = with(&paused, [PauseHost(600)].into_iter().chain(minutes(5)));
    assert_eq!(verdict(&played(&longer)).1, "ExternalUnreachable", "the cause of the pause");
    ends_well(longer, [Rest], Ending::Free);
}

#[test]
fn a_requested_poll_is_answered_by_one_write() {
    let mut events = in_sync();
    for request in 1..=3 {
        let before = played(&events).ledger.writes;
        events.extend([Ask { object: 0, request }, Rest, Pass(1), Rest]);
        let world = played(&events);
        assert!(object(&world).is_poll_answered(), "no prompt poll answers request {request}");
        events.extend(minutes(5));
        assert_eq!(played(&events).ledger.writes, before + 1, "one write for each request");
    }
    let before = played(&events).ledger.writes;
    events.extend([Crash(Poller), Rest].into_iter().chain(minutes(5)));
    assert_eq!(played(&events).ledger.writes, before, "a restarted poller answers again");
}

#[test]
fn a_request_from_before_the_start_is_polled_promptly() {
    let asked = with(&in_sync(), [Crash(Poller), Ask { object: 0, request: 1 }, Rest, Pass(1), Rest]);
    assert!(object(&played(&asked)).is_poll_answered());
    let failing = with(&in_sync(), [AnswerReads(Fault::LostBefore), Ask { object: 0, request: 1 }, Rest]);
    assert!(!object(&played(&failing)).is_poll_answered(), "a single poll that failed is no answer yet");
}

#[test]
fn an_object_that_is_not_polled_answers_at_once() {
    let rejected = with(&in_sync(), [Forbid { object: 0, forbidden: true }, Rest, Pass(1), Rest]);
    let asked = with(&rejected, [Ask { object: 0, request: 1 }, Rest]);
    let world = played(&asked);
    assert!(object(&world).is_poll_answered());
    assert_eq!(world.outside.reads, played(&rejected).outside.reads);
}
