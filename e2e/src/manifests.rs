//! The shipped manifests, rendered by kubectl and renamed so that many tests can use them side by side.
//!
//! Tests use the ServiceAccounts, Roles and CRD that users apply. Only the programs' namespace, the demonstration group
//! and the names of cluster-scoped RBAC objects differ.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The programs' namespace in the shipped manifests. Tests replace it.
pub const NAMESPACE: &str = "drift-system";
/// The demonstration kinds' group.
pub const GROUP: &str = "demo.driftpoller.dev";
/// The namespace of the shipped target's objects.
pub const OBJECTS_NAMESPACE: &str = "drift-demo";
/// The address in the shipped target.
pub const TOXIPROXY_URL: &str = "http://toxiproxy.drift-demo.svc:8474";
/// Suffix of each world's namespace for the programs.
pub const PROGRAMS: &str = "-programs";
/// Prefix of the kinds of admission policies and their bindings.
const ADMISSION: &str = "ValidatingAdmissionPolicy";
/// The API server's name of a ServiceAccount, up to its namespace.
const ACCOUNTS: &str = "system:serviceaccount:";
/// The ConfigMap of targets.
pub const TARGETS: &str = "drift-targets";
/// The CustomResourceDefinition of DriftReports.
pub const REPORTS: &str = "driftreports.driftpoller.dev";
/// Label of a ClusterRole whose rules Kubernetes copies into the role `view`.
const IN_VIEW: &str = "rbac.authorization.k8s.io/aggregate-to-view";

/// Returns the folder with the shipped kustomization.
#[must_use]
pub fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests"))
}

/// Returns the documents that `kubectl kustomize manifests` prints. Rendered once per process.
pub fn shipped(kubectl: &Path) -> Result<&'static [Value]> {
    static RENDERED: OnceLock<Vec<Value>> = OnceLock::new();
    if let Some(documents) = RENDERED.get() {
        return Ok(documents);
    }
    let documents = parse_stream(&render(kubectl, &folder())?)?;
    Ok(RENDERED.get_or_init(|| documents))
}

/// Returns the text of one key of the shipped targets.
pub fn shipped_target(kubectl: &Path, key: &str) -> Result<&'static str> {
    let documents = shipped(kubectl)?;
    let targets = documents.iter().find(|document| is(document, "ConfigMap", TARGETS));
    let text = targets.and_then(|document| document["data"][key].as_str());
    text.with_context(|| format!("the shipped ConfigMap {TARGETS} has no key {key}"))
}

/// Parses a stream of YAML documents.
pub fn parse_stream(text: &str) -> Result<Vec<Value>> {
    serde_saphyr::from_multiple(text).context("parsing a stream of YAML documents")
}

/// Returns true if a document has this kind and name.
#[must_use]
pub fn is(document: &Value, kind: &str, name: &str) -> bool {
    document["kind"] == kind && document["metadata"]["name"] == name
}

/// The names of one world.
#[derive(Clone, Debug)]
pub struct Names {
    /// The world's id, also the prefix of the names of cluster-scoped roles.
    pub id: String,
    /// The programs' namespace.
    pub programs: String,
    /// The demonstration kinds' group.
    pub group: String,
}

impl Names {
    /// Returns the manifests that the two programs need in this world, beside [`shared_by_worlds`]: namespace, CRD,
    /// ServiceAccounts and RBAC. Deployments are left out because there is no node. The ConfigMap of targets is left
    /// out because each test has its own.
    pub fn surroundings(&self, kubectl: &Path) -> Result<Vec<Value>> {
        const LEFT_OUT: [&str; 2] = ["Deployment", "ConfigMap"];
        let documents = shipped(kubectl)?.iter().filter(|document| !is_shared(document));
        let wanted = documents.filter(|document| !LEFT_OUT.iter().any(|kind| document["kind"] == *kind));
        wanted.map(|document| self.rewrite(document)).collect()
    }

    fn rewrite(&self, document: &Value) -> Result<Value> {
        let mut document = document.clone();
        self.rewrite_strings(&mut document);
        let kind = document["kind"].as_str().unwrap_or_default().to_owned();
        if kind.starts_with("ClusterRole") {
            self.prefix(&mut document["metadata"]["name"])?;
        }
        if kind == "ClusterRoleBinding" {
            self.prefix(&mut document["roleRef"]["name"])?;
        }
        Ok(document)
    }

    fn rewrite_strings(&self, value: &mut Value) {
        match value {
            Value::String(text) if text == NAMESPACE => text.clone_from(&self.programs),
            Value::String(text) => *text = text.replace(GROUP, &self.group),
            Value::Array(items) => items.iter_mut().for_each(|item| self.rewrite_strings(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.rewrite_strings(field)),
            _ => {}
        }
    }

    fn prefix(&self, name: &mut Value) -> Result<()> {
        let Value::String(text) = name else { bail!("a cluster-scoped role without a name") };
        *text = format!("{}-{text}", self.id);
        Ok(())
    }
}

/// Returns the manifests that a cluster has once for all its worlds: the kind of reports, who may view them, and
/// admission.
pub fn shared_by_worlds(kubectl: &Path) -> Result<Vec<Value>> {
    let mut documents: Vec<Value> = shipped(kubectl)?.iter().filter(|document| is_shared(document)).cloned().collect();
    documents.iter_mut().filter(|document| is_admission(document)).for_each(widen);
    Ok(documents)
}

fn is_shared(document: &Value) -> bool {
    is_admission(document)
        || is(document, "CustomResourceDefinition", REPORTS)
        || !document["metadata"]["labels"][IN_VIEW].is_null()
}

fn is_admission(document: &Value) -> bool {
    document["kind"].as_str().is_some_and(|kind| kind.starts_with(ADMISSION))
}

/// Makes an admission policy or its binding apply to the accounts of all worlds. The API server recompiles all policies
/// at each change of one, so a pair for each world would keep it busy.
fn widen(document: &mut Value) {
    for name in ["/metadata/name", "/spec/policyName"] {
        if let Some(Value::String(text)) = document.pointer_mut(name) {
            *text = format!("all-worlds-{text}");
        }
    }
    let conditions = document.pointer_mut("/spec/matchConditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        if let Some(Value::String(expression)) = condition.get_mut("expression") {
            let account = format!("== '{ACCOUNTS}{NAMESPACE}:");
            // The opening quote moves into the call, before the closing one.
            if let Some((subject, name)) = expression.split_once(&account) {
                let name = name.trim_end_matches('\'');
                *expression = format!("{}.endsWith('{PROGRAMS}:{name}')", subject.trim_end());
            }
        }
    }
}

/// Returns the output of `kubectl kustomize` for a folder.
pub fn render(kubectl: &Path, folder: &Path) -> Result<String> {
    let output = Command::new(kubectl).arg("kustomize").arg(folder).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("starting {}", kubectl.display()))?;
    if !output.status.success() {
        bail!("kubectl kustomize {}: {}", folder.display(), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}
