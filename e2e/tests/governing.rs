//! Who governs: only the live text of a target corrects, deletions go on by the last one, and two texts correct nothing.
//!
//! Each test counts the writes that reach the external system.

mod forget;
mod moving;
mod taken;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_api::names::TARGETS_LABEL;
use drift_e2e::programs::Program;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::cleanup::{Bed, TARGETS, create, has_finalizer, settled, start_both};

/// Long enough for a poll, a verdict and a wrong correction.
const WOULD_BE_CORRECTED: Duration = Duration::from_secs(5);
/// An upstream that only a hand outside sets.
const BY_HAND: &str = "127.0.0.1:10";

/// Deletes a ConfigMap of targets.
async fn delete_map(world: &World, name: &str) -> Result<()> {
    let maps = world.api("v1", "ConfigMap", Some(world.programs_namespace()))?;
    maps.delete(name, &DeleteParams::default()).await?;
    Ok(())
}

/// Writes one target into a ConfigMap of that name.
async fn apply_in(world: &World, config_map: &str, target: &Target) -> Result<()> {
    world.apply_target_texts(config_map, &[("target.yaml", &target.text()?)]).await
}

async fn wait_for_upstream(bed: &Bed, name: &str, wanted: Option<&str>) -> Result<()> {
    wait::until(format!("{name} to have the upstream {wanted:?} outside"), wait::DEADLINE, async || {
        let upstream = bed.upstream(name).await?;
        Ok(if upstream.as_deref() == wanted { Seen::Met(()) } else { Seen::Instead(format!("{upstream:?}")) })
    })
    .await
}

/// Waits until the controller holds this many objects of the target for a reason.
async fn wait_until_held(controller: &Program, why: &str, wanted: f64) -> Result<()> {
    wait::until(format!("{wanted} objects held as {why}"), wait::DEADLINE, async || {
        let held = controller.metrics().await?.sum("drift_controller_held", &[("why", why)]);
        Ok(if held == wanted { Seen::Met(()) } else { Seen::Instead(format!("{held}")) })
    })
    .await
}

/// Changes `web` outside, and checks that the verdict says so and nothing is written.
async fn ensure_not_corrected(world: &World, bed: &Bed) -> Result<()> {
    let writes = bed.outside.writes();
    bed.toxiproxy.update("web", json!({"upstream": BY_HAND})).await?;
    world.wait_for_verdict("web", "True", "FieldsDiffer").await?;
    tokio::time::sleep(WOULD_BE_CORRECTED).await;
    ensure!(bed.outside.writes() == writes, "{:?}", bed.outside.requests());
    Ok(())
}

/// Checks that nothing is corrected and that a deletion still takes the resource away.
async fn ensure_only_deletions_go_on(world: &World, bed: &Bed, controller: &Program) -> Result<()> {
    ensure_not_corrected(world, bed).await?;
    wait_until_held(controller, "TargetFormer", 1.0).await?;
    world.delete_proxy("other").await?;
    world.wait_until_gone("other").await?;
    wait_for_upstream(bed, "other", None).await?;
    let web = world.proxy("web").await?.context("no such object")?;
    ensure!(has_finalizer(&web), "{web}");
    let attested = world.lease("drift-poller").await?.context("no Lease")?;
    let attested = attested["metadata"]["annotations"]["driftpoller.dev/attested-targets"].clone();
    ensure!(!attested.as_str().is_some_and(|text| text.contains("proxies")), "{attested}");
    Ok(())
}

