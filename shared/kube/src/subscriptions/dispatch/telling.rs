//! The events that each target receives about objects and about the watch.

use std::sync::Arc;
use std::time::Duration;

use super::known::{Recipients, Role};
use super::object_memory::Counted;
use super::reports::trouble_with_reports;
use super::{Command, Dispatch, Effects, Followed, Member, Orphan, Place, Subscriber, WatchKey};
use crate::client::KindName;
use crate::subscriptions::ObjectEvent;
use crate::subscriptions::owner_of;
use drift_api::identity::Uid;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::object_view::ObjectView;
use drift_api::object::{LeanObject, Oversize, SeenObject};
use drift_api::timing::moment::Moment;
use drift_language::ObjectSelection;

/// Minimum time between two [`ObjectEvent::Alive`], far below the two minutes after which a watch counts as dead.
pub(super) const ALIVE_SPACING: Duration = Duration::from_secs(5);
/// Minimum time between two lists for refused objects. Each deletion may give room to one of them.
const BETWEEN_LISTS_OF_REFUSED: Duration = Duration::from_secs(60);

impl Dispatch {
    /// Applies the current state of an object. `is_listed` if it came in a list.
    pub(super) fn take_in(
        &mut self,
        (key, namespace): Place<'_>,
        mut seen: SeenObject,
        is_listed: bool,
        effects: &mut Effects,
    ) {
        let (owner, roles) = self.roles(key, &seen);
        // What a target left on its objects before it kept the conditions in reports.
        let is_left_over =
            owner.as_ref().is_some_and(|owner| self.owners.get(owner).is_some_and(ObjectSelection::keeps_reports));
        let Some(watch) = self.watches.get_mut(key) else { return };
        let Some(followed) = watch.collections.get(namespace) else { return };
        let space = seen.object.id.namespace.clone();
        let counted = (!roles.is_empty()).then(|| {
            let former = watch.known.counted(&seen.object.id.uid);
            self.memory.count(space.as_ref(), former, seen.object.view.bytes())
        });
        if let Some(Counted::Refused(_)) = counted {
            seen.object = seen.object.without_fields(Oversize::Namespace);
        }
        let object = &seen.object;
        let is_repeated = is_listed
            && followed.is_repeated
            && object.oversize != Some(Oversize::Namespace)
            && watch.known.has_version_of(object);
        let told = watch.known.told(&object.id.uid).cloned().unwrap_or_default();
        let kind = KindName::new(&key.0, &key.1);
        for (target, role) in &*roles {
            let was = told.iter().find(|(one, _)| one == target).map(|(_, role)| *role);
            let Some(member) = self.members.get(target) else { continue };
            let narrow = || {
                let object = narrowed(object, &member.subscriber.fields, &watch.fields);
                let is_reported = member.subscriber.selection.keeps_reports();
                Box::new(if is_reported { self.reports.attach(&kind, object) } else { object })
            };
            match role {
                Role::Owner if was == Some(Role::Owner) && is_repeated => {}
                Role::Owner => effects.words.push((target.clone(), ObjectEvent::Seen(narrow()))),
                Role::Skipper if was == Some(Role::Skipper) => {}
                Role::Skipper => effects.words.push((target.clone(), ObjectEvent::Skipped(narrow()))),
            }
        }
        let has_left = |(target, _): &&(Arc<str>, Role)| !roles.iter().any(|(one, _)| one == target);
        let left = |(target, _): &(Arc<str>, Role)| (target.clone(), ObjectEvent::Left(object.id.uid.clone()));
        effects.words.extend(told.iter().filter(has_left).map(left));
        let had_owner = told.iter().any(|(_, role)| *role == Role::Owner);
        let has_left = owner.is_none() && had_owner;
        if has_left || ((owner.is_none() || is_left_over) && object.carries_ours()) {
            effects.orphans.push(Orphan { kind, object: Arc::new(object.clone()), has_left });
        }
        match counted {
            Some(counted) => watch.known.note(object, followed.list, roles, counted),
            None => {
                let forgotten = watch.known.forget(&object.id.uid);
                forgotten.into_iter().for_each(|known| self.memory.release(space.as_ref(), known.counted));
            }
        }
    }

    /// Requests a list for the objects that had no room for their fields and have it now.
    pub(super) fn list_refused(&mut self, now: Moment, effects: &mut Effects) {
        let is_early = self.refused_listed_at.is_some_and(|before| !now.is_past(before, BETWEEN_LISTS_OF_REFUSED));
        if is_early || !self.memory.has_room_again() {
            return;
        }
        for watch in self.watches.values_mut() {
            let is_listed = watch.collections.values().all(|followed| followed.is_listed);
            if is_listed && !watch.needs_list && watch.known.has_refused() {
                watch.needs_list = true;
                self.refused_listed_at = Some(now);
                effects.commands.push(Command::Arrange);
            }
        }
    }

