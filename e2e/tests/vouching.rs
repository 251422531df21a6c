//! Nothing is corrected on a stale word: without a living poller that vouches, corrections are held.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use drift_e2e::outside::Answer;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use serde_json::json;

/// The poller's last sign of life counts for forty seconds; some more for two cores that twelve tests share.
const HELD_AFTER: Duration = Duration::from_secs(45);

#[tokio::test]
async fn corrections_are_held_while_no_poller_lives_and_begin_again_only_on_a_new_verdict() -> Result<()> {
    World::run("vouching", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let outside = world.start_outside().await?;
        outside.forward_to(toxiproxy.url());
        world.apply_target(&Target::shipped(world, outside.url())?).await?;
        let poller = world.start_poller().await?;
        world.start_controller().await?;
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;

        // The outside refuses for the moment, so that the controller keeps trying on a verdict that stands.
        outside.on("POST", "/proxies/*", Answer::status(503));
        toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
        let before = outside.count("POST");
        wait::until("a correction to be tried", wait::DEADLINE, async || {
            let tried = outside.count("POST") - before;
            Ok(if tried >= 2 { Seen::Met(()) } else { Seen::Instead(format!("{tried} tries")) })
        })
        .await?;
        poller.kill().await?;
        let died = Instant::now();
        tokio::time::sleep(HELD_AFTER).await;
        outside.forget();
        let held = outside.count("POST");
        world
            .proxy_stays("web", "drifted, and not corrected", Duration::from_secs(30), |object| {
                object["status"]["conditions"].to_string().contains("FieldsDiffer")
            })
            .await?;
        ensure!(outside.count("POST") == held, "corrected {:?} after the poller died", died.elapsed());

        // A new poller polls first; only its own word lets the correction go.
        let reads = outside.count("GET");
        world.start_poller().await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        let requests = outside.requests();
        let poll = requests.iter().filter(|request| request.method == "GET").nth(reads);
        let correction = requests.iter().filter(|request| request.method == "POST").nth(held);
        ensure!(
            poll.zip(correction).is_some_and(|(poll, correction)| poll.at < correction.at),
            "corrected before the new poller had polled"
        );
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
