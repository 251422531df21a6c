use drift_api::condition::ObservedReason;
use drift_api::object::LeanObject;
use drift_language::cel::SecretValues;
use serde_json::json;

use super::*;
use crate::engine::effect::{PollOrder, TraversalOrder};
use crate::engine::fixtures::{TEXT, at, condition_in, object, target};
use crate::engine::hints::HintOutcome;
use crate::engine::input::{EndedTraversal, EndedWrite, PollResult, Postponed};
use crate::engine::judgement::finding::Finding;
use crate::engine::object::object_state::{BegunPoll, Update};
use crate::engine::poll::request::Request;
use crate::engine::writes::WRITES_AT_ONCE;
use crate::engine::writes::write_attempts::WriteOutcome;

/// A target that shares nothing with other targets.
#[derive(Default)]
pub(super) struct Alone {
    /// End of the pause of the host of all its requests.
    paused: Option<Moment>,
    /// Time of the next read that its rate allows.
    next_read: Option<Moment>,
    reads: usize,
}

impl SharedState for Alone {
    fn postponed(&self, _: &Request, now: Moment) -> Option<Postponed> {
        let until = self.paused.filter(|until| *until > now)?;
        let cause = crate::engine::judgement::finding::Failure::of(drift_api::condition::ObservedReason::RateLimited);
        Some(Postponed { until, cause })
    }

    fn next_read_at(&self, now: Moment) -> Moment {
        self.next_read.map_or(now, |next| next.max(now))
    }

    fn take_read(&mut self, _: Moment) {
        self.reads += 1;
    }
}

struct Bench {
    engine: Target<Alone>,
    text: Arc<drift_language::Target>,
}

impl Bench {
    fn new() -> Self {
        Self::of(TEXT)
    }

    fn of(text: &str) -> Self {
        let text = target(text);
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

    /// Returns the polls that begin at this second.
    fn polls(&mut self, second: u64) -> Vec<PollOrder> {
        let polls = self.step(second, Input::Tick).into_iter().filter_map(|effect| match effect {
            Effect::Poll(order) => Some(*order),
            _ => None,
        });
        polls.collect()
    }

    /// Returns the effects that begin at this second.
    fn tick(&mut self, second: u64) -> Ticked {
        let mut ticked = Ticked::default();
        for effect in self.step(second, Input::Tick) {
            match effect {
                Effect::Traverse(order) => ticked.traversals.push(order),
                Effect::Write(update) => {
                    let Update { object, patch } = *update;
                    ticked.writes.push(format!("{} {}", object.id.name, condition_in(&patch).reason));
                }
                _ => {}
            }
        }
        ticked
    }

    /// Ends a traversal with this finding for every member.
    fn end_traversal(&mut self, second: u64, order: TraversalOrder, finding: &Finding, names: &[&str]) -> Vec<Effect> {
        let results = order.members.into_iter().map(|member| result(member.uid, member.begun, finding.clone()));
        let names = (*finding == Finding::InSync).then(|| names.iter().map(ToString::to_string).collect());
        let (key, results, credentials) = (order.key, results.collect(), SecretValues::default());
        self.step(second, Input::TraversalEnded(EndedTraversal { key, results, names, credentials }))
    }

    fn end_poll(&mut self, second: u64, order: PollOrder, finding: Finding) -> Vec<Effect> {
        self.step(second, Input::PollEnded(Box::new(result(order.uid, order.begun, finding))))
    }
}

/// Effects that begin with one tick.
#[derive(Default)]
struct Ticked {
    traversals: Vec<TraversalOrder>,
    /// Names of objects whose conditions are written, each with the condition's reason.
    writes: Vec<String>,
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
        Effect::Write(update) => Some(update),
        _ => None,
    });
    let update = writes.next().unwrap();
    assert!(writes.next().is_none());
    let status = json!({"conditions": [condition_in(&update.patch).to_json()]});
    let mut after = object(&bench.text, "x", &json!({"id": "x", "a": 1}), &status);
    after.resource_version = "2".into();
    let ended = EndedWrite { before: update.object, object: Some(after), outcome: WriteOutcome::Written };
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

/// One collection covers all objects, and each object's entry is named by its identity.
const COLLECTION: &str = r#"{http: {url: "http://h/all", each: "${response.body}", key: {item: "${item.name}", object: "${self.spec.id}"}}}"#;

