//! The clean-up played through with paused time, over an API server in memory that has Proxies in two pages.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::cleanup::{CleanUp, CleanUpParts, Cleaner, Leavers, NoteBoard};
use crate::cleanup::{KindName, Scope};
use crate::client::fake_api::{Log, Sent, answering, refuse, reply};
use crate::client::{ObjectClient, WriteError};
use crate::config::Configuration;
use crate::kinds::ResolvedKind;
use crate::process::clock;
use crate::telemetry::metrics;
use crate::watch::{Change, KindWatches, Subscription};
use drift_model::condition::{PatchBase, removal_patch};
use drift_model::field_paths::FieldPaths;
use drift_model::moment::Moment;
use drift_model::names::DRIFT_OBSERVED;
use drift_model::object::{LeanObject, ObjectId, SeenObject};
use drift_target::{DocumentName, Target, parse_document};

const PATIENCE: Duration = Duration::from_secs(600);
/// The first name of the second page.
const SECOND_PAGE: &str = "p060";
const MINUTE: Duration = Duration::from_secs(60);

/// The marked objects by name, and when each write to them arrived.
#[derive(Clone, Default)]
struct Cluster {
    marked: Arc<Mutex<BTreeSet<String>>>,
    writes: Arc<Mutex<Vec<Moment>>>,
    refuses: bool,
    has_no_kind: bool,
    /// The noted version is served no more, and v2 is.
    is_at_v2: bool,
}

impl Cluster {
    fn of(count: usize) -> Self {
        let names = (0..count).map(|number| format!("p{number:03}"));
        Self { marked: Arc::new(Mutex::new(names.collect())), ..Self::default() }
    }

    fn object(&self, name: &str) -> Value {
        let is_marked = self.marked.lock().unwrap().contains(name);
        let conditions = if is_marked { json!([{"type": DRIFT_OBSERVED, "reason": "InSync"}]) } else { json!([]) };
        json!({"metadata": {"namespace": "x", "name": name, "uid": name, "labels": {"tier": "1"}},
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
    fn is_marked(&self, object: &LeanObject) -> bool {
        object.conditions.observed.is_some()
    }

    async fn clean(&self, kind: &ResolvedKind, object: LeanObject) -> Result<(), WriteError> {
        let base = PatchBase {
            uid: &object.id.uid,
            resource_version: &object.resource_version,
            generation: None,
            conditions: &object.conditions,
        };
        let patch = removal_patch(&base, object.conditions.observed.as_ref().unwrap());
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

/// Has a target told of an object, which it selects until the subscription is dropped.
fn tell_of(watches: &KindWatches, object: &Value) -> Subscription {
    let resource = kube::core::ApiResource::erase::<k8s_openapi::api::core::v1::Service>(&());
    let subscription =
        watches.subscribe(&target(), &ResolvedKind { resource, namespaced: true }, &FieldPaths::default());
    let labels = object.pointer("/metadata/labels").cloned();
    let seen = SeenObject { object: LeanObject::prune(object, &FieldPaths::default()), labels };
    watches.step(|dispatch| {
        dispatch.set_in_force(BTreeMap::from([("a".into(), target().objects.clone())]));
        dispatch.arrange();
        dispatch.hear(1, Change::Changed(seen), clock::now());
    });
    subscription
}

/// A clean-up that runs while a test plays.
struct Bench {
    cluster: Cluster,
    log: Log,
    notes: NoteBoard,
    watches: KindWatches,
    configuration: watch::Sender<Arc<Configuration>>,
    leavers: Leavers,
}

impl Bench {
    /// Plays `play` beside a clean-up that was begun with the target in force.
    async fn play(cluster: Cluster, play: impl AsyncFnOnce(&Self)) {
        let answers = cluster.clone();
        let (client, log) = answering(move |sent| answers.answer(sent));
        let (publish, published) = watch::channel(configuration(&[&target()], &["m"]));
        let (leavers, left) = Leavers::channel();
        let (notes, watches) = (NoteBoard::default(), KindWatches::default());
        let mut registry = metrics::registry("test");
        let parts = CleanUpParts {
            client: client.clone(),
            manager: "test",
            notes: notes.clone(),
            configuration: published,
            patience: PATIENCE,
        };
        let clean_up = CleanUp::new(parts, &mut registry);
        let bench = Self { cluster, log, notes, watches, configuration: publish, leavers };
        tokio::select! {
            () = clean_up.run(Verdicts(ObjectClient::new(client, "test")), bench.watches.clone(), left) => panic!("it ended by itself"),
            () = async {
                // So that the first configuration has been seen.
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
        self.notes.read(|notes| notes.has(&Scope::of(&target())))
    }
}

fn proxy() -> KindName {
    KindName { group: "demo.example".to_owned(), kind: "Proxy".to_owned() }
}

fn id(name: &str) -> ObjectId {
    ObjectId { namespace: Some("x".into()), name: name.into(), uid: name.into() }
}

#[tokio::test(start_paused = true)]
async fn what_a_target_left_goes_after_the_patience_at_fifty_a_second_and_then_its_note() {
    Bench::play(Cluster::of(120), async |bench| {
        // One list after the start, and then nothing.
        tokio::time::sleep(100 * MINUTE).await;
        assert_eq!((bench.lists(), bench.writes().len()), (1, 0));
        let gone = clock::now();
        bench.say(&[], &["m"]);
        tokio::time::sleep(100 * MINUTE).await;
        let writes = bench.writes();
        assert_eq!(writes.len(), 120, "each object once");
        assert!(writes[0] - gone >= PATIENCE);
        assert!(writes.windows(51).all(|some| some[50] - some[0] >= Duration::from_secs(1)), "too fast");
        assert_eq!(bench.lists(), 2);
        assert!(!bench.is_noted());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_note_of_a_kind_that_is_gone_goes_with_its_target() {
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
        assert_eq!((bench.lists(), bench.writes().len()), (1, 0));
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
        // At minutes 10, 11, 13, 17, 25, 41 and 73: three objects each, and then the sweep ends.
        assert_eq!((bench.lists(), bench.writes().len()), (7, 21));
        assert!(bench.is_noted());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_somebody_still_sees_or_that_left_lately_is_too_young() {
    Bench::play(Cluster::of(2), async |bench| {
        // One is still on a target's board, and one left its selection when the target had been gone for five minutes.
        let subscription = tell_of(&bench.watches, &bench.cluster.object("p000"));
        bench.say(&[], &["m"]);
        tokio::time::sleep(5 * MINUTE).await;
        bench.leavers.tell(proxy(), id("p001"));
        tokio::time::sleep(6 * MINUTE).await;
        assert_eq!((bench.lists(), bench.writes().len()), (1, 0));
        tokio::time::sleep(5 * MINUTE).await;
        assert_eq!(bench.writes().len(), 1, "the one that left has waited for its own ten minutes");
        drop(subscription);
        tokio::time::sleep(20 * MINUTE).await;
        assert_eq!(bench.writes().len(), 2);
        assert!(!bench.is_noted());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_left_and_came_back_is_looked_at_and_kept() {
    Bench::play(Cluster::of(1), async |bench| {
        tokio::time::sleep(20 * MINUTE).await;
        let requests = bench.log.lines().len();
        bench.leavers.tell(proxy(), id("p000"));
        tokio::time::sleep(20 * MINUTE).await;
        assert!(bench.log.lines().len() > requests, "nobody looked");
        assert_eq!((bench.lists(), bench.writes().len()), (1, 0));
    })
    .await;
}
