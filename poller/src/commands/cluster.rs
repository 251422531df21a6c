//! The cluster as a command meets it: a client, the live targets, and the objects that they select.
//!
//! Everything is asked for once and nothing is watched. It must not know what a command does with it.

use std::sync::Arc;

use drift_cluster::client::{self, CALL_DEADLINE, CallError, KubeconfigSettings, ObjectPages};
use drift_cluster::config::list_documents;
use drift_cluster::kinds::{KindError, ResolvedKind, locate_served_kind};
use drift_model::field_paths::FieldPaths;
use drift_model::object::LeanObject;
use drift_target::{Catalogue, Target};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::GetParams;
use kube::core::{DynamicObject, Request, Resource};
use serde_json::Value;

use crate::commands::ending::CommandError;
use crate::commands::kinds::KindWord;

/// The namespace that the shipped manifests install into.
pub(crate) const SHIPPED_NAMESPACE: &str = "drift-system";

/// Where the targets are.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TargetsSettings {
    /// Namespace of the ConfigMaps with the targets
    #[arg(long, default_value = SHIPPED_NAMESPACE, value_name = "NAMESPACE")]
    pub(crate) targets_namespace: String,
    #[command(flatten)]
    pub(crate) cluster: KubeconfigSettings,
}

/// Which namespaces of objects.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PlaceSettings {
    /// Namespace of the objects [default: the kubeconfig context's]
    #[arg(long, short)]
    namespace: Option<String>,
}

impl PlaceSettings {
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
    let client = cluster.configuration().await.and_then(client::client_of);
    client.map_err(|error| CommandError::BadUsage(error.to_string()))
}

/// The API server did not say what was asked.
pub(crate) fn unanswered(what: &str, error: &CallError) -> CommandError {
    CommandError::CannotTell(format!("{what}: {error}"))
}

/// The good ones of the live targets, by name, and whether they are all that there are; what is wrong is said on stderr.
///
/// # Errors
/// When they cannot be read, or there are none.
pub(crate) async fn live_targets(
    client: &kube::Client,
    namespace: &str,
) -> Result<(Vec<Arc<Target>>, bool), CommandError> {
    let documents = list_documents(client, namespace).await;
    let documents = documents.map_err(|error| unanswered(&format!("the targets in namespace {namespace}"), &error))?;
    let catalogue = Catalogue::default().update(&documents);
    catalogue.problems().iter().for_each(|problem| tracing::warn!("passed over: {problem}"));
    let targets: Vec<_> = catalogue.targets().values().cloned().collect();
    if targets.is_empty() {
        let message = format!(
            "namespace {namespace} has no good target: name the one where the ConfigMaps are, labelled driftpoller.dev/targets: \
             \"true\""
        );
        return Err(CommandError::BadUsage(message));
    }
    Ok((targets, catalogue.problems().is_empty()))
}

/// What the API server calls the kind of a target, in whatever version it serves.
///
/// # Errors
/// [`KindError`].
pub(crate) async fn kind_of(client: &kube::Client, target: &Target) -> Result<ResolvedKind, KindError> {
    let noted = std::iter::once(target.objects.api_version.as_str());
    locate_served_kind(client, (target.objects.group(), &target.objects.kind), noted).await
}

/// The namespaces in which a target has objects, of one namespace or of all: none where that is every namespace of the cluster;
/// `None` where there are none.
pub(crate) fn selected_namespaces(
    target: &Target,
    kind: &ResolvedKind,
    namespace: Option<&str>,
) -> Option<Vec<String>> {
    let selected = &target.objects.namespaces;
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
    (target, kind): (&Target, &ResolvedKind),
    (namespace, fields): (Option<&str>, FieldPaths),
    mut look: impl FnMut(LeanObject),
) -> Result<(), CallError> {
    let selection = &target.objects;
    let Some(namespaces) = selected_namespaces(target, kind, namespace) else { return Ok(()) };
    let mut pages = ObjectPages::new(client, kind, &namespaces, fields);
    while let Some(page) = pages.next_seen().await? {
        for seen in page {
            if selection.selects(seen.object.id.namespace.as_deref(), seen.labels.as_ref()) {
                look(seen.object);
            }
        }
    }
    Ok(())
}

/// The object that somebody names, with the target that selects it.
///
/// # Errors
/// When there is no such kind, object or target.
pub(crate) async fn find_object(
    client: &kube::Client,
    targets: &[Arc<Target>],
    word: &str,
    (namespace, name): (&str, &str),
) -> Result<(Arc<Target>, LeanObject), CommandError> {
    let (meant, mut known) = (KindWord::look_up(client, word).await, Vec::new());
    for target in targets {
        let kind = match kind_of(client, target).await {
            Ok(kind) => kind,
            Err(error) => {
                tracing::warn!("target {}: {error}", target.name);
                continue;
            }
        };
        if !meant.means(&kind) {
            known.push(kind.resource.plural);
            continue;
        }
        let Some(object) = read_object(client, &kind, (namespace, name)).await? else {
            let message = format!("there is no {} {name} in namespace {namespace}", target.objects.kind);
            return Err(CommandError::BadUsage(message));
        };
        let lean = LeanObject::prune(&object, &target.all_fields);
        if target.objects.selects(lean.id.namespace.as_deref(), object.pointer("/metadata/labels")) {
            return Ok((target.clone(), lean));
        }
        known.push(format!("{} (target {} does not select this one)", kind.resource.plural, target.name));
    }
    Err(CommandError::BadUsage(format!(
        "no target is about {word}/{name}; there are targets about {}",
        known.join(", ")
    )))
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
    let path = DynamicObject::url_path(&kind.resource, kind.namespaced.then_some(namespace));
    get(client, &path, name).await.map_err(|error| unanswered(&format!("{} {name}", kind.resource.kind), &error))
}

/// A program's Lease; `None` where there is none, or it cannot be read, which is said.
pub(crate) async fn read_lease(client: &kube::Client, namespace: &str, name: &str) -> Option<Value> {
    let read = get(client, &Lease::url_path(&(), Some(namespace)), name).await;
    read.unwrap_or_else(|error| {
        tracing::warn!("the Lease {name} in namespace {namespace} cannot be read: {error}");
        None
    })
}

/// One object of the collection at a path; `None` where there is none.
///
/// # Errors
/// When the API server does not say.
pub(crate) async fn get(client: &kube::Client, path: &str, name: &str) -> Result<Option<Value>, CallError> {
    let request = Request::new(path).get(name, &GetParams::default());
    let request = request.map_err(|error| CallError::Transport(error.to_string()))?;
    match client::request(client, CALL_DEADLINE, request).await {
        Err(error) if error.code() == Some(404) => Ok(None),
        other => other.map(Some),
    }
}
