//! Clean-up with paused time, on an in-memory API server with Proxies in two pages.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use futures::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::cleanup::{
    CleanedObjects, Cleaner, Collector, CollectorContext, NotedSelections, Selection, Stage, SweepSettings,
};
use crate::client::ResolvedKind;
use crate::client::fake_api::{Log, Sent, client, refuse, reply};
use crate::client::{ObjectClient, WriteError};
use crate::config::Configuration;
use crate::process::clock;
use crate::subscriptions::KindWatches;
use crate::subscriptions::Subscription;
use crate::under_way::UnderWay;
use crate::watch::Change;
use drift_api::names::DRIFT_OBSERVED;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::status_patch::removal_patch;
use drift_api::object::{LeanObject, SeenObject};
use drift_api::timing::moment::Moment;
use drift_language::parse_document;
use drift_language::{DocumentName, Target};

const PATIENCE: Duration = Duration::from_secs(600);
/// The first name of the second page.
const SECOND_PAGE: &str = "p060";
const MINUTE: Duration = Duration::from_secs(60);

/// The marked objects by name, and the time of each write to them.
#[derive(Clone, Default)]
struct Cluster {
    marked: Arc<Mutex<BTreeSet<String>>>,
    writes: Arc<Mutex<Vec<Moment>>>,
    refuses: bool,
    has_no_kind: bool,
    /// True if the noted version is no longer served, and v2 is.
    is_at_v2: bool,
    /// The time that each page of a list takes.
    page_takes: Duration,
    /// The label of every object.
    tier: Arc<Mutex<&'static str>>,
}

impl Cluster {
    fn of(count: usize) -> Self {
        let names = (0..count).map(|number| format!("p{number:03}"));
        let tier = Arc::new(Mutex::new("1"));
        Self { marked: Arc::new(Mutex::new(names.collect())), tier, ..Self::default() }
    }

    fn object(&self, name: &str) -> Value {
        let is_marked = self.marked.lock().unwrap().contains(name);
        let conditions = if is_marked { json!([{"type": DRIFT_OBSERVED, "reason": "InSync"}]) } else { json!([]) };
        json!({"metadata": {"namespace": "x", "name": name, "uid": name, "labels": {"tier": *self.tier.lock().unwrap()}},
            "status": {"conditions": conditions}})
    }

    fn answer(&self, sent: &Sent) -> Response<Body> {
        let path = sent.uri.split('?').next().unwrap_or_default();
        let version = if self.is_at_v2 { "v2" } else { "v1" };
        let name = path
            .strip_prefix(&format!("/apis/demo.example/{version}/namespaces/x/proxies/"))
            .map(|name| name.trim_end_matches("/status"));
        match (sent.method.as_str(), name) {
            ("GET", Some(name)) => reply(200, &self.object(name)),
            _ if self.has_no_kind => refuse(404, "NotFound", "404 page not found"),
            ("GET", None) if path == "/apis/demo.example" => reply(200, &group(version)),
            ("GET", None) if path == format!("/apis/demo.example/{version}") => reply(200, &kinds(version)),
            ("GET", None) if !path.contains(version) => refuse(404, "NotFound", "404 page not found"),
            ("GET", None) => self.page(sent.uri.contains("continue=second")),
            ("PATCH", Some(name)) => {
                self.writes.lock().unwrap().push(clock::now());
                if self.refuses {
                    return refuse(403, "Forbidden", "no");
                }
                self.marked.lock().unwrap().remove(name);
                reply(200, &self.object(name))
            }
            _ => refuse(404, "NotFound", "no"),
        }
    }

    fn page(&self, is_second: bool) -> Response<Body> {
        let names: Vec<String> = self.marked.lock().unwrap().iter().cloned().collect();
        let on_page = names.iter().filter(|name| (name.as_str() >= SECOND_PAGE) == is_second);
        let items: Vec<Value> = on_page.map(|name| self.object(name)).collect();
        let next = if is_second { "" } else { "second" };
        reply(200, &json!({"metadata": {"resourceVersion": "1", "continue": next}, "items": items}))
    }
}

fn group(version: &str) -> Value {
    json!({"kind": "APIGroup", "name": "demo.example", "versions": [
        {"groupVersion": format!("demo.example/{version}"), "version": version}]})
}

fn kinds(version: &str) -> Value {
    json!({"kind": "APIResourceList", "groupVersion": format!("demo.example/{version}"), "resources": [
        {"name": "proxies", "singularName": "proxy", "namespaced": true, "kind": "Proxy", "verbs": ["list", "watch", "patch"]}]})
}