    /// Returns the owner of an object, and the recipients in this watch with their roles.
    fn roles(&self, key: &WatchKey, seen: &SeenObject) -> (Option<Arc<str>>, Recipients) {
        let (namespace, labels) = (seen.object.id.namespace.as_deref(), seen.labels.as_ref());
        let owner = owner_of(&self.owners, &KindName::new(&key.0, &key.1), namespace, labels).cloned();
        let selects = |member: &&Member| -> bool {
            let Subscriber { target, selection, .. } = &member.subscriber;
            member.key == *key && self.owners.contains_key(target) && selection.selects(namespace, labels)
        };
        let roles = self.arranged().filter(selects).map(|member| {
            let target = member.subscriber.target.clone();
            let role = if owner.as_ref() == Some(&target) { Role::Owner } else { Role::Skipper };
            (target, role)
        });
        let roles = roles.collect();
        (owner, roles)
    }

    pub(super) fn drop_known(&mut self, key: &WatchKey, uid: &Uid, effects: &mut Effects) {
        let Some(known) = self.watches.get_mut(key).and_then(|watch| watch.known.forget(uid)) else { return };
        self.memory.release(known.namespace.as_ref(), known.counted);
        effects.words.extend(known.told.iter().map(|(target, _)| (target.clone(), ObjectEvent::Left(uid.clone()))));
    }

    /// Ends a list. Objects that it did not contain are gone.
    pub(super) fn end_list(&mut self, (key, namespace): Place<'_>, effects: &mut Effects) {
        let Some(watch) = self.watches.get_mut(key) else { return };
        let Some(followed) = watch.collections.get_mut(namespace) else { return };
        (followed.is_listed, followed.is_repeated) = (true, false);
        let missing = watch.known.missing(namespace.as_deref(), followed.list);
        missing.iter().for_each(|uid| self.drop_known(key, uid, effects));
    }

    /// Notifies each target of a watch about changes of its namespaces: listed, live, or not watchable.
    pub(super) fn tell_of_watch(&mut self, key: &WatchKey, effects: &mut Effects) {
        let Some(watch) = self.watches.get(key) else { return };
        let members = self.members.values_mut().filter(|member| member.is_arranged && member.key == *key);
        for member in members {
            let Subscriber { target, selection, .. } = &member.subscriber;
            let is_its = |namespace: &Option<String>| selection.includes(namespace.as_deref());
            let its = watch.collections.iter().filter(|(namespace, _)| is_its(namespace));
            let its: Vec<&Followed> = its.map(|(_, followed)| followed).collect();
            let reports: Vec<&Followed> = self.reports.of(selection).collect();
            if !member.is_listed && its.iter().all(|followed| followed.is_listed) {
                member.is_listed = true;
                effects.words.push((target.clone(), ObjectEvent::Listed));
            }
            // One without a sign of life makes the minimum `None`.
            let oldest = its.iter().chain(&reports).map(|followed| followed.signed_at).min().flatten();
            let is_news = |since: &Moment| member.alive_since.is_none_or(|said| since.is_past(said, ALIVE_SPACING));
            if let Some(since) = oldest.filter(is_news) {
                member.alive_since = Some(since);
                effects.words.push((target.clone(), ObjectEvent::Alive { since }));
            }
            let plural = &watch.kind.resource.plural;
            let trouble = its.iter().find_map(|followed| followed.trouble.as_ref());
            let trouble = trouble.map(|text| format!("cannot watch {plural}: {text}"));
            let of_reports =
                || reports.iter().find_map(|followed| followed.trouble.as_deref()).map(trouble_with_reports);
            member.note_trouble(trouble.or_else(of_reports), effects);
        }
    }
}

impl Member {
    /// Reports a change of the reason why its objects cannot be watched.
    pub(super) fn note_trouble(&mut self, trouble: Option<String>, effects: &mut Effects) {
        if self.trouble != trouble {
            self.trouble.clone_from(&trouble);
            effects.commands.push(Command::Trouble(self.subscriber.target.clone(), trouble));
        }
    }
}

/// Returns the object with only the fields that one target's templates read. Edits of other fields are not
/// delivered to it.
fn narrowed(object: &LeanObject, fields: &FieldPaths, watched: &FieldPaths) -> LeanObject {
    if fields == watched || object.oversize.is_some() {
        return object.clone();
    }
    let narrow = ObjectView::of(&fields.prune(&object.view.open()));
    LeanObject { view: narrow, ..object.clone() }
}
