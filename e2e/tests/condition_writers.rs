//! With the component `condition-writers`, the API server warns foreign writers of our conditions and rejects nothing.

use anyhow::{Context as _, Result, ensure};
use drift_e2e::cluster::kubectl::Kubectl;
use drift_e2e::manifests;
use drift_e2e::programs::Which;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use kube::api::DeleteParams;
use serde_json::{Value, json};

const COMPONENT: &str = "condition-writers";
/// The policy and its binding.
const SHIPPED_NAME: &str = "drift-condition-writers";
const ADMISSION: &str = "admissionregistration.k8s.io/v1";
const RBAC: &str = "rbac.authorization.k8s.io/v1";
/// An account that may write the status, as that of any operator.
const OPERATOR: &str = "operator";
const OF_THE_POLLER: &str = "only the poller may add, change or remove the condition driftObserved";
const OF_THE_CONTROLLER: &str = "only the controller may add, change or remove the condition driftCorrected";

/// The component as shipped, for the accounts of this world. The binding limits it to the world's kinds, so that the
/// administrators of other tests see no warning.
fn component(world: &World) -> Result<Vec<Value>> {
    let folder = manifests::folder().join("components").join(COMPONENT);
    let rendered = manifests::render(&world.control_plane().binaries().kubectl, &folder)?;
    let own_name = format!("{}-{COMPONENT}", world.objects_namespace());
    let rendered = rendered.replace(SHIPPED_NAME, &own_name).replace(manifests::NAMESPACE, world.programs_namespace());
    let mut documents = manifests::parse_stream(&rendered)?;
    let rule = json!({"apiGroups": [world.group()], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]});
    for binding in documents.iter_mut().filter(|document| document["kind"] == "ValidatingAdmissionPolicyBinding") {
        binding["spec"]["matchResources"] = json!({"resourceRules": [rule]});
    }
    Ok(documents)
}

async fn remove(world: &World, documents: &[Value]) -> Result<()> {
    for document in documents {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let api = world.api(ADMISSION, &text(&document["kind"]), None)?;
        api.delete(&text(&document["metadata"]["name"]), &DeleteParams::default()).await?;
    }
    Ok(())
}

/// Makes an ordinary user: an account with rights on the kind and its status and no others.
async fn operator(world: &World) -> Result<Kubectl> {
    let namespace = world.objects_namespace();
    let metadata = json!({"name": OPERATOR, "namespace": namespace});
    let rule =
        json!({"apiGroups": [world.group()], "resources": ["proxies", "proxies/status"], "verbs": ["get", "patch"]});
    let reference = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": OPERATOR});
    let subject = json!({"kind": "ServiceAccount", "name": OPERATOR, "namespace": namespace});
    for document in [
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}),
        json!({"apiVersion": RBAC, "kind": "Role", "metadata": metadata, "rules": [rule]}),
        json!({"apiVersion": RBAC, "kind": "RoleBinding", "metadata": metadata,
            "roleRef": reference, "subjects": [subject]}),
    ] {
        world.apply(&document).await?;
    }
    let kubeconfig = world.folder().join("operator.kubeconfig");
    world.control_plane().service_account(namespace, OPERATOR).await?.write(&kubeconfig)?;
    Ok(Kubectl::new(&world.control_plane().binaries().kubectl, kubeconfig, world.folder()))
}

/// Applies a merge patch to the status of `web`. Returns the warnings, and fails if the write is rejected.
async fn write(world: &World, user: &Kubectl, status: &Value) -> Result<String> {
    write_with("--dry-run=none", world, user, status).await
}

async fn write_with(flag: &str, world: &World, user: &Kubectl, status: &Value) -> Result<String> {
    let kind = format!("proxies.{}", world.group());
    let patch = json!({"status": status}).to_string();
    let place = ["patch", &kind, "web", "-n", world.objects_namespace(), "--subresource=status", "--type=merge"];
    Ok(user.run(&[&place[..], &[flag, "-p", &patch]].concat()).await?.complaints)
}

