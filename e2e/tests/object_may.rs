//! An object leaves fields to another owner by annotation, where its target permits that.

use anyhow::{Context as _, Result, ensure};
use drift_api::names::IGNORE_ANNOTATION;
use drift_e2e::world::{Target, World, message, note};
use serde_json::json;

#[tokio::test]
async fn an_object_leaves_a_field_to_another_owner() -> Result<()> {
    World::run("ignore", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let target = Target::shipped(world, toxiproxy.url())?.with("/spec/objectMay", json!(["ignore"]));
        world.apply_target(&target).await?;
        world.start_both().await?;
        world.create_some_proxy("web").await?;
        world.wait_until_healed_by("web", 1).await?;
        let ignore = async |keys: Option<&str>| {
            world.patch_proxy("web", json!({"metadata": {"annotations": {IGNORE_ANNOTATION: keys}}})).await
        };
        ignore(Some("upstream")).await?;
        toxiproxy.update("web", json!({"upstream": "127.0.0.1:6666"})).await?;
        let kind = format!("proxies.{}/web", world.group());
        let polled = world.run_command(&["poll", &kind, "-n", world.objects_namespace(), "--wait"]).await?;
        ensure!(polled.code == 0 && polled.output.contains("InSync"), "{polled:?}");
        world.nothing_is_written_for(std::time::Duration::from_secs(3)).await?;
        let proxy = toxiproxy.proxy("web").await?.context("no proxy")?;
        ensure!(proxy.upstream == "127.0.0.1:6666", "{proxy:?}");

        ignore(Some("upstrem")).await?;
        let mistaken = world.wait_for_verdict("web", "Unknown", "RuleError").await?;
        ensure!(message(&mistaken, "driftObserved").contains(IGNORE_ANNOTATION), "{mistaken}");

        ignore(None).await?;
        let healed = world.wait_until_healed_by("web", 2).await?;
        ensure!(note(&healed).correction == 2, "{healed}");
        Ok(())
    })
    .await
}
