//! The rows of a list, and the error for a named object that has none.

use drift_api::object::SeenObject;
use drift_kube::client::CallError;
use k8s_openapi::api::core::v1::Namespace;
use kube::core::Resource as _;

use super::listed_targets::{AskedObjects, ListedTargets};
use super::missing_rights::mark_missing_rights;
use super::rows::Row;
use super::wanted::{Wanted, arrange};
use crate::cluster::{get, selected_namespaces, warn};
use crate::ending::CommandError;
use crate::targets::KnownKind;
use crate::targets::collections::{ListedCollection, list};
use crate::targets::reports::ReportLists;
use crate::targets::session::Session;
use crate::targets::unselecting::Unselecting;

/// The rows of all listed objects.
pub(super) struct ListedRows {
    pub(super) rows: Vec<Row>,
    /// Problems of targets, and of the list.
    pub(super) troubles: Vec<String>,
    /// True if that is all that there is.
    pub(super) whole: bool,
    namespace: Option<String>,
    collections: Vec<ListedCollection>,
}

/// Lists the objects, and says on stderr what could not be listed.
///
/// # Errors
/// If stderr is closed.
pub(super) async fn list_rows(
    session: &Session<'_>,
    listed: &ListedTargets,
    namespace: Option<&str>,
) -> Result<ListedRows, CommandError> {
    let (client, known) = (&session.client, &listed.known);
    let asked = listed.to_read(namespace);
    let places = known.iter().filter_map(|one| {
        let namespaces = selected_namespaces(&one.objects, &one.kind, namespace)?;
        Some((&one.objects, namespaces))
    });
    let (collections, reports) = futures::join!(list(client, known, &asked), ReportLists::read(client, places));
    let (mut troubles, mut whole, mut rows) = (listed.single_troubles.clone(), listed.whole, Vec::new());
    for ListedCollection { collection, objects } in &collections {
        match objects {
            Ok(objects) => rows.extend(objects.iter().filter_map(|seen| {
                listed.row_among(&collection.of, |one| reports.join((&one.objects, &one.kind), seen))
            })),
            Err(error) => {
                let names = collection.of.iter().filter_map(|number| Some(known.get(*number)?.target.name()));
                whole = false;
                warn(&unlisted(&collection.kind.resource.plural, names, error))?;
            }
        }
    }
    for unread in reports.unread().map(ToString::to_string) {
        warn(&unread)?;
        troubles.push(unread);
        whole = false;
    }
    let missing = mark_missing_rights(client, session.home, (known, &mut rows)).await;
    missing.iter().try_for_each(|sentence| warn(sentence))?;
    troubles.extend(missing);
    let rows = arrange(rows, Wanted::default());
    Ok(ListedRows { rows, troubles, whole, namespace: namespace.map(str::to_owned), collections })
}

/// The sentence for objects that could not be listed, with the targets that need them.
fn unlisted<'n>(plural: &str, targets: impl Iterator<Item = &'n str>, error: &CallError) -> String {
    let names: Vec<&str> = targets.collect();
    let noun = if names.len() == 1 { "target" } else { "targets" };
    format!("the {plural} of {noun} {} cannot be listed: {error}", names.join(", "))
}

impl ListedRows {
    /// The error for the first named object that has no row; `None` if all have one.
    pub(super) fn missing(&self, listed: &ListedTargets) -> Option<CommandError> {
        listed.asked.iter().find_map(|asked| {
            let known = || asked.of.iter().filter_map(|number| listed.known.get(*number));
            let is_of =
                |row: &Row, one: &KnownKind| one.objects.kind == row.kind && one.objects.api_version == row.api_version;
            let is_meant = |row: &Row| known().any(|one| is_of(row, one));
            let has_row = |name: &String| self.rows.iter().any(|row| row.name == *name && is_meant(row));
            let name = asked.asked.names.iter().find(|name| !has_row(name))?;
            Some(self.missing_error(listed, asked, name))
        })
    }

    fn missing_error(&self, listed: &ListedTargets, asked: &AskedObjects, name: &str) -> CommandError {
        let is_of = |one: &&ListedCollection| one.collection.of.iter().any(|number| asked.of.contains(number));
        let read: Vec<_> = self.collections.iter().filter(is_of).collect();
        let objects = read.iter().filter_map(|one| one.objects.as_ref().ok()).flatten();
        let (word, unselecting) = (&asked.asked.word, objects.filter(|seen| *seen.object.id.name == *name));
        let found = unselecting.map(|seen| unselecting_of(listed, asked, seen)).next();
        match found {
            Some(unselecting) if listed.whole => {
                CommandError::BadUsage(format!("no target selects {word}/{name}{unselecting}"))
            }
            Some(unselecting) => CommandError::CannotTell(format!(
                "no target selects {word}/{name}{unselecting}, and not all of them can be read"
            )),
            // A read by name says that there is none, whatever is wrong with targets.
            None if !read.is_empty() && read.iter().all(|one| one.objects.is_ok()) => {
                let place = self.namespace.as_ref().map(|namespace| format!(" in namespace {namespace}"));
                CommandError::BadUsage(format!("there is no {word} {name}{}", place.unwrap_or_default()))
            }
            None => CommandError::CannotTell(format!(
                "whether there is a {word} {name} is unknown: not everything could be listed"
            )),
        }
    }
}

fn unselecting_of(listed: &ListedTargets, asked: &AskedObjects, seen: &SeenObject) -> Unselecting {
    let mut unselecting = Unselecting::default();
    for one in asked.of.iter().filter_map(|number| listed.known.get(*number)) {
        let place = (seen.object.id.namespace.as_deref(), seen.labels.as_ref());
        unselecting.add(one.target.name(), &one.objects, place);
    }
    unselecting
}

/// Fails if there is no such namespace. A user who may not read namespaces learns nothing.
///
/// # Errors
/// [`CommandError::BadUsage`].
pub(super) async fn ensure_namespace(client: &kube::Client, namespace: &str) -> Result<(), CommandError> {
    match get(client, &Namespace::url_path(&(), None), namespace).await {
        Ok(None) => Err(CommandError::BadUsage(format!("there is no namespace {namespace}"))),
        _ => Ok(()),
    }
}
