//! The target decides the destinations of requests, even if objects name the host.

use anyhow::{Result, ensure};
use drift_e2e::systems::outside::Answer;
use drift_e2e::world::{Target, World, condition};
use serde_json::json;

#[tokio::test]
async fn an_object_leads_to_no_forbidden_network() -> Result<()> {
    World::run("destinations", async |world| {
        let outside = world.start_outside().await?;
        let answer = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2", "enabled": true});
        outside.on("GET", "/proxies/*", Answer::json(200, &answer));
        // The object names the host: the first part of its upstream.
        let url = format!(
            "{}/proxies/${{self.metadata.name}}",
            outside.url().replace("127.0.0.1", "${self.spec.upstream.split(':')[0]}")
        );
        let guarded = Target::shipped(world, outside.url())?
            .with("/spec/read/http/url", json!(url))
            .with("/spec/notIdentifying", json!(["spec.upstream"]))
            .with("/spec/allowHosts", json!(["*.example", "127.0.0.1"]));
        world.apply_target(&guarded).await?;
        let poller = world.start_poller().await?;
        world.create_proxy("inside", json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})).await?;
        world.create_proxy("elsewhere", json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.2:2"})).await?;
        world.wait_for_verdict("elsewhere", "Unknown", "RuleError").await?;
        let object = world.wait_for_verdict("inside", "Unknown", "ExternalUnreachable").await?;
        let message = condition(&object, "driftObserved").map(|entry| entry["message"].to_string()).unwrap_or_default();
        ensure!(message.contains("in a network that the target does not allow"), "{message}");
        ensure!(outside.requests().is_empty(), "{:?}", outside.requests());
        ensure!(poller.log_text()?.contains("127.0.0.1:"), "the log does not name the host");

        world.apply_target(&guarded.with("/spec/allowNetworks", json!(["127.0.0.0/8"]))).await?;
        world.wait_for_verdict("inside", "False", "InSync").await.map(drop)
    })
    .await
}
