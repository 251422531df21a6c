//! No correction follows a stale verdict: without a live poller that attests, corrections are held.

use std::time::Duration;

use anyhow::{Result, ensure};
use drift_e2e::world::{Target, World};
use serde_json::json;

use crate::staleness::{Bed, HELD_WITHIN};

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn corrections_are_held_while_no_poller_lives() -> Result<()> {
    World::run("attestations", async |world| {
        let bed = Bed::start(world).await?;
        bed.drifted_and_paused(world, "web").await?;
        bed.poller.kill().await?;
        bed.wait_until_attested(false, HELD_WITHIN).await?;
        bed.ensure_held(world, "web").await?;

        // A new poller polls first. Only its own attestation releases the correction.
        let before = bed.outside.requests().len();
        world.start_poller().await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        let after = bed.outside.requests().split_off(before);
        let first = |method: &str| after.iter().position(|request| request.method == method);
        let in_order = first("GET").zip(first("POST")).is_some_and(|(poll, correction)| poll < correction);
        ensure!(in_order, "corrected before the new poller had polled: {after:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_controller_that_starts_alone_corrects_nothing() -> Result<()> {
    World::run("alone", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let outside = world.start_outside().await?;
        outside.forward_to(toxiproxy.url());
        world.apply_target(&Target::shipped(world, outside.url())?).await?;
        let poller = world.start_poller().await?;
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
        world.wait_for_verdict("web", "True", "NotCreated").await?;
        poller.stop().await?;
        world.start_controller().await?;
        world.nothing_is_written_for(Duration::from_secs(10)).await?;
        ensure!(outside.count("POST") == 0, "{:?}", outside.requests());
        Ok(())
    })
    .await
}
