//! The cluster's targets, their kinds, and the object that a command line names with the target that selects it.
//!
//! This file asks the cluster; `known` decides what is known of targets.

pub(crate) mod active;
pub(crate) mod collections;
pub(crate) mod known;
pub(crate) mod leases;
pub(crate) mod reports;
pub(crate) mod session;
pub(crate) mod status_writes;
pub(crate) mod unselecting;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use drift_api::names::SELECTIONS_ANNOTATION;
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::report::{SeenReport, report_fields};
use drift_kube::cleanup::{Note, Selection, Selections};
use drift_kube::client::ResolvedKind;
use drift_kube::process::clock;
use drift_kube::reports::read_report;
use drift_language::{ConditionsPlace, LabelSelector, ObjectSelection};
use futures::{StreamExt as _, stream};
use serde_json::Value;

use crate::cluster::{kind_of, read_object, warn};
use crate::ending::CommandError;
use crate::kinds::KindWord;
use known::{KnownTarget, LeaseNotes, LiveTargets, NotedPlace};
use leases::{attestations, attested_texts, unwritten};
use status_writes::StatusWrites;
use unselecting::Unselecting;

/// The notes on the poller's Lease.
pub(crate) fn notes_on(lease: Option<&Value>) -> LeaseNotes {
    let annotations = lease.and_then(|lease| lease.pointer("/metadata/annotations"));
    let noted = annotations.and_then(|annotations| annotations.get(SELECTIONS_ANNOTATION)).and_then(Value::as_str);
    let noted = noted.map(|text| Selections::parse(text).0).unwrap_or_default();
    let place = |(selection, note): (&Selection, &Note)| {
        let Selection { target, api_version, kind, namespaces, conditions, .. } = selection.clone();
        let label_selector = LabelSelector::default();
        let objects = ObjectSelection { api_version, kind, namespaces, label_selector, conditions };
        NotedPlace { target, config_map: note.config_map.clone(), objects }
    };
    LeaseNotes {
        attested: attestations(lease, clock::wall()).unwrap_or_default(),
        unwritten: unwritten(lease, clock::wall()),
        attested_texts: attested_texts(lease, clock::wall()),
        places: noted.iter().map(place).collect(),
        ..LeaseNotes::default()
    }
}

/// Requests that a command has under way at once. kubectl sends its own one after another. A few more shorten the wait,
/// and stay far below the 50 that the API server's default client limits allow in a burst.
pub(crate) const REQUESTS_AT_ONCE: usize = 8;

/// A target with objects of one kind.
#[derive(Clone, Debug)]
pub(crate) struct KnownKind {
    pub(crate) target: KnownTarget,
    pub(crate) objects: ObjectSelection,
    pub(crate) kind: ResolvedKind,
}

/// The kinds of the targets, and true if the cluster knows all. Unknown ones are reported on stderr.
///
/// # Errors
/// If stderr is closed.
pub(crate) async fn known_kinds(
    client: &kube::Client,
    live: &LiveTargets,
) -> Result<(Vec<KnownKind>, bool), CommandError> {
    let targets = live.known();
    let mut kinds = BTreeMap::new();
    for (_, objects) in &targets {
        kinds.entry((objects.api_version.as_str(), objects.kind.as_str())).or_insert(objects);
    }
    let look_up = async |(key, objects)| (key, kind_of(client, objects).await);
    let kinds: BTreeMap<_, _> = stream::iter(kinds).map(look_up).buffered(REQUESTS_AT_ONCE).collect().await;
    let (mut known, mut whole) = (Vec::new(), true);
    for (target, objects) in &targets {
        match kinds.get(&(objects.api_version.as_str(), objects.kind.as_str())) {
            Some(Ok(kind)) => {
                known.push(KnownKind { target: target.clone(), objects: objects.clone(), kind: kind.clone() });
            }
            Some(Err(error)) => {
                warn(&format!("target {}: {error}", target.name()))?;
                whole = false;
            }
            None => {}
        }
    }
    Ok((known, whole))
}

/// An object that a command line names.
pub(crate) struct FoundObject {
    /// The target that selects it.
    pub(crate) target: KnownTarget,
    /// Its kind.
    pub(crate) kind: String,
    pub(crate) object: LeanObject,
    /// The name of its DriftReport, if it has one.
    pub(crate) report: Option<String>,
    /// The last write of each program on its status, or on its report.
    pub(crate) written: StatusWrites,
}

