//! The reports of objects whose conditions are kept beside them.
//!
//! One watch has the reports of all kinds. It is listed before the objects are, so that no object looks as if it had
//! none. A report that changes later is delivered to the owner of its object.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::arranging::namespaces_of;
use super::known::{Recipients, Role};
use super::{Command, Dispatch, Effects, Followed, Member};
use crate::client::KindName;
use crate::reports::report_kind;
use crate::subscriptions::ObjectEvent;
use crate::watch::Change;
use drift_api::collections::shared_text::SharedText;
use drift_api::identity::Uid;
use drift_api::object::report::{SeenReport, report_fields, report_name};
use drift_api::object::{LeanObject, SeenObject};
use drift_api::resource_version::VersionNumber;
use drift_api::timing::moment::Moment;
use drift_language::ObjectSelection;

/// Namespace and name of a report.
type Key = (Option<SharedText>, SharedText);

/// The reports, and the collections that are followed for them.
#[derive(Debug, Default)]
pub(super) struct Reports {
    pub(super) collections: BTreeMap<Option<String>, Followed>,
    known: HashMap<Key, KnownReport>,
    /// The version of the last list of each collection.
    listed_at: BTreeMap<Option<String>, Option<VersionNumber>>,
}

#[derive(Debug)]
struct KnownReport {
    /// The last list that had it, or after which it was reported.
    list: u32,
    seen: SeenReport,
}

impl Reports {
    /// Returns the object with its report, or with its absence from the last list.
    pub(super) fn attach(&self, kind: &KindName, object: LeanObject) -> LeanObject {
        let name = report_name(&kind.group, &kind.kind, &object.id.name);
        let known = self.known.get(&(object.id.namespace.clone(), (&*name).into()));
        let absent = || SeenReport::absent(self.last_list_of(object.id.namespace.as_deref()));
        let seen = known.map_or_else(absent, |known| known.seen.clone());
        object.with_report(seen)
    }

    fn last_list_of(&self, namespace: Option<&str>) -> Option<VersionNumber> {
        let mut lists = self.listed_at.iter();
        lists.find(|(space, _)| space.is_none() || space.as_deref() == namespace).and_then(|(_, version)| *version)
    }

    /// The collections with the reports of a selection.
    pub(super) fn of<'r>(&'r self, selection: &'r ObjectSelection) -> impl Iterator<Item = &'r Followed> {
        let is_its = |namespace: Option<&str>| selection.keeps_reports() && selection.includes(namespace);
        let its = self.collections.iter().filter(move |(namespace, _)| is_its(namespace.as_deref()));
        its.map(|(_, followed)| followed)
    }

    /// Returns true if the reports of a selection are known.
    pub(super) fn are_listed_for(&self, selection: &ObjectSelection) -> bool {
        !selection.keeps_reports()
            || (!self.collections.is_empty() && self.of(selection).all(|followed| followed.is_listed))
    }

    fn find(&self, number: usize) -> Option<Option<String>> {
        let mut collections = self.collections.iter();
        collections.find(|(_, followed)| followed.number == number).map(|(namespace, _)| namespace.clone())
    }

    /// Ends a list of a namespace, or of all. Reports that it lacks are gone.
    fn end_list(&mut self, namespace: &Option<String>, list: u32, version: Option<VersionNumber>) {
        let is_here = |(space, _): &Key| namespace.is_none() || space.as_deref() == namespace.as_deref();
        self.known.retain(|key, known| !is_here(key) || known.list == list);
        self.listed_at.insert(namespace.clone(), version);
    }
}

impl Dispatch {
    /// Applies a change of a collection of reports. Returns false if the number is of no such collection.
    pub(super) fn hear_reports(
        &mut self,
        number: usize,
        change: &Change<SeenObject>,
        now: Moment,
        effects: &mut Effects,
    ) -> bool {
        let Some(namespace) = self.reports.find(number) else { return false };
        let Some(followed) = self.reports.collections.get_mut(&namespace) else { return false };
        if matches!(change, Change::Changed(_) | Change::Deleted(_) | Change::ListEnded(_) | Change::Bookmark) {
            (followed.signed_at, followed.trouble) = (Some(now), None);
        }
        let list = followed.list;
        match change {
            Change::Connected => followed.trouble = None,
            Change::Failing(text) => followed.trouble = Some(text.clone()),
            Change::ListBegan => {
                self.last_list = self.last_list.wrapping_add(1);
                followed.list = self.last_list;
            }
            Change::Found(seen, version) => {
                let listed = SeenReport::of(seen.object.clone()).listed_at(VersionNumber::of(version));
                self.take_in_report(key_of(&seen.object), listed, list, effects);
            }
            Change::Changed(seen) => {
                self.take_in_report(key_of(&seen.object), SeenReport::of(seen.object.clone()), list, effects);
            }
            Change::Deleted(seen) => {
                let key = key_of(&seen.object);
                if let Some(known) = self.reports.known.remove(&key) {
                    let at = seen.object.resource_version.number();
                    self.tell_of_report(&known.seen, &SeenReport::absent(at), effects);
                }
            }
            Change::ListEnded(version) => {
                followed.is_listed = true;
                let version = VersionNumber::of(version);
                self.reports.end_list(&namespace, list, version);
                self.tell_of_missing_reports(namespace.as_deref(), version, effects);
                effects.commands.push(Command::Arrange);
            }
            Change::Bookmark => {}
        }
        // An object of a list says nothing about its watch.
        if !matches!(change, Change::Found(..)) {
            self.tell_of_reports(effects);
        }
        true
    }

