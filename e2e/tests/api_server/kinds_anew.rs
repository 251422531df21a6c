//! A kind that is deleted and recreated while the programs run.

use anyhow::{Context as _, Result, ensure};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use kube::api::DeleteParams;
use serde_json::{Value, json};
use std::time::Duration;

/// A missing kind is looked up again every 15 s. The rest is for a busy machine.
const FOUND_WITHIN: Duration = Duration::from_secs(30 + 15);

#[tokio::test]
async fn a_kind_made_anew_is_polled_and_corrected() -> Result<()> {
    World::run("kind anew", async |world| {
        let outside = world.start_outside().await?;
        let documents = outside.keep_documents();
        world.apply_target(&Target::of_documents(world, outside.url())?).await?;
        world.start_both().await?;
        let spec = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:9"});
        let wanted = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:9", "enabled": true});
        world.create_proxy("before", spec.clone()).await?;
        world.wait_until_verified("before").await?;

        let definition = take_away(world).await?;
        // Long enough for a watch to end and a lookup to fail.
        tokio::time::sleep(Duration::from_secs(10)).await;
        world.apply(&definition).await?;
        wait::until("the kind to be served again", wait::DEADLINE, async || {
            world.create_proxy("after", spec.clone()).await.map(|_| Seen::Met(()))
        })
        .await?;
        wait::until("the new object to be created outside", FOUND_WITHIN, async || {
            let there = documents.get("/proxies/after");
            Ok(if there.as_ref() == Some(&wanted) { Seen::Met(()) } else { Seen::Instead(format!("{there:?}")) })
        })
        .await?;
        world.wait_until_verified("after").await?;
        documents.put("/proxies/after", json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:99", "enabled": true}));
        world.wait_until_healed_by("after", 2).await?;
        ensure!(documents.get("/proxies/after") == Some(wanted));
        // The resource of the old kind's object stays, because no target deletes here.
        ensure!(documents.get("/proxies/before").is_some() && outside.count("DELETE") == 0);
        Ok(())
    })
    .await
}

/// Deletes the kind's definition and waits until it is gone. Returns it for a later apply.
async fn take_away(world: &World) -> Result<Value> {
    let name = format!("proxies.{}", world.group());
    let kinds = world.api("apiextensions.k8s.io/v1", "CustomResourceDefinition", None)?;
    let mut definition = serde_json::to_value(kinds.get(&name).await?)?;
    definition.as_object_mut().context("no definition")?.remove("status");
    definition["metadata"] = json!({"name": name});
    kinds.delete(&name, &DeleteParams::default()).await?;
    wait::until("the definition to be gone", wait::DEADLINE, async || {
        Ok(if kinds.get_opt(&name).await?.is_none() { Seen::Met(()) } else { Seen::Instead("there".to_owned()) })
    })
    .await?;
    Ok(definition)
}
