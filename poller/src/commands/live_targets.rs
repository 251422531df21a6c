//! The targets of the cluster that a command is about, and the object that somebody names with the target that selects it.
//!
//! Thin: it asks, and the core says what is known of targets. It must not know what a command does with them.

use drift_cluster::cleanup::{Selection, Selections};
use drift_cluster::config::documents_in;
use drift_cluster::kinds::ResolvedKind;
use drift_cluster::process::clock;
use drift_model::field_paths::FieldPaths;
use drift_model::names::SELECTIONS_ANNOTATION;
use drift_model::object::LeanObject;
use drift_target::{LabelSelector, ObjectSelection};
use serde_json::Value;

use crate::commands::cluster::{TargetsSettings, kind_of, read_lease, read_object, target_maps, warn};
use crate::commands::ending::CommandError;
use crate::commands::kinds::KindWord;
use crate::core::explanation::vouchers;
use crate::core::live_targets::{KnownTarget, LeaseNotes, LiveTargets, NotedPlace};

/// What is known of the targets of a namespace.
///
/// # Errors
/// When they cannot be read, or nothing is known of any.
pub(crate) async fn live_targets(
    client: &kube::Client,
    settings: &TargetsSettings,
) -> Result<LiveTargets, CommandError> {
    let namespace = &settings.targets_namespace;
    let documents = documents_in(&target_maps(client, namespace).await?);
    let (lease, unread) = match read_lease(client, namespace, &settings.poller_lease).await {
        Ok(lease) => (lease, None),
        Err(sentence) => (None, Some(sentence)),
    };
    let mut live = LiveTargets::of(namespace, &documents, &lease_notes(lease.as_ref()));
    if !live.is_whole {
        // Else the texts say all that there is to know.
        live.troubles.extend(unread);
    }
    if live.good.is_empty() && live.by_last_good.is_empty() {
        let hint = "name the one where the ConfigMaps are, labelled driftpoller.dev/targets: \"true\"".to_owned();
        let why = if live.troubles.is_empty() { hint } else { live.troubles.join("; ") };
        return Err(CommandError::BadUsage(format!("namespace {namespace} has no good target: {why}")));
    }
    Ok(live)
}

fn lease_notes(lease: Option<&Value>) -> LeaseNotes {
    let annotations = lease.and_then(|lease| lease.pointer("/metadata/annotations"));
    let noted = annotations.and_then(|annotations| annotations.get(SELECTIONS_ANNOTATION)).and_then(Value::as_str);
    let noted = noted.map(|text| Selections::parse(text).0).unwrap_or_default();
    let place = |(selection, config_map): (&Selection, &str)| {
        let Selection { target, api_version, kind, namespaces, .. } = selection.clone();
        let label_selector = LabelSelector::default();
        let objects = ObjectSelection { api_version, kind, namespaces, label_selector };
        NotedPlace { target, config_map: config_map.to_owned(), objects }
    };
    LeaseNotes {
        vouched: vouchers(lease, clock::wall()).unwrap_or_default(),
        places: noted.iter().map(place).collect(),
    }
}

/// A target with objects of one kind.
#[derive(Clone, Debug)]
pub(crate) struct KnownKind {
    pub(crate) target: KnownTarget,
    pub(crate) objects: ObjectSelection,
    pub(crate) kind: ResolvedKind,
}

/// What the targets are about, and whether the cluster told all their kinds; what it did not tell is said on stderr.
///
/// # Errors
/// When nobody takes that.
pub(crate) async fn known_kinds(
    client: &kube::Client,
    live: &LiveTargets,
) -> Result<(Vec<KnownKind>, bool), CommandError> {
    let (mut known, mut whole) = (Vec::new(), true);
    for (target, objects) in live.known() {
        match kind_of(client, &objects).await {
            Ok(kind) => known.push(KnownKind { target, objects, kind }),
            Err(error) => {
                warn(&format!("target {}: {error}", target.name()))?;
                whole = false;
            }
        }
    }
    Ok((known, whole))
}

/// The object that somebody names, with the target that selects it and its kind.
///
/// # Errors
/// When there is no such kind, object or target.
pub(crate) async fn find_object(
    client: &kube::Client,
    live: &LiveTargets,
    word: &str,
    (namespace, name): (&str, &str),
) -> Result<((KnownTarget, String), LeanObject), CommandError> {
    let (meant, mut others) = (KindWord::look_up(client, word).await, Vec::new());
    let (known, whole) = known_kinds(client, live).await?;
    for KnownKind { target, objects, kind } in known {
        if !meant.means(&kind) {
            others.push(kind.resource.plural);
            continue;
        }
        let Some(object) = read_object(client, &kind, (namespace, name)).await? else {
            let message = format!("there is no {} {name} in namespace {namespace}", objects.kind);
            return Err(CommandError::BadUsage(message));
        };
        let none = FieldPaths::default();
        let fields = target.text().map_or(&none, |target| &target.all_fields);
        let lean = LeanObject::prune(&object, fields);
        if target.lists(&objects, &lean, object.pointer("/metadata/labels")) {
            return Ok(((target, objects.kind), lean));
        }
        others.push(format!("{} (target {} does not select this one)", kind.resource.plural, target.name()));
    }
    let message = format!("no target is about {word}/{name}; there are targets about {}", others.join(", "));
    if live.is_whole && whole {
        return Err(CommandError::BadUsage(message));
    }
    live.troubles.iter().try_for_each(|trouble| warn(trouble))?;
    Err(CommandError::CannotTell(format!("{message}, and not all of them can be read")))
}
