//! `kubectl drift forget`: removes a target whose ConfigMap is gone for good. Both programs then release its objects.

use std::collections::BTreeSet;
use std::io::Write as _;

use drift_api::names::{
    CONTROLLER_LEASE, FORGOTTEN_CONFIG_MAP, PERSON_MANAGER, POLLER_LEASE, SELECTIONS_ANNOTATION, TARGETS_LABEL, TRUE,
};
use drift_api::object::field_paths::FieldPaths;
use drift_kube::cleanup::{Selection, Selections};
use drift_kube::client::{self, CALL_DEADLINE, KubeconfigSettings};
use drift_kube::config::documents_in;
use drift_kube::kinds::KindError;
use drift_kube::program::settings::parse_lease_name;
use drift_language::{ConditionsPlace, LabelSelector, ObjectSelection, Target, manifests_of, parse_document};
use drift_language::{DocumentName, Texts};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::{Request, Resource as _};
use serde_json::{Value, json};

use crate::cluster::{HomeSettings, block_on, each_object, get, is_selected, kind_of, unanswered};
use crate::ending::{CommandError, ExitStatus};
use crate::targets::session::Session;

/// Shown at the end of `--help`.
const EXAMPLES: &str = "Examples:
  kubectl drift forget proxies --dry-run      which objects it would release
  kubectl drift forget proxies

Writes the target's name into the ConfigMap drift-forgotten. The programs then remove its finalizers and conditions; nothing is
deleted outside. Exit codes: 0 done, 2 unknown, 3 bad usage, or a ConfigMap still has the target";

/// Most objects that are named. The rest is counted.
const MOST_NAMES: usize = 20;

/// The target to forget.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ForgetSettings {
    /// The target, by its metadata.name
    target: String,
    /// Print what would be released and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    home: HomeSettings,
    /// The poller's Lease, where it runs with another --lease-name
    #[arg(long, value_name = "NAME", default_value = POLLER_LEASE, value_parser = parse_lease_name)]
    poller_lease: String,
    /// The controller's Lease, where it runs with another --lease-name
    #[arg(long, value_name = "NAME", default_value = CONTROLLER_LEASE, value_parser = parse_lease_name)]
    controller_lease: String,
    #[command(flatten)]
    cluster: KubeconfigSettings,
}

/// The notes of one target on both Leases.
#[derive(Debug, Default, PartialEq, Eq)]
struct Notes {
    hashes: BTreeSet<String>,
    places: BTreeSet<Selection>,
}

/// Says what the programs will release, and lets them.
///
/// # Errors
/// If a ConfigMap still has the target, no Lease notes it, or the API server does not answer.
pub(crate) fn run(settings: &ForgetSettings) -> Result<ExitStatus, CommandError> {
    block_on(async {
        let ForgetSettings { target, home, .. } = settings;
        let namespace = &home.targets_namespace;
        let session = Session::at(&settings.cluster, namespace, &settings.poller_lease).await?;
        let texts = documents_in(&session.target_maps().await?);
        if let Some(DocumentName { config_map, key }) = place_of(target, &texts) {
            return Err(CommandError::BadUsage(format!(
                "ConfigMap {namespace}/{config_map}, key {key}, has target {target}: to end it, remove the key from the ConfigMap"
            )));
        }
        let mut notes = Notes::default();
        for lease in [session.poller_lease().await, session.lease(&settings.controller_lease).await] {
            notes.read(target, lease.map_err(CommandError::CannotTell)?.as_ref());
        }
        if notes.hashes.is_empty() {
            return Err(CommandError::BadUsage(format!(
                "no program in namespace {namespace} knows a target {target} that leaves anything: there is nothing to forget"
            )));
        }
        say_released(&session.client, &notes, &texts).await?;
        if !settings.dry_run {
            write(&session.client, namespace, (target, &notes)).await?;
        }
        let tried = if settings.dry_run { " (dry run)" } else { "" };
        writeln!(anstream::stdout(), "target {target}: forgotten in ConfigMap {FORGOTTEN_CONFIG_MAP}{tried}")?;
        Ok(ExitStatus::Success)
    })
}

/// The document that names the target. An invalid one counts: its last valid text is active.
fn place_of(target: &str, texts: &Texts) -> Option<DocumentName> {
    let documents = texts.iter().flat_map(|(map, keys)| keys.iter().map(move |(key, text)| (map, key, text)));
    let named = documents.into_iter().find(|(_, _, text)| {
        manifests_of(text).iter().any(|manifest| manifest.pointer("/metadata/name") == Some(&json!(target)))
    });
    named.map(|(config_map, key, _)| DocumentName { config_map: config_map.clone(), key: key.clone() })
}

impl Notes {
    fn read(&mut self, target: &str, lease: Option<&Value>) {
        let annotations = lease.and_then(|lease| lease.pointer("/metadata/annotations"));
        let text = annotations.and_then(|annotations| annotations.get(SELECTIONS_ANNOTATION)).and_then(Value::as_str);
        let noted = text.map(|text| Selections::parse(text).0).unwrap_or_default();
        for (selection, note) in noted.iter().filter(|(selection, _)| selection.target == target) {
            self.hashes.insert(note.hash(selection));
            // The scope says nothing of where the objects are.
            self.places.insert(Selection { scope: None, ..selection.clone() });
        }
    }

