//! The watches of one term at work: each collection followed by a task of its own, and each target told of its objects.
//!
//! What is followed and who is told what is decided in `dispatch`.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

use crate::client::LeanObjects;
use crate::client::ResolvedKind;
use crate::config::Configuration;
use crate::process::clock;
use crate::subscriptions::ObjectEvent;
use crate::subscriptions::dispatch::{Command, Dispatch, Effects, Orphan, Subscriber};
use crate::telemetry::health::{Health, Remark};
use crate::watch::collection::{Collection, NumberedChange, follow};
use drift_api::identity::Uid;
use drift_api::object::SeenObject;
use drift_api::object::field_paths::FieldPaths;
use drift_language::{ObjectSelection, Target};

/// How long subscriptions are gathered before the watches are arranged: at a start, and after an edit of many documents, all
/// targets of a kind come within that time, and each arrangement costs a list.
const GATHERING: Duration = Duration::from_millis(50);

/// The number of changes that may wait between the connections and us; more only costs memory.
const BUFFER: usize = 16;

/// The watches that all targets of a program share, for one term of leadership. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct KindWatches {
    state: Arc<Mutex<WatchState>>,
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct WatchState {
    dispatch: Dispatch,
    /// Unbounded, lest one target hold up the others of its kind; an actor that does not turn ends the program within
    /// a minute.
    listeners: HashMap<Arc<str>, mpsc::UnboundedSender<ObjectEvent>>,
    collectors: Vec<mpsc::UnboundedSender<Orphan>>,
    last_id: u64,
}

/// The subscription of one target, until it is dropped.
#[derive(Debug)]
#[must_use = "nothing is told any more when this is dropped"]
pub struct Subscription {
    watches: KindWatches,
    target: Arc<str>,
    id: u64,
    events: mpsc::UnboundedReceiver<ObjectEvent>,
}

impl KindWatches {
    /// Subscribes a target to its objects of a kind, with these fields.
    pub fn subscribe(&self, target: &Target, kind: &ResolvedKind, fields: &FieldPaths) -> Subscription {
        let (listener, events) = mpsc::unbounded_channel();
        let name: Arc<str> = target.name.as_str().into();
        let mut state = self.state();
        state.last_id += 1;
        let id = state.last_id;
        state.listeners.insert(name.clone(), listener);
        state.dispatch.subscribe(Subscriber {
            target: name.clone(),
            id,
            kind: kind.clone(),
            selection: target.objects.clone(),
            fields: fields.clone(),
        });
        drop(state);
        self.changed.notify_one();
        Subscription { watches: self.clone(), target: name, id, events }
    }