struct Verdicts(ObjectClient);

impl Cleaner for Verdicts {
    fn is_marked(&self, object: &LeanObject, _: Stage) -> bool {
        object.conditions.observed.is_some()
    }

    async fn clean(&self, kind: &ResolvedKind, object: LeanObject, _: Stage, _: bool) -> Result<(), WriteError> {
        let patch = removal_patch(&object, object.conditions.observed.as_ref().unwrap());
        self.0.patch_status(kind, &object.id, patch, &FieldPaths::default()).await.map(drop)
    }
}

fn target() -> Arc<Target> {
    let text = "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {name: a}\nspec:\n  objects: {apiVersion: demo.example/v1, kind: Proxy, namespaces: [x], labelSelector: tier=1}\n  identity: x\n  read: {http: {url: 'http://h.example/'}}\n  compare: {desired: {a: 1}}\n";
    let document = DocumentName { config_map: "m".to_owned(), key: "a".to_owned() };
    Arc::new(parse_document(&document, text).unwrap())
}

fn configuration(targets: &[&Arc<Target>], whole: &[&str]) -> Arc<Configuration> {
    let targets: BTreeMap<_, _> = targets.iter().map(|target| (target.name.clone(), Arc::clone(target))).collect();
    let whole = whole.iter().map(|map| (*map).to_owned()).collect();
    Arc::new(Configuration { targets, whole, loaded: true, ..Configuration::default() })
}

/// A target with a complete list, until the subscription is dropped.
fn subscribe(watches: &KindWatches) -> Subscription {
    let kind = ResolvedKind { resource: resource(), namespaced: true };
    let subscription = watches.subscribe(&target(), &kind, &FieldPaths::default());
    watches.step(|dispatch| {
        dispatch.set_active(BTreeMap::from([("a".into(), target().objects.clone())]));
        dispatch.arrange();
    });
    // The watch of a second subscription has another number.
    for (number, change) in
        [1, 2].into_iter().flat_map(|one| [(one, Change::ListBegan), (one, Change::ListEnded(String::new()))])
    {
        watches.step_and_tell(|dispatch| dispatch.hear(number, change, clock::now()));
    }
    subscription
}

/// The watch reports an object with that label.
fn hear(watches: &KindWatches, mut object: Value, tier: &str) {
    let labels = json!({ "tier": tier });
    object["metadata"]["labels"] = labels.clone();
    let seen = SeenObject { object: LeanObject::prune(&object, &FieldPaths::default()), labels: Some(labels) };
    watches.step_and_tell(|dispatch| dispatch.hear(1, Change::Changed(seen), clock::now()));
}

fn resource() -> kube::core::ApiResource {
    let gvk = kube::core::GroupVersionKind::gvk("demo.example", "v1", "Proxy");
    kube::core::ApiResource::from_gvk_with_plural(&gvk, "proxies")
}

/// A collector that runs during a test.
struct Bench {
    cluster: Cluster,
    log: Log,
    noted: NotedSelections,
    watches: KindWatches,
    configuration: watch::Sender<Arc<Configuration>>,
    under_way: UnderWay,
}

impl Bench {
    /// Runs `play` together with a collector that was started with the active target.
    async fn play(cluster: Cluster, play: impl AsyncFnOnce(&Self)) {
        Self::sweep(SweepSettings::of_conditions(PATIENCE), cluster, play).await;
    }

    async fn sweep(settings: SweepSettings, cluster: Cluster, play: impl AsyncFnOnce(&Self)) {
        let answers = cluster.clone();
        let (client, log) = client(move |sent| {
            let answers = answers.clone();
            async move {
                let is_page = sent.uri.contains("limit=");
                tokio::time::sleep(if is_page { answers.page_takes } else { Duration::ZERO }).await;
                answers.answer(&sent)
            }
            .boxed()
        });
        let (publish, published) = watch::channel(configuration(&[&target()], &["m"]));
        let context = CollectorContext {
            client: client.clone(),
            noted: NotedSelections::default(),
            configuration: published,
            watches: KindWatches::default(),
            under_way: UnderWay::default(),
            cleaned: CleanedObjects::default(),
        };
        let cleaner = Verdicts(ObjectClient::new(client, "test"));
        let collector = Collector::new(&context, cleaner, settings);
        let CollectorContext { noted, watches, under_way, .. } = context;
        let bench = Self { cluster, log, noted, watches, configuration: publish, under_way };
        tokio::select! {
            () = collector.run() => panic!("it ended by itself"),
            () = async {
                // Lets the collector see the first configuration.
                tokio::time::sleep(Duration::from_millis(1)).await;
                play(&bench).await;
            } => {}
        }
    }

