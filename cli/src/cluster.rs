//! Access to the cluster for all commands: the client, objects, ConfigMaps with targets, and Leases.

use std::io::Write as _;

use drift_api::names::{PERSON_MANAGER, POLLER_LEASE};
use drift_api::object::SeenObject;
use drift_api::object::field_paths::FieldPaths;
use drift_kube::client::ResolvedKind;
use drift_kube::client::{self, CALL_DEADLINE, CallError, KubeconfigSettings, ObjectPages};
use drift_kube::kinds::{KindError, locate_served_kind, locate_writable_kind};
use drift_kube::program::settings::{parse_lease_name, parse_namespace};
use drift_language::ObjectSelection;
use kube::api::GetParams;
use kube::core::Request;
use serde_json::Value;

use crate::ending::CommandError;

/// The namespace that the shipped manifests install into.
pub(crate) const SHIPPED_NAMESPACE: &str = "drift-system";

/// The namespace and the cluster of the targets.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TargetsSettings {
    /// Namespace of the ConfigMaps with the targets
    #[arg(long, default_value = SHIPPED_NAMESPACE, value_name = "NAMESPACE", value_parser = parse_namespace)]
    pub(crate) targets_namespace: String,
    /// The poller's Lease, where it runs with another --lease-name
    #[arg(long, value_name = "NAME", default_value = POLLER_LEASE, value_parser = parse_lease_name)]
    pub(crate) poller_lease: String,
    #[command(flatten)]
    pub(crate) cluster: KubeconfigSettings,
}

impl Default for TargetsSettings {
    fn default() -> Self {
        Self {
            targets_namespace: SHIPPED_NAMESPACE.to_owned(),
            poller_lease: POLLER_LEASE.to_owned(),
            cluster: KubeconfigSettings::default(),
        }
    }
}

/// The namespace of the programs, for commands that are about no object.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct HomeSettings {
    /// Namespace of the programs and of the ConfigMaps with the targets
    #[arg(long, alias = "namespace", short_alias = 'n', value_name = "NAMESPACE", default_value = SHIPPED_NAMESPACE, value_parser = parse_namespace)]
    pub(crate) targets_namespace: String,
}

/// The namespace of objects.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PlaceSettings {
    /// Namespace of the objects [default: the kubeconfig context's]
    #[arg(long, short, value_parser = parse_namespace)]
    namespace: Option<String>,
}

impl PlaceSettings {
    /// The namespace that was named.
    pub(crate) fn stated(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The namespace that was named, else the client's.
    pub(crate) fn namespace<'c>(&'c self, client: &'c kube::Client) -> &'c str {
        self.namespace.as_deref().unwrap_or_else(|| client.default_namespace())
    }
}

/// Runs what a command does to its end.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, CommandError>>) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let ended = runtime.block_on(work);
    // What it began in the background needs no end.
    runtime.shutdown_background();
    ended
}

/// A client for the cluster that the kubeconfig names.
///
/// # Errors
/// When there is no usable configuration.
pub(crate) async fn connect(cluster: &KubeconfigSettings) -> Result<kube::Client, CommandError> {
    let client = cluster.configuration().await.and_then(|config| client::client_of(config, PERSON_MANAGER));
    client.map_err(|error| CommandError::BadUsage(error.to_string()))
}

/// The API server did not say what was asked.
pub(crate) fn unanswered(what: &str, error: &CallError) -> CommandError {
    CommandError::CannotTell(format!("{what}: {error}"))
}

/// The kind of a target for reads, as the API server serves it, in any version.
///
/// # Errors
/// [`KindError`].
pub(crate) async fn kind_of(client: &kube::Client, objects: &ObjectSelection) -> Result<ResolvedKind, KindError> {
    let noted = std::iter::once(objects.api_version.as_str());
    locate_served_kind(client, objects.group(), &objects.kind, noted).await
}

/// The kind of a target for a write to one of its objects: in the target's version, unless that would change other fields of
/// the stored object.
///
/// # Errors
/// [`KindError`].
pub(crate) async fn writable_kind_of(
    client: &kube::Client,
    objects: &ObjectSelection,
) -> Result<ResolvedKind, KindError> {
    let noted = std::iter::once(objects.api_version.as_str());
    locate_writable_kind(client, objects.group(), &objects.kind, noted).await
}

/// The namespaces in which a target has these objects, of one namespace or of all: none where that is every namespace of the cluster;
/// `None` where there are none.
pub(crate) fn selected_namespaces(
    objects: &ObjectSelection,
    kind: &ResolvedKind,
    namespace: Option<&str>,
) -> Option<Vec<String>> {
    let selected = &objects.namespaces;
    match namespace.filter(|_| kind.namespaced) {
        Some(one) if selected.is_empty() || selected.iter().any(|known| known == one) => Some(vec![one.to_owned()]),
        Some(_) => None,
        None => Some(selected.clone()),
    }
}

/// Looks at the objects that a target selects, in one namespace or in all, and keeps these fields of each.
///
/// # Errors
/// When they cannot be listed.
pub(crate) async fn each_object(
    client: &kube::Client,
    (objects, kind): (&ObjectSelection, &ResolvedKind),
    (namespace, fields): (Option<&str>, FieldPaths),
    mut look: impl FnMut(&SeenObject),
) -> Result<(), CallError> {
    let Some(namespaces) = selected_namespaces(objects, kind, namespace) else { return Ok(()) };
    let pages = ObjectPages::new(client, kind, &namespaces, fields);
    let mut pages = pages.selecting(&objects.label_selector.to_string());
    while let Some(page) = pages.next_seen().await? {
        page.iter().filter(|seen| is_selected(objects, seen)).for_each(&mut look);
    }
    Ok(())
}

/// Returns true if a target selects an object of its kind.
pub(crate) fn is_selected(objects: &ObjectSelection, seen: &SeenObject) -> bool {
    objects.selects(seen.object.id.namespace.as_deref(), seen.labels.as_ref())
}

/// One object; `None` where there is none.
///
/// # Errors
/// When the API server does not say.
pub(crate) async fn read_object(
    client: &kube::Client,
    kind: &ResolvedKind,
    (namespace, name): (&str, &str),
) -> Result<Option<Value>, CommandError> {
    let path = kind.path(Some(namespace));
    get(client, &path, name).await.map_err(|error| unanswered(&format!("{} {name}", kind.resource.kind), &error))
}

/// Says on stderr what does not keep the command from its work.
pub(crate) fn warn(sentence: &str) -> Result<(), CommandError> {
    Ok(writeln!(anstream::stderr(), "warning: {sentence}")?)
}

/// One object of the collection at a path; `None` where there is none.
///
/// # Errors
/// When the API server does not say.
pub(crate) async fn get(client: &kube::Client, path: &str, name: &str) -> Result<Option<Value>, CallError> {
    let request = Request::new(path).get(name, &GetParams::default());
    match client::request(client, CALL_DEADLINE, request?).await {
        Err(error) if error.code() == Some(404) => Ok(None),
        other => other.map(Some),
    }
}
