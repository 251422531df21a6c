//! The objects of a target, lean, from one watch for each namespace.
//!
//! Labels are matched here and not by the server: it reports an object that loses its labels as deleted and then
//! falls silent, and a finalizer on it could never be released. This file must not know what is done with an object.

use std::collections::HashMap;
use std::time::Duration;

use futures::future::join_all;
use kube::core::{DynamicObject, Resource};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::kinds::ResolvedKind;
use crate::process::clock;
use crate::telemetry::health::{Health, Remark};
use crate::watch::collection::{Change, Collection, Heard, follow};
use drift_model::field_paths::FieldPaths;
use drift_model::moment::Moment;
use drift_model::object::{LeanObject, ObjectId};
use drift_target::ObjectSelection;

/// The least time between two [`ObjectEvent::Alive`]: far below the two minutes after which a watch counts as dead.
const ALIVE_SPACING: Duration = Duration::from_secs(5);

/// How many changes may wait between the connections and the consumer; more only costs memory.
const BUFFER: usize = 16;

/// One thing that a watch of objects says.
#[derive(Clone, Debug)]
pub enum ObjectEvent {
    /// A selected object as it is now.
    Seen(Box<LeanObject>),
    /// An object is gone from the selection: deleted, or no longer matching.
    /// `object` is its last state when it still exists but is out of the selection (a finalizer may have to be released).
    /// Said also of objects that were never selected in this process, if they carry our finalizer or a condition of ours.
    Left {
        /// Which.
        id: ObjectId,
        /// Its state, where it still exists.
        object: Option<Box<LeanObject>>,
    },
    /// One whole list of one scope (namespace or all) is read: everything in scope was `Seen` since it began,
    /// and objects that vanished meanwhile were reported as `Left`. Said once per watch for the first list of all scopes.
    Listed,
    /// Every scope's watch gave a sign of life (event, bookmark or list) at `since` or later; sent at most every few seconds.
    Alive {
        /// The oldest of the scopes' last signs.
        since: Moment,
    },
}

/// Which objects to watch and what to keep of them.
#[derive(Clone, Debug)]
pub struct WatchRequest {
    /// The kind.
    pub kind: ResolvedKind,
    /// Namespaces and labels.
    pub selection: ObjectSelection,
    /// What the templates read.
    pub fields: FieldPaths,
    /// For which target; in remarks.
    pub target: String,
    /// Where a watch that does not work is seen.
    pub health: Health,
}

/// Watches until cancelled or the receiver is dropped; lists in pages, reconnects with backoff, relists on 410.
/// Errors are logged once for each change.
pub async fn watch_objects(
    client: kube::Client,
    request: WatchRequest,
    events: mpsc::Sender<ObjectEvent>,
    stop: CancellationToken,
) {
    let watch = ObjectWatch::new(request, events);
    watch.run(client, stop).await;
}

struct ObjectWatch {
    request: WatchRequest,
    events: mpsc::Sender<ObjectEvent>,
    remark: Option<Remark>,
    scopes: Vec<Scope>,
    is_listed: bool,
    alive_since: Option<Moment>,
}

/// What is remembered of one namespace.
#[derive(Default)]
struct Scope {
    /// Selected objects, with the number of the last list or the watch after it that had them.
    known: HashMap<ObjectId, u64>,
    list: u64,
    is_listed: bool,
    signed_at: Option<Moment>,
    trouble: Option<String>,
}

/// The receiver is gone.
struct Closed;

impl ObjectWatch {
    fn new(request: WatchRequest, events: mpsc::Sender<ObjectEvent>) -> Self {
        let scopes = paths(&request.kind, &request.selection.namespaces).iter().map(|_| Scope::default()).collect();
        Self { request, events, remark: None, scopes, is_listed: false, alive_since: None }
    }

    async fn run(mut self, client: kube::Client, stop: CancellationToken) {
        let (sender, receiver) = mpsc::channel(BUFFER);
        let followers = paths(&self.request.kind, &self.request.selection.namespaces).into_iter().enumerate().map(
            |(number, path)| follow(client.clone(), Collection { path, label_selector: None }, number, sender.clone()),
        );
        let followers = join_all(followers);
        let receiver_gone = self.events.clone();
        tokio::select! {
            () = stop.cancelled() => {}
            () = receiver_gone.closed() => {}
            _ = followers => {}
            () = self.pass_on(receiver) => {}
        }
    }

    async fn pass_on(&mut self, mut changes: mpsc::Receiver<Heard>) {
        while let Some((number, change)) = changes.recv().await {
            if self.hear(number, change).await.is_err() {
                return;
            }
        }
    }