    /// Whether one of `peers`, the active targets of the object's kind, selects it, as far as was told. `None` where that is
    /// not certain: one of them was not told of all its objects yet, or a target that is active no more has the object still.
    #[must_use]
    pub fn is_selected<'a>(&self, uid: &Uid, mut peers: impl Iterator<Item = &'a str> + Clone) -> Option<bool> {
        let state = self.state();
        let mut told = state.dispatch.told(uid);
        if told.any(|one| peers.clone().any(|peer| peer == &**one)) {
            return Some(true);
        }
        let is_certain = state.dispatch.told(uid).next().is_none() && peers.all(|peer| state.dispatch.is_listed(peer));
        is_certain.then_some(false)
    }

    /// Objects that are nobody's, from now on. An orphan is told before its former target loses sight of it, so that there is
    /// no moment at which it looks as if nobody had selected it for long.
    #[must_use]
    pub fn hear_of_orphans(&self) -> mpsc::UnboundedReceiver<Orphan> {
        let (collector, orphans) = mpsc::unbounded_channel();
        self.state().collectors.push(collector);
        orphans
    }

    /// Follows what the targets want for as long as it is polled: one term of leadership.
    pub async fn run(
        &self,
        client: kube::Client,
        health: Health,
        mut configuration: watch::Receiver<Arc<Configuration>>,
    ) {
        let (heard, mut changes) = mpsc::channel(BUFFER);
        let (followers, handles) = (JoinSet::new(), HashMap::new());
        let mut runner = Runner { watches: self, client, health, heard, followers, handles, remarks: HashMap::new() };
        self.set_active(&configuration.borrow_and_update().clone());
        runner.arrange();
        loop {
            tokio::select! {
                Some((number, change)) = changes.recv() => runner.hear(number, change),
                () = self.changed.notified() => {
                    tokio::time::sleep(GATHERING).await;
                    runner.arrange();
                }
                changed = configuration.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    self.set_active(&configuration.borrow_and_update().clone());
                    runner.arrange();
                }
                Some(ended) = runner.followers.join_next(), if !runner.followers.is_empty() => {
                    if let Err(error) = ended && error.is_panic() {
                        tracing::error!("a watch panicked: all of them begin anew");
                        return;
                    }
                }
            }
        }
    }

    fn set_active(&self, configuration: &Configuration) {
        let selection = |(name, target): (&String, &Arc<Target>)| (Arc::from(name.as_str()), target.objects.clone());
        let active: BTreeMap<Arc<str>, ObjectSelection> = configuration.targets.iter().map(selection).collect();
        self.step(|dispatch| dispatch.set_active(active));
    }

    /// One step of what is decided.
    pub(crate) fn step<R>(&self, step: impl FnOnce(&mut Dispatch) -> R) -> R {
        step(&mut self.state().dispatch)
    }

    /// One step, whose words reach those whom it was decided for: a new listener of the same target comes before or after
    /// it. Gives what else is to be done.
    pub(crate) fn step_and_tell(&self, step: impl FnOnce(&mut Dispatch) -> Effects) -> Vec<Command> {
        let mut state = self.state();
        let Effects { words, orphans, commands } = step(&mut state.dispatch);
        // Whoever has ended needs to know nothing.
        for orphan in orphans {
            state.collectors.iter().for_each(|collector| _ = collector.send(orphan.clone()));
        }
        for (target, event) in words {
            state.listeners.get(&target).map(|listener| listener.send(event));
        }
        commands
    }

    /// A panic elsewhere leaves no half-made step: each is one call.
    fn state(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscription {
    /// Hands on what is told until nobody listens.
    pub async fn pass_on(mut self, listener: mpsc::Sender<ObjectEvent>) {
        loop {
            let event = tokio::select! {
                () = listener.closed() => return,
                event = self.events.recv() => event,
            };
            match event {
                Some(event) => {
                    if listener.send(event).await.is_err() {
                        return;
                    }
                }
                None => return,
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.watches.step(|dispatch| dispatch.unsubscribe(&self.target, self.id));
        self.watches.changed.notify_one();
    }
}

/// The tasks of one term.
struct Runner<'a> {
    watches: &'a KindWatches,
    client: kube::Client,
    health: Health,
    heard: mpsc::Sender<NumberedChange<SeenObject>>,
    followers: JoinSet<()>,
    handles: HashMap<usize, AbortHandle>,
    remarks: HashMap<Arc<str>, Remark>,
}

impl Runner<'_> {
    fn arrange(&mut self) {
        let commands = self.watches.step_and_tell(Dispatch::arrange);
        commands.into_iter().for_each(|command| self.obey(command));
    }

    fn hear(&mut self, number: usize, change: crate::watch::Change<SeenObject>) {
        let commands = self.watches.step_and_tell(|dispatch| dispatch.hear(number, change, clock::now()));
        commands.into_iter().for_each(|command| self.obey(command));
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Follow { number, kind, namespace, fields } => {
                let path = kind.path(namespace.as_deref());
                let collection = Collection { path, label_selector: None, heard: None };
                let decode = LeanObjects::new(kind, fields);
                let following = follow(self.client.clone(), collection, decode, number, self.heard.clone());
                self.handles.insert(number, self.followers.spawn(following));
            }
            Command::Cease(number) => {
                if let Some(handle) = self.handles.remove(&number) {
                    handle.abort();
                }
            }
            Command::Trouble(target, None) => {
                tracing::info!(target = %target, "watching again");
                self.remarks.remove(&target);
            }
            Command::Hush(target) => _ = self.remarks.remove(&target),
            Command::Trouble(target, Some(text)) => {
                tracing::warn!(target = %target, "{text}");
                let remark = self.health.remark(format!("target {target}"), text);
                self.remarks.insert(target, remark);
            }
        }
    }
}
