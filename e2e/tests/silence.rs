//! A steady state is silent: no write by either program, however often is polled.

use std::time::Duration;

use anyhow::{Result, ensure};
use drift_e2e::world::{Target, World};
use serde_json::json;

#[tokio::test]
async fn fifty_intervals_without_a_change_cost_no_object_write() -> Result<()> {
    World::run("silence", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let outside = world.start_outside().await?;
        outside.forward_to(toxiproxy.url());
        world.apply_target(&Target::shipped(world, outside.url())?).await?;
        world.start_poller().await?;
        world.start_controller().await?;
        for name in ["a", "b", "c"] {
            world
                .create_proxy(name, json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"}))
                .await?;
        }
        for name in ["a", "b", "c"] {
            world.wait_for_verdict(name, "False", "InSync").await?;
        }
        let polls = outside.count("GET");
        world.nothing_is_written_for(Duration::from_secs(52)).await?;
        let polls = outside.count("GET") - polls;
        ensure!(polls >= 3 * 50, "only {polls} polls of three objects in 52 intervals of a second");
        Ok(())
    })
    .await
}
