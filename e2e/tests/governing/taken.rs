//! Two ConfigMaps with different texts of one target.

use anyhow::{Context as _, Result, ensure};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use serde_json::json;

use super::{BY_HAND, apply_in, delete_map, ensure_not_corrected, wait_for_upstream, wait_until_held};
use crate::cleanup::{Bed, create, has_finalizer, settled};

/// The versions of one target as kustomize names their ConfigMaps without prune. The oldest is not first by name.
const VERSIONS: [&str; 7] =
    ["targets-d41d", "targets-0cc1", "targets-92eb", "targets-4a8a", "targets-8277", "targets-e168", "targets-8fa1"];

/// Time in which both programs take in a ConfigMap.
const LOADED_WITHIN: std::time::Duration = std::time::Duration::from_secs(2);

/// A version of the target with another desired upstream.
fn version(target: &Target, number: usize) -> Target {
    target.clone().with("/spec/compare/desired/upstream", json!(format!("127.0.0.1:{}", 20 + number)))
}

async fn wait_for_documents(program: &drift_e2e::programs::Program, state: &str, wanted: f64) -> Result<()> {
    wait::until(format!("{wanted} documents that are {state}"), wait::DEADLINE, async || {
        let counted = program.metrics().await?.sum("drift_config_documents", &[("state", state)]);
        Ok(if counted == wanted { Seen::Met(()) } else { Seen::Instead(format!("{counted}")) })
    })
    .await
}

#[tokio::test]
async fn seven_versions_correct_nothing() -> Result<()> {
    World::run("seven versions", async |world| {
        let bed = Bed::new(world).await?;
        let target = bed.target(world, "proxies", "tier=a")?;
        apply_in(world, VERSIONS[0], &version(&target, 0)).await?;
        let poller = world.start_poller().await?;
        let controller = world.start_controller().await?;
        create(world, "web", "a").await?;
        settled(world, "web").await?;
        wait_for_upstream(&bed, "web", Some("127.0.0.1:20")).await?;
        // A ConfigMap is older by its creationTimestamp, which has seconds.
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let writes = bed.outside.writes();
        for (number, name) in VERSIONS.iter().enumerate().skip(1) {
            apply_in(world, name, &version(&target, number)).await?;
        }
        wait_for_documents(&poller, "taken", 7.0).await?;
        for name in [VERSIONS[0], VERSIONS[3]] {
            world.wait_for_event("TargetTaken", name).await?;
        }
        controller.stop().await?;
        poller.stop().await?;
        let poller = world.start_poller().await?;
        let controller = world.start_controller().await?;
        wait_for_documents(&controller, "taken", 7.0).await?;

        // The oldest text is polled: by it, the resource was in sync until a hand changed it.
        world.ask_for_poll("web").await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        ensure_not_corrected(world, &bed).await?;
        wait_until_held(&controller, "TargetTaken", 1.0).await?;
        ensure!(bed.outside.writes() == writes, "{:?}", bed.outside.requests());
        let (status, text) = poller.page("/readyz").await?;
        ensure!(status == 200 && text.contains("taken: targets-d41d/target.yaml"), "{status} {text}");
        let checked = world.run_command(&["check", "--from-cluster", "-n", world.programs_namespace()]).await?;
        ensure!(checked.code != 0 && format!("{checked:?}").contains("is already taken by"), "{checked:?}");

        for name in &VERSIONS[..6] {
            delete_map(world, name).await?;
        }
        wait_for_upstream(&bed, "web", Some("127.0.0.1:26")).await?;
        settled(world, "web").await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_taken_target_deletes_and_releases_nothing() -> Result<()> {
    World::run("taken deletion", async |world| {
        let bed = Bed::new(world).await?;
        let target = bed.target(world, "proxies", "tier=a")?;
        apply_in(world, "first", &target).await?;
        world.start_both().await?;
        create(world, "web", "a").await?;
        settled(world, "web").await?;
        let writes = bed.outside.writes();
        apply_in(world, "second", &target.clone().with("/spec/correct/mode", json!("Observe"))).await?;
        world.wait_for_event("TargetTaken", "first").await?;
        world.delete_proxy("web").await?;
        world.wait_for_event("DeletionHeld", "web").await?;
        let web = world.proxy("web").await?.context("no such object")?;
        ensure!(has_finalizer(&web) && bed.outside.writes() == writes, "{web} {:?}", bed.outside.requests());
        delete_map(world, "second").await?;
        world.wait_until_gone("web").await?;
        wait_for_upstream(&bed, "web", None).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn equal_documents_are_one() -> Result<()> {
    World::run("equal documents", async |world| {
        let bed = Bed::new(world).await?;
        let target = bed.target(world, "proxies", "tier=a")?;
        apply_in(world, "first", &target).await?;
        let poller = world.start_poller().await?;
        world.start_controller().await?;
        create(world, "web", "a").await?;
        settled(world, "web").await?;
        apply_in(world, "second", &target).await?;
        tokio::time::sleep(LOADED_WITHIN).await;
        bed.toxiproxy.update("web", json!({"upstream": BY_HAND})).await?;
        wait_for_upstream(&bed, "web", Some("127.0.0.1:9")).await?;
        settled(world, "web").await?;
        delete_map(world, "first").await?;
        bed.toxiproxy.update("web", json!({"upstream": BY_HAND})).await?;
        wait_for_upstream(&bed, "web", Some("127.0.0.1:9")).await?;
        let taken = poller.metrics().await?.sum("drift_config_documents", &[("state", "taken")]);
        ensure!(taken == 0.0, "{taken}");
        settled(world, "web").await?;
        Ok(())
    })
    .await
}