#[tokio::test]
async fn a_deleted_config_map_stops_corrections_alone() -> Result<()> {
    World::run("former", async |world| {
        let bed = Bed::new(world).await?;
        let target = bed.target(world, "proxies", "tier=a")?;
        world.apply_target(&target).await?;
        world.start_poller().await?;
        let controller = world.start_controller().await?;
        for name in ["web", "other"] {
            create(world, name, "a").await?;
            settled(world, name).await?;
        }
        delete_map(world, TARGETS).await?;
        world.wait_for_event("TargetInvalid", TARGETS).await?;
        ensure_only_deletions_go_on(world, &bed, &controller).await?;
        let shown = world
            .run_command(&[
                "get",
                "proxies",
                "-n",
                world.objects_namespace(),
                "--targets-namespace",
                world.programs_namespace(),
            ])
            .await?;
        ensure!(shown.complaints.contains("kubectl drift forget proxies"), "{shown:?}");

        world.apply_target(&target).await?;
        wait_for_upstream(&bed, "web", Some("127.0.0.1:9")).await?;
        settled(world, "web").await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_config_map_without_label_stops_corrections() -> Result<()> {
    World::run("unlabelled", async |world| {
        let bed = Bed::new(world).await?;
        world.apply_target(&bed.target(world, "proxies", "tier=a")?).await?;
        world.start_poller().await?;
        let controller = world.start_controller().await?;
        for name in ["web", "other"] {
            create(world, name, "a").await?;
            settled(world, name).await?;
        }
        let maps = world.api("v1", "ConfigMap", Some(world.programs_namespace()))?;
        let unlabelled = json!({"metadata": {"labels": {TARGETS_LABEL: null}}});
        maps.patch(TARGETS, &PatchParams::default(), &Patch::Merge(&unlabelled)).await?;
        world.wait_for_event("TargetInvalid", TARGETS).await?;
        ensure_only_deletions_go_on(world, &bed, &controller).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_key_removed_beside_a_broken_one_corrects_nothing() -> Result<()> {
    World::run("key removed", async |world| {
        let bed = Bed::new(world).await?;
        let (target, neighbour) = (bed.target(world, "proxies", "tier=a")?, bed.target(world, "next", "tier=b")?);
        let (text, good) = (target.text()?, neighbour.text()?);
        world.apply_target_texts(TARGETS, &[("a.yaml", &text), ("b.yaml", &good)]).await?;
        world.start_poller().await?;
        let controller = world.start_controller().await?;
        for name in ["web", "other"] {
            create(world, name, "a").await?;
            settled(world, name).await?;
        }
        let broken = good.replace("identity:", "identiy:");
        world.apply_target_texts(TARGETS, &[("b.yaml", &broken)]).await?;
        world.wait_for_event("TargetInvalid", TARGETS).await?;
        ensure_only_deletions_go_on(world, &bed, &controller).await?;

        // Once the ConfigMap is whole, its key is removed on purpose: finalizers go, and nothing is deleted outside.
        world.apply_target_texts(TARGETS, &[("b.yaml", &good)]).await?;
        world.wait_for_proxy("web", "without finalizer", |object| !has_finalizer(object)).await?;
        wait_for_upstream(&bed, "web", Some(BY_HAND)).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_former_target_ends_with_one_verdict() -> Result<()> {
    World::run("former ends", async |world| {
        let bed = Bed::new(world).await?;
        let target = bed.target(world, "proxies", "tier=a")?;
        world.apply_target(&target).await?;
        // Former targets are polled for two seconds here.
        start_both(world).await?;
        create(world, "web", "a").await?;
        settled(world, "web").await?;
        delete_map(world, TARGETS).await?;
        let history = world.watch_object("web").await?;
        let ended = world.wait_for_verdict("web", "Unknown", "TargetMissing").await?;
        ensure!(has_finalizer(&ended), "{ended}");
        world.nothing_is_written_for(WOULD_BE_CORRECTED).await?;
        bed.outside.forget_requests();
        tokio::time::sleep(WOULD_BE_CORRECTED).await;
        ensure!(bed.outside.requests().is_empty(), "{:?}", bed.outside.requests());

        world.apply_target(&target).await?;
        settled(world, "web").await?;
        let transitions = [("Unknown", "TargetMissing"), ("False", "InSync")];
        history.wait_for_transitions("driftObserved", &transitions).await?;
        ensure!(bed.outside.writes() == 0, "{:?}", bed.outside.requests());
        Ok(())
    })
    .await
}