impl FoundObject {
    /// The same with the conditions of its report.
    async fn with_report(self, client: &kube::Client, kind: &ResolvedKind) -> Result<Self, CommandError> {
        let (object, report) = with_report(client, kind, self.object).await?;
        let is_its = object.report.as_ref().is_some_and(|report| report.about(&object.id.uid).is_some());
        let report = report.filter(|_| is_its).unwrap_or_default();
        let name = report.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
        let written = self.written.with_conditions_in(&report);
        Ok(Self { target: self.target, kind: self.kind, object, report: name, written })
    }
}

/// An object with the conditions of its DriftReport, and that report.
///
/// # Errors
/// If the report cannot be read.
pub(crate) async fn with_report(
    client: &kube::Client,
    kind: &ResolvedKind,
    object: LeanObject,
) -> Result<(LeanObject, Option<Value>), CommandError> {
    let read = read_report(client, kind, &object.id).await;
    let report = read.map_err(|error| CommandError::CannotTell(error.to_string()))?;
    let seen = report.as_ref().map(|report| SeenReport::of(LeanObject::prune(report, &report_fields())));
    Ok((object.with_report(seen.unwrap_or_else(|| SeenReport::absent(None))), report))
}

/// The object that a command line names, with the target that selects it and its kind.
///
/// # Errors
/// When there is no such kind, object or target.
pub(crate) async fn find_object(
    client: &kube::Client,
    live: &LiveTargets,
    word: &str,
    (namespace, name): (&str, &str),
) -> Result<FoundObject, CommandError> {
    let (meant, mut others) = (KindWord::look_up(client, word).await, Vec::new());
    let (known, whole) = known_kinds(client, live).await?;
    let (mut without_text, mut found, mut unselecting) = (Vec::new(), None, Unselecting::default());
    let mut read = BTreeMap::new();
    for KnownKind { target, objects, kind } in known {
        if !meant.means(&kind) {
            others.push(kind.resource.plural);
            continue;
        }
        let object = match read.entry(kind.path(Some(namespace))) {
            Entry::Occupied(read) => read.into_mut(),
            Entry::Vacant(unread) => unread.insert(read_object(client, &kind, (namespace, name)).await?),
        };
        let Some(object) = object else {
            let message = format!("there is no {} {name} in namespace {namespace}", objects.kind);
            return Err(CommandError::BadUsage(message));
        };
        let none = FieldPaths::default();
        let fields = target.text().map_or(&none, |target| &target.all_fields);
        let lean = LeanObject::prune(object, fields);
        if !target.lists(&objects, &lean, object.pointer("/metadata/labels")) {
            let labels = object.pointer("/metadata/labels");
            unselecting.add(target.name(), &objects, (lean.id.namespace.as_deref(), labels));
            continue;
        }
        let found_object =
            FoundObject { target, kind: objects.kind, object: lean, report: None, written: StatusWrites::of(object) };
        let it = match objects.conditions {
            ConditionsPlace::Object => found_object,
            ConditionsPlace::Report => found_object.with_report(client, &kind).await?,
        };
        match &it.target {
            KnownTarget::LastGood(target) => {
                without_text.push(target.clone());
                found = Some(it);
            }
            KnownTarget::Text(_) | KnownTarget::Unknown(_) => return Ok(it),
        }
    }
    if let Some((found, target)) = found.zip(KnownTarget::without_text(without_text)) {
        return Ok(FoundObject { target, ..found });
    }
    others.sort();
    others.dedup();
    let is_nothing = others.is_empty() && unselecting.is_empty();
    let message = match unselecting.is_empty() {
        true => format!("no target is about {word}/{name}; there are targets about {}", others.join(", ")),
        false => format!("no target selects {word}/{name}{unselecting}"),
    };
    if live.is_whole() && whole {
        return Err(CommandError::BadUsage(message));
    }
    live.troubles.iter().try_for_each(|trouble| warn(trouble))?;
    Err(CommandError::CannotTell(match is_nothing {
        true => format!("whether a target is about {word}/{name} is unknown"),
        false => format!("{message}, and not all of them can be read"),
    }))
}
