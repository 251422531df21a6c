use drift_api::identity::Claimant;
use drift_api::object::LeanObject;
use serde_json::json;

use super::*;
use crate::engine::effect::PollOrder;
use crate::engine::fixtures::{TEXT, at, object, target};
use crate::engine::input::{EndedWrite, PollResult, Postponed};
use crate::engine::judgement::finding::Finding;
use crate::engine::object::object_state::BegunPoll;
use crate::engine::poll::request::Request;
use crate::engine::writes::WRITES_AT_ONCE;
use crate::engine::writes::write_attempts::WriteOutcome;

/// A target that shares nothing with any other.
#[derive(Default)]
struct Alone {
    /// The host of all its requests pauses until then.
    paused: Option<Moment>,
    reads: usize,
}

impl SharedState for Alone {
    fn insert(&mut self, _: &Uid, _: Claimant) -> Vec<Uid> {
        Vec::new()
    }

    fn remove(&mut self, _: &Uid) -> Vec<Uid> {
        Vec::new()
    }

    fn has(&self, _: &Uid, _: &Claimant) -> bool {
        true
    }

    fn holder(&self, _: &str) -> Option<Uid> {
        None
    }

    fn note_listed(&mut self) {}

    fn postponed(&self, _: &Request, now: Moment) -> Option<Postponed> {
        let until = self.paused.filter(|until| *until > now)?;
        let cause = crate::engine::judgement::finding::Failure::of(drift_api::condition::ObservedReason::RateLimited);
        Some(Postponed { until, cause })
    }

    fn next_read_at(&self, now: Moment) -> Moment {
        now
    }

    fn take_read(&mut self, _: Moment) {
        self.reads += 1;
    }

    fn reserve_slow_write(&mut self, now: Moment) -> Moment {
        now
    }

    fn give_back_slow_write(&mut self, _: Moment) {}
}

struct Bench {
    engine: Target<Alone>,
    text: Arc<drift_language::Target>,
}

impl Bench {
    fn new() -> Self {
        let text = target(TEXT);
        Self { engine: Target::new(text.clone(), Alone::default()), text }
    }

    fn object(&self, uid: &str) -> LeanObject {
        object(&self.text, uid, &json!({"id": uid, "a": 1}), &json!({}))
    }

    fn step(&mut self, second: u64, input: Input) -> Vec<Effect> {
        self.engine.step(at(second), input)
    }

    fn see(&mut self, uid: &str) {
        let object = Box::new(self.object(uid));
        assert!(self.step(1, Input::Seen(object)).is_empty(), "something begins before the tick");
    }

    /// The polls that begin at this second.
    fn polls(&mut self, second: u64) -> Vec<PollOrder> {
        let polls = self.step(second, Input::Tick).into_iter().filter_map(|effect| match effect {
            Effect::Poll(order) => Some(*order),
            _ => None,
        });
        polls.collect()
    }

    fn end_poll(&mut self, second: u64, order: PollOrder, finding: Finding) -> Vec<Effect> {
        self.step(second, Input::PollEnded(Box::new(result(order.uid, order.begun, finding))))
    }
}

fn result(uid: Uid, begun: BegunPoll, finding: Finding) -> PollResult {
    let (found, took) = (Ok(finding.into()), Duration::ZERO);
    PollResult { uid, begun, found, pause: None, tagged: None, known: None, took }
}

fn attestations(effects: &[Effect]) -> Vec<bool> {
    let attested = effects.iter().filter_map(|effect| match effect {
        Effect::Attest(attestation) => Some(attestation.is_some()),
        _ => None,
    });
    attested.collect()
}