fn entry(kind: &str, message: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": "Test", "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

fn conditions(entries: &[Value]) -> Value {
    json!({"conditions": entries})
}

/// Waits until the policy is active; another message each time, since an equal write changes nothing.
async fn wait_until_active(world: &World, user: &Kubectl) -> Result<()> {
    let mut probes = 0..;
    wait::until("a warning of the policy", wait::DEADLINE, async || {
        let probe = format!("probe {}", probes.next().unwrap_or(0));
        let said = write(world, user, &conditions(&[entry("driftObserved", &probe)])).await?;
        Ok(if said.contains(OF_THE_POLLER) { Seen::Met(()) } else { Seen::Instead(format!("{probe}: {said:?}")) })
    })
    .await
}

async fn each_foreign_write_is_warned_of(world: &World, user: &Kubectl) -> Result<()> {
    let (observed, corrected, ready) = ("driftObserved", "driftCorrected", entry("Ready", "of a test"));
    let own = OF_THE_POLLER;
    let writes: [(Value, &[&str]); 9] = [
        (json!({"conditions": null}), &[own]),
        (json!({}), &[]),
        (conditions(std::slice::from_ref(&ready)), &[]),
        (conditions(&[ready.clone(), entry(observed, "added")]), &[own]),
        (conditions(&[ready.clone(), entry(observed, "changed")]), &[own]),
        (conditions(&[entry(observed, "changed"), entry("Ready", "moved")]), &[]),
        (conditions(&[entry(observed, "changed"), entry(corrected, "added")]), &[OF_THE_CONTROLLER]),
        (conditions(&[ready.clone(), entry(observed, "both"), entry(corrected, "both")]), &[own, OF_THE_CONTROLLER]),
        (conditions(&[ready]), &[own, OF_THE_CONTROLLER]),
    ];
    for (status, warnings) in writes {
        let said = write(world, user, &status).await?;
        let is_expected =
            [OF_THE_POLLER, OF_THE_CONTROLLER].iter().all(|one| said.contains(one) == warnings.contains(one));
        ensure!(is_expected && said.lines().count() == warnings.len(), "{status}: {said:?}");
        let object = world.proxy("web").await?.context("the Proxy is gone")?;
        ensure!(object["status"]["conditions"] == status["conditions"], "{status} was not written: {object}");
    }
    Ok(())
}

#[tokio::test]
async fn foreign_writers_of_our_conditions_are_warned() -> Result<()> {
    World::run("condition writers", async |world| {
        let documents = component(world)?;
        ensure!(documents.len() == 2, "{documents:#?}");
        let user = operator(world).await?;
        world.create_some_proxy("web").await?;
        for document in &documents {
            world.apply(document).await?;
        }
        wait_until_active(world, &user).await?;
        let tried = write_with("--dry-run=server", world, &user, &conditions(&[])).await?;
        ensure!(tried.is_empty(), "a dry run is reported: {tried}");
        each_foreign_write_is_warned_of(world, &user).await?;
        let toxiproxy = world.start_toxiproxy().await?;
        world.apply_target(&Target::shipped(world, toxiproxy.url())?).await?;
        world.start_both().await?;
        world.wait_until_verified("web").await?;
        for which in [Which::Poller, Which::Controller] {
            let writes = world.all_writes_by(which).await?;
            let (warned, silent): (Vec<_>, Vec<_>) = writes
                .into_iter()
                .filter(|write| write.subresource == "status" && write.accepted())
                .partition(|write| write.fails_a_policy);
            ensure!(warned.is_empty() && !silent.is_empty(), "{}: {warned:#?}", which.name());
        }
        // The policy is still active, and the audit log shows foreign writes.
        let said = write(world, &user, &conditions(&[])).await?;
        ensure!(said.contains(OF_THE_POLLER) && said.contains(OF_THE_CONTROLLER), "{said:?}");
        let account = format!("system:serviceaccount:{}:{OPERATOR}", world.objects_namespace());
        let noted = world.control_plane().audit(&account)?;
        ensure!(noted.iter().any(|write| write.user == account && write.fails_a_policy), "{noted:#?}");
        remove(world, &documents).await
    })
    .await
}