    fn take_in_report(&mut self, key: Key, seen: SeenReport, list: u32, effects: &mut Effects) {
        let before = self.reports.known.insert(key, KnownReport { list, seen: seen.clone() });
        if before.as_ref().is_none_or(|before| before.seen.state != seen.state) {
            if let Some(before) = before.filter(|before| object_of(&before.seen) != object_of(&seen)) {
                self.tell_of_report(&before.seen, &seen, effects);
            }
            self.tell_of_report(&seen, &seen, effects);
        }
    }

    /// Delivers the present state of a report to the owner of the object that `about` is about.
    fn tell_of_report(&self, about: &SeenReport, present: &SeenReport, effects: &mut Effects) {
        let Some(uid) = object_of(about) else { return };
        for told in self.watches.values().filter_map(|watch| watch.known.told(uid)) {
            self.tell_owner((uid, told), present, effects);
        }
    }

    /// Delivers the absence of their reports to the owners of all objects that have none in a new list. An owner may know
    /// a report that its own write made and that was deleted between two watches.
    fn tell_of_missing_reports(&self, namespace: Option<&str>, list: Option<VersionNumber>, effects: &mut Effects) {
        let reported: BTreeSet<&Uid> = self.reports.known.values().filter_map(|known| object_of(&known.seen)).collect();
        let absent = SeenReport::absent(list).listed_at(list);
        let objects = self.watches.values().flat_map(|watch| watch.known.in_namespace(namespace));
        for (uid, told) in objects.filter(|(uid, _)| !reported.contains(uid)) {
            self.tell_owner((uid, told), &absent, effects);
        }
    }

    fn tell_owner(&self, (uid, told): (&Uid, &Recipients), present: &SeenReport, effects: &mut Effects) {
        for (target, _) in told.iter().filter(|(target, role)| *role == Role::Owner && self.reports_to(target)) {
            let event = ObjectEvent::Reported(uid.clone(), Box::new(present.clone()));
            effects.words.push((target.clone(), event));
        }
    }

    fn reports_to(&self, target: &Arc<str>) -> bool {
        self.members.get(target).is_some_and(|member| member.subscriber.selection.keeps_reports())
    }

    /// Notifies the targets with reports about changes of their watches, and of trouble also those that wait for the
    /// list of the reports.
    fn tell_of_reports(&mut self, effects: &mut Effects) {
        let its = self.members.values().filter(|member| member.subscriber.selection.keeps_reports());
        let keys: BTreeSet<_> = its.map(|member| member.key.clone()).collect();
        keys.iter().for_each(|key| self.tell_of_watch(key, effects));
        let waiting = self.members.values_mut().filter(|member| !member.is_arranged);
        for member in waiting.filter(|member| member.subscriber.selection.keeps_reports()) {
            let trouble = self.reports.of(&member.subscriber.selection).find_map(|followed| followed.trouble.clone());
            member.note_trouble(trouble.map(|text| trouble_with_reports(&text)), effects);
        }
    }

    /// Follows the reports in the namespaces that need them.
    pub(super) fn arrange_reports(&mut self, commands: &mut Vec<Command>) {
        let is_active = |member: &&Member| self.active.contains_key(&member.subscriber.target);
        let keeps_reports = |member: &&Member| member.subscriber.selection.keeps_reports();
        let namespaces = namespaces_of(self.members.values().filter(is_active).filter(keeps_reports));
        let before = std::mem::take(&mut self.reports.collections);
        let of_all = (&report_kind(), &report_fields());
        self.reports.collections = self.follow(of_all, namespaces, (before, false), commands);
        let Self { reports: Reports { collections, known, listed_at }, .. } = self;
        listed_at.retain(|space, _| collections.contains_key(space));
        let is_followed = |space: &Option<SharedText>| {
            collections.keys().any(|one| one.is_none() || one.as_deref() == space.as_deref())
        };
        known.retain(|(space, _), _| is_followed(space));
    }
}

/// Says that the reports cannot be watched.
pub(super) fn trouble_with_reports(text: &str) -> String {
    let hint =
        if text.starts_with("404") { ", apply the CustomResourceDefinition driftreports.driftpoller.dev" } else { "" };
    format!("cannot watch driftreports: {text}{hint}")
}

fn key_of(report: &LeanObject) -> Key {
    (report.id.namespace.clone(), report.id.name.clone())
}

fn object_of(seen: &SeenReport) -> Option<&Uid> {
    seen.state.stored.as_ref().map(|report| &report.object)
}