fn of_collection() -> Bench {
    let mut bench = Bench::of(&TEXT.replace(r#"{http: {url: "http://h/${self.spec.id}"}}"#, COLLECTION));
    ["x", "y"].into_iter().for_each(|uid| bench.see(uid));
    bench
}

#[test]
fn an_engine_wakes_at_what_comes_first() {
    type Setup = fn(&mut Bench);
    let table: [(&str, Setup, u64); 5] = [
        ("nothing is due: the next count of the objects", |_| (), 45),
        ("a poll is put off: the end of the pause", |bench| bench.engine.shared.paused = Some(at(42).moment), 42),
        ("a poll waits for the rate", |bench| bench.engine.shared.next_read = Some(at(43).moment), 43),
        ("what waits longer than the count", |bench| bench.engine.shared.next_read = Some(at(50).moment), 45),
        (
            "a poll waits for the end of another",
            |bench| {
                bench.see("y");
                assert_eq!(bench.polls(39).len(), 1);
                bench.engine.housekeeping = Moment::START;
            },
            45,
        ),
    ];
    let text = TEXT.replace("http://h/${self.spec.id}\"}", "http://h/${self.spec.id}\"}, limits: {concurrent: 1}");
    let tick = tick_of(Duration::from_secs(30));
    for (name, set_up, expected) in table {
        let mut bench = Bench::of(&text);
        bench.see("x");
        set_up(&mut bench);
        let wakes = bench.step(40, Input::Tick).into_iter().filter_map(|effect| match effect {
            Effect::WakeAt(wake) => Some(wake),
            _ => None,
        });
        assert_eq!(wakes.collect::<Vec<_>>(), [at(expected).moment.rounded_up(tick)], "{name}");
    }
}

#[test]
fn a_traversal_that_failed_leaves_all_its_objects_unknown() {
    let mut bench = of_collection();
    let order = bench.tick(40).traversals.pop().unwrap();
    assert_eq!(order.members.iter().map(|member| &*member.key).collect::<Vec<_>>(), ["x", "y"]);
    let effects = bench.end_traversal(41, order, &Finding::from(ObservedReason::ExternalError), &[]);
    let tells_of_unnamed = effects.iter().any(|effect| matches!(effect, Effect::Report(Report::Unnamed(_))));
    assert!(!tells_of_unnamed, "a part of the collection says nothing of entries without object: {effects:?}");
    assert_eq!(bench.tick(41).writes, ["x ExternalError", "y ExternalError"]);
}

#[test]
fn entries_that_no_object_has_are_reported() {
    let mut bench = of_collection();
    let order = bench.tick(40).traversals.pop().unwrap();
    let effects = bench.end_traversal(41, order, &Finding::InSync, &["x", "y", "z"]);
    let unnamed = effects.iter().find_map(|effect| match effect {
        Effect::Report(Report::Unnamed(unnamed)) => Some(unnamed.names.clone()),
        _ => None,
    });
    assert_eq!(unnamed, Some(BTreeSet::from(["z".to_owned()])));
}

#[test]
fn an_edit_during_a_traversal_leaves_its_result_without_effect() {
    let mut bench = of_collection();
    let order = bench.tick(40).traversals.pop().unwrap();
    let mut edited = object(&bench.text, "x", &json!({"id": "x", "a": 2}), &json!({}));
    (edited.resource_version, edited.generation) = ("2".into(), Some(2));
    bench.step(41, Input::Seen(Box::new(edited)));
    assert!(bench.tick(41).traversals.is_empty(), "two traversals at once");
    bench.end_traversal(42, order, &Finding::InSync, &["x", "y"]);
    let ticked = bench.tick(42);
    assert_eq!(ticked.writes, ["y InSync"], "the answer is compared with what was asked for before");
    let members = ticked.traversals.iter().map(|order| order.members.iter().map(|member| &*member.key).collect());
    assert_eq!(members.collect::<Vec<Vec<_>>>(), [["x"]]);
}

#[test]
fn due_objects_with_one_request_share_a_traversal() {
    let zones = COLLECTION.replace("http://h/all", "http://h/${self.spec.zone}");
    let mut bench = Bench::of(&TEXT.replace(r#"{http: {url: "http://h/${self.spec.id}"}}"#, &zones));
    for (name, zone) in [("a", "one"), ("b", "two"), ("c", "one"), ("d", "three"), ("e", "two")] {
        let spec = json!({"id": name, "zone": zone, "a": 1});
        bench.step(1, Input::Seen(Box::new(object(&bench.text, name, &spec, &json!({})))));
    }
    let keys = |order: TraversalOrder| order.members.into_iter().map(|member| member.key).collect::<Vec<_>>();
    let traversed: Vec<_> = bench.tick(40).traversals.into_iter().map(keys).collect();
    assert_eq!(traversed, [vec!["a", "c"], vec!["b", "e"], vec!["d"]]);
}

#[test]
fn a_hint_leads_to_one_poll_of_its_object() {
    // Name in the hint, whether a poll is running, the reported outcome, and the number of polls that begin.
    let table = [
        ("z", false, HintOutcome::Unknown, 0),
        ("x", false, HintOutcome::Polled, 1),
        ("z", true, HintOutcome::Unknown, 0),
        ("x", true, HintOutcome::Polled, 1),
    ];
    for (named, is_polled, expected, polls) in table {
        let hints = "  hints: {webhook: {secretRef: {name: s, key: k}, identity: \"${payload.id}\"}}\n";
        let mut bench = Bench::of(&format!("{}\n{hints}", TEXT.replace("30s", "24h").trim_end()));
        bench.see("x");
        let order = bench.polls(1).remove(0);
        let (mut under_way, begins) = (Some(order), bench.polls(2).len());
        assert_eq!(begins, 0, "polled twice at once");
        if !is_polled {
            bench.end_poll(3, under_way.take().unwrap(), Finding::InSync);
        }
        let effects = bench.step(5, Input::Hint(Hint::Resource(named.to_owned())));
        assert!(
            matches!(effects.as_slice(), [Effect::Report(Report::Hinted(outcome))] if *outcome == expected),
            "{named}: {effects:?}"
        );
        if let Some(order) = under_way {
            assert!(bench.polls(5).is_empty(), "{named}: polled twice at once");
            bench.end_poll(6, order, Finding::InSync);
        }
        assert_eq!(bench.polls(7).len(), polls, "{named}, {is_polled}");
    }
}

fn state(state: TargetState) -> Input {
    Input::StateChanged { state, polled_for: Duration::from_mins(10) }
}

fn polls_in(effects: Vec<Effect>) -> Vec<PollOrder> {
    let polls = effects.into_iter().filter_map(|effect| match effect {
        Effect::Poll(order) => Some(*order),
        _ => None,
    });
    polls.collect()
}

#[test]
fn a_former_target_is_polled_and_not_attested() {
    let mut bench = Bench::new();
    bench.see("x");
    bench.step(1, Input::Listed);
    let effects = bench.step(40, Input::Tick);
    assert_eq!(attestations(&effects), [true]);
    let order = polls_in(effects).remove(0);
    bench.end_poll(40, order, Finding::InSync);
    bench.step(41, state(TargetState::Former));
    let effects = bench.step(41, Input::Tick);
    assert_eq!(attestations(&effects), [false], "at once");
    assert_eq!(bench.polls(100).len(), 1, "it is still polled");
}

#[test]
fn a_former_target_ends_with_one_verdict_until_it_is_live() {
    let mut bench = Bench::new();
    bench.see("x");
    bench.step(1, Input::Listed);
    bench.step(2, state(TargetState::Former));
    bench.step(3, state(TargetState::Former));
    assert_eq!(bench.tick(602).writes, ["x TargetMissing"], "counted from the first time");
    assert!(bench.polls(900).is_empty());
    bench.step(901, state(TargetState::Live));
    assert_eq!(bench.polls(901).len(), 1, "at once");
}

#[test]
fn a_taken_target_is_polled_and_not_attested() {
    let mut bench = Bench::new();
    bench.see("x");
    bench.step(1, Input::Listed);
    bench.step(2, state(TargetState::Taken));
    let effects = bench.step(40, Input::Tick);
    assert_eq!(attestations(&effects), Vec::<bool>::new());
    assert_eq!(polls_in(effects).len(), 1);
}
