//! The set of watches: the union of the namespaces and fields that subscribers need.
//!
//! A new subscriber receives its objects from a new list of the shared watch.

use std::collections::{BTreeMap, BTreeSet};

use super::known::{KnownObjects, Recipients};
use super::{Command, Dispatch, Effects, Followed, Member, Subscriber, Watch, WatchKey};
use crate::client::KindName;
use crate::client::ResolvedKind;
use drift_api::object::field_paths::FieldPaths;
use drift_language::ObjectSelection;

impl Dispatch {
    /// Adapts the watches to the current subscribers.
    pub fn arrange(&mut self) -> Effects {
        let mut commands: Vec<Command> = self.hushed.drain(..).map(Command::Hush).collect();
        self.arrange_reports(&mut commands);
        self.take_newcomers();
        let wanted: BTreeSet<WatchKey> = self.arranged().map(|member| member.key.clone()).collect();
        for (_, watch) in self.watches.extract_if(.., |key, _| !wanted.contains(key)) {
            commands.extend(watch.collections.values().map(|followed| Command::Cease(followed.number)));
            watch.known.counts().for_each(|(namespace, counted)| self.memory.release(namespace, counted));
        }
        for key in wanted {
            self.arrange_watch(&key, &mut commands);
        }
        Effects { commands, ..Effects::default() }
    }

    /// Objects of a target with reports are listed after these, so that none looks as if it had no report.
    fn take_newcomers(&mut self) {
        let is_new = |member: &&Member| {
            let Subscriber { target, selection, .. } = &member.subscriber;
            let now = self.active.get(target);
            let is_active = now.is_some_and(|now| now.is_of(selection.group(), &selection.kind));
            !member.is_arranged && is_active && self.reports.are_listed_for(selection)
        };
        let newcomers: Vec<Subscriber> =
            self.members.values().filter(is_new).map(|member| member.subscriber.clone()).collect();
        for newcomer in newcomers {
            self.list_again(&newcomer.selection, |_| true);
            if let Some(member) = self.members.get_mut(&newcomer.target) {
                member.is_arranged = true;
                let watch = Watch {
                    kind: newcomer.kind,
                    fields: FieldPaths::default(),
                    collections: BTreeMap::new(),
                    known: KnownObjects::default(),
                    needs_list: true,
                };
                self.watches.entry(member.key.clone()).or_insert(watch).needs_list = true;
            }
            self.owners.insert(newcomer.target, newcomer.selection);
        }
    }

    /// Requests a new list for all watches of a kind, in any version, that have an object with such recipients.
    pub(super) fn list_again(&mut self, selection: &ObjectSelection, concerns: impl Fn(&Recipients) -> bool) {
        for ((api_version, kind), watch) in &mut self.watches {
            if KindName::new(api_version, kind).is_of(selection) && watch.known.any(&concerns) {
                watch.needs_list = true;
            }
        }
    }

    fn arrange_watch(&mut self, key: &WatchKey, commands: &mut Vec<Command>) {
        let members = || self.members.values().filter(|member| member.is_arranged && member.key == *key);
        let fields: FieldPaths = members().map(|member| &member.subscriber.fields).collect();
        let namespaces = namespaces_of(members());
        let Some(watch) = self.watches.get_mut(key) else { return };
        let is_anew = std::mem::take(&mut watch.needs_list);
        let before = std::mem::take(&mut watch.collections);
        if is_anew {
            watch.fields = fields;
        }
        let (kind, fields) = (watch.kind.clone(), watch.fields.clone());
        let collections = self.follow((&kind, &fields), namespaces, (before, is_anew), commands);
        if let Some(watch) = self.watches.get_mut(key) {
            watch.collections = collections;
        }
    }

    /// Follows a kind in these namespaces, with the collections that were followed before, or with new ones.
    pub(super) fn follow(
        &mut self,
        (kind, fields): (&ResolvedKind, &FieldPaths),
        namespaces: BTreeSet<Option<String>>,
        (mut before, is_anew): (BTreeMap<Option<String>, Followed>, bool),
        commands: &mut Vec<Command>,
    ) -> BTreeMap<Option<String>, Followed> {
        let mut collections = BTreeMap::new();
        for namespace in namespaces {
            let old = before.remove(&namespace);
            if let Some(followed) = old.as_ref().filter(|_| is_anew) {
                commands.push(Command::Cease(followed.number));
            }
            let followed = match old {
                Some(followed) if !is_anew => followed,
                old => {
                    self.last_number += 1;
                    let number = self.last_number;
                    let (kind, fields) = (kind.clone(), fields.clone());
                    commands.push(Command::Follow { number, kind, namespace: namespace.clone(), fields });
                    let (signed_at, trouble) = old.map(|old| (old.signed_at, old.trouble)).unwrap_or_default();
                    Followed { number, is_repeated: true, signed_at, trouble, ..Followed::default() }
                }
            };
            collections.insert(namespace, followed);
        }
        commands.extend(before.values().map(|followed| Command::Cease(followed.number)));
        collections
    }
}

/// Returns the namespaces that these members need, or `None` alone for all.
pub(super) fn namespaces_of<'m>(members: impl Iterator<Item = &'m Member>) -> BTreeSet<Option<String>> {
    let mut namespaces = BTreeSet::new();
    for Member { subscriber: Subscriber { selection, kind, .. }, .. } in members {
        if selection.namespaces.is_empty() || !kind.namespaced {
            return BTreeSet::from([None]);
        }
        namespaces.extend(selection.namespaces.iter().cloned().map(Some));
    }
    namespaces
}
