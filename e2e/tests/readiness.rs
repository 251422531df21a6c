//! `ready: true`: Flux, Helm, Argo CD and `kubectl wait` see an object become ready, drift and be stuck.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_api::names::READY_VERB;
use drift_e2e::programs::Which;
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::world::{Target, World, condition, right};
use serde_json::{Value, json};

const RBAC: &str = "rbac.authorization.k8s.io/v1";
const UPSTREAM: &str = "127.0.0.1:9";

/// Permits the poller to write the conditions of `ready: true`.
async fn permit(world: &World) -> Result<()> {
    let namespace = world.objects_namespace();
    let metadata = json!({"name": "ready", "namespace": namespace});
    let rule = json!({"apiGroups": [world.group()], "resources": ["proxies/status"], "verbs": [READY_VERB]});
    let subject =
        json!({"kind": "ServiceAccount", "name": Which::Poller.name(), "namespace": world.programs_namespace()});
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "ready"});
    for document in [
        json!({"apiVersion": RBAC, "kind": "Role", "metadata": metadata, "rules": [rule]}),
        json!({"apiVersion": RBAC, "kind": "RoleBinding", "metadata": metadata, "roleRef": role, "subjects": [subject]}),
    ] {
        world.apply(&document).await?;
    }
    world.wait_for_right(Which::Poller, right(world.group(), "proxies/status", READY_VERB, namespace), true).await
}

/// Returns the shipped target with a poll each second.
fn target(world: &World, toxiproxy: &Toxiproxy, mode: &str) -> Result<Target> {
    let target = Target::shipped(world, toxiproxy.url())?.with("/spec/interval", json!("1s"));
    Ok(target.with("/spec/ready", json!(true)).with("/spec/correct/mode", json!(mode)))
}

/// Starts both programs.
async fn begin(world: &World, mode: &str) -> Result<Toxiproxy> {
    let toxiproxy = world.start_toxiproxy().await?;
    permit(world).await?;
    world.apply_target(&target(world, &toxiproxy, mode)?).await?;
    world.start_both().await?;
    Ok(toxiproxy)
}

/// Returns the readiness as `Ready False, Stalled True`.
fn readiness(object: &Value) -> String {
    let kinds = ["Ready", "Reconciling", "Stalled"];
    let found = kinds.iter().filter_map(|kind| Some((kind, condition(object, kind)?["status"].as_str()?)));
    found.map(|(kind, status)| format!("{kind} {status}")).collect::<Vec<_>>().join(", ")
}

async fn wait_for(world: &World, wanted: &str) -> Result<Value> {
    let is_it = |object: &Value| {
        readiness(object) == wanted && object["status"]["observedGeneration"] == object["metadata"]["generation"]
    };
    world.wait_for_proxy("web", wanted, is_it).await
}

#[tokio::test]
async fn a_corrected_object_becomes_ready_and_stays() -> Result<()> {
    World::run("ready", async |world| {
        let toxiproxy = begin(world, "Correct").await?;
        let history = world.watch_object("web").await?;
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": UPSTREAM})).await?;
        wait_for(world, "Ready True").await?;
        world.wait_until_verified("web").await?;
        history.wait_for("not ready before", |object| readiness(object) == "Ready False, Reconciling True").await?;
        // Three polls.
        world.nothing_is_written_for(Duration::from_secs(3)).await?;
        toxiproxy.update("web", json!({"upstream": "127.0.0.1:8"})).await?;
        history.wait_for("on its way back", |object| readiness(object) == "Ready Unknown, Reconciling True").await?;
        wait_for(world, "Ready True").await?;
        world.patch_proxy("web", json!({"spec": {"upstream": "127.0.0.1:7"}})).await?;
        let object = wait_for(world, "Ready True").await?;
        ensure!(object["status"]["observedGeneration"] == 2, "{object}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn drift_that_nothing_corrects_is_stalled() -> Result<()> {
    World::run("stalled", async |world| {
        let toxiproxy = begin(world, "Observe").await?;
        let listen = world.free_listen_address()?;
        toxiproxy.create("web", &listen, UPSTREAM).await?;
        world.create_proxy("web", json!({"listen": listen, "upstream": UPSTREAM})).await?;
        wait_for(world, "Ready True").await?;
        toxiproxy.update("web", json!({"upstream": "127.0.0.1:8"})).await?;
        wait_for(world, "Ready False, Stalled True").await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn without_the_right_readiness_is_refused_and_the_verdict_written() -> Result<()> {
    World::run("not permitted", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let target = Target::shipped(world, toxiproxy.url())?.with("/spec/ready", json!(true));
        world.apply_target(&target).await?;
        world.start_both().await?;
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": UPSTREAM})).await?;
        let object = world.wait_until_verified("web").await?;
        ensure!(readiness(&object).is_empty(), "{object}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_resource_of_another_is_stalled() -> Result<()> {
    World::run("not ours", async |world| {
        let toxiproxy = begin(world, "Correct").await?;
        let listen = world.free_listen_address()?;
        toxiproxy.create("web", &listen, "127.0.0.1:8").await?;
        world.create_proxy("web", json!({"listen": listen, "upstream": UPSTREAM})).await?;
        let object = wait_for(world, "Ready False, Stalled True").await?;
        for kind in ["Ready", "Stalled"] {
            let reason = condition(&object, kind).map(|found| &found["reason"]);
            ensure!(reason == Some(&json!("NotOurs")), "{object}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_foreign_ready_is_put_back_until_the_key_goes() -> Result<()> {
    World::run("no longer ready", async |world| {
        let toxiproxy = begin(world, "Correct").await?;
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": UPSTREAM})).await?;
        wait_for(world, "Ready True").await?;
        world.wait_until_verified("web").await?;
        let history = world.watch_object("web").await?;
        put_foreign_ready(world).await?;
        history.wait_for("the foreign condition", |object| readiness(object) == "Ready False").await?;
        wait_for(world, "Ready True").await?;

        world.apply_target(&target(world, &toxiproxy, "Correct")?.without("/spec/ready")).await?;
        let is_clear =
            |object: &Value| readiness(object).is_empty() && object["status"]["observedGeneration"].is_null();
        world.wait_for_proxy("web", "no readiness", is_clear).await?;
        world.wait_until_verified("web").await?;
        put_foreign_ready(world).await?;
        // Three polls.
        world.nothing_is_written_for(Duration::from_secs(3)).await?;
        let object = world.proxy("web").await?.context("no such object")?;
        ensure!(readiness(&object) == "Ready False", "{object}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_ready_object_is_deleted_with_its_resource() -> Result<()> {
    World::run("ready and deleted", async |world| {
        let toxiproxy = begin(world, "Correct").await?;
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": UPSTREAM})).await?;
        wait_for(world, "Ready True").await?;
        world.wait_until_verified("web").await?;
        world.delete_proxy("web").await?;
        world.wait_until_gone("web").await?;
        ensure!(toxiproxy.proxy("web").await?.is_none(), "the resource is left");
        Ok(())
    })
    .await
}

/// Writes `Ready` as another operator would, over an entry or beside the others.
async fn put_foreign_ready(world: &World) -> Result<()> {
    let object = world.proxy("web").await?.context("no such object")?;
    let mut conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.retain(|each| each["type"] != "Ready");
    conditions.push(json!({"type": "Ready", "status": "False", "reason": "Theirs", "message": "not yet",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}));
    world.patch_proxy_status("web", json!({"status": {"conditions": conditions}})).await.map(drop)
}
