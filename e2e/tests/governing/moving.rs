//! A target whose document moves to a ConfigMap of another name, as kustomize does with hash suffixes.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_api::names::SELECTIONS_ANNOTATION;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use serde_json::Value;

use super::{apply_in, delete_map, wait_for_upstream};
use crate::cleanup::{Bed, create, settled};

/// Starts both programs with one target in this ConfigMap, and waits until its object `web` is in sync.
async fn begin_in(world: &World, config_map: &str, name: &str) -> Result<(Bed, Target)> {
    let bed = Bed::new(world).await?;
    let target = bed.target(world, name, "tier=a")?;
    apply_in(world, config_map, &target).await?;
    world.start_both().await?;
    create(world, "web", "a").await?;
    settled(world, "web").await?;
    Ok((bed, target))
}

/// Waits until the controller's Lease notes exactly these targets.
async fn wait_for_controller_notes(world: &World, targets: &[&str]) -> Result<()> {
    wait::until(format!("the controller to note {targets:?}"), wait::DEADLINE, async || {
        let lease = world.lease("drift-controller").await?.context("no Lease")?;
        let text = lease["metadata"]["annotations"][SELECTIONS_ANNOTATION].as_str().unwrap_or("[]").to_owned();
        let notes: Vec<Value> = serde_json::from_str(&text)?;
        let noted: Vec<&str> = notes.iter().filter_map(|note| note["target"].as_str()).collect();
        Ok(if noted == targets { Seen::Met(()) } else { Seen::Instead(text) })
    })
    .await
}

#[tokio::test]
async fn a_target_renamed_and_moved_still_deletes() -> Result<()> {
    World::run("renamed and moved", async |world| {
        let (bed, target) = begin_in(world, "targets", "silences").await?;
        apply_in(world, "targets", &target.clone().named("quiet")).await?;
        wait_for_controller_notes(world, &["quiet", "silences"]).await?;
        // The old name is still noted, and its ConfigMap goes.
        apply_in(world, "elsewhere", &target.named("quiet")).await?;
        delete_map(world, "targets").await?;
        wait_for_controller_notes(world, &["quiet"]).await?;
        world.delete_proxy("web").await?;
        world.wait_until_gone("web").await?;
        wait_for_upstream(&bed, "web", None).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_note_with_an_orphan_stays() -> Result<()> {
    World::run("orphan note", async |world| {
        let bed = Bed::new(world).await?;
        let (target, other) = (bed.target(world, "silences", "tier=a")?, bed.target(world, "others", "tier=b")?);
        apply_in(world, "targets", &target).await?;
        apply_in(world, "others", &other).await?;
        let poller = world.start_poller().await?;
        let controller = world.start_controller().await?;
        for (name, tier) in [("web", "a"), ("kept", "b")] {
            create(world, name, tier).await?;
            settled(world, name).await?;
        }
        controller.stop().await?;
        poller.stop().await?;
        delete_map(world, "targets").await?;
        world.start_both().await?;
        // A deletion of the same scope waits for the missing target, also after the kind was listed.
        world.delete_proxy("kept").await?;
        world.wait_for_event("TargetMissing", "drift-controller").await?;
        tokio::time::sleep(Duration::from_secs(12)).await;
        wait_for_controller_notes(world, &["others", "silences"]).await?;
        ensure!(bed.upstream("kept").await?.is_some(), "{:?}", bed.outside.requests());
        apply_in(world, "targets", &target).await?;
        world.wait_until_gone("kept").await?;
        Ok(())
    })
    .await
}