#[test]
fn a_verdict_is_written_once_and_then_all_is_quiet() {
    let mut bench = Bench::new();
    bench.see("x");
    let polls = bench.polls(40);
    let [order] = polls.try_into().unwrap();
    assert!(bench.polls(41).is_empty(), "a second poll of an object while one is under way");
    let _ = bench.end_poll(41, order, Finding::InSync);
    let effects = bench.step(41, Input::Tick);
    let mut writes = effects.into_iter().filter_map(|effect| match effect {
        Effect::Write(before, begun) => Some((before, begun)),
        _ => None,
    });
    let (before, begun) = writes.next().unwrap();
    assert!(writes.next().is_none());
    let condition = json!({"type": "driftObserved", "status": begun.condition.status.as_str(), "reason": &*begun.condition.reason,
        "message": begun.condition.message.to_string(), "observedGeneration": 1, "lastTransitionTime": at(41).date()});
    let status = json!({"conditions": [condition]});
    let mut after = object(&bench.text, "x", &json!({"id": "x", "a": 1}), &status);
    after.resource_version = "2".into();
    let ended = EndedWrite { before: *before, begun, object: Some(after), outcome: WriteOutcome::Written };
    bench.step(42, Input::WriteEnded(Box::new(ended)));
    let effects = bench.step(42, Input::Tick);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Write(..) | Effect::Poll(_))), "{effects:?}");
}

#[test]
fn a_target_writes_no_more_at_once_than_it_may() {
    let mut bench = Bench::new();
    let uids: Vec<String> = (0..WRITES_AT_ONCE + 8).map(|number| format!("u{number}")).collect();
    uids.iter().for_each(|uid| bench.see(uid));
    let mut count = 0;
    for second in 31..80 {
        for effect in bench.step(second, Input::Tick) {
            match effect {
                Effect::Poll(order) => drop(bench.end_poll(second, *order, Finding::InSync)),
                Effect::Write(..) => count += 1,
                _ => {}
            }
        }
    }
    assert_eq!(count, WRITES_AT_ONCE, "writes under way");
}

#[test]
#[should_panic(expected = "a read ended that never began")]
fn a_read_that_never_began_does_not_end() {
    let mut bench = Bench::new();
    bench.see("x");
    let order = bench.polls(40).remove(0);
    let (uid, begun) = (order.uid.clone(), order.begun);
    bench.end_poll(41, order, Finding::InSync);
    bench.step(42, Input::PollEnded(Box::new(result(uid, begun, Finding::InSync))));
}

#[test]
fn only_a_change_of_the_attestation_is_an_effect() {
    let mut bench = Bench::new();
    assert_eq!(attestations(&bench.step(1, Input::Tick)), [] as [bool; 0], "nothing is attested from the start");
    bench.step(1, Input::Listed);
    assert_eq!(attestations(&bench.step(1, Input::Tick)), [true]);
    assert_eq!(attestations(&bench.step(2, Input::Tick)), [] as [bool; 0]);
    assert_eq!(attestations(&bench.step(200, Input::Tick)), [false], "the watch is silent");
    bench.step(200, Input::Alive { since: at(199).moment });
    assert_eq!(attestations(&bench.step(200, Input::Tick)), [true]);
}

#[test]
fn a_poll_of_a_pausing_host_draws_on_no_limit() {
    let mut bench = Bench::new();
    bench.see("x");
    bench.engine.shared.paused = Some(at(50).moment);
    let effects = bench.step(40, Input::Tick);
    assert!(effects.iter().any(|effect| matches!(effect, Effect::Report(Report::Postponed))), "{effects:?}");
    assert_eq!(bench.engine.shared.reads, 0);
    assert_eq!(bench.polls(50).len(), 1, "polled when the pause ends");
    assert_eq!(bench.engine.shared.reads, 1);
}

#[test]
fn an_object_of_another_target_is_let_go() {
    let mut bench = Bench::new();
    bench.see("x");
    let skipped = Box::new(bench.object("x"));
    let effects = bench.step(2, Input::Skipped(skipped));
    assert!(matches!(effects.as_slice(), [Effect::Report(Report::ClaimedTwice(_))]), "{effects:?}");
    assert!(bench.polls(60).is_empty() && bench.engine.skipped_count() == 1);
    bench.step(61, Input::Left("x".into()));
    assert_eq!(bench.engine.skipped_count(), 0);
}
