//! `kubectl drift install`: prints the manifests of an installation with the images of a registry.

mod cluster_names;
mod overlay;

use std::io::Write as _;

use drift_language::to_yaml;
use serde_json::{Value, json};

use crate::cluster::{HomeSettings, SHIPPED_NAMESPACE};
use crate::ending::{CommandError, ExitStatus};
use cluster_names::{append_suffix, parse_suffix};
use overlay::{Overlay, rendered};

/// Shown at the end of `--help`.
const EXAMPLES: &str = "Examples:
  kubectl drift install --images registry.example | kubectl apply -f -
  kubectl drift install --images registry.example --overlay observe-only --without-demo | kubectl apply -f -
  kubectl drift install --images registry.example --version 0.2.0 --overlay observe-only > install.yaml
  kubectl drift install --images registry.example --targets-namespace drift-team-b --cluster-name-suffix=-team-b | kubectl apply -f -

The manifests are those of this program's version, as `kubectl kustomize manifests/overlays/NAME` prints them.
Exit codes: 0 printed, 3 bad usage";

/// The installation to print.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InstallSettings {
    /// Registry and path of both images: REGISTRY/drift-poller and REGISTRY/drift-controller
    #[arg(long, value_name = "REGISTRY")]
    images: String,
    /// Tag of both images
    #[arg(long, value_name = "TAG", default_value = env!("CARGO_PKG_VERSION"))]
    version: String,
    /// Programs and replicas
    #[arg(long, value_enum, default_value = "production")]
    overlay: Overlay,
    /// Leave out the kind Proxy, its target and its rights
    #[arg(long)]
    without_demo: bool,
    #[command(flatten)]
    home: HomeSettings,
    /// End of the names of cluster-wide objects, for a second installation in the cluster
    #[arg(long, value_name = "-SUFFIX", value_parser = parse_suffix, allow_hyphen_values = true)]
    cluster_name_suffix: Option<String>,
}

/// Prints the manifests.
///
/// # Errors
/// If stdout is closed.
pub(crate) fn run(settings: &InstallSettings) -> Result<ExitStatus, CommandError> {
    let documents = rendered(settings.overlay, !settings.without_demo).into_iter().map(|mut document| {
        replace_namespace(&mut document, &settings.home.targets_namespace);
        name_image(&mut document, settings);
        if let Some(suffix) = &settings.cluster_name_suffix {
            append_suffix(&mut document, suffix);
        }
        to_yaml(&document)
    });
    let text = documents.collect::<Vec<_>>().join("---\n");
    anstream::stdout().write_all(text.as_bytes())?;
    Ok(ExitStatus::Success)
}

/// Replaces the shipped namespace in every text: admission policies name accounts by it.
fn replace_namespace(value: &mut Value, namespace: &str) {
    match value {
        Value::String(text) => *text = text.replace(SHIPPED_NAMESPACE, namespace),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_namespace(item, namespace)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace_namespace(field, namespace)),
        _ => {}
    }
}

fn name_image(document: &mut Value, settings: &InstallSettings) {
    let container = document.pointer_mut("/spec/template/spec/containers/0");
    if let Some(container) = container {
        let registry = settings.images.trim_end_matches('/');
        let name = container["name"].as_str().unwrap_or_default();
        container["image"] = json!(format!("{registry}/{name}:{}", settings.version));
    }
}