    async fn hear(&mut self, number: usize, change: Change) -> Result<(), Closed> {
        match change {
            Change::Failing(text) => {
                self.note_trouble(number, Some(text));
                return Ok(());
            }
            Change::Connected => {
                self.note_trouble(number, None);
                return Ok(());
            }
            Change::ListBegan => {
                if let Some(scope) = self.scopes.get_mut(number) {
                    scope.list += 1;
                }
                return Ok(());
            }
            Change::Found(object) => return self.take_in(number, object).await,
            Change::Changed(object) => self.take_in(number, object).await?,
            Change::Deleted(object) => self.drop_out(number, &object).await?,
            Change::ListEnded => self.end_list(number).await?,
            Change::Bookmark => {}
        }
        self.note_trouble(number, None);
        self.sign(number).await
    }

    /// An object as it is now: selected, or not.
    async fn take_in(&mut self, number: usize, mut object: Value) -> Result<(), Closed> {
        complete(&mut object, &self.request.kind);
        let labels = object.pointer("/metadata/labels");
        let is_selected = self.request.selection.label_selector.matches(labels);
        self.place(number, Box::new(LeanObject::prune(&object, &self.request.fields)), is_selected).await
    }

    async fn place(&mut self, number: usize, lean: Box<LeanObject>, is_selected: bool) -> Result<(), Closed> {
        let Some(scope) = self.scopes.get_mut(number) else { return Ok(()) };
        if is_selected {
            scope.known.insert(lean.id.clone(), scope.list);
            return self.say(ObjectEvent::Seen(lean)).await;
        }
        let was_selected = scope.known.remove(&lean.id).is_some();
        if was_selected || carries_ours(&lean) {
            self.say(ObjectEvent::Left { id: lean.id.clone(), object: Some(lean) }).await?;
        }
        Ok(())
    }

    async fn drop_out(&mut self, number: usize, object: &Value) -> Result<(), Closed> {
        let id = LeanObject::prune(object, &FieldPaths::default()).id;
        if let Some(scope) = self.scopes.get_mut(number) {
            scope.known.remove(&id);
        }
        self.say(ObjectEvent::Left { id, object: None }).await
    }

    /// What the list did not have is gone.
    async fn end_list(&mut self, number: usize) -> Result<(), Closed> {
        let Some(scope) = self.scopes.get_mut(number) else { return Ok(()) };
        let list = scope.list;
        let vanished: Vec<_> = scope.known.extract_if(|_, last| *last != list).map(|(id, _)| id).collect();
        scope.is_listed = true;
        for id in vanished {
            self.say(ObjectEvent::Left { id, object: None }).await?;
        }
        if !self.is_listed && self.scopes.iter().all(|scope| scope.is_listed) {
            self.is_listed = true;
            self.say(ObjectEvent::Listed).await?;
        }
        Ok(())
    }

    async fn sign(&mut self, number: usize) -> Result<(), Closed> {
        if let Some(scope) = self.scopes.get_mut(number) {
            scope.signed_at = Some(clock::now());
        }
        // A scope that never signed makes the minimum `None`.
        let oldest = self.scopes.iter().map(|scope| scope.signed_at).min().flatten();
        let news = oldest.filter(|oldest| self.alive_since.is_none_or(|said| oldest.is_past(said, ALIVE_SPACING)));
        if let Some(since) = news {
            self.alive_since = Some(since);
            self.say(ObjectEvent::Alive { since }).await?;
        }
        Ok(())
    }

    fn note_trouble(&mut self, number: usize, trouble: Option<String>) {
        let plural = &self.request.kind.resource.plural;
        let Some(scope) = self.scopes.get_mut(number) else { return };
        if scope.trouble == trouble {
            return;
        }
        scope.trouble = trouble;
        match &scope.trouble {
            Some(text) => tracing::warn!(kind = plural, "cannot watch: {text}"),
            None => tracing::info!(kind = plural, "watching again"),
        }
        let WatchRequest { target, health, .. } = &self.request;
        let trouble = self.scopes.iter().find_map(|scope| scope.trouble.as_deref());
        self.remark =
            trouble.map(|text| health.remark(format!("target {target}"), format!("cannot watch {plural}: {text}")));
    }

    async fn say(&self, event: ObjectEvent) -> Result<(), Closed> {
        self.events.send(event).await.map_err(|_| Closed)
    }
}

/// One path for each namespace, or one for all.
pub(crate) fn paths(kind: &ResolvedKind, namespaces: &[String]) -> Vec<String> {
    if namespaces.is_empty() || !kind.namespaced {
        return vec![DynamicObject::url_path(&kind.resource, None)];
    }
    namespaces.iter().map(|namespace| DynamicObject::url_path(&kind.resource, Some(namespace))).collect()
}

