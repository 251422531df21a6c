//! Other writers' conditions survive ours, and ours survive theirs, on every kind of list.

use std::time::Duration;

use anyhow::{Result, ensure};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, condition};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

/// Removes the list type from the CRD's conditions: the list becomes atomic, as in most handwritten CRDs.
async fn make_conditions_atomic(world: &World) -> Result<()> {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> = Api::all_with(world.client(), &ApiResource::from_gvk(&kind));
    let list = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/conditions";
    let patch = json!([
        {"op": "remove", "path": format!("{list}/x-kubernetes-list-type")},
        {"op": "remove", "path": format!("{list}/x-kubernetes-list-map-keys")},
    ]);
    let name = format!("proxies.{}", world.group());
    let patch = Patch::Json::<()>(serde_json::from_value(patch)?);
    definitions.patch(&name, &PatchParams::default(), &patch).await?;
    Ok(())
}

fn foreign(kind: &str, message: &str) -> Value {
    json!({"type": kind, "status": "True", "reason": "Theirs", "message": message,
           "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

/// Puts another controller's condition in front of the list and keeps the rest. Only writes the version that it read,
/// as such a controller must.
async fn prepend(world: &World, entry: &Value) -> Result<()> {
    wait::until("a condition to be put in front", wait::DEADLINE, async || {
        let object = world.proxy("web").await?.unwrap_or_default();
        let list = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let list: Vec<Value> = std::iter::once(entry.clone()).chain(list).collect();
        let version = &object["metadata"]["resourceVersion"];
        let patch = json!({"metadata": {"resourceVersion": version}, "status": {"conditions": list}});
        Ok(Seen::Met(world.patch_proxy_status("web", patch).await.map(drop)?))
    })
    .await
}

async fn all_writers_live_together(world: &World) -> Result<()> {
    let toxiproxy = world.start_toxiproxy().await?;
    world.apply_target(&Target::shipped(world, toxiproxy.url())?).await?;
    world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
    world.patch_proxy_status("web", json!({"status": {"conditions": [foreign("Ready", "first")]}})).await?;
    world.start_poller().await?;
    world.start_controller().await?;
    world.wait_until_verified("web").await?;
    // Our entries move in the list, and a verdict still goes to its own entry.
    prepend(world, &foreign("Accepted", "second")).await?;
    let history = world.watch_object("web").await?;
    toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
    history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
    // A poll between the second correction and its note is in sync too, before the note is written.
    let object = world.wait_until_healed_by("web", 2).await?;
    ensure!(condition(&object, "Ready") == Some(&foreign("Ready", "first")), "{object}");
    ensure!(condition(&object, "Accepted") == Some(&foreign("Accepted", "second")), "{object}");
    let kinds = object["status"]["conditions"].as_array().map_or(0, Vec::len);
    ensure!(kinds == 4, "an entry is there twice or missing: {object}");
    world.nothing_is_written_for(Duration::from_secs(7)).await
}

#[tokio::test]
async fn both_writers_conditions_survive_on_a_map_list() -> Result<()> {
    World::run("map list", all_writers_live_together).await
}

#[tokio::test]
async fn both_writers_conditions_survive_on_an_atomic_list() -> Result<()> {
    World::run("atomic list", async |world| {
        make_conditions_atomic(world).await?;
        all_writers_live_together(world).await
    })
    .await
}

/// The API server compares texts with its own JSON, which has other escapes than ours.
#[tokio::test]
async fn a_verdict_with_signs_of_html_is_replaced() -> Result<()> {
    World::run("signs", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        world.apply_target(&Target::shipped(world, toxiproxy.url())?).await?;
        world.start_both().await?;
        let upstream = "127.0.0.1:9/<a>&b\u{2028}";
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": upstream})).await?;
        world.wait_until_healed_by("web", 1).await?;
        for correction in 2..4 {
            toxiproxy.update("web", json!({"upstream": format!("127.0.0.1:{correction}/?<&>")})).await?;
            world.wait_until_healed_by("web", correction).await?;
        }
        Ok(())
    })
    .await
}
