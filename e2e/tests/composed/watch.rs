//! One program's watch of the kind, between the log of the API server and the shipped [`Dispatch`].
//!
//! Events may come late, twice, or not until the next list, but never out of order. A new subscription makes the
//! dispatch follow another collection, which begins with a list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drift_api::identity::Uid;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::{LeanObject, SeenObject};
use drift_api::timing::moment::Moment;
use drift_kube::ResolvedKind;
use drift_kube::subscriptions::dispatch::{Command, Dispatch, Effects, Subscriber};
use drift_kube::watch::Change;
use drift_language::{ObjectSelection, Target};
use kube::core::ApiResource;
use serde_json::Value;

use crate::api_server::ApiServer;
use crate::world::Who;

/// One program's watch.
pub(crate) struct Watch {
    who: Who,
    dispatch: Dispatch,
    followed: Option<Followed>,
    /// Number of the next event in the log.
    next: usize,
    targets: BTreeMap<&'static str, Watched>,
    last_id: u64,
    /// Targets whose kind is not found for a new text.
    barred: BTreeSet<&'static str>,
}

/// The collection that the dispatch follows.
struct Followed {
    number: usize,
    fields: FieldPaths,
    is_listed: bool,
}

/// A target in use.
struct Watched {
    target: Arc<Target>,
    /// The number of its subscription, once its kind is found.
    subscribed: Option<u64>,
}

impl Watch {
    /// Creates the watch of a program without targets.
    pub(crate) fn of(who: Who) -> Self {
        Self {
            who,
            dispatch: Dispatch::default(),
            followed: None,
            next: 0,
            targets: BTreeMap::new(),
            last_id: 0,
            barred: BTreeSet::new(),
        }
    }

    /// Starts the watch of the next process. Kinds that are not found stay so.
    pub(crate) fn begin_anew(&mut self) {
        *self = Self { barred: std::mem::take(&mut self.barred), ..Self::of(self.who) };
    }

    /// Lets no later text of the target find its kind, or lets it.
    pub(crate) fn bar(&mut self, target: &'static str, rejected: bool) {
        if rejected {
            self.barred.insert(target)
        } else {
            self.barred.remove(target)
        };
        self.subscribe();
    }

    /// Accepts the currently active targets.
    pub(crate) fn configure(&mut self, targets: &BTreeMap<&'static str, Arc<Target>>) {
        let Self { dispatch, targets: watched, .. } = self;
        watched.retain(|name, watched| {
            let is_same = |target: &Arc<Target>| target.document_hash == watched.target.document_hash;
            let stays = targets.get(name).is_some_and(is_same);
            if let Some(id) = watched.subscribed.filter(|_| !stays) {
                dispatch.unsubscribe(&Arc::from(*name), id);
            }
            stays
        });
        for (name, target) in targets {
            watched.entry(name).or_insert_with(|| Watched { target: target.clone(), subscribed: None });
        }
        let selection = |(name, target): (&&str, &Arc<Target>)| (Arc::from(*name), target.objects.clone());
        let active: BTreeMap<Arc<str>, ObjectSelection> = targets.iter().map(selection).collect();
        dispatch.set_active(active);
        self.subscribe();
    }

    /// Subscribes the targets whose kind is found.
    fn subscribe(&mut self) {
        for (name, watched) in &mut self.targets {
            if watched.subscribed.is_some() || self.barred.contains(name) {
                continue;
            }
            self.last_id += 1;
            watched.subscribed = Some(self.last_id);
            let target = &watched.target;
            let fields = match self.who {
                Who::Poller => target.poll_fields.clone(),
                Who::Controller => target.all_fields.clone(),
            };
            let (selection, kind) = (target.objects.clone(), kind());
            self.dispatch.subscribe(Subscriber { target: Arc::from(*name), id: self.last_id, kind, selection, fields });
        }
        self.arrange();
    }

    fn arrange(&mut self) {
        for command in self.dispatch.arrange().commands {
            match command {
                Command::Follow { number, fields, .. } => {
                    self.followed = Some(Followed { number, fields, is_listed: false });
                }
                Command::Cease(number) => {
                    self.followed.take_if(|followed| followed.number == number);
                }
                Command::Trouble(..) | Command::Hush(_) | Command::Arrange => {}
            }
        }
    }

    /// Delivers the next event, or a whole list. `None` if all are delivered.
    pub(crate) fn next(&mut self, api: &ApiServer, now: Moment) -> Option<Effects> {
        let followed = self.followed.as_ref()?;
        if !followed.is_listed {
            return Some(self.list(api, now));
        }
        let (object, gone) = api.log.get(self.next)?;
        self.next += 1;
        let seen = seen(object, &followed.fields);
        Some(self.hear(if *gone { Change::Deleted(seen) } else { Change::Changed(seen) }, now))
    }

    /// Goes back by this many events, which are delivered again.
    pub(crate) fn go_back(&mut self, events: usize) {
        self.next = self.next.saturating_sub(events);
    }

    /// Reads the list again. Missing objects are deleted, regardless of lost events.
    pub(crate) fn list(&mut self, api: &ApiServer, now: Moment) -> Effects {
        let Some(followed) = &mut self.followed else { return Effects::default() };
        followed.is_listed = true;
        self.next = api.log.len();
        let fields = followed.fields.clone();
        let found = api.objects.values().map(|object| Change::Found(seen(object, &fields), api.version().to_string()));
        let changes: Vec<_> = [Change::ListBegan].into_iter().chain(found).chain([Change::ListEnded]).collect();
        changes.into_iter().map(|change| self.hear(change, now)).fold(Effects::default(), both)
    }

    /// Returns the targets that received the object.
    pub(crate) fn told(&self, uid: &Uid) -> BTreeSet<String> {
        self.dispatch.told(uid).map(|target| target.to_string()).collect()
    }

    /// Returns true if the target received all its objects.
    pub(crate) fn is_listed(&self, target: &str) -> bool {
        self.dispatch.is_listed(target)
    }

    /// Gives a sign of life.
    pub(crate) fn sign(&mut self, now: Moment) -> Effects {
        self.hear(Change::Bookmark, now)
    }

    fn hear(&mut self, change: Change<SeenObject>, now: Moment) -> Effects {
        let Some(followed) = &self.followed else { return Effects::default() };
        self.dispatch.hear(followed.number, change, now)
    }
}

fn both(first: Effects, second: Effects) -> Effects {
    let Effects { mut words, mut orphans, mut commands } = first;
    words.extend(second.words);
    orphans.extend(second.orphans);
    commands.extend(second.commands);
    Effects { words, orphans, commands }
}

fn kind() -> ResolvedKind {
    let resource = ApiResource {
        group: "demo.driftpoller.dev".to_owned(),
        version: "v1".to_owned(),
        api_version: "demo.driftpoller.dev/v1".to_owned(),
        kind: "Thing".to_owned(),
        plural: "things".to_owned(),
    };
    ResolvedKind { resource, namespaced: true }
}

fn seen(object: &Value, fields: &FieldPaths) -> SeenObject {
    SeenObject { object: LeanObject::prune(object, fields), labels: object["metadata"].get("labels").cloned() }
}

/// Returns the object's uid.
pub(crate) fn uid_of(object: &Value) -> Uid {
    Uid::from(object["metadata"]["uid"].as_str().unwrap_or_default())
}
