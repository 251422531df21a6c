//! Leader election with paused time: contenders on one in-memory store, each with its own connection.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cleanup::{NotedSelections, Selection, Selections};
use crate::client::fake_api;
use crate::client::fake_api::{Log, Sent, refuse, reply};
use crate::config::Configuration;
use crate::lease::rules::{LEASE_DURATION, RENEW_PERIOD};
use crate::lease::{LeaseHandle, LeaseSettings, LeaseWatch, lease, show_leader};
use crate::process::{clock, tasks};
use crate::telemetry::health::Health;
use crate::telemetry::metrics;
use drift_api::names;
use drift_language::parse_document;
use drift_language::{DocumentName, Target};

const SECOND: Duration = Duration::from_secs(1);

/// A Lease on an API server, replaced only in its version. The switch inserts a foreign write right after
/// the next read.
#[derive(Clone, Default)]
struct Store(Arc<Mutex<(Option<Value>, u64)>>, Arc<AtomicBool>);

impl Store {
    fn answer(&self, sent: &Sent) -> Response<Body> {
        let (lease, version) = self.0.lock().unwrap().clone();
        match (sent.method.as_str(), lease) {
            ("GET", Some(lease)) => {
                if self.1.swap(false, Ordering::SeqCst) {
                    self.put(lease.clone());
                }
                return reply(200, &lease);
            }
            ("GET", None) => return refuse(404, "NotFound", "no Lease"),
            ("POST", None) => {}
            ("PUT", Some(_)) if sent.json()["metadata"]["resourceVersion"] == version.to_string().as_str() => {}
            _ => return refuse(409, "Conflict", "it moved"),
        }
        reply(200, &self.put(sent.json()))
    }

    fn put(&self, mut lease: Value) -> Value {
        let mut state = self.0.lock().unwrap();
        state.1 += 1;
        lease["metadata"]["resourceVersion"] = state.1.to_string().into();
        state.0 = Some(lease.clone());
        lease
    }

    fn lease(&self) -> Value {
        self.0.lock().unwrap().0.clone().unwrap_or_default()
    }

