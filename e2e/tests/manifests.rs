//! The shipped manifests are accepted by a real API server, whole and without a warning.

use std::ffi::OsStr;

use anyhow::{Context as _, Result, ensure};
use drift_e2e::cluster::control_plane::ControlPlane;
use drift_e2e::cluster::kubectl::Kubectl;
use drift_e2e::manifests;
use drift_e2e::wait::{self, Seen};
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// Cluster-scoped objects have only one name: a dry run beside the real creation would find half of them.
pub(crate) static SHIPPED_NAMES: Mutex<()> = Mutex::const_new(());

async fn kubectl() -> Result<Kubectl> {
    Ok(ControlPlane::shared().await?.kubectl())
}

#[tokio::test]
async fn apply_k_is_accepted_and_changes_nothing_twice() -> Result<()> {
    let kubectl = kubectl().await?;
    let _alone = SHIPPED_NAMES.lock().await;
    let folder = manifests::folder();
    let folder = folder.to_str().context("no UTF-8")?;
    let first = kubectl.run(&["apply", "-k", folder]).await?;
    ensure!(first.complaints.is_empty(), "{}", first.complaints);
    for kind in ["deployment.apps/drift-poller", "deployment.apps/drift-controller", "configmap/drift-targets"] {
        ensure!(first.output.contains(&format!("{kind} created")), "{}", first.output);
    }
    let again = kubectl.run(&["apply", "-k", folder]).await?;
    ensure!(again.complaints.is_empty(), "{}", again.complaints);
    ensure!(again.output.lines().all(|line| line.ends_with(" unchanged")), "{}", again.output);
    let examples = manifests::folder().join("examples");
    let examples = examples.to_str().context("no UTF-8")?;
    wait::until("the example objects to be accepted", wait::DEADLINE, async || {
        Ok(Seen::Met(kubectl.run(&["apply", "-f", examples]).await?))
    })
    .await?;
    // Other tests have Proxies too, each in a group of its own.
    let kind = format!("proxies.{}", manifests::GROUP);
    let table = kubectl.run(&["get", &kind, "-n", manifests::OBJECTS_NAMESPACE]).await?.output;
    let heading = table.lines().next().unwrap_or_default();
    let columns: Vec<&str> = heading.split_whitespace().collect();
    ensure!(columns == ["NAME", "DRIFT", "REASON", "SINCE", "CORRECTED", "AGE"], "{table}");
    Ok(())
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn every_overlay_is_valid_to_the_api_server() -> Result<()> {
    let plane = ControlPlane::shared().await?;
    let kubectl = plane.kubectl();
    let _alone = SHIPPED_NAMES.lock().await;
    let base = manifests::shipped(&plane.binaries().kubectl)?.iter();
    // A dry run creates no namespace, so objects in one would be rejected. A separate namespace, because another test
    // creates the shipped one.
    let elsewhere = |text: &str| text.replace(manifests::NAMESPACE, "overlays-check");
    for namespace in base.filter(|document| document["kind"] == "Namespace") {
        kubectl.run_with_input(&["apply", "-f", "-"], &elsewhere(&namespace.to_string())).await?;
    }
    // The components are also applied by themselves.
    let components = ["components/condition-writers", "components/verify"];
    let overlays = ["overlays/demo", "overlays/production", "overlays/observe-only", "overlays/webhooks"];
    for overlay in overlays.into_iter().chain(components) {
        let rendered = manifests::render(&plane.binaries().kubectl, &manifests::folder().join(overlay))?;
        let rendered = elsewhere(&rendered);
        let arguments = ["apply", "--dry-run=server", "-f", "-"];
        let printed = kubectl.run_with_input(&arguments, &rendered).await.with_context(|| overlay.to_owned())?;
        ensure!(printed.complaints.is_empty(), "{overlay}: {}", printed.complaints);
        let (documents, answers) = (manifests::parse_stream(&rendered)?.len(), printed.output.lines().count());
        ensure!(documents == answers, "{overlay}: {documents} documents, {answers} answers:\n{}", printed.output);
    }
    Ok(())
}

#[tokio::test]
async fn observing_only_leaves_no_account_that_corrects() -> Result<()> {
    /// The poller's writes: its Lease, Events, and the status of selected objects or their reports.
    const WRITTEN: [(&str, &[&str]); 4] = [
        ("leases", &["create", "update"]),
        ("events", &["create"]),
        ("proxies/status", &["patch"]),
        ("driftreports", &["create", "update", "patch", "delete", "report"]),
    ];
    let plane = ControlPlane::shared().await?;
    let folder = manifests::folder().join("overlays/observe-only");
    let documents = manifests::parse_stream(&manifests::render(&plane.binaries().kubectl, &folder)?)?;
    let mut writing = 0;
    for document in &documents {
        let (kind, name) = (document["kind"].as_str().unwrap_or_default(), &document["metadata"]["name"]);
        ensure!(name != "drift-controller", "{kind} {name} is left");
        for subject in document["subjects"].as_array().into_iter().flatten() {
            ensure!(subject["name"] == "drift-poller", "{kind} {name} binds {subject}");
        }
        for rule in document["rules"].as_array().into_iter().flatten() {
            let words = |key: &str| rule[key].as_array().cloned().unwrap_or_default();
            for verb in words("verbs").iter().filter(|verb| !matches!(verb.as_str(), Some("get" | "list" | "watch"))) {
                for resource in words("resources") {
                    let known =
                        WRITTEN.iter().any(|(name, verbs)| resource == *name && verbs.iter().any(|it| verb == it));
                    ensure!(known, "{kind} {name} grants {verb} of {resource}");
                    writing += 1;
                }
            }
        }
    }
    ensure!(writing >= WRITTEN.len(), "only {writing} rights to write were found");
    Ok(())
}

#[tokio::test]
async fn the_version_is_the_same_wherever_it_stands() -> Result<()> {
    let workspace = manifests::folder().join("..");
    let read = |name: &str| std::fs::read_to_string(workspace.join(name)).with_context(|| name.to_owned());
    let version = env!("CARGO_PKG_VERSION");
    let install = read("manifests/rendered/production.yaml")?;
    let job = read("manifests/components/verify/job.yaml")?;
    ensure!(job.contains(&format!("image: kubectl-drift:{version}\n")), "the Job drift-verify has another version");
    let toolchain = read("rust-toolchain.toml")?;
    let toolchain = toolchain.split('"').nth(1).context("no toolchain")?;
    for program in ["poller", "controller"] {
        let dockerfile = read(&format!("Dockerfile.{program}"))?;
        ensure!(dockerfile.contains(&format!("ARG VERSION={version}\n")), "Dockerfile.{program} has another version");
        ensure!(dockerfile.contains(&format!("rust:{toolchain}-")), "Dockerfile.{program} has another toolchain");
        let image = format!("image: drift-{program}:{version}\n");
        ensure!(install.contains(&image), "production.yaml has no {image}");
    }
    Ok(())
}

/// Set to write rendered overlays instead of comparing them.
const WRITE: &str = "DRIFT_WRITE_MANIFESTS";

#[tokio::test]
async fn each_rendered_file_is_its_overlay() -> Result<()> {
    let plane = ControlPlane::shared().await?;
    let folder = manifests::folder();
    for file in std::fs::read_dir(folder.join("rendered"))? {
        let file = file?.path();
        let name = file.file_stem().and_then(OsStr::to_str).context("no name")?;
        let rendered = manifests::render(&plane.binaries().kubectl, &folder.join("overlays").join(name))?;
        let kept = std::fs::read_to_string(&file)?;
        let is_head = |line: &&str| line.starts_with('#');
        let head: String = kept.lines().take_while(is_head).map(|line| format!("{line}\n")).collect();
        let wanted = head + &rendered;
        if std::env::var_os(WRITE).is_some() {
            std::fs::write(&file, &wanted)?;
        }
        ensure!(
            std::fs::read_to_string(&file)? == wanted,
            "manifests/rendered/{name}.yaml is old: run this test with {WRITE}=1"
        );
    }
    Ok(())
}

#[tokio::test]
async fn the_restricted_level_is_enforced() -> Result<()> {
    let plane = ControlPlane::shared().await?;
    let documents = manifests::shipped(&plane.binaries().kubectl)?;
    let find = |kind: &str, name: &str| documents.iter().find(|each| manifests::is(each, kind, name)).cloned();
    let mut namespace = find("Namespace", manifests::NAMESPACE).context("no Namespace")?;
    namespace["metadata"]["name"] = json!("restricted-check");
    let mut deployment = find("Deployment", "drift-poller").context("no Deployment")?;
    deployment["metadata"]["namespace"] = json!("restricted-check");
    let apply =
        async |document: &Value| plane.kubectl().run_with_input(&["apply", "-f", "-"], &document.to_string()).await;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "drift-poller", "namespace": "restricted-check"}});
    apply(&namespace).await?;
    apply(&account).await?;
    ensure!(apply(&deployment).await?.complaints.is_empty());
    let pod = |deployment: &Value, name: &str| {
        let metadata = json!({"name": name, "namespace": "restricted-check"});
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": deployment["spec"]["template"]["spec"]})
    };
    apply(&pod(&deployment, "shipped")).await.context("the shipped Deployment's Pod")?;
    deployment["spec"]["template"]["spec"]["containers"][0]["securityContext"] = json!({});
    let complaints = apply(&deployment).await?.complaints;
    ensure!(complaints.contains("would violate PodSecurity"), "no warning: {complaints:?}");
    let refused = apply(&pod(&deployment, "loosened")).await.err().map(|error| error.to_string());
    let refused = refused.unwrap_or_default();
    ensure!(refused.contains("violates PodSecurity"), "{refused:?}");
    Ok(())
}
