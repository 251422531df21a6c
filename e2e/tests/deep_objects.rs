//! An object that is nested too deeply to be read affects no other object of its kind.

use anyhow::{Result, ensure};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use kube::api::{Patch, PatchParams};
use serde_json::json;

/// Far beyond the limit of serde_json (128), but few bytes for the API server.
const LEVELS: usize = 200;

/// Adds a field of any content to the world's Proxies, and waits until the API server stores and publishes it.
async fn give_the_kind_a_free_field(world: &World) -> Result<()> {
    let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/config";
    let patch = json!([{"op": "add", "path": path, "value": free}]);
    let definitions = world.api("apiextensions.k8s.io/v1", "CustomResourceDefinition", None)?;
    let patch = Patch::<()>::Json(serde_json::from_value(patch)?);
    definitions.patch(&format!("proxies.{}", world.group()), &PatchParams::default(), &patch).await?;
    let path = format!("/openapi/v3/apis/{}/v1", world.group());
    wait::until("the field to be published", wait::DEADLINE, async || {
        let schema = world.client().request_text(http::Request::get(&path).body(Vec::new())?).await?;
        Ok(if schema.contains("\"config\"") { Seen::Met(()) } else { Seen::Instead(schema) })
    })
    .await
}

/// Returns the path of the world's Proxies, or of one of them. Their texts are not parsed here, because a deep one
/// cannot be.
fn path(world: &World, name: &str) -> String {
    format!("/apis/{}/v1/namespaces/{}/proxies{name}", world.group(), world.objects_namespace())
}

async fn create_deep(world: &World) -> Result<()> {
    let deep = (0..LEVELS).fold(json!(1), |inner, _| json!({ "a": inner }));
    let spec = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:9", "config": {"upstream": deep}});
    let version = format!("{}/v1", world.group());
    let object = json!({"apiVersion": version, "kind": "Proxy", "metadata": {"name": "deep"}, "spec": spec});
    let request = http::Request::post(path(world, "")).header("content-type", "application/json");
    let created = world.client().request_text(request.body(object.to_string().into_bytes())?).await?;
    ensure!(created.contains(&r#"{"a":"#.repeat(LEVELS)), "the API server keeps something else: {created}");
    Ok(())
}

async fn wait_for_word_on_deep(world: &World) -> Result<()> {
    wait::until("the deep object to be Unknown", wait::DEADLINE, async || {
        let request = http::Request::get(path(world, "/deep")).body(Vec::new())?;
        let text = world.client().request_text(request).await?;
        let said = [r#""reason":"RuleError""#, "nest deeper than 64 levels", r#""status":"Unknown""#];
        Ok(if said.iter().all(|one| text.contains(one)) { Seen::Met(()) } else { Seen::Instead(text) })
    })
    .await
}

#[tokio::test]
async fn a_deep_object_blinds_nobody() -> Result<()> {
    World::run("deep object", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        give_the_kind_a_free_field(world).await?;
        let upstream = "${self.spec.?config.?upstream.orValue(self.spec.upstream)}";
        let target = Target::shipped(world, toxiproxy.url())?;
        world.apply_target(&target.with("/spec/compare/desired/upstream", json!(upstream))).await?;
        create_deep(world).await?;
        world.start_poller().await?;
        world.start_controller().await?;
        wait_for_word_on_deep(world).await?;
        world.create_some_proxy("listed-beside").await?;
        world.wait_until_healed_by("listed-beside", 1).await?;

        // Once more, in a separate event.
        let label = json!({"metadata": {"labels": {"touched": "true"}}}).to_string().into_bytes();
        let request = http::Request::patch(path(world, "/deep")).header("content-type", "application/merge-patch+json");
        world.client().request_text(request.body(label)?).await?;
        world.create_some_proxy("created-after").await?;
        world.wait_until_healed_by("created-after", 1).await?;
        world.delete_proxy("created-after").await?;
        world.wait_until_gone("created-after").await?;
        let left = toxiproxy.proxies().await?;
        ensure!(left.keys().eq(["listed-beside"]), "{left:?}");
        Ok(())
    })
    .await
}
