//! The watches, one for each group, version and kind, and the targets that receive each object.
//!
//! Targets are added, removed and changed while objects are. An object belongs to the first target by name that selects
//! it, in the version of its kind that this target uses. Other targets that select it are notified once that they skip
//! it. Of an object, only its recipients are kept, so a new target receives its objects from a new list, as after a
//! lost watch. A pure state machine: it gets events and returns the work to do.

mod arranging;
mod known;
mod object_memory;
mod reports;
mod telling;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::client::KindName;
use crate::client::ResolvedKind;
use crate::subscriptions::ObjectEvent;
use crate::watch::Change;
use drift_api::identity::Uid;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::{LeanObject, SeenObject};
use drift_api::timing::moment::Moment;
use drift_language::ObjectSelection;
use known::{KnownObjects, Role};
use object_memory::ObjectMemory;
use reports::Reports;

/// A target that subscribes to its objects.
#[derive(Clone, Debug)]
pub struct Subscriber {
    /// The target's name.
    pub target: Arc<str>,
    /// Distinguishes it from the subscription of its former text.
    pub id: u64,
    /// The kind of its objects.
    pub kind: ResolvedKind,
    /// Its object selection.
    pub selection: ObjectSelection,
    /// The fields that its templates read.
    pub fields: FieldPaths,
}

/// Work for the caller.
#[derive(Clone, Debug)]
pub enum Command {
    /// Follow a collection, and report its changes with this number.
    Follow {
        /// The number of the collection.
        number: usize,
        /// The kind to follow.
        kind: ResolvedKind,
        /// The namespace. `None` for all.
        namespace: Option<String>,
        /// The fields to keep of each object.
        fields: FieldPaths,
    },
    /// Stop following the collection with this number.
    Cease(usize),
    /// Report that the target's objects cannot be watched, with the reason, or that they can again.
    Trouble(Arc<str>, Option<String>),
    /// Withdraw the reports of a target that unsubscribed.
    Hush(Arc<str>),
    /// Arrange the watches: one of them needs a list.
    Arrange,
}

/// An object that no target selects and that has a mark of ours, or that a target selected until now.
#[derive(Clone, Debug)]
pub struct Orphan {
    /// The kind of the object.
    pub kind: KindName,
    /// Its current state.
    pub object: Arc<LeanObject>,
    /// True if a target selected it until now.
    pub has_left: bool,
}

/// The effects of a step.
#[derive(Debug, Default)]
pub struct Effects {
    /// The events for each target, in this order.
    pub words: Vec<(Arc<str>, ObjectEvent)>,
    /// Objects without a target.
    pub orphans: Vec<Orphan>,
    /// The commands to execute.
    pub commands: Vec<Command>,
}

/// A group and version, and a kind in it.
type WatchKey = (String, String);

/// A watch and a namespace of it.
type Place<'a> = (&'a WatchKey, &'a Option<String>);

/// Decides which target receives which object.
#[derive(Debug, Default)]
pub struct Dispatch {
    active: BTreeMap<Arc<str>, ObjectSelection>,
    /// The selections that decide ownership: those of active targets with a resolved kind, including
    /// targets that restart.
    owners: BTreeMap<Arc<str>, ObjectSelection>,
    members: BTreeMap<Arc<str>, Member>,
    watches: BTreeMap<WatchKey, Watch>,
    reports: Reports,
    /// Targets with reported trouble that have unsubscribed.
    hushed: Vec<Arc<str>>,
    memory: ObjectMemory,
    /// Time of the last list for refused objects.
    refused_listed_at: Option<Moment>,
    last_number: usize,
    last_list: u32,
}

#[derive(Debug)]
struct Member {
    subscriber: Subscriber,
    key: WatchKey,
    /// The list of its objects was requested.
    is_arranged: bool,
    is_listed: bool,
    alive_since: Option<Moment>,
    trouble: Option<String>,
}

#[derive(Debug)]
struct Watch {
    kind: ResolvedKind,
    fields: FieldPaths,
    /// Collections by namespace, or one for all.
    collections: BTreeMap<Option<String>, Followed>,
    known: KnownObjects,
    needs_list: bool,
}

/// One followed collection.
#[derive(Debug, Default)]
struct Followed {
    number: usize,
    /// The number of the current or last list.
    list: u32,
    is_listed: bool,
    /// True if we requested the list, and many recipients already know its objects.
    is_repeated: bool,
    signed_at: Option<Moment>,
    trouble: Option<String>,
}

impl Dispatch {
    /// Creates the dispatch of a program with this memory limit, in bytes.
    #[must_use]
    pub fn with_memory_limit(limit: Option<u64>) -> Self {
        Self { memory: ObjectMemory::of(limit), ..Self::default() }
    }

