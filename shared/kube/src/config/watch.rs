//! The active targets, from the labelled ConfigMaps of our namespace.
//!
//! This file keeps the texts up to date, passes them to a judge (which remembers the last valid versions), and
//! publishes the complete result. It reports each change once, in the log and as an Event on the ConfigMap.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use kube::core::Resource;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::client::{KindName, WholeObjects};
use crate::config::news::{News, ReportedDocuments, by_document, texts};
use crate::events::{EventWriter, Notice};
use crate::lease::Leadership;
use crate::telemetry::document_counts::DocumentCounts;
use crate::telemetry::health::{HealthPart, Remark};
use crate::watch::collection::{Change, Collection, NumberedChange, follow};
use crate::watch::store::{Effect, Store};
use drift_api::names::{FORGOTTEN_CONFIG_MAP, TARGETS_LABEL, TRUE};
use drift_language::{CreationTimes, DocumentName, Problem, Target, TargetState};

/// Delay in which changes are collected before they are judged: `kubectl apply` of several ConfigMaps is one change,
/// and a change takes effect within a second.
const DEBOUNCE: Duration = Duration::from_millis(150);

/// Maximum queued changes between the watch and this task.
const BUFFER: usize = 16;

/// The active targets, replaced as a whole.
#[derive(Debug, Default)]
pub struct Configuration {
    /// Every target with a text by name: live, taken and former ones.
    pub targets: BTreeMap<String, Arc<Target>>,
    /// The states of targets. One with a text and without a state is live.
    pub states: BTreeMap<String, TargetState>,
    /// The mistakes of documents that are not active.
    pub problems: Vec<Problem>,
    /// The valid documents that take a target from each other.
    pub taken: Vec<Problem>,
    /// Likely mistakes in active documents.
    pub doubts: Vec<Problem>,
    /// Documents whose validity is not certain yet. They are not reported.
    pub unsettled: BTreeSet<DocumentName>,
    /// ConfigMaps that exist and whose current documents are all active. A target that they lack was removed.
    pub whole: BTreeSet<String>,
    /// The targets that a person forgot, each with the hashes of its notes.
    pub forgotten: BTreeMap<String, String>,
    /// False until the first list of ConfigMaps was read.
    pub loaded: bool,
    /// The time after which the documents must be judged again, if the result depends on more than their text.
    pub look_again: Option<Duration>,
}

impl Configuration {
    /// Returns the targets of a kind that have a text.
    pub fn of_kind<'a>(&'a self, kind: &'a KindName) -> impl Iterator<Item = &'a Arc<Target>> + Clone {
        self.targets.values().filter(move |target| kind.is_of(&target.objects))
    }

    /// Returns the state of a target by the ConfigMaps. `None` if they have no text of it.
    #[must_use]
    pub fn text_state_of(&self, target: &str) -> Option<TargetState> {
        let live = || self.targets.contains_key(target).then_some(TargetState::Live);
        self.states.get(target).copied().or_else(live)
    }

    /// Returns the state of a target. One without a text is missing, unless its note says otherwise.
    #[must_use]
    pub fn state_of(&self, target: &str) -> TargetState {
        self.text_state_of(target).unwrap_or(TargetState::Missing)
    }

    /// Returns true if a person forgot the target as it has this note.
    #[must_use]
    pub fn forgets(&self, target: &str, note_hash: &str) -> bool {
        self.forgotten.get(target).is_some_and(|hashes| hashes.split(' ').any(|hash| hash == note_hash))
    }
}

/// The current documents: each existing ConfigMap, with its keys and texts. A missing ConfigMap proves nothing about
/// its targets. An existing one that lacks a key proves that the document was removed.
pub type Documents = BTreeMap<String, BTreeMap<String, String>>;

/// The labelled ConfigMaps.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Those with documents.
    pub documents: Documents,
    /// The `creationTimestamp` of each.
    pub created: CreationTimes,
    /// The data of [`FORGOTTEN_CONFIG_MAP`].
    pub forgotten: BTreeMap<String, String>,
}

/// Judges documents, and remembers the last valid versions.
pub trait Judge: Send {
    /// Judges the documents. The watch sets `loaded` of the result.
    fn judge(&mut self, sources: &Sources) -> impl Future<Output = Configuration> + Send;
}

/// The settings of a watch of the configuration.
pub struct ConfigSettings<J> {
    /// The API client.
    pub client: kube::Client,
    /// The namespace of the ConfigMaps.
    pub namespace: String,
    /// The judge of documents.
    pub judge: J,
    /// Writes Events on ConfigMaps while `Leadership` is held, so that only one process reports each change. `None` if
    /// another program reports.
    pub teller: Option<(EventWriter, Leadership)>,
    /// Reports in `/readyz` if the ConfigMaps cannot be read.
    pub part: HealthPart,
    /// The counts of documents.
    pub documents: DocumentCounts,
}

