//! One program's watch of the kind, between the log of the API server and the shipped [`Dispatch`].
//!
//! Events may come late, twice, or not until the next list, but never out of order. A new subscription makes the
//! dispatch follow another collection, which begins with a list.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drift_api::identity::Uid;
use drift_api::names::REPORT_KIND;
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
    objects: Option<Followed>,
    /// The reports of the objects, if a target keeps the conditions there. Their events come independently.
    reports: Option<Followed>,
    targets: BTreeMap<&'static str, Watched>,
    last_id: u64,
    /// Targets whose kind is not found for a new text.
    barred: BTreeSet<&'static str>,
}

/// A collection that the dispatch follows.
struct Followed {
    number: usize,
    fields: FieldPaths,
    is_listed: bool,
    /// Number of the next event in the log.
    next: usize,
}

/// The two collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Objects,
    Reports,
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
            objects: None,
            reports: None,
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
                Command::Follow { number, kind, fields, .. } => {
                    let followed = Some(Followed { number, fields, is_listed: false, next: 0 });
                    *self.followed(which(&kind)) = followed;
                }
                Command::Cease(number) => {
                    for which in [Which::Objects, Which::Reports] {
                        self.followed(which).take_if(|followed| followed.number == number);
                    }
                }
                Command::Trouble(..) | Command::Hush(_) | Command::Arrange => {}
            }
        }
    }

    const fn followed(&mut self, which: Which) -> &mut Option<Followed> {
        match which {
            Which::Objects => &mut self.objects,
            Which::Reports => &mut self.reports,
        }
    }

    /// Delivers the next event of a collection, or a whole list. `None` if all are delivered.
    pub(crate) fn next(&mut self, which: Which, api: &ApiServer, now: Moment) -> Option<Effects> {
        let followed = self.followed(which).as_mut()?;
        if !followed.is_listed {
            return Some(self.list(which, api, now));
        }
        let (object, gone) = log_of(which, api).get(followed.next)?;
        followed.next += 1;
        let seen = seen(object, &followed.fields);
        Some(self.hear(which, if *gone { Change::Deleted(seen) } else { Change::Changed(seen) }, now))
    }

    /// Goes back by this many events, which are delivered again.
    pub(crate) fn go_back(&mut self, events: usize) {
        for followed in [&mut self.objects, &mut self.reports].into_iter().flatten() {
            followed.next = followed.next.saturating_sub(events);
        }
    }

    /// Reads the list again. Missing objects are deleted, regardless of lost events.
    pub(crate) fn list(&mut self, which: Which, api: &ApiServer, now: Moment) -> Effects {
        let Some(followed) = self.followed(which) else { return Effects::default() };
        followed.is_listed = true;
        followed.next = log_of(which, api).len();
        let fields = followed.fields.clone();
        let listed = match which {
            Which::Objects => &api.objects,
            Which::Reports => &api.reports,
        };
        let found = listed.values().map(|object| Change::Found(seen(object, &fields), api.version().to_string()));
        let changes: Vec<_> = [Change::ListBegan]
            .into_iter()
            .chain(found)
            .chain([Change::ListEnded(api.version().to_string())])
            .collect();
        changes.into_iter().map(|change| self.hear(which, change, now)).fold(Effects::default(), both)
    }

    /// Asks the dispatch about the delivered objects.
    pub(crate) const fn dispatch(&self) -> &Dispatch {
        &self.dispatch
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
        both(self.hear(Which::Objects, Change::Bookmark, now), self.hear(Which::Reports, Change::Bookmark, now))
    }

    fn hear(&mut self, which: Which, change: Change<SeenObject>, now: Moment) -> Effects {
        let Some(number) = self.followed(which).as_ref().map(|followed| followed.number) else {
            return Effects::default();
        };
        let effects = self.dispatch.hear(number, change, now);
        if effects.commands.iter().any(|command| matches!(command, Command::Arrange)) {
            self.arrange();
        }
        effects
    }
}

fn which(kind: &ResolvedKind) -> Which {
    if kind.resource.kind == REPORT_KIND { Which::Reports } else { Which::Objects }
}

const fn log_of(which: Which, api: &ApiServer) -> &Vec<(Value, bool)> {
    match which {
        Which::Objects => &api.log,
        Which::Reports => &api.report_log,
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
