//! `kubectl drift forget`: the programs release the objects of a target whose ConfigMap is gone for good.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_e2e::programs::Which;
use drift_e2e::world::World;
use serde_json::json;

use super::{BY_HAND, apply_in, delete_map, wait_for_upstream};
use crate::cleanup::{Bed, create, has_finalizer, settled, start, start_both, wait_for_notes};

/// Long enough for the five seconds after which finalizers go, with a list and a write.
const RELEASED_WITHIN: Duration = Duration::from_secs(9);

#[tokio::test]
async fn a_forgotten_target_is_released() -> Result<()> {
    World::run("forget", async |world| {
        let bed = Bed::new(world).await?;
        let target = bed.target(world, "proxies", "tier=a")?;
        apply_in(world, "targets", &target).await?;
        let programs = [start(world, Which::Poller).await?, start(world, Which::Controller).await?];
        create(world, "web", "a").await?;
        settled(world, "web").await?;
        let home = ["-n", world.programs_namespace()];
        let forget = async |more: &[&str]| world.run_command(&[&["forget", "proxies"], &home[..], more].concat()).await;
        let refused = forget(&[]).await?;
        ensure!(refused.code == 3 && refused.complaints.contains("has target proxies"), "{refused:?}");

        delete_map(world, "targets").await?;
        world.wait_for_event("TargetInvalid", "targets").await?;
        let tried = forget(&["--dry-run"]).await?;
        ensure!(
            tried.code == 0 && tried.output.contains("releases Proxy ") && tried.output.contains("web"),
            "{tried:?}"
        );
        let writes = bed.outside.writes();
        let done = forget(&[]).await?;
        ensure!(done.code == 0, "{done:?}");
        wait_for_notes(world, &[]).await?;
        let web = world.wait_for_proxy("web", "without marks", |object| {
            !has_finalizer(object) && object["status"]["conditions"].as_array().is_none_or(Vec::is_empty)
        });
        web.await?;
        ensure!(bed.outside.writes() == writes, "{:?}", bed.outside.requests());

        // A later document of that name wins over the entry, and its own absence forgets nothing.
        apply_in(world, "targets", &target.with("/spec/correct/existing", json!("Adopt"))).await?;
        bed.toxiproxy.update("web", json!({"upstream": BY_HAND})).await?;
        wait_for_upstream(&bed, "web", Some("127.0.0.1:9")).await?;
        settled(world, "web").await?;
        delete_map(world, "targets").await?;
        let kept = world.wait_for_verdict("web", "Unknown", "TargetMissing").await?;
        ensure!(has_finalizer(&kept), "{kept}");
        for program in programs {
            program.stop().await?;
        }
        start_both(world).await?;
        world.wait_for_event("TargetMissing", "drift-controller").await?;
        tokio::time::sleep(RELEASED_WITHIN).await;
        let kept = world.proxy("web").await?.context("no such object")?;
        ensure!(has_finalizer(&kept), "the old word is about an older note: {kept}");
        let unknown = world.run_command(&["forget", "nobody", home[0], home[1]]).await?;
        ensure!(unknown.code == 3 && unknown.complaints.contains("nothing to forget"), "{unknown:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_forgotten_target_is_released_after_a_restart() -> Result<()> {
    World::run("forget missing", async |world| {
        let bed = Bed::new(world).await?;
        let target = bed.target(world, "proxies", "tier=a")?;
        apply_in(world, "targets", &target).await?;
        let poller = world.start_poller().await?;
        let controller = world.start_controller().await?;
        create(world, "web", "a").await?;
        settled(world, "web").await?;
        world.delete_proxy("web").await.ok();
        world.wait_until_gone("web").await?;
        create(world, "other", "a").await?;
        settled(world, "other").await?;
        controller.stop().await?;
        poller.stop().await?;
        delete_map(world, "targets").await?;
        start_both(world).await?;
        world.wait_for_event("TargetMissing", "drift-controller").await?;
        // The deletion waits for a text, and ends with the finalizer alone.
        world.delete_proxy("other").await?;
        let forgotten = world.run_command(&["forget", "proxies", "-n", world.programs_namespace()]).await?;
        ensure!(forgotten.code == 0, "{forgotten:?}");
        world.wait_until_gone("other").await?;
        wait_for_upstream(&bed, "other", Some("127.0.0.1:9")).await?;
        wait_for_notes(world, &[]).await?;
        Ok(())
    })
    .await
}