/// The watch of the configuration.
pub struct ConfigWatch<J> {
    settings: ConfigSettings<J>,
    store: Store<KeptMap>,
    published: watch::Sender<Arc<Configuration>>,
    logged: ReportedDocuments,
    told: ReportedDocuments,
    remarks: Vec<Remark>,
    is_failing: bool,
}

#[derive(Debug)]
struct KeptMap {
    uid: String,
    created: String,
    data: BTreeMap<String, String>,
}

impl<J: Judge> ConfigWatch<J> {
    /// Creates the watch, which must be run. Until the first list, the configuration is not `loaded`.
    #[must_use]
    pub fn new(settings: ConfigSettings<J>) -> (Self, watch::Receiver<Arc<Configuration>>) {
        let (published, receiver) = watch::channel(Arc::default());
        let (store, logged, told) = (Store::default(), ReportedDocuments::default(), ReportedDocuments::default());
        (Self { settings, store, published, logged, told, remarks: Vec::new(), is_failing: false }, receiver)
    }

    /// Follows the ConfigMaps until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let collection = Collection {
            path: ConfigMap::url_path(&(), Some(&self.settings.namespace)),
            label_selector: Some(format!("{TARGETS_LABEL}={TRUE}")),
            heard: None,
        };
        let (sender, receiver) = mpsc::channel(BUFFER);
        let following = follow(self.settings.client.clone(), collection, WholeObjects, 0, sender);
        tokio::select! {
            () = stop.cancelled() => {}
            () = following => {}
            () = self.keep(receiver) => {}
        }
    }

    async fn keep(&mut self, mut changes: mpsc::Receiver<NumberedChange>) {
        let leadership = self.settings.teller.as_ref().map(|(_, leadership)| leadership.clone());
        loop {
            let term = acquired(leadership.as_ref());
            let change = tokio::select! {
                change = changes.recv() => change,
                () = wait_to_look_again(&self.published) => {
                    self.judge().await;
                    continue;
                }
                term = term => {
                    self.tell_while(&term, &mut changes).await;
                    continue;
                }
            };
            let Some((_, change)) = change else { return };
            self.take(change, &mut changes).await;
        }
    }

    /// Reports as the leader: current problems once, and then each change.
    async fn tell_while(&mut self, term: &CancellationToken, changes: &mut mpsc::Receiver<NumberedChange>) {
        self.told = ReportedDocuments::default();
        self.tell();
        loop {
            let change = tokio::select! {
                () = term.cancelled() => return,
                change = changes.recv() => change,
                () = wait_to_look_again(&self.published) => {
                    self.judge().await;
                    self.tell();
                    continue;
                }
            };
            let Some((_, change)) = change else { return };
            self.take(change, changes).await;
            self.tell();
        }
    }

    /// Applies a change and those that follow at once, and judges the result.
    async fn take(&mut self, change: Change, changes: &mut mpsc::Receiver<NumberedChange>) {
        if !self.hear(change) {
            return;
        }
        let collect = async {
            while let Some((_, change)) = changes.recv().await {
                self.hear(change);
            }
        };
        // The timeout is the regular end of the debounce.
        _ = tokio::time::timeout(DEBOUNCE, collect).await;
        self.judge().await;
    }

    /// Returns true if the documents changed.
    fn hear(&mut self, change: Change) -> bool {
        let effect = self.store.hear(change, |object, _| Some(kept(object)));
        match &effect {
            Effect::Changed | Effect::Same => {
                self.is_failing = false;
                self.settings.part.ready();
            }
            Effect::Pending => {}
            Effect::Failing(text) => {
                if !self.is_failing {
                    tracing::warn!(cause = text, "ConfigMaps cannot be watched");
                }
                self.is_failing = true;
                self.settings.part.not_ready(format!("ConfigMaps cannot be watched: {text}"));
            }
        }
        effect == Effect::Changed
    }

    fn sources(&self) -> Sources {
        let mut sources = Sources::default();
        for (name, map) in self.store.present() {
            if name == FORGOTTEN_CONFIG_MAP {
                sources.forgotten.clone_from(&map.data);
            } else {
                sources.documents.insert(name.clone(), map.data.clone());
                sources.created.insert(name.clone(), map.created.clone());
            }
        }
        sources
    }

    async fn judge(&mut self) {
        let configuration = Configuration { loaded: true, ..self.settings.judge.judge(&self.sources()).await };
        let (bad, taken) = (by_document(&configuration.problems), by_document(&configuration.taken));
        let has_text = |target: &&String| configuration.state_of(target) != TargetState::Former;
        let active = configuration.targets.keys().filter(has_text).count();
        self.settings.documents.judged(active, bad.len(), taken.len());
        // Old lines are removed only after the new ones are set.
        let remark = |word: &str, text: &str| self.settings.part.remark("document", format!("{word}: {text}"));
        let not_active = texts(&bad).map(|(_, text)| remark("not active", &text));
        self.remarks = not_active.chain(texts(&taken).map(|(_, text)| remark("taken", &text))).collect();
        let is_there = |document: &DocumentName| is_there(&self.store, document);
        for news in self.logged.catch_up(&configuration, is_there) {
            match news {
                News::Taken(documents, problem) => {
                    tracing::warn!(documents = documents.to_string(), problem, "documents are taken");
                }
                News::Doubtful(documents, problem) => {
                    tracing::warn!(documents = documents.to_string(), problem, "documents are perhaps not meant so");
                }
                News::Invalid(documents, problem) => {
                    tracing::warn!(documents = documents.to_string(), problem, "documents are not active");
                }
                News::Mended(documents) => {
                    tracing::info!(documents = documents.to_string(), "documents are active again");
                }
            }
        }
        log_targets(&self.published.borrow().targets, &configuration.targets);
        self.published.send_replace(Arc::new(configuration));
    }

    fn tell(&mut self) {
        let configuration = Arc::clone(&self.published.borrow());
        let Some((writer, _)) = &self.settings.teller else { return };
        let is_there = |document: &DocumentName| is_there(&self.store, document);
        for news in self.told.catch_up(&configuration, is_there) {
            let (config_map, (kind, reason), note) = news.event();
            let map = self.store.present().get(&config_map);
            let regarding = ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("ConfigMap".to_owned()),
                namespace: Some(self.settings.namespace.clone()),
                name: Some(config_map.clone()),
                uid: map.map(|map| map.uid.clone()),
                ..ObjectReference::default()
            };
            writer.emit(Notice { target: config_map, regarding, kind, reason, action: "Load", note });
        }
    }
}

