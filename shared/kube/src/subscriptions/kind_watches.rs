//! The running watches of one term: a task follows each collection, and each target receives its objects.
//!
//! `dispatch` decides what is followed and which target receives what.

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
use drift_api::object::SeenObject;
use drift_api::object::field_paths::FieldPaths;
use drift_language::{ObjectSelection, Target};

/// Delay in which subscriptions are collected before the watches are arranged. At startup, and after an edit of many
/// documents, all targets of a kind subscribe within it, and each arrangement costs a list.
const GATHERING: Duration = Duration::from_millis(50);

/// Maximum queued changes between the connections and this task. More would only cost memory.
const BUFFER: usize = 16;

/// The watches that all targets of a program share, for one term of leadership. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct KindWatches {
    state: Arc<Mutex<WatchState>>,
    changed: Arc<Notify>,
    memory_limit: Option<u64>,
}

#[derive(Debug, Default)]
struct WatchState {
    dispatch: Dispatch,
    /// Unbounded, so that one target does not delay the others of its kind. An actor that hangs ends the program
    /// within a minute.
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
    /// Creates the watches of a program with this memory limit, in bytes.
    #[must_use]
    pub fn new(memory_limit: Option<u64>) -> Self {
        let state = WatchState { dispatch: Dispatch::with_memory_limit(memory_limit), ..WatchState::default() };
        Self { state: Arc::new(Mutex::new(state)), memory_limit, ..Self::default() }
    }

    /// Creates the watches for the next term.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self::new(self.memory_limit)
    }

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

    /// Returns a receiver of objects without a target, from now on. An orphan is reported before its former target
    /// loses it, so that it never looks unselected for long.
    #[must_use]
    pub fn hear_of_orphans(&self) -> mpsc::UnboundedReceiver<Orphan> {
        let (collector, orphans) = mpsc::unbounded_channel();
        self.state().collectors.push(collector);
        orphans
    }

    /// Follows the needed collections until the future is dropped: one term of leadership.
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

    /// Returns the answer to a question about the delivered objects.
    pub fn asks<R>(&self, question: impl FnOnce(&Dispatch) -> R) -> R {
        question(&self.state().dispatch)
    }

    /// Runs one step of the dispatch.
    pub(crate) fn step<R>(&self, step: impl FnOnce(&mut Dispatch) -> R) -> R {
        step(&mut self.state().dispatch)
    }

    /// Runs one step, and sends its events to the current listeners. A new listener of the same target comes before or
    /// after it. Returns the remaining commands.
    pub(crate) fn step_and_tell(&self, step: impl FnOnce(&mut Dispatch) -> Effects) -> Vec<Command> {
        let mut state = self.state();
        let Effects { words, orphans, commands } = step(&mut state.dispatch);
        // A collector that has ended needs no orphans.
        for orphan in orphans {
            state.collectors.iter().for_each(|collector| _ = collector.send(orphan.clone()));
        }
        for (target, event) in words {
            state.listeners.get(&target).map(|listener| listener.send(event));
        }
        commands
    }

    /// A panic elsewhere leaves no half-done step: each is one call.
    fn state(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscription {
    /// Forwards events until the receiver is closed.
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
            Command::Arrange => self.watches.changed.notify_one(),
            Command::Trouble(target, Some(text)) => {
                tracing::warn!(target = %target, cause = text, "the objects cannot be watched");
                let remark = self.health.remark(format!("target {target}"), text);
                self.remarks.insert(target, remark);
            }
        }
    }
}