/// Lists of built-in kinds leave out what every item has in common.
pub(crate) fn complete(object: &mut Value, kind: &ResolvedKind) {
    if let Some(fields) = object.as_object_mut() {
        fields.entry("apiVersion").or_insert_with(|| kind.resource.api_version.clone().into());
        fields.entry("kind").or_insert_with(|| kind.resource.kind.clone().into());
    }
}

fn carries_ours(object: &LeanObject) -> bool {
    object.has_finalizer() || object.conditions.observed.is_some() || object.conditions.corrected.is_some()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::client::fake_api::{answering, refuse, reply};
    use crate::telemetry::health::Health;
    use drift_model::names;
    use drift_target::LabelSelector;
    use kube::core::ApiResource;
    use serde_json::json;

    fn request(namespaces: &[&str]) -> WatchRequest {
        let resource = ApiResource {
            group: "demo.example".to_owned(),
            version: "v1".to_owned(),
            api_version: "demo.example/v1".to_owned(),
            kind: "Proxy".to_owned(),
            plural: "proxies".to_owned(),
        };
        let selection = ObjectSelection {
            api_version: resource.api_version.clone(),
            kind: resource.kind.clone(),
            namespaces: namespaces.iter().map(|name| (*name).to_owned()).collect(),
            label_selector: LabelSelector::default(),
        };
        let kind = ResolvedKind { resource, namespaced: true };
        let (target, health) = ("proxies".to_owned(), Health::default());
        WatchRequest { kind, selection, fields: FieldPaths::default(), target, health }
    }

    fn object(name: &str, uid: &str) -> Value {
        json!({"metadata": {"namespace": "a", "name": name, "uid": uid, "resourceVersion": "1"}})
    }

    struct Heard {
        watch: ObjectWatch,
        events: mpsc::Receiver<ObjectEvent>,
    }

    impl Heard {
        fn new(namespaces: &[&str]) -> Self {
            let (sender, events) = mpsc::channel(100);
            Self { watch: ObjectWatch::new(request(namespaces), sender), events }
        }

        /// What a change makes of it, as words.
        async fn after(&mut self, number: usize, change: Change) -> Vec<String> {
            assert!(self.watch.hear(number, change).await.is_ok());
            self.words()
        }

        fn words(&mut self) -> Vec<String> {
            let mut words = Vec::new();
            while let Ok(event) = self.events.try_recv() {
                words.push(match event {
                    ObjectEvent::Seen(object) => format!("seen {} {}", object.id.name, object.id.uid),
                    ObjectEvent::Left { id, object } => {
                        format!("left {} {}{}", id.name, id.uid, if object.is_some() { " alive" } else { "" })
                    }
                    ObjectEvent::Listed => "listed".to_owned(),
                    ObjectEvent::Alive { .. } => "alive".to_owned(),
                });
            }
            words
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_second_list_reports_what_vanished_and_is_no_news_otherwise() {
        let mut heard = Heard::new(&[]);
        assert!(heard.after(0, Change::ListBegan).await.is_empty());
        assert_eq!(heard.after(0, Change::Found(object("p", "1"))).await, ["seen p 1"]);
        assert_eq!(heard.after(0, Change::Found(object("q", "2"))).await, ["seen q 2"]);
        assert_eq!(heard.after(0, Change::ListEnded).await, ["listed", "alive"]);
        assert_eq!(heard.after(0, Change::Changed(object("r", "3"))).await, ["seen r 3"]);
        heard.after(0, Change::ListBegan).await;
        // p was deleted and created anew meanwhile, q is gone, r is as it was.
        assert_eq!(heard.after(0, Change::Found(object("p", "9"))).await, ["seen p 9"]);
        assert_eq!(heard.after(0, Change::Found(object("r", "3"))).await, ["seen r 3"]);
        let mut left = heard.after(0, Change::ListEnded).await;
        left.sort();
        assert_eq!(left, ["left p 1", "left q 2"]);
        assert_eq!(heard.after(0, Change::Deleted(object("r", "3"))).await, ["left r 3"]);
    }

    #[tokio::test]
    async fn an_object_that_stops_matching_is_handed_over_alive_and_comes_back() {
        let mut heard = Heard::new(&[]);
        let mut marked = object("p", "1");
        let turns = [
            (false, vec![]),
            (true, vec!["seen p 1"]),
            (false, vec!["left p 1 alive"]),
            (false, vec![]),
            (true, vec!["seen p 1"]),
        ];
        for (is_selected, expected) in turns {
            let lean = Box::new(LeanObject::prune(&marked, &FieldPaths::default()));
            assert!(heard.watch.place(0, lean, is_selected).await.is_ok());
            assert_eq!(heard.words(), expected, "{is_selected}");
        }
        marked["metadata"]["finalizers"] = json!([names::FINALIZER]);
        for _ in 0..2 {
            let lean = Box::new(LeanObject::prune(&marked, &FieldPaths::default()));
            assert!(heard.watch.place(0, lean, false).await.is_ok());
            assert_eq!(heard.words(), ["left p 1 alive"], "a finalizer of ours is left alone");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn all_namespaces_count_for_listed_and_alive() {
        let mut heard = Heard::new(&["a", "b"]);
        let WatchRequest { kind, selection, .. } = &heard.watch.request;
        assert_eq!(paths(kind, &selection.namespaces)[1], "/apis/demo.example/v1/namespaces/b/proxies");
        for number in [0, 1] {
            heard.after(number, Change::ListBegan).await;
            let said = heard.after(number, Change::ListEnded).await;
            assert_eq!(said, if number == 0 { vec![] } else { vec!["listed", "alive"] });
        }
        tokio::time::advance(ALIVE_SPACING).await;
        assert!(heard.after(0, Change::Bookmark).await.is_empty());
        assert!(heard.after(0, Change::Bookmark).await.is_empty());
        assert!(heard.after(1, Change::Connected).await.is_empty(), "an open connection is no sign of life");
        assert_eq!(heard.after(1, Change::Bookmark).await, ["alive"]);
        assert!(heard.after(0, Change::Bookmark).await.is_empty());
        assert!(heard.after(1, Change::Bookmark).await.is_empty(), "said too often");
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_be_watched_is_a_remark_for_as_long_as_it_lasts() {
        let mut heard = Heard::new(&["a", "b"]);
        let health = heard.watch.request.health.clone();
        heard.after(0, Change::ListEnded).await;
        heard.after(1, Change::Failing("403 Forbidden".to_owned())).await;
        let remark = |health: &Health| health.remarks().first().and_then(|remark| remark.trouble.clone());
        assert_eq!(remark(&health).as_deref(), Some("cannot watch proxies: 403 Forbidden"));
        assert!(health.is_ready(), "other targets work");
        heard.after(0, Change::Failing("no".to_owned())).await;
        heard.after(1, Change::ListEnded).await;
        assert_eq!(remark(&health).as_deref(), Some("cannot watch proxies: no"));
        heard.after(0, Change::Connected).await;
        assert_eq!(remark(&health), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_ends_when_it_is_stopped_or_nobody_listens() {
        for is_stopped in [true, false] {
            let (client, log) = answering(|sent| match sent.uri.contains("watch=true") {
                true => refuse(503, "ServiceUnavailable", "no"),
                false => reply(200, &json!({"metadata": {"resourceVersion": "1"}, "items": [object("p", "1")]})),
            });
            let (sender, mut events) = mpsc::channel(100);
            let stop = CancellationToken::new();
            let watching = watch_objects(client, request(&["a", "b"]), sender, stop.clone());
            let ending = async {
                let first = events.recv().await;
                assert!(matches!(first, Some(ObjectEvent::Seen(_))), "{first:?}");
                if is_stopped { stop.cancel() } else { drop(events) }
            };
            let both = async { tokio::join!(watching, ending) };
            let ended = tokio::time::timeout(ALIVE_SPACING, both).await;
            assert!(ended.is_ok(), "stopped {is_stopped}: {:?}", log.lines());
            assert!(log.lines()[0].starts_with("GET /apis/demo.example/v1/namespaces/a/proxies?&limit=500"));
        }
    }

    #[test]
    fn items_of_built_in_lists_get_back_what_lists_leave_out() {
        let mut bare = object("p", "1");
        complete(&mut bare, &request(&[]).kind);
        assert_eq!((&bare["apiVersion"], &bare["kind"]), (&json!("demo.example/v1"), &json!("Proxy")));
    }

    #[test]
    fn an_object_that_is_out_of_the_selection_matters_while_it_carries_ours() {
        let lean = |object: &Value| LeanObject::prune(object, &FieldPaths::default());
        let mut with_finalizer = object("p", "1");
        with_finalizer["metadata"]["finalizers"] = json!([names::FINALIZER]);
        let mut with_condition = object("p", "1");
        with_condition["status"] = json!({"conditions": [{"type": names::DRIFT_OBSERVED}]});
        assert!(carries_ours(&lean(&with_finalizer)) && carries_ours(&lean(&with_condition)));
        assert!(!carries_ours(&lean(&object("p", "1"))));
    }
}
