//! An open breaker: only the end of the drift, a limit past the drift, or a retry of an object lets corrections pass.

use std::time::Duration;

use anyhow::{Result, ensure};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::World;
use serde_json::{Value, json};

use super::{Bed, breaker_events, names, path};

/// Time without a correction after an edit: several polls and housekeepings.
const QUIET: Duration = Duration::from_secs(8);

/// Time between two requests for a retry.
const RETRIED_EVERY: Duration = Duration::from_secs(5);

impl Bed {
    async fn edit_limits(&self, world: &World, limits: Value) -> Result<()> {
        world.apply_target(&self.target.clone().with("/spec/correct/limits", limits)).await
    }

    /// Changes these documents at one instant.
    fn change(&self, changed: &[String]) {
        self.documents.change_all(|path, document| {
            if changed.iter().any(|one| one == path) {
                document["upstream"] = json!("elsewhere:1");
            }
        });
    }
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn edits_of_other_limits_let_nothing_pass() -> Result<()> {
    World::run("edited limits", async |world| {
        let bed = Bed::in_sync(world, 20, json!({"perMinute": 600})).await?;
        bed.change(&names(15).iter().map(|name| path(name)).collect::<Vec<_>>());
        world.wait_for_event("BreakerOpened", "drift-targets").await?;
        wait::until("the held drift to be known", wait::DEADLINE, async || {
            let (open, held) = bed.breaker().await?;
            let settled = open == 1.0 && held as usize == bed.changed();
            Ok(if settled { Seen::Met(()) } else { Seen::Instead(format!("{open} {held}")) })
        })
        .await?;
        bed.outside.nothing_is_written_for(Duration::from_secs(5)).await?;
        let before = bed.outside.writes();
        let held = bed.changed();
        ensure!(held > 1, "{held} held");

        bed.edit_limits(world, json!({"perMinute": 1, "maxDriftedPercent": 5})).await?;
        bed.outside.nothing_is_written_for(QUIET).await?;
        bed.edit_limits(world, json!({"perMinute": 601})).await?;
        bed.outside.nothing_is_written_for(QUIET).await?;
        bed.edit_limits(world, json!({"perMinute": 600, "maxDriftedPercent": 25})).await?;
        world.wait_for_event("BreakerStaysOpen", "drift-targets").await?;
        bed.outside.nothing_is_written_for(QUIET).await?;
        let notes = breaker_events(world, "BreakerStaysOpen").await?;
        ensure!(notes.iter().any(|note| note.contains("stays open at the new maxDriftedPercent of 25:")), "{notes:?}");
        ensure!(breaker_events(world, "BreakerClosed").await?.is_empty(), "an edit closed it");

        let one = names(15).into_iter().find(|name| bed.documents.get(&path(name)).is_some_and(is_changed));
        let one = one.unwrap_or_default();
        let object = format!("proxies.{}/{one}", world.group());
        let retry = ["retry", &object, "-n", world.objects_namespace()];
        // A request that arrives while the controller takes its Lease again is not answered, so a person repeats it.
        wait::until("the retried object to be corrected", wait::DEADLINE, async || {
            if bed.outside.writes() > before {
                return Ok(Seen::Met(()));
            }
            let retried = world.run_command(&retry).await?;
            tokio::time::sleep(RETRIED_EVERY).await;
            Ok(Seen::Instead(format!("{retried:?}")))
        })
        .await?;
        bed.outside.nothing_is_written_for(QUIET).await?;
        ensure!(bed.outside.writes() == before + 1 && bed.changed() == held - 1, "{} writes", bed.outside.writes());

        bed.edit_limits(world, json!({"perMinute": 600, "maxDriftedPercent": 80})).await?;
        world.wait_for_verdicts(20, "False/InSync", wait::DEADLINE).await?;
        world.wait_for_event("BreakerClosed", "drift-targets").await?;
        ensure!(bed.changed() == 0 && bed.outside.writes() == 15, "{} writes", bed.outside.writes());
        Ok(())
    })
    .await
}

fn is_changed(document: Value) -> bool {
    document["upstream"] == "elsewhere:1"
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_restart_lets_nothing_pass() -> Result<()> {
    World::run("restarted breaker", async |world| {
        let mut bed = Bed::in_sync(world, 20, json!({"perMinute": 600, "maxDriftedPercent": 50})).await?;
        let paths =
            |numbers: std::ops::Range<usize>| names(20)[numbers].iter().map(|name| path(name)).collect::<Vec<_>>();
        bed.change(&paths(0..9));
        bed.outside.wait_for_requests("PUT", 9).await?;
        world.wait_for_verdicts(20, "False/InSync", wait::DEADLINE).await?;
        bed.change(&paths(9..13));
        bed.wait_until_held(4).await?;
        wait::until("the Lease to say so", wait::DEADLINE, async || {
            let lease = world.lease("drift-controller").await?.unwrap_or_default();
            let listed = lease["metadata"]["annotations"]["driftpoller.dev/held-corrections"].to_string();
            Ok(if listed.contains("BreakerOpen") { Seen::Met(()) } else { Seen::Instead(listed) })
        })
        .await?;
        for ends_orderly in [true, false] {
            _ = if ends_orderly { bed.controller.stop().await? } else { bed.controller.kill().await? };
            bed.controller = world.start_controller().await?;
            bed.wait_until_held(4).await?;
            bed.outside.nothing_is_written_for(QUIET).await?;
        }
        ensure!(bed.outside.writes() == 9 && bed.changed() == 4, "{} writes", bed.outside.writes());
        bed.edit_limits(world, json!({"perMinute": 600, "maxDriftedPercent": 100})).await?;
        world.wait_for_verdicts(20, "False/InSync", wait::DEADLINE).await?;
        Ok(())
    })
    .await
}