    fn value(&self) -> String {
        self.hashes.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

/// Names the objects with a finalizer or a condition of ours that no other target selects.
async fn say_released(client: &kube::Client, notes: &Notes, texts: &Texts) -> Result<(), CommandError> {
    let others = targets_in(texts);
    for Selection { api_version, kind, namespaces, conditions, .. } in &notes.places {
        if *conditions == ConditionsPlace::Report {
            let places = if namespaces.is_empty() { "all namespaces".to_owned() } else { namespaces.join(", ") };
            writeln!(anstream::stdout(), "deletes the DriftReports of {kind} ({api_version}) in {places}")?;
            continue;
        }
        let objects = ObjectSelection {
            api_version: api_version.clone(),
            kind: kind.clone(),
            namespaces: namespaces.clone(),
            label_selector: LabelSelector::default(),
            conditions: *conditions,
        };
        let resolved = match kind_of(client, &objects).await {
            Ok(resolved) => resolved,
            // A typo in the target, or its CustomResourceDefinition went before it.
            Err(KindError::Missing { .. }) => {
                writeln!(
                    anstream::stdout(),
                    "releases nothing of {kind} ({api_version}): the cluster has no such kind"
                )?;
                continue;
            }
            Err(error) => return Err(CommandError::CannotTell(error.to_string())),
        };
        let mut left = Vec::new();
        let listed = each_object(client, (&objects, &resolved), (None, FieldPaths::default()), |seen| {
            let is_of_other = |target: &Target| {
                target.objects.is_of(objects.group(), &objects.kind)
                    && !target.objects.keeps_reports()
                    && is_selected(&target.objects, seen)
            };
            if seen.object.carries_ours() && !others.iter().any(is_of_other) {
                left.push(format!("{kind} {}", seen.object.id));
            }
        });
        listed.await.map_err(|error| unanswered(kind, &error))?;
        let mut out = anstream::stdout();
        for object in left.iter().take(MOST_NAMES) {
            writeln!(out, "releases {object}; its external resource stays")?;
        }
        if left.len() > MOST_NAMES {
            writeln!(out, "releases {} more of kind {kind}", left.len() - MOST_NAMES)?;
        }
    }
    Ok(())
}

fn targets_in(texts: &Texts) -> Vec<Target> {
    let parsed = texts.iter().flat_map(|(config_map, keys)| {
        keys.iter().filter_map(move |(key, text)| {
            let document = DocumentName { config_map: config_map.clone(), key: key.clone() };
            parse_document(&document, text).ok()
        })
    });
    parsed.collect()
}

/// Writes the entry into the ConfigMap, which keeps its other entries.
async fn write(client: &kube::Client, namespace: &str, (target, notes): (&str, &Notes)) -> Result<(), CommandError> {
    let path = ConfigMap::url_path(&(), Some(namespace));
    let what = format!("ConfigMap {FORGOTTEN_CONFIG_MAP}");
    let found = get(client, &path, FORGOTTEN_CONFIG_MAP).await.map_err(|error| unanswered(&what, &error))?;
    let (labels, data) = (json!({TARGETS_LABEL: TRUE}), json!({target: notes.value()}));
    let manager = Some(PERSON_MANAGER.to_owned());
    let request = match found {
        Some(_) => {
            let patch = json!({"metadata": {"labels": labels}, "data": data});
            let parameters = PatchParams { field_manager: manager, ..PatchParams::default() };
            Request::new(path).patch(FORGOTTEN_CONFIG_MAP, &parameters, &Patch::Merge(patch))
        }
        None => {
            let metadata = json!({"name": FORGOTTEN_CONFIG_MAP, "namespace": namespace, "labels": labels});
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
            let parameters = PostParams { field_manager: manager, ..PostParams::default() };
            Request::new(path).create(&parameters, map.to_string().into_bytes())
        }
    };
    let request = request.map_err(|error| CommandError::CannotTell(error.to_string()))?;
    let written: Result<Value, _> = client::request(client, CALL_DEADLINE, request).await;
    written.map(drop).map_err(|error| unanswered(&what, &error))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_language::fixtures::proxies::TEXT;

    #[test]
    fn a_document_that_names_the_target_keeps_it() {
        let texts = |text: &str| Texts::from([("m".to_owned(), [("k".to_owned(), text.to_owned())].into())]);
        let place = Some(DocumentName { config_map: "m".to_owned(), key: "k".to_owned() });
        assert_eq!(place_of("t", &texts(TEXT)), place);
        assert_eq!(place_of("t", &texts(&TEXT.replace("identity", "identitie"))), place, "its last text is active");
        assert_eq!(place_of("u", &texts(TEXT)), None);
        assert_eq!(place_of("t", &texts("{")), None);
    }

    #[test]
    fn the_notes_of_both_leases_are_forgotten() {
        let note = |target: &str, scope: &str| json!({"configMap": "m", "target": target, "apiVersion": "g/v1", "kind": "K", "scope": scope});
        let lease = |notes: Value| json!({"metadata": {"annotations": {SELECTIONS_ANNOTATION: notes.to_string()}}});
        let mut notes = Notes::default();
        notes.read("t", Some(&lease(json!([note("t", "00000001"), note("u", "00000001")]))));
        notes.read("t", Some(&lease(json!([note("t", "00000001"), note("t", "00000002")]))));
        assert_eq!((notes.hashes.len(), notes.places.len(), notes.value().len()), (2, 1, 17));
        let mut none = Notes::default();
        none.read("t", None);
        assert_eq!(none, Notes::default());
    }
}
