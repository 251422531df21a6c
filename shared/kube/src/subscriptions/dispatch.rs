//! The watches, one for each group, version and kind, and the targets that receive each object.
//!
//! Targets come, go and change while objects do. Each object is its owner's, the first target by name that selects it, in whatever
//! version that target asks for its kind; others that select it are told once that they skip it. Nothing of an object is kept but who
//! was told of it: whoever comes is told of its objects by a new list, as after a lost watch. A pure step machine: it takes what
//! happened and gives what is to be done.

mod arranging;
mod known;
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

/// A target that wants to be told of its objects.
#[derive(Clone, Debug)]
pub struct Subscriber {
    /// Its name.
    pub target: Arc<str>,
    /// Tells its former text's subscription apart.
    pub id: u64,
    /// The kind of its objects.
    pub kind: ResolvedKind,
    /// The selection.
    pub selection: ObjectSelection,
    /// The fields that its templates read.
    pub fields: FieldPaths,
}

/// Something to do.
#[derive(Clone, Debug)]
pub enum Command {
    /// Follow a collection, and say what is heard of it under this number.
    Follow {
        /// The number.
        number: usize,
        /// The kind.
        kind: ResolvedKind,
        /// The namespace; `None` for all.
        namespace: Option<String>,
        /// The fields to keep of each object.
        fields: FieldPaths,
    },
    /// Follow it no more.
    Cease(usize),
    /// The target's objects cannot be watched, for this reason, or can be again.
    Trouble(Arc<str>, Option<String>),
    /// The target wants its objects no more: what was said of them is said no more.
    Hush(Arc<str>),
}

/// An object that no target selects and that carries something of ours, or that a target selected until now.
#[derive(Clone, Debug)]
pub struct Orphan {
    /// Its kind.
    pub kind: KindName,
    /// Its state.
    pub object: Arc<LeanObject>,
    /// A target selected it until now.
    pub has_left: bool,
}

/// The effects of a step.
#[derive(Debug, Default)]
pub struct Effects {
    /// The events for each target, in this order.
    pub words: Vec<(Arc<str>, ObjectEvent)>,
    /// Objects that are nobody's.
    pub orphans: Vec<Orphan>,
    /// The commands.
    pub commands: Vec<Command>,
}

/// A group and version, and a kind in it.
type WatchKey = (String, String);

/// A watch, and a namespace of it.
type Place<'a> = (&'a WatchKey, &'a Option<String>);

/// Decides which target receives which object.
#[derive(Debug, Default)]
pub struct Dispatch {
    active: BTreeMap<Arc<str>, ObjectSelection>,
    /// The selections by which objects have owners: of active targets whose kind was found, also while one restarts.
    owners: BTreeMap<Arc<str>, ObjectSelection>,
    members: BTreeMap<Arc<str>, Member>,
    watches: BTreeMap<WatchKey, Watch>,
    /// Targets of which trouble was said and that want nothing any more.
    hushed: Vec<Arc<str>>,
    last_number: usize,
    last_list: u32,
}

#[derive(Debug)]
struct Member {
    subscriber: Subscriber,
    key: WatchKey,
    /// Its objects are listed, or were.
    is_arranged: bool,
    is_listed: bool,
    alive_since: Option<Moment>,
    trouble: Option<String>,
}

#[derive(Debug)]
struct Watch {
    kind: ResolvedKind,
    fields: FieldPaths,
    /// By namespace, or one for all.
    collections: BTreeMap<Option<String>, Followed>,
    known: KnownObjects,
    needs_list: bool,
}

/// One collection as it is followed.
#[derive(Debug, Default)]
struct Followed {
    number: usize,
    /// Of the list that is read, or was read last.
    list: u32,
    is_listed: bool,
    /// Its list was asked for by us, and shows to many what they know.
    is_repeated: bool,
    signed_at: Option<Moment>,
    trouble: Option<String>,
}

impl Dispatch {
    /// A target wants its objects; it is told of them once things are arranged.
    pub fn subscribe(&mut self, subscriber: Subscriber) {
        let key = (subscriber.kind.resource.api_version.clone(), subscriber.kind.resource.kind.clone());
        let target = subscriber.target.clone();
        self.forget_told(&target);
        self.hush(&target);
        let (is_arranged, is_listed) = (false, false);
        let member = Member { subscriber, key, is_arranged, is_listed, alive_since: None, trouble: None };
        self.members.insert(target, member);
    }

    /// A target's text is not worked on any more. What it selects stays its own for as long as it is active.
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

    /// These targets are active. An object of one that is not any more has its next owner.
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

    /// Takes in what is heard under a number.
    pub fn hear(&mut self, number: usize, change: Change<SeenObject>, now: Moment) -> Effects {
        let mut effects = Effects::default();
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
            Change::ListEnded => {
                self.end_list(place, &mut effects);
                self.sign(place, now);
            }
            Change::Bookmark => self.sign(place, now),
        }
        self.tell_of_watch(&key, &mut effects);
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

    /// Whose number it is; nobody's where that is followed no more.
    fn find(&self, number: usize) -> Option<(WatchKey, Option<String>)> {
        self.watches.iter().find_map(|(key, watch)| {
            let (namespace, _) = watch.collections.iter().find(|(_, followed)| followed.number == number)?;
            Some((key.clone(), namespace.clone()))
        })
    }

    fn arranged(&self) -> impl Iterator<Item = &Member> {
        self.members.values().filter(|member| member.is_arranged)
    }

    /// The target knows of no object any more.
    fn forget_told(&mut self, target: &Arc<str>) {
        self.watches.values_mut().for_each(|watch| watch.known.forget_target(target));
    }

    /// The targets that were told of the object.
    pub fn told<'a>(&'a self, uid: &'a Uid) -> impl Iterator<Item = &'a Arc<str>> {
        let told = self.watches.values().filter_map(|watch| watch.known.told(uid));
        told.flat_map(|told| told.iter().map(|(target, _)| target))
    }

    /// Returns true if the target was told of all its objects.
    #[must_use]
    pub fn is_listed(&self, target: &str) -> bool {
        self.members.get(target).is_some_and(|member| member.is_listed)
    }
}