/// Logs added, changed and removed targets. A target with the same text is the same value.
fn log_targets(before: &BTreeMap<String, Arc<Target>>, now: &BTreeMap<String, Arc<Target>>) {
    for (name, target) in now {
        let document = format!("{}/{}", target.document.config_map, target.document.key);
        match before.get(name) {
            None => tracing::info!(target = name, document, "the target is active"),
            Some(known) if Arc::ptr_eq(known, target) => {}
            Some(_) => tracing::info!(target = name, document, "the target's new text is active"),
        }
    }
    for name in before.keys().filter(|name| !now.contains_key(*name)) {
        tracing::info!(target = name, "the target is gone");
    }
}

/// Waits until the documents must be judged again, or for ever if only their text matters.
async fn wait_to_look_again(published: &watch::Sender<Arc<Configuration>>) {
    let pause = published.borrow().look_again;
    match pause {
        Some(pause) => tokio::time::sleep(pause).await,
        None => std::future::pending().await,
    }
}

/// Waits for leadership, or for ever if nothing is to be reported.
async fn acquired(leadership: Option<&Leadership>) -> CancellationToken {
    match leadership {
        Some(leadership) => leadership.acquired().await,
        None => std::future::pending().await,
    }
}

fn is_there(store: &Store<KeptMap>, document: &DocumentName) -> bool {
    store.present().get(&document.config_map).is_some_and(|map| map.data.contains_key(&document.key))
}

fn kept(object: &Value) -> KeptMap {
    KeptMap {
        uid: metadata_text(object, "/metadata/uid"),
        created: metadata_text(object, "/metadata/creationTimestamp"),
        data: document_texts(object),
    }
}