    fn holder(&self) -> String {
        self.lease()["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
    }
}

struct Contender {
    handle: LeaseHandle,
    task: JoinHandle<()>,
    turning: JoinHandle<()>,
    stop: CancellationToken,
    cut: Arc<AtomicBool>,
    log: Log,
}

impl Contender {
    fn is_held(&self) -> bool {
        self.handle.leadership().is_held()
    }
}

#[expect(clippy::disallowed_methods, reason = "a test waits for its own tasks")]
fn spawn(future: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    tokio::spawn(future)
}

fn line_to(store: &Store) -> (kube::Client, Log, Arc<AtomicBool>) {
    let cut = Arc::new(AtomicBool::new(false));
    let (store, is_cut) = (store.clone(), Arc::clone(&cut));
    let (client, log) = fake_api::client(move |sent| {
        let (store, is_cut) = (store.clone(), Arc::clone(&is_cut));
        Box::pin(async move {
            if is_cut.load(Ordering::SeqCst) {
                return std::future::pending().await;
            }
            store.answer(&sent)
        })
    });
    (client, log, cut)
}

fn settings(instance: &str) -> LeaseSettings {
    LeaseSettings {
        namespace: "here".to_owned(),
        name: "drift-test".to_owned(),
        instance: instance.to_owned(),
        manager: "drift-test",
        on_take: BTreeMap::from([("attested-targets".to_owned(), "{}".to_owned())]),
        part: Health::default().part("lease"),
    }
}

fn contender(store: &Store, instance: &str) -> Contender {
    let (client, log, cut) = line_to(store);
    let stop = CancellationToken::new();
    let (handle, task) = lease(settings(instance), stop.clone());
    let turning = spawn(task.turning().keep());
    Contender { handle, task: spawn(task.run(client)), turning, stop, cut, log }
}

/// Waits for a condition, at most `limit`. Returns the time taken.
async fn until(limit: Duration, what: &str, is_so: impl Fn() -> bool) -> Duration {
    let began = clock::now();
    while !is_so() {
        assert!(clock::now() - began <= limit, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    clock::now() - began
}

async fn leader(store: &Store, instance: &str) -> Contender {
    let contender = contender(store, instance);
    until(SECOND, "the only contender holds the Lease", || contender.is_held()).await;
    contender
}

#[tokio::test(start_paused = true)]
async fn the_first_contender_holds_and_the_second_waits() {
    let store = Store::default();
    let first = leader(&store, "a").await;
    let second = contender(&store, "b");
    for _ in 0..600 {
        tokio::time::sleep(SECOND / 10).await;
        assert!(first.is_held() && !second.is_held());
        assert!(first.handle.leadership().renewed_within(Duration::from_secs(4)));
    }
    let puts = first.log.lines().iter().filter(|line| line.starts_with("PUT")).count();
    assert!((18..=21).contains(&puts), "{puts} renewals in a minute");
    assert_eq!(store.lease()["spec"]["leaseTransitions"], 0);
}

#[tokio::test(start_paused = true)]
async fn only_the_leader_shows_the_metric_as_one() {
    let store = Store::default();
    let (first, second) = (leader(&store, "a").await, contender(&store, "b"));
    let shown = |contender: &Contender| {
        let mut registry = metrics::registry("poller");
        show_leader(&mut registry, contender.handle.leadership());
        metrics::text(&registry).unwrap()
    };
    for (contender, value) in [(&first, 1), (&second, 0)] {
        let text = shown(contender);
        assert!(text.contains(&format!("drift_leader{{program=\"poller\"}} {value}\n")), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_cut_off_steps_down_before_another_begins() {
    let store = Store::default();
    let (first, second) = (leader(&store, "a").await, contender(&store, "b"));
    let token = first.handle.leadership().acquired().await;
    tokio::time::sleep(5 * SECOND).await;
    first.cut.store(true, Ordering::SeqCst);
    assert!(first.handle.annotate(BTreeMap::from([("attested-targets".to_owned(), "late".to_owned())])));
    let began = clock::now();
    let mut stepped_down = None;
    while !second.is_held() {
        assert!(clock::now() - began < 20 * SECOND, "nobody took over");
        if !first.is_held() && stepped_down.is_none() {
            stepped_down = Some(clock::now() - began);
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert!(token.is_cancelled(), "work goes on after stepping down");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let took = clock::now() - began;
    let stepped_down = stepped_down.unwrap_or_else(|| panic!("both held"));
    assert!(stepped_down <= 8 * SECOND + SECOND / 10, "{stepped_down:?}");
    assert!(took <= 15 * SECOND && took - stepped_down >= 3 * SECOND, "{stepped_down:?} {took:?}");
    assert_eq!(store.lease()["spec"]["leaseTransitions"], 1);
    first.cut.store(false, Ordering::SeqCst);
    tokio::time::sleep(60 * SECOND).await;
    assert!(!first.is_held() && second.is_held());
    second.stop.cancel();
    second.task.await.unwrap();
    until(SECOND, "the first has it again", || first.is_held()).await;
    tokio::time::sleep(10 * SECOND).await;
    let annotations = &store.lease()["metadata"]["annotations"];
    assert_eq!(*annotations, json!({"attested-targets": "{}"}), "a word of the term before was written");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_was_stopped_believes_nothing_at_first() {
    let store = Store::default();
    let first = leader(&store, "a").await;
    let leadership = first.handle.leadership();
    assert!(leadership.renewed_within(5 * SECOND));
    // No task runs in between, as in a stopped process.
    tokio::time::advance(6 * SECOND).await;
    assert!(!leadership.renewed_within(5 * SECOND));
    tokio::time::advance(30 * SECOND).await;
    assert!(!leadership.is_held());
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_work_hangs_loses_the_lease() {
    let store = Store::default();
    let (first, second) = (leader(&store, "a").await, contender(&store, "b"));
    let token = first.handle.leadership().acquired().await;
    let hung = clock::now();
    first.turning.abort();
    let took = until(9 * SECOND, "the term ends", || token.is_cancelled()).await;
    assert!(took >= 7 * SECOND && !first.is_held(), "{took:?}");
    until(20 * SECOND - (clock::now() - hung), "the other takes it", || second.is_held()).await;
    tokio::time::sleep(60 * SECOND).await;
    assert!(second.is_held() && !first.is_held() && store.holder().starts_with('b'));
}

#[tokio::test(start_paused = true)]
async fn a_term_lost_by_hanging_never_comes_back() {
    let store = Store::default();
    let (client, ..) = line_to(&store);
    let (handle, task) = lease(settings("a"), CancellationToken::new());
    let (turning, leadership) = (task.turning(), handle.leadership());
    let _task = spawn(task.run(client));
    let token = leadership.acquired().await;
    tokio::time::sleep(60 * SECOND).await;
    assert!(token.is_cancelled() && !leadership.is_held(), "it has it again while the work hangs");
    let _turning = spawn(turning.keep());
    tokio::time::sleep(SECOND * 9 / 10).await;
    assert!(!leadership.is_held(), "the first turn is not enough: what hung has not seen yet that its term is over");
    let next = tokio::time::timeout(SECOND, leadership.acquired()).await.unwrap();
    assert!(token.is_cancelled() && !next.is_cancelled());
}

#[tokio::test]
async fn a_worker_that_is_blocked_stops_no_renewal() {
    let store = Store::default();
    let (handle, task) = lease(settings("a"), CancellationToken::new());
    let (leadership, _turning) = (handle.leadership(), spawn(task.turning().keep()));
    let theirs = store.clone();
    let _held = tasks::spawn_thread("lease", CancellationToken::new(), move || task.run(line_to(&theirs).0));
    tokio::time::timeout(5 * SECOND, leadership.acquired()).await.unwrap();
    block_this_thread(RENEW_PERIOD + SECOND);
    assert!(leadership.renewed_within(RENEW_PERIOD), "nobody renewed while the runtime was blocked");
}

#[allow(clippy::disallowed_methods, reason = "this is what is to be shown harmless")]
fn block_this_thread(span: Duration) {
    std::thread::sleep(span);
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_taken_within_a_second() {
    let store = Store::default();
    let (first, second) = (leader(&store, "a").await, contender(&store, "b"));
    tokio::time::sleep(5 * SECOND).await;
    first.stop.cancel();
    first.task.await.unwrap();
    assert_eq!((store.holder().as_str(), &store.lease()["spec"]["leaseDurationSeconds"]), ("", &json!(1)));
    until(SECOND, "the other took it", || second.is_held()).await;
}

#[tokio::test(start_paused = true)]
async fn a_release_that_gets_no_answer_is_tried_again() {
    let store = Store::default();
    let first = leader(&store, "a").await;
    first.cut.store(true, Ordering::SeqCst);
    first.stop.cancel();
    // Longer than the timeout of one call, shorter than the deadline of a release, and within the pause
    // between two tries.
    tokio::time::sleep(Duration::from_millis(1750)).await;
    assert!(store.holder().starts_with('a'));
    first.cut.store(false, Ordering::SeqCst);
    first.task.await.unwrap();
    assert_eq!(store.holder(), "");
}

#[tokio::test(start_paused = true)]
async fn a_release_that_meets_a_renewal_is_tried_again() {
    let store = Store::default();
    let first = leader(&store, "a").await;
    store.1.store(true, Ordering::SeqCst);
    first.stop.cancel();
    first.task.await.unwrap();
    assert_eq!(store.holder(), "");
    let puts = first.log.lines().iter().filter(|line| line.starts_with("PUT")).count();
    assert_eq!(puts, 2, "{:?}", first.log.lines());
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_somebody_removes_stays_with_its_holder() {
    let store = Store::default();
    let (first, second) = (leader(&store, "a").await, contender(&store, "b"));
    let noted = json!({"attested-targets": "one"});
    assert!(first.handle.annotate(BTreeMap::from([("attested-targets".to_owned(), "one".to_owned())])));
    until(SECOND, "written", || store.lease()["metadata"]["annotations"] == noted).await;
    for _ in 0..3 {
        tokio::time::sleep(5 * SECOND).await;
        store.0.lock().unwrap().0 = None;
        until(4 * SECOND, "the holder writes it anew", || store.holder().starts_with('a')).await;
        assert!(first.is_held() && !second.is_held());
        assert_eq!(store.lease()["metadata"]["annotations"], noted);
    }
    first.cut.store(true, Ordering::SeqCst);
    tokio::time::sleep(SECOND).await;
    store.0.lock().unwrap().0 = None;
    let took = until(13 * SECOND, "the other takes it from a holder that is cut off", || second.is_held()).await;
    assert!(took >= LEASE_DURATION && !first.is_held(), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_release_leaves_the_lease_of_another_alone() {
    let store = Store::default();
    let first = leader(&store, "a").await;
    let stolen = json!({"metadata": {"resourceVersion": "77"}, "spec": {"holderIdentity": "thief"}});
    *store.0.lock().unwrap() = (Some(stolen), 77);
    until(4 * SECOND, "the theft is noticed", || !first.is_held()).await;
    first.stop.cancel();
    first.task.await.unwrap();
    assert_eq!(store.holder(), "thief");
}

#[tokio::test(start_paused = true)]
async fn the_next_holder_empties_the_annotations() {
    let store = Store::default();
    let first = leader(&store, "a").await;
    assert_eq!(store.lease()["metadata"]["annotations"], json!({"attested-targets": "{}"}));
    let before = first.log.lines().len();
    for text in ["one", "two"] {
        let ours =
            BTreeMap::from([("attested-targets".to_owned(), text.to_owned()), ("kinds".to_owned(), "k".to_owned())]);
        assert!(first.handle.annotate(ours));
    }
    let written = json!({"attested-targets": "two", "kinds": "k"});
    until(SECOND / 5, "written", || store.lease()["metadata"]["annotations"] == written).await;
    assert_eq!(first.log.lines().len(), before + 1);
    tokio::time::sleep(10 * SECOND).await;
    assert_eq!(store.lease()["metadata"]["annotations"], written, "a renewal lost them");
    first.handle.put("kinds", "l").await;
    assert_eq!(
        store.lease()["metadata"]["annotations"],
        json!({"attested-targets": "two", "kinds": "l"}),
        "not yet written"
    );
    first.stop.cancel();
    first.task.await.unwrap();
    assert!(!first.handle.annotate(BTreeMap::new()));
    let second = leader(&store, "b").await;
    assert_eq!(store.lease()["metadata"]["annotations"], json!({"attested-targets": "{}", "kinds": "l"}));
    let found = second.handle.leadership().found_annotations();
    let left = [("attested-targets", "two"), ("kinds", "l")].map(|(name, text)| (name.to_owned(), text.to_owned()));
    assert_eq!(*found, BTreeMap::from(left));
}

fn target(name: &str) -> Arc<Target> {
    let text = format!(
        "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: {name}}}\nspec:\n  objects: {{apiVersion: demo.example/v1, kind: Proxy}}\n  identity: x\n  read: {{http: {{url: 'http://h.example/'}}}}\n  compare: {{desired: {{a: 1}}}}\n"
    );
    let document = DocumentName { config_map: "m".to_owned(), key: name.to_owned() };
    Arc::new(parse_document(&document, &text).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_target_waits_until_its_note_stands() {
    let store = Store::default();
    let first = leader(&store, "a").await;
    let target = target("a");
    let configuration =
        Configuration { targets: BTreeMap::from([("a".to_owned(), target.clone())]), ..Configuration::default() };
    let board = NotedSelections::default();
    board.begin(&first.handle);
    let noted = || store.lease()["metadata"]["annotations"][names::SELECTIONS_ANNOTATION].to_string();
    let playing = async {
        let early = tokio::time::timeout(SECOND, board.hold(&target)).await;
        assert!(early.is_err(), "nobody noted it yet");
        board.arrange(&configuration);
        let held = board.hold(&target).await;
        assert!(noted().contains(r#"\"target\":\"a\""#), "{}", noted());
        let scope = [Selection::of(&target)];
        assert!(!board.forget(&scope), "somebody works on it");
        drop(held);
        assert!(board.forget(&scope));
        assert!(tokio::time::timeout(SECOND, board.hold(&target)).await.is_err(), "it was struck out");
        assert_eq!(noted(), r#""[]""#);
        board.arrange(&configuration);
        drop(board.hold(&target).await);
    };
    tokio::select! {
        () = board.keep(&first.handle) => panic!("it ended by itself"),
        () = playing => {}
    }
    first.stop.cancel();
    first.task.await.unwrap();
    // The next holder finds it and may start to work on the target at once.
    let second = leader(&store, "b").await;
    let next = NotedSelections::default();
    next.begin(&second.handle);
    assert!(tokio::time::timeout(SECOND, next.hold(&target)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn notes_outlive_work_that_is_begun_again() {
    let store = Store::default();
    let found = Selections::parse(&noting(&target("done")).to_string()).0;
    let annotations = BTreeMap::from([(names::SELECTIONS_ANNOTATION, found.to_string())]);
    store.0.lock().unwrap().0 =
        Some(json!({"metadata": {"resourceVersion": "0", "annotations": annotations}, "spec": {}}));
    let first = leader(&store, "a").await;
    let (stop, leadership, board) = (CancellationToken::new(), first.handle.leadership(), NotedSelections::default());
    let (new, mut runs) = (target("new"), 0);
    let configuration =
        Configuration { targets: BTreeMap::from([("new".to_owned(), new.clone())]), ..Configuration::default() };
    let work = async |term: CancellationToken| {
        runs += 1;
        board.begin(&first.handle);
        let playing = async {
            if runs == 1 {
                assert_eq!(board.all(), found, "what stood on the Lease");
                board.arrange(&configuration);
                assert!(board.forget(&[Selection::of(&target("done"))]));
            } else {
                stop.cancel();
            }
            drop(tokio::time::timeout(SECOND, board.hold(&new)).await.unwrap());
        };
        tokio::select! {
            () = board.keep(&first.handle) => panic!("it ended by itself"),
            () = playing => {}
        }
        assert!(!term.is_cancelled(), "the term goes on");
        assert_eq!(board.all(), noting(&new), "run {runs}");
    };
    leadership.in_each_term(&stop, work).await;
    let stands = store.lease()["metadata"]["annotations"][names::SELECTIONS_ANNOTATION].clone();
    assert_eq!((runs, stands), (2, json!(noting(&new).to_string())));
}

fn noting(target: &Target) -> Selections {
    let mut notes = Selections::default();
    notes.add(target);
    notes
}

#[tokio::test(start_paused = true)]
async fn a_list_is_emptied_where_its_work_ends() {
    let store = Store::default();
    let first = leader(&store, "a").await;
    let stands = || store.lease()["metadata"]["annotations"]["attested-targets"].clone();
    let list = watch::Sender::new(BTreeSet::from(["web"]));
    let annotations =
        |list: &BTreeSet<&str>| BTreeMap::from([("attested-targets".to_owned(), json!(list).to_string())]);
    let kept = first.handle.keep_list(list.subscribe(), annotations);
    let working = async {
        until(SECOND, "the target is listed", || stands() == json!(r#"["web"]"#)).await;
        list.send_replace(BTreeSet::from(["api"]));
        until(SECOND, "another is", || stands() == json!(r#"["api"]"#)).await;
    };
    // Either may end with a panic during the term.
    tokio::select! {
        () = kept => panic!("the list goes on"),
        () = working => {}
    }
    until(SECOND, "none is", || stands() == json!("[]")).await;
    assert!(first.is_held());
}

#[tokio::test(start_paused = true)]
async fn what_others_wrote_on_the_lease_stays() {
    let store = Store::default();
    let object =
        json!({"metadata": {"resourceVersion": "0", "labels": {"a": "b"}, "annotations": {"x": "y"}}, "spec": {}});
    store.0.lock().unwrap().0 = Some(object);
    let _first = leader(&store, "a").await;
    let metadata = store.lease()["metadata"].clone();
    assert_eq!((&metadata["labels"], &metadata["annotations"]["x"]), (&json!({"a": "b"}), &json!("y")));
}

#[tokio::test(start_paused = true)]
async fn the_token_ends_with_the_task() {
    let store = Store::default();
    let first = leader(&store, "a").await;
    let token = first.handle.leadership().acquired().await;
    first.task.abort();
    let ended = tokio::time::timeout(SECOND, token.cancelled()).await;
    assert!(ended.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_reader_knows_nothing_of_a_still_record() {
    let store = Store::default();
    let object = json!({"metadata": {"resourceVersion": "0"}, "spec": {"holderIdentity": "dead", "renewTime": "t"}});
    store.0.lock().unwrap().0 = Some(object);
    let (client, _, cut) = line_to(&store);
    let (watch, observed) = LeaseWatch::new(client, "here", "drift-test");
    let stop = CancellationToken::new();
    let task = spawn(watch.run(stop.clone()));
    let fresh = || observed.borrow().is_fresh(40 * SECOND, clock::now());
    tokio::time::sleep(5 * SECOND).await;
    assert_eq!(observed.borrow().holder.as_deref(), Some("dead"));
    assert!(!fresh());

    let leader = contender(&store, "a");
    until(LEASE_DURATION + 4 * SECOND, "a living holder is fresh", fresh).await;
    cut.store(true, Ordering::SeqCst);
    tokio::time::sleep(36 * SECOND).await;
    assert!(fresh());
    tokio::time::sleep(6 * SECOND).await;
    assert!(!fresh(), "a reader without an answer believes for ever");

    cut.store(false, Ordering::SeqCst);
    until(4 * SECOND, "fresh again", fresh).await;
    leader.stop.cancel();
    leader.task.await.unwrap();
    until(3 * SECOND, "the release is seen", || observed.borrow().released && !fresh()).await;
    stop.cancel();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn work_that_fails_in_a_term_is_paused() {
    let contender = contender(&Store::default(), "a");
    let (stop, leadership) = (CancellationToken::new(), contender.handle.leadership());
    let begun = Arc::new(Mutex::new(Vec::new()));
    let (times, ended) = (begun.clone(), stop.clone());
    leadership
        .in_each_term(&stop, async |_term| {
            let mut times = times.lock().unwrap();
            times.push(clock::now());
            if times.len() == 8 {
                ended.cancel();
            }
        })
        .await;
    let begun = begun.lock().unwrap();
    let pauses: Vec<u64> = begun.windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect();
    assert_eq!(pauses, [2, 4, 8, 16, 32, 60, 60]);
}
