//! Corrections by Jobs with Pods on a real kubelet, under the `restricted` Pod Security level: one Job fails, one
//! heals, and one deletes.
//!
//! Other tests set the end of a Pod themselves. Here only the program in the Pod changes the external system.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use drift_e2e::cluster::kubectl::Kubectl;
use drift_e2e::manifests::{NAMESPACE, OBJECTS_NAMESPACE};
use drift_e2e::node::{Installation, JOB_TOOL, PORT};
use drift_e2e::programs::Which;
use drift_e2e::progress;
use drift_e2e::systems::outside::{Answer, Hold};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{condition, describe};
use serde_json::{Value, json};

/// Returns the right to run Jobs beside the objects, as in docs/cookbook/backup-job.md.
fn rights() -> Value {
    const API: &str = "rbac.authorization.k8s.io";
    let metadata = json!({"name": "drift-controller-jobs", "namespace": OBJECTS_NAMESPACE});
    let rule = json!({"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "delete", "get", "list"]});
    let account = json!({"kind": "ServiceAccount", "name": Which::Controller.name(), "namespace": NAMESPACE});
    let version = format!("{API}/v1");
    let role = json!({"apiVersion": version, "kind": "Role", "metadata": metadata, "rules": [rule]});
    let binding = json!({"apiVersion": version, "kind": "RoleBinding", "metadata": metadata, "subjects": [account],
        "roleRef": {"apiGroup": API, "kind": "Role", "name": metadata["name"]}});
    json!({"apiVersion": "v1", "kind": "List", "items": [role, binding]})
}

/// Returns a Job that sends one request.
fn job(installation: &Installation, method: &str, path: &str, body: &str) -> Value {
    let (address, port) = (installation.cluster().outside().to_string(), PORT.to_string());
    json!({"activeDeadlineSeconds": 60, "template": {"spec": {
        "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "tool", "image": JOB_TOOL, "args": [method, address, port, path, body],
            "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": true}}]}}})
}

/// The shipped target, corrected by Jobs.
async fn apply_target(installation: &Installation) -> Result<()> {
    let own = "${'/proxies/' + self.metadata.name}";
    let jobs = json!({
        "create": job(installation, "POST", "/proxies", "${json.text(merge(desired, {'name': self.metadata.name}))}"),
        "update": job(installation, "POST", own, "${json.text(desired)}"),
        "delete": job(installation, "DELETE", own, ""),
    });
    installation.apply_target(|spec| spec["correct"] = json!({"mode": "Correct", "job": jobs})).await
}

/// Returns the Jobs beside the objects with their results, in the order of their creation.
async fn ends(kubectl: &Kubectl) -> Result<Vec<(String, Value)>> {
    let arguments = ["get", "jobs", "-n", OBJECTS_NAMESPACE, "--sort-by=.metadata.creationTimestamp", "-o", "json"];
    let list: Value = serde_json::from_str(&kubectl.run(&arguments).await?.output)?;
    let ended = |job: &Value| {
        let conditions = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let last = conditions.iter().find(|entry| entry["type"] == "Complete" || entry["type"] == "Failed");
        last.and_then(|entry| entry["type"].as_str()).unwrap_or("open").to_owned()
    };
    Ok(list["items"].as_array().into_iter().flatten().map(|job| (ended(job), job.clone())).collect())
}

/// Checks that unrestricted Pods are rejected, so that our Jobs work within the restrictions.
async fn only_restricted_pods_run(kubectl: &Kubectl) -> Result<()> {
    let image = format!("--image={JOB_TOOL}");
    let refused = kubectl.run(&["run", "root", &image, "-n", OBJECTS_NAMESPACE, "--dry-run=server"]).await;
    let words = refused.err().context("a Pod that is not restricted was taken")?.to_string();
    ensure!(words.contains("violates PodSecurity \"restricted"), "{words}");
    Ok(())
}

/// The first Job gets a 500. The object is paused once its request arrives, so that the report of the end stays.
async fn a_failing_job_is_told(installation: &Installation) -> Result<()> {
    let annotate = |value| ["annotate", "proxy", "web", "-n", OBJECTS_NAMESPACE, "--overwrite", value];
    let hold = Hold::default();
    installation.outside().once("POST", "/proxies", Answer::status(500).held_by(&hold));
    installation.create_proxies(&["web".to_owned()]).await?;
    hold.wait_until_reached().await?;
    installation.kubectl().run(&annotate("driftpoller.dev/paused=true")).await?;
    hold.release();
    wait::until("web to say why its Job failed", wait::DEADLINE, async || {
        let object = installation.get("web").await?;
        let note = condition(&object, "driftCorrected").and_then(|entry| entry["message"].as_str()).unwrap_or_default();
        let is_told = describe(&object, "driftCorrected") == "False/CorrectionFailed"
            && note.contains("create: the Job: web-create-1-")
            && note.contains("it failed with BackoffLimitExceeded");
        Ok(if is_told { Seen::Met(()) } else { Seen::Instead(note.to_owned()) })
    })
    .await?;
    ensure!(installation.toxiproxy().proxy("web").await?.is_none(), "it took effect");
    installation.kubectl().run(&annotate("driftpoller.dev/paused-")).await.map(drop)
}

async fn story(installation: &Installation) -> Result<()> {
    let (kubectl, began) = (installation.kubectl(), Instant::now());
    only_restricted_pods_run(kubectl).await?;
    a_failing_job_is_told(installation).await?;
    let failed = began.elapsed();
    // A regular poll may see the Job's effect before the controller sees its end.
    wait::until("the second Job to be verified", wait::DEADLINE, async || {
        let number = installation.wait_until_verified("web").await?;
        Ok(if number == 2 { Seen::Met(()) } else { Seen::Instead(format!("correction {number} is verified")) })
    })
    .await?;
    let healed = began.elapsed();
    let proxy = installation.toxiproxy().proxy("web").await?;
    ensure!(proxy.as_ref().is_some_and(|proxy| proxy.upstream == "127.0.0.1:9"), "{proxy:?}");
    ensure!(installation.outside().writes() == 2, "{:?}", installation.outside().requests());
    // They stay until their time to live, with their logs.
    let ends = ends(kubectl).await?;
    ensure!(ends.iter().map(|(end, _)| end.as_str()).eq(["Failed", "Complete"]), "{ends:?}");
    ensure!(ends.iter().all(|(_, job)| job["spec"]["ttlSecondsAfterFinished"] == 3600), "{ends:?}");

    kubectl.run(&["delete", "proxy", "web", "-n", OBJECTS_NAMESPACE]).await?;
    ensure!(installation.toxiproxy().proxy("web").await?.is_none(), "it stays outside");
    wait::until("all Jobs to go with their object", wait::DEADLINE, async || {
        let left = self::ends(kubectl).await?;
        Ok(if left.is_empty() { Seen::Met(()) } else { Seen::Instead(format!("{left:?}")) })
    })
    .await?;
    progress::say(format!(
        "a Job that fails told after {:.1} s, healed by the next after {:.1} s, deleted by a third after {:.1} s",
        failed.as_secs_f64(),
        healed.as_secs_f64(),
        began.elapsed().as_secs_f64()
    ));
    Ok(())
}

#[tokio::test]
async fn jobs_correct_by_pods_that_run() -> Result<()> {
    Installation::run("jobs", async |installation| {
        installation.apply(&rights()).await?;
        apply_target(installation).await?;
        story(installation).await
    })
    .await
}