pub(crate) fn metadata_text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns the keys and texts of a ConfigMap.
pub(crate) fn document_texts(config_map: &Value) -> BTreeMap<String, String> {
    let data = config_map.get("data").and_then(Value::as_object).into_iter().flatten();
    data.filter_map(|(key, text)| Some((key.clone(), text.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::client::fake_api::{Log, Sent, client, reply};
    use crate::events::event_writer;
    use crate::lease::{LeaseSettings, lease};
    use crate::process::clock;
    use crate::telemetry::health::Health;
    use crate::telemetry::metrics;
    use axum::body::Body;
    use axum::http::Response;
    use futures::stream;
    use serde_json::json;
    use std::sync::Mutex;

    /// One ConfigMap with a watch that the test controls.
    #[derive(Clone)]
    struct Api {
        events: Arc<Mutex<Option<mpsc::UnboundedReceiver<String>>>>,
    }

    fn map(text: &str) -> Value {
        json!({"metadata": {"name": "targets", "uid": "u", "resourceVersion": "1"}, "data": {"a": text}})
    }

    impl Api {
        async fn answer(self, sent: Sent) -> Response<Body> {
            if sent.uri.contains("/configmaps") && !sent.uri.contains("watch=true") {
                return reply(200, &json!({"metadata": {"resourceVersion": "1"}, "items": [map("bad one")]}));
            }
            if sent.method != "GET" {
                return reply(201, &sent.json());
            }
            let receiver = if sent.uri.contains("watch=true") { self.events.lock().unwrap().take() } else { None };
            let Some(receiver) = receiver else {
                return reply(200, &json!({"metadata": {"resourceVersion": "1"}, "spec": {}}));
            };
            let lines = stream::unfold(receiver, |mut receiver| async {
                Some((Ok::<_, std::io::Error>(receiver.recv().await?), receiver))
            });
            Response::new(Body::from_stream(lines))
        }
    }

    fn api() -> (kube::Client, Log, mpsc::UnboundedSender<String>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let api = Api { events: Arc::new(Mutex::new(Some(receiver))) };
        let (client, log) = client(move |sent| Box::pin(api.clone().answer(sent)));
        (client, log, sender)
    }

    struct ByFirstWord;

    impl Judge for ByFirstWord {
        async fn judge(&mut self, sources: &Sources) -> Configuration {
            let mut configuration = Configuration::default();
            for (config_map, data) in &sources.documents {
                for (key, text) in data {
                    let document = DocumentName { config_map: config_map.clone(), key: key.clone() };
                    let said = Problem { document, line: 0, column: 0, target: None, message: text.clone() };
                    match text.split(' ').next() {
                        Some("bad") => configuration.problems.push(said),
                        Some("odd") => configuration.doubts.push(said),
                        _ => {}
                    }
                }
            }
            configuration
        }
    }

    async fn until(what: &str, is_so: impl Fn() -> bool) {
        let began = clock::now();
        while !is_so() {
            assert!(clock::now() - began <= Duration::from_secs(2), "never seen: {what}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn events(log: &Log) -> Vec<(String, String)> {
        let posts = log.all().into_iter().filter(|sent| sent.uri.contains("/events?"));
        let text = |event: &Value, field: &str| event[field].as_str().unwrap().to_owned();
        posts.map(|sent| (text(&sent.json(), "reason"), text(&sent.json(), "note"))).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn each_change_of_a_document_is_published_and_told_once() {
        let (client, log, watch) = api();
        let (health, stop) = (Health::default(), CancellationToken::new());
        let mut registry = metrics::registry("poller");
        let (writer, event_task) = event_writer(client.clone(), "drift-poller", "i", &mut registry);
        let settings = LeaseSettings {
            namespace: "here".to_owned(),
            name: "l".to_owned(),
            instance: "i".to_owned(),
            manager: "m",
            on_take: BTreeMap::new(),
            part: health.part("lease"),
        };
        let (handle, lease_task) = lease(settings, stop.clone());
        let documents = DocumentCounts::default();
        documents.register(&mut registry);
        let settings = ConfigSettings {
            client: client.clone(),
            namespace: "here".to_owned(),
            judge: ByFirstWord,
            teller: Some((writer, handle.leadership())),
            part: health.part("config"),
            documents,
        };
        let (config, published) = ConfigWatch::new(settings);
        let problems = || published.borrow().problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>();
        let say =
            |kind: &str, text: &str| watch.send(format!("{}\n", json!({"type": kind, "object": map(text)}))).unwrap();
        let looking = async {
            assert!(!published.borrow().loaded);
            until("the first list", || published.borrow().loaded && problems() == ["bad one"]).await;
            until("an Event", || events(&log).len() == 1).await;
            assert_eq!(health.remarks()[0].trouble.as_deref(), Some("not active: targets/a: bad one"));
            assert!(metrics::text(&registry).unwrap().contains("state=\"bad\"} 1"));
            for text in ["bad two", "bad three"] {
                say("MODIFIED", text);
            }
            until("the change", || problems() == ["bad three"]).await;
            say("MODIFIED", "good");
            until("the mending", || problems().is_empty() && events(&log).len() == 3).await;
            assert!(health.remarks().is_empty());
            say("MODIFIED", "odd one");
            until("the doubt", || events(&log).len() == 4).await;
            say("DELETED", "good");
            tokio::time::sleep(Duration::from_secs(1)).await;
            let expected = [
                ("TargetInvalid", "targets/a: bad one"),
                ("TargetInvalid", "targets/a: bad three"),
                ("TargetLoaded", "a is active"),
                ("TargetDoubtful", "targets/a: odd one"),
            ];
            assert_eq!(events(&log), expected.map(|(reason, note)| (reason.to_owned(), note.to_owned())));
        };
        tokio::select! {
            () = looking => {}
            _ = futures::future::join3(config.run(stop.clone()), lease_task.run(client), event_task.run(stop.clone())) => {
                panic!("it ended by itself")
            }
        }
    }
}
