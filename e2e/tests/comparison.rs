//! Lists of a real system: a set and a keyed list are in sync in any order, and a difference names the element.

use anyhow::{Result, ensure};
use drift_api::condition::Tag;
use drift_api::names::DRIFT_OBSERVED;
use drift_e2e::systems::outside::Outside;
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, message};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

/// Returns a desired state with two toxics, by name and with one attribute each.
fn spec(world: &World) -> Result<Value> {
    Ok(json!({
        "listen": world.free_listen_address()?,
        "upstream": "127.0.0.1:9",
        "members": ["slow", "thin"],
        "toxics": [{"name": "slow", "attributes": {"latency": 100}}, {"name": "thin", "attributes": {"rate": 5}}],
    }))
}

fn latency(milliseconds: u32) -> Value {
    json!({"name": "slow", "type": "latency", "attributes": {"latency": milliseconds}})
}

fn bandwidth(name: &str) -> Value {
    json!({"name": name, "type": "bandwidth", "attributes": {"rate": 5}})
}

/// Adds the two lists to the world's kind, and waits until the API server stores and publishes them.
pub(crate) async fn give_the_kind_lists(world: &World) -> Result<()> {
    let fields = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let patch = json!([
        {"op": "add", "path": format!("{fields}/members"), "value": {"type": "array", "items": {"type": "string"}}},
        {"op": "add", "path": format!("{fields}/toxics"), "value": {"type": "array", "items": open}},
    ]);
    let definitions = world.api("apiextensions.k8s.io/v1", "CustomResourceDefinition", None)?;
    let patch = Patch::<()>::Json(serde_json::from_value(patch)?);
    definitions.patch(&format!("proxies.{}", world.group()), &PatchParams::default(), &patch).await?;
    let path = format!("/openapi/v3/apis/{}/v1", world.group());
    wait::until("the lists to be published", wait::DEADLINE, async || {
        let schema = world.client().request_text(http::Request::get(&path).body(Vec::new())?).await?;
        Ok(if schema.contains("\"toxics\"") { Seen::Met(()) } else { Seen::Instead(schema) })
    })
    .await
}

/// Returns the shipped target in mode Observe, with toxics by name and their names as a set.
fn target(world: &World, url: &str) -> Result<Target> {
    let observed = json!({
        "members": "${response.body.toxics.map(toxic, toxic.name)}",
        "toxics": "${response.body.toxics}",
    });
    let desired = json!({"members": "${self.spec.members}", "toxics": "${self.spec.toxics}"});
    let rules = json!([
        {"path": "/members", "list": "set"},
        {"path": "/toxics", "list": "map", "keys": ["name"]},
    ]);
    let target = Target::shipped(world, url)?.polled_when_asked().without("/spec/correct");
    Ok(target
        .with("/spec/read/http/observed", observed)
        .with("/spec/compare", json!({"desired": desired, "rules": rules})))
}

/// Requests a poll of the proxy and waits for its read.
async fn poll(world: &World, outside: &Outside) -> Result<()> {
    let before = outside.requests_to("GET", "/proxies/web").len();
    world.ask_for_poll("web").await?;
    outside.wait_for_next("GET", "/proxies/web", before).await.map(drop)
}

async fn wait_for_message(world: &World, wanted: &str) -> Result<()> {
    let is_said = |object: &Value| Tag::split(message(object, DRIFT_OBSERVED)).0 == wanted;
    world.wait_for_proxy("web", wanted, is_said).await.map(drop)
}

async fn replace_toxic(toxiproxy: &Toxiproxy, old: &str, new: Value) -> Result<()> {
    toxiproxy.remove_toxic("web", old).await?;
    toxiproxy.add_toxic("web", new).await
}

#[tokio::test]
async fn sets_and_maps_never_drift_by_order() -> Result<()> {
    World::run("comparison", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        give_the_kind_lists(world).await?;
        let spec = spec(world)?;
        let listen = spec["listen"].as_str().unwrap_or_default();
        toxiproxy.create("web", listen, "127.0.0.1:9").await?;
        toxiproxy.add_toxic("web", latency(100)).await?;
        toxiproxy.add_toxic("web", bandwidth("thin")).await?;
        world.apply_target(&target(world, outside.url())?).await?;
        world.start_poller().await?;
        world.create_proxy("web", spec).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        let history = world.watch_object("web").await?;

        let before = toxiproxy.toxics("web").await?;
        replace_toxic(&toxiproxy, "slow", latency(100)).await?;
        let after = toxiproxy.toxics("web").await?;
        ensure!(before == ["slow", "thin"] && after == ["thin", "slow"], "no other order: {before:?}, {after:?}");
        poll(world, &outside).await?;
        // Requests are sequential: the second poll begins after the first has ended.
        poll(world, &outside).await?;

        replace_toxic(&toxiproxy, "slow", latency(900)).await?;
        poll(world, &outside).await?;
        wait_for_message(world, "1 field differs: /toxics[name=slow]/attributes/latency desired 100, observed 900")
            .await?;

        replace_toxic(&toxiproxy, "slow", latency(100)).await?;
        poll(world, &outside).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;

        replace_toxic(&toxiproxy, "thin", bandwidth("eve")).await?;
        poll(world, &outside).await?;
        let elements = "4 fields differ: /members missing \"thin\"; /members unexpected \"eve\"; \
                        /toxics[name=thin] missing; /toxics[name=eve] unexpected";
        wait_for_message(world, elements).await?;
        let seen = history.transitions(DRIFT_OBSERVED).await?;
        let expected = ["False/InSync", "True/FieldsDiffer", "False/InSync", "True/FieldsDiffer"];
        ensure!(seen == expected, "another order was taken for drift: {seen:?}");
        Ok(())
    })
    .await
}
