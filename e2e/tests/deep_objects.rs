//! One object that nests too deep to be read costs no other object of its kind anything.

use anyhow::{Result, ensure};
use drift_e2e::reliability::{Group, Shown};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use kube::api::{Patch, PatchParams};
use serde_json::json;

/// Far beyond what serde_json takes (128), and few bytes for the API server.
const LEVELS: usize = 200;

/// Lets the world's Proxies have a field of any content, and waits until the API server keeps and publishes it.
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

/// The Proxies of the world, or one of them. Their texts are never parsed here, which a deep one does not allow.
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

        // Once more in an event of its own.
        let label = json!({"metadata": {"labels": {"touched": "true"}}}).to_string().into_bytes();
        let request = http::Request::patch(path(world, "/deep")).header("content-type", "application/merge-patch+json");
        world.client().request_text(request.body(label)?).await?;
        world.create_some_proxy("created-after").await?;
        world.wait_until_healed_by("created-after", 1).await?;
        world.delete_proxy("created-after").await?;
        world.wait_until_gone("created-after").await?;
        let left = toxiproxy.proxies().await?;
        ensure!(left.keys().eq(["listed-beside"]), "{left:?}");
        world.shows(Shown::new(
            Group::Tenants,
            "A deeply nested object",
            "an object nested 200 levels deep is there before the programs start, and changes later",
            "it alone is Unknown/RuleError; objects beside it and created after it are corrected and deleted",
            "",
        ));
        Ok(())
    })
    .await
}