    fn say(&self, targets: &[&Arc<Target>], whole: &[&str]) {
        self.configuration.send_replace(configuration(targets, whole));
    }

    fn writes(&self) -> Vec<Moment> {
        self.cluster.writes.lock().unwrap().clone()
    }

    fn lists(&self) -> usize {
        self.log.lines().iter().filter(|line| line.contains("limit=") && !line.contains("continue=")).count()
    }

    fn is_noted(&self) -> bool {
        self.noted.read(|noted| noted.has(&Selection::of(&target())))
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_target_left_goes_slowly_then_its_note() {
    Bench::play(Cluster::of(120), async |bench| {
        // A steady state causes no requests.
        tokio::time::sleep(100 * MINUTE).await;
        assert_eq!((bench.lists(), bench.writes().len()), (0, 0));
        let gone = clock::now();
        bench.say(&[], &["m"]);
        tokio::time::sleep(100 * MINUTE).await;
        let writes = bench.writes();
        assert_eq!(writes.len(), 120, "each object once");
        assert!(writes[0] - gone >= PATIENCE);
        assert!(writes.windows(51).all(|some| some[50] - some[0] >= Duration::from_secs(1)), "too fast");
        assert_eq!(bench.lists(), 1);
        assert!(!bench.is_noted());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn blocking_marks_go_within_seconds_in_one_sweep() {
    let settings = SweepSettings::of_conditions(PATIENCE).with_finalizers();
    Bench::sweep(settings, Cluster::of(120), async |bench| {
        tokio::time::sleep(MINUTE).await;
        bench.say(&[], &["m"]);
        tokio::time::sleep(Duration::from_secs(7)).await;
        assert_eq!((bench.lists(), bench.writes().len()), (1, 120));
        assert!(bench.is_noted(), "a write that was under way may bring another mark");
        tokio::time::sleep(11 * MINUTE).await;
        assert_eq!((bench.lists(), bench.writes().len()), (2, 120));
        assert!(!bench.is_noted());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn urgent_work_waits_for_one_page_at_most() {
    let settings = SweepSettings::of_conditions(PATIENCE).with_finalizers();
    let cluster = Cluster { page_takes: Duration::from_secs(10), ..Cluster::of(100) };
    Bench::sweep(settings, cluster, async |bench| {
        let _subscription = subscribe(&bench.watches);
        hear(&bench.watches, bench.cluster.object("p000"), "1");
        bench.say(&[], &["m"]);
        tokio::time::sleep(PATIENCE - Duration::from_secs(1)).await;
        assert_eq!((bench.lists(), bench.writes().len()), (1, 99), "one is still of the removed target");
        // It leaves its target, and is due while the first of the two pages is read.
        hear(&bench.watches, bench.cluster.object("p000"), "2");
        tokio::time::sleep(Duration::from_secs(14)).await;
        assert_eq!((bench.lists(), bench.writes().len()), (2, 100));
        let last = bench.log.lines().pop().unwrap_or_default();
        assert!(last.contains("continue=second"), "{last}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_note_of_a_missing_kind_goes_too() {
    let cluster = Cluster { has_no_kind: true, ..Cluster::of(3) };
    Bench::play(cluster, async |bench| {
        tokio::time::sleep(100 * MINUTE).await;
        assert!(bench.is_noted(), "the target is there");
        bench.say(&[], &["m"]);
        tokio::time::sleep(PATIENCE + MINUTE).await;
        assert_eq!((bench.is_noted(), bench.writes().len()), (false, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_served_in_another_version_is_not_gone() {
    let cluster = Cluster { is_at_v2: true, ..Cluster::of(3) };
    Bench::play(cluster, async |bench| {
        tokio::time::sleep(MINUTE).await;
        bench.say(&[], &["m"]);
        tokio::time::sleep(11 * MINUTE).await;
        assert_eq!((bench.is_noted(), bench.writes().len()), (false, 3));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn nothing_goes_while_the_config_map_is_missing_or_wrong() {
    Bench::play(Cluster::of(3), async |bench| {
        tokio::time::sleep(MINUTE).await;
        bench.say(&[], &[]);
        tokio::time::sleep(100 * MINUTE).await;
        assert_eq!((bench.lists(), bench.writes().len()), (1, 0), "one list shows that the note is needed");
        assert!(bench.is_noted());
        bench.say(&[], &["m"]);
        tokio::time::sleep(11 * MINUTE).await;
        assert_eq!(bench.writes().len(), 3);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_change_in_the_middle_of_a_sweep_stops_it() {
    Bench::play(Cluster::of(200), async |bench| {
        bench.say(&[], &["m"]);
        tokio::time::sleep(PATIENCE + Duration::from_secs(2)).await;
        let before = bench.writes().len();
        assert!((50..=150).contains(&before), "{before}");
        bench.say(&[&target()], &["m"]);
        tokio::time::sleep(100 * MINUTE).await;
        assert_eq!(bench.writes().len(), before);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_tried_less_and_less_often() {
    let cluster = Cluster { refuses: true, ..Cluster::of(40) };
    Bench::play(cluster, async |bench| {
        bench.say(&[], &["m"]);
        tokio::time::sleep(120 * MINUTE).await;
        // Three objects at minute 10, and one at minutes 11, 13, 17, 25, 41 and 73.
        assert_eq!((bench.lists(), bench.writes().len()), (1, 9));
        assert!(bench.is_noted());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_in_use_or_just_left_stays() {
    Bench::play(Cluster::of(2), async |bench| {
        // A removed target keeps one object, and lost the other five minutes after its removal.
        let subscription = subscribe(&bench.watches);
        hear(&bench.watches, bench.cluster.object("p000"), "1");
        hear(&bench.watches, bench.cluster.object("p001"), "1");
        bench.say(&[], &["m"]);
        tokio::time::sleep(5 * MINUTE).await;
        hear(&bench.watches, bench.cluster.object("p001"), "2");
        tokio::time::sleep(9 * MINUTE).await;
        assert_eq!((bench.lists(), bench.writes().len()), (1, 0));
        tokio::time::sleep(2 * MINUTE).await;
        assert_eq!(bench.writes().len(), 1, "the one that left has waited for its own ten minutes");
        drop(subscription);
        tokio::time::sleep(20 * MINUTE).await;
        assert_eq!(bench.writes().len(), 2);
        assert!(!bench.is_noted());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_left_and_came_back_is_kept() {
    Bench::play(Cluster::of(1), async |bench| {
        let _subscription = subscribe(&bench.watches);
        hear(&bench.watches, bench.cluster.object("p000"), "1");
        hear(&bench.watches, bench.cluster.object("p000"), "2");
        // The return was not reported.
        tokio::time::sleep(11 * MINUTE).await;
        assert!(bench.log.lines().iter().any(|line| line.contains("p000")), "nobody looked");
        hear(&bench.watches, bench.cluster.object("p000"), "2");
        hear(&bench.watches, bench.cluster.object("p000"), "1");
        let requests = bench.log.lines().len();
        tokio::time::sleep(20 * MINUTE).await;
        assert_eq!((bench.log.lines().len(), bench.writes().len()), (requests, 0));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_nobody_selects_is_told_by_the_watch() {
    Bench::play(Cluster::of(1), async |bench| {
        *bench.cluster.tier.lock().unwrap() = "2";
        let _subscription = subscribe(&bench.watches);
        hear(&bench.watches, bench.cluster.object("p000"), "2");
        tokio::time::sleep(9 * MINUTE).await;
        hear(&bench.watches, bench.cluster.object("p000"), "2");
        tokio::time::sleep(2 * MINUTE).await;
        assert_eq!((bench.lists(), bench.writes().len()), (0, 1), "whoever writes to it does not make it wait anew");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn nothing_goes_unlisted_or_under_way() {
    Bench::play(Cluster::of(1), async |bench| {
        *bench.cluster.tier.lock().unwrap() = "2";
        let subscription = subscribe(&bench.watches);
        hear(&bench.watches, bench.cluster.object("p000"), "2");
        let busy = bench.under_way.begin(&"p000".into());
        tokio::time::sleep(55 * MINUTE).await;
        assert_eq!(bench.log.lines().iter().filter(|line| line.contains("p000")).count(), 0);
        drop((subscription, busy));
        tokio::time::sleep(55 * MINUTE).await;
        assert_eq!(bench.writes().len(), 0, "the target begins anew, and has not read its list");
        let _subscription = subscribe(&bench.watches);
        tokio::time::sleep(11 * MINUTE).await;
        assert_eq!(bench.writes().len(), 1);
    })
    .await;
}
