//! Who is told what of an object, and of the watch itself.
//!
//! It must not know which watches run.

use std::sync::Arc;
use std::time::Duration;

use super::{Command, Dispatch, Known, Member, Place, Role, Scope, Subscriber, Told, WatchKey};
use crate::watch::{ObjectEvent, owner_of};
use drift_model::field_paths::FieldPaths;
use drift_model::identity::Uid;
use drift_model::moment::Moment;
use drift_model::object::{LeanObject, SeenObject};
use drift_target::ObjectSelection;

/// The least time between two [`ObjectEvent::Alive`]: far below the two minutes after which a watch counts as dead.
pub(super) const ALIVE_SPACING: Duration = Duration::from_secs(5);

impl Dispatch {
    /// An object as it is now; `is_listed` where it came in a list.
    pub(super) fn take_in(
        &mut self,
        (key, namespace): Place<'_>,
        seen: &SeenObject,
        is_listed: bool,
        commands: &mut Vec<Command>,
    ) {
        let SeenObject { object, .. } = seen;
        let (owner, roles) = self.roles(key, seen);
        let Some(watch) = self.watches.get_mut(key) else { return };
        let Some(scope) = watch.scopes.get(namespace) else { return };
        let before = watch.known.remove(&object.id.uid);
        let is_repeated = is_listed
            && scope.is_repeated
            && before.as_ref().is_some_and(|known| known.version == object.resource_version);
        let told = before.map(|known| known.told).unwrap_or_default();
        for (target, role) in &roles {
            let was = told.iter().find(|(one, _)| one == target).map(|(_, role)| *role);
            let Some(member) = self.members.get(target) else { continue };
            let narrow = || Box::new(narrowed(object, &member.subscriber.fields, &watch.fields));
            match role {
                Role::Owner if was == Some(Role::Owner) && is_repeated => {}
                Role::Owner => commands.push(Command::Tell(target.clone(), ObjectEvent::Seen(narrow()))),
                Role::Skipper if was == Some(Role::Skipper) => {}
                Role::Skipper => commands.push(Command::Tell(target.clone(), ObjectEvent::Skipped(narrow()))),
            }
        }
        let has_left = |(target, _): &&(Arc<str>, Role)| !roles.iter().any(|(one, _)| one == target);
        for (target, role) in told.iter().filter(has_left) {
            let is_nobodys = *role == Role::Owner && owner.is_none();
            let left = is_nobodys.then(|| Box::new(object.clone()));
            commands.push(Command::Tell(target.clone(), ObjectEvent::Left { id: object.id.clone(), object: left }));
        }
        if told.is_empty() && owner.is_none() && object.has_finalizer() {
            commands.extend(self.tell_of_stray(key, object));
        } else if !roles.is_empty() {
            let (id, version) = (object.id.clone(), object.resource_version.clone());
            watch.known.insert(object.id.uid.clone(), Known { id, version, list: scope.list, told: roles });
        }
    }

    /// The owner of an object, and who of the watch is to be told what.
    fn roles(&self, key: &WatchKey, seen: &SeenObject) -> (Option<Arc<str>>, Told) {
        let group = key.0.split_once('/').map_or("", |(group, _)| group);
        let (namespace, labels) = (seen.object.id.namespace.as_deref(), seen.labels.as_ref());
        let owner = owner_of(&self.owners, (group, &key.1), namespace, labels).cloned();
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

    /// An object that nobody selects and that carries our finalizer is told to the first target that looks there.
    fn tell_of_stray(&self, key: &WatchKey, object: &LeanObject) -> Option<Command> {
        let namespace = object.id.namespace.as_deref();
        let mut members = self.arranged().filter(|member| member.key == *key);
        let first = members.find(|member| is_within(&member.subscriber.selection, namespace))?;
        Some(Command::Tell(first.subscriber.target.clone(), ObjectEvent::Stray(Box::new(object.clone()))))
    }

    pub(super) fn drop_known(&mut self, key: &WatchKey, uid: &Uid, commands: &mut Vec<Command>) {
        let known = self.watches.get_mut(key).and_then(|watch| watch.known.remove(uid));
        if let Some(Known { id, told, .. }) = known {
            let left = |target| Command::Tell(target, ObjectEvent::Left { id: id.clone(), object: None });
            commands.extend(told.into_iter().map(|(target, _)| left(target)));
        }
    }

    /// What the list did not have is gone.
    pub(super) fn end_list(&mut self, (key, namespace): Place<'_>, commands: &mut Vec<Command>) {
        let Some(watch) = self.watches.get_mut(key) else { return };
        let Some(scope) = watch.scopes.get_mut(namespace) else { return };
        (scope.is_listed, scope.is_repeated) = (true, false);
        let list = scope.list;
        let is_here = |known: &Known| namespace.is_none() || known.id.namespace.as_deref() == namespace.as_deref();
        let vanished = watch.known.iter().filter(|(_, known)| is_here(known) && known.list != list);
        let vanished: Vec<Uid> = vanished.map(|(uid, _)| uid.clone()).collect();
        vanished.iter().for_each(|uid| self.drop_known(key, uid, commands));
    }

    /// Tells each target of a watch what is news of its namespaces: that they are listed, live, or cannot be watched.
    pub(super) fn tell_of_scopes(&mut self, key: &WatchKey, commands: &mut Vec<Command>) {
        let Some(watch) = self.watches.get(key) else { return };
        let members = self.members.values_mut().filter(|member| member.is_arranged && member.key == *key);
        for member in members {
            let Subscriber { target, selection, .. } = &member.subscriber;
            let is_its = |namespace: &Option<String>| namespace.is_none() || is_within(selection, namespace.as_deref());
            let scopes: Vec<&Scope> =
                watch.scopes.iter().filter(|(namespace, _)| is_its(namespace)).map(|(_, scope)| scope).collect();
            if !member.is_listed && scopes.iter().all(|scope| scope.is_listed) {
                member.is_listed = true;
                commands.push(Command::Tell(target.clone(), ObjectEvent::Listed));
            }
            // A scope that never signed makes the minimum `None`.
            let oldest = scopes.iter().map(|scope| scope.signed_at).min().flatten();
            let is_news = |since: &Moment| member.alive_since.is_none_or(|said| since.is_past(said, ALIVE_SPACING));
            if let Some(since) = oldest.filter(is_news) {
                member.alive_since = Some(since);
                commands.push(Command::Tell(target.clone(), ObjectEvent::Alive { since }));
            }
            let trouble = scopes.iter().find_map(|scope| scope.trouble.as_ref());
            if trouble != member.trouble.as_ref() {
                member.trouble = trouble.cloned();
                let plural = &watch.kind.resource.plural;
                let text = trouble.map(|text| format!("cannot watch {plural}: {text}"));
                commands.push(Command::Trouble(target.clone(), text));
            }
        }
    }
}

/// Whether a selection reaches into a namespace; `None` is that of a cluster-scoped object.
fn is_within(selection: &ObjectSelection, namespace: Option<&str>) -> bool {
    let is_inside = |namespace: &str| selection.namespaces.iter().any(|one| one == namespace);
    selection.namespaces.is_empty() || namespace.is_none_or(is_inside)
}

/// The object with what one target's templates read of it: what others read is none of its business, nor an edit of it.
fn narrowed(object: &LeanObject, fields: &FieldPaths, watched: &FieldPaths) -> LeanObject {
    if fields == watched || object.is_oversized {
        return object.clone();
    }
    LeanObject { view: Arc::new(fields.prune(&object.view)), ..object.clone() }
}