    /// Adds a target's subscription. It receives its objects after the next arrangement.
    pub fn subscribe(&mut self, subscriber: Subscriber) {
        let key = (subscriber.kind.resource.api_version.clone(), subscriber.kind.resource.kind.clone());
        let target = subscriber.target.clone();
        self.forget_told(&target);
        self.hush(&target);
        let (is_arranged, is_listed) = (false, false);
        let member = Member { subscriber, key, is_arranged, is_listed, alive_since: None, trouble: None };
        self.members.insert(target, member);
    }

    /// Removes the subscription of a target's text. The target still owns its selected objects while it is active.
    pub fn unsubscribe(&mut self, target: &Arc<str>, id: u64) {
        if self.members.get(target).is_some_and(|member| member.subscriber.id == id) {
            self.hush(target);
            self.members.remove(target);
            self.forget_told(target);
        }
    }

    fn hush(&mut self, target: &Arc<str>) {
        let has_trouble = self.members.get(target).is_some_and(|member| member.trouble.is_some());
        self.hushed.extend(has_trouble.then(|| target.clone()));
    }

    /// Sets the active targets. An object of a removed target gets its next owner.
    pub fn set_active(&mut self, active: BTreeMap<Arc<str>, ObjectSelection>) {
        self.active = active;
        let stays = |target: &Arc<str>, selection: &ObjectSelection| {
            self.active.get(target).is_some_and(|now| now.is_of(selection.group(), &selection.kind))
        };
        let gone: Vec<_> = self.owners.extract_if(.., |target, selection| !stays(target, selection)).collect();
        for (_, selection) in gone {
            self.list_again(&selection, |told| told.iter().any(|(_, role)| *role == Role::Skipper));
        }
    }

    /// Applies a change from a collection.
    pub fn hear(&mut self, number: usize, change: Change<SeenObject>, now: Moment) -> Effects {
        let mut effects = Effects::default();
        if self.hear_reports(number, &change, now, &mut effects) {
            return effects;
        }
        let Some((key, namespace)) = self.find(number) else { return effects };
        let place = (&key, &namespace);
        match change {
            Change::Connected => self.change_followed(place, |followed| followed.trouble = None),
            Change::Failing(text) => self.change_followed(place, |followed| followed.trouble = Some(text)),
            Change::ListBegan => {
                self.last_list = self.last_list.wrapping_add(1);
                let list = self.last_list;
                self.change_followed(place, |followed| followed.list = list);
            }
            Change::Found(seen, version) => {
                let seen = SeenObject { object: seen.object.listed_at(&version), ..seen };
                self.take_in(place, seen, true, &mut effects);
            }
            Change::Changed(seen) => {
                self.take_in(place, seen, false, &mut effects);
                self.sign(place, now);
            }
            Change::Deleted(seen) => {
                self.drop_known(&key, &seen.object.id.uid, &mut effects);
                self.sign(place, now);
            }
            Change::ListEnded(_) => {
                self.end_list(place, &mut effects);
                self.sign(place, now);
            }
            Change::Bookmark => self.sign(place, now),
        }
        self.tell_of_watch(&key, &mut effects);
        self.list_refused(now, &mut effects);
        effects
    }

    fn sign(&mut self, place: Place<'_>, now: Moment) {
        self.change_followed(place, |followed| {
            followed.signed_at = Some(now);
            followed.trouble = None;
        });
    }

    fn change_followed(&mut self, (key, namespace): Place<'_>, change: impl FnOnce(&mut Followed)) {
        let followed = self.watches.get_mut(key).and_then(|watch| watch.collections.get_mut(namespace));
        followed.map(change);
    }

    /// Returns the watch and namespace of a number, or `None` if it is no longer followed.
    fn find(&self, number: usize) -> Option<(WatchKey, Option<String>)> {
        self.watches.iter().find_map(|(key, watch)| {
            let (namespace, _) = watch.collections.iter().find(|(_, followed)| followed.number == number)?;
            Some((key.clone(), namespace.clone()))
        })
    }

    fn arranged(&self) -> impl Iterator<Item = &Member> {
        self.members.values().filter(|member| member.is_arranged)
    }

    /// Removes a target from all recipients.
    fn forget_told(&mut self, target: &Arc<str>) {
        let memory = &mut self.memory;
        self.watches.values_mut().for_each(|watch| watch.known.forget_target(target, memory));
    }

    /// Returns the targets that received the object.
    pub fn told<'a>(&'a self, uid: &'a Uid) -> impl Iterator<Item = &'a Arc<str>> {
        let told = self.watches.values().filter_map(|watch| watch.known.told(uid));
        told.flat_map(|told| told.iter().map(|(target, _)| target))
    }

    /// Returns true if the target received all its objects.
    #[must_use]
    pub fn is_listed(&self, target: &str) -> bool {
        self.members.get(target).is_some_and(|member| member.is_listed)
    }
}
