//! The objects of a target, lean, from one watch for each namespace.
//!
//! Labels are matched here and not by the server: it reports an object that loses its labels as deleted and then
//! falls silent, and a finalizer on it could never be released. This file must not know what is done with an object.

use std::collections::HashMap;
use std::time::Duration;

use futures::future::join_all;
use kube::core::{DynamicObject, Resource};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::client::LeanObjects;
use crate::kinds::ResolvedKind;
use crate::process::clock;
use crate::telemetry::health::{Health, Remark};
use crate::watch::collection::{Change, Collection, Heard, follow};
use drift_model::field_paths::FieldPaths;
use drift_model::kept_fields::KeptObject;
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
    decode: LeanObjects,
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
        let decode = LeanObjects::new(request.kind.clone(), request.fields.clone());
        Self { request, decode, events, remark: None, scopes, is_listed: false, alive_since: None }
    }

    async fn run(mut self, client: kube::Client, stop: CancellationToken) {
        let (sender, receiver) = mpsc::channel(BUFFER);
        let paths = paths(&self.request.kind, &self.request.selection.namespaces);
        let followers = paths.into_iter().enumerate().map(|(number, path)| {
            let collection = Collection { path, label_selector: None };
            follow(client.clone(), (collection, self.decode.clone()), number, sender.clone())
        });
        let followers = join_all(followers);
        let receiver_gone = self.events.clone();
        tokio::select! {
            () = stop.cancelled() => {}
            () = receiver_gone.closed() => {}
            _ = followers => {}
            () = self.pass_on(receiver) => {}
        }
    }

    async fn pass_on(&mut self, mut changes: mpsc::Receiver<Heard<KeptObject>>) {
        while let Some((number, change)) = changes.recv().await {
            if self.hear(number, change).await.is_err() {
                return;
            }
        }
    }

    async fn hear(&mut self, number: usize, change: Change<KeptObject>) -> Result<(), Closed> {
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
            Change::Found(object, version) => return self.take_in(number, object, Some(&version)).await,
            Change::Changed(object) => self.take_in(number, object, None).await?,
            Change::Deleted(object) => self.drop_out(number, &object).await?,
            Change::ListEnded => self.end_list(number).await?,
            Change::Bookmark => {}
        }
        self.note_trouble(number, None);
        self.sign(number).await
    }

    /// An object as it is now, or as it was in a list of that version: selected, or not.
    async fn take_in(&mut self, number: usize, object: KeptObject, list: Option<&str>) -> Result<(), Closed> {
        let is_selected = self.request.selection.label_selector.matches(object.json.pointer("/metadata/labels"));
        let lean = self.decode.lean(&object);
        let lean = match list {
            Some(version) => lean.listed_at(version),
            None => lean,
        };
        self.place(number, Box::new(lean), is_selected).await
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

    async fn drop_out(&mut self, number: usize, object: &KeptObject) -> Result<(), Closed> {
        let id = self.decode.lean(object).id;
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

fn carries_ours(object: &LeanObject) -> bool {
    object.has_finalizer() || object.conditions.observed.is_some() || object.conditions.corrected.is_some()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
