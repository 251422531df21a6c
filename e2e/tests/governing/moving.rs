//! A target whose document moves to a ConfigMap of another name, as kustomize does with hash suffixes.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_e2e::world::World;
use serde_json::json;

use super::{BY_HAND, apply_in, delete_map, wait_for_upstream};
use crate::cleanup::{Bed, create, has_finalizer, settled};

#[tokio::test]
async fn a_new_config_map_beats_a_deleted_one() -> Result<()> {
    World::run("new then old", async |world| {
        let bed = Bed::new(world).await?;
        let target = bed.target(world, "proxies", "tier=a")?;
        apply_in(world, "targets-aaa", &target).await?;
        world.start_both().await?;
        create(world, "web", "a").await?;
        settled(world, "web").await?;
        let writes = bed.outside.writes();
        apply_in(world, "targets-bbb", &target.with("/spec/correct/mode", json!("Observe"))).await?;
        world.wait_for_event("TargetTaken", "targets-bbb").await?;
        let web = world.proxy("web").await?.context("no such object")?;
        ensure!(has_finalizer(&web), "a taken target releases nothing: {web}");
        delete_map(world, "targets-aaa").await?;
        // The only live text observes, so it releases the finalizer and writes nothing outside.
        world.wait_for_proxy("web", "without finalizer", |object| !has_finalizer(object)).await?;
        bed.toxiproxy.update("web", json!({"upstream": BY_HAND})).await?;
        world.wait_for_verdict("web", "True", "FieldsDiffer").await?;
        bed.outside.nothing_is_written_for(Duration::from_secs(3)).await?;
        ensure!(bed.outside.writes() == writes, "{:?}", bed.outside.requests());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_config_map_after_a_deleted_one_governs() -> Result<()> {
    World::run("old then new", async |world| {
        let bed = Bed::new(world).await?;
        let target = bed.target(world, "proxies", "tier=a")?;
        apply_in(world, "targets-aaa", &target).await?;
        world.start_both().await?;
        create(world, "web", "a").await?;
        settled(world, "web").await?;
        delete_map(world, "targets-aaa").await?;
        world.wait_for_event("TargetInvalid", "targets-aaa").await?;
        let writes = bed.outside.writes();
        apply_in(world, "targets-bbb", &target.with("/spec/compare/desired/upstream", json!("127.0.0.1:11"))).await?;
        wait_for_upstream(&bed, "web", Some("127.0.0.1:11")).await?;
        let healed = settled(world, "web").await?;
        ensure!(has_finalizer(&healed), "{healed}");
        ensure!(bed.outside.writes() == writes + 1, "{:?}", bed.outside.requests());
        Ok(())
    })
    .await
}
