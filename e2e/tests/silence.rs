//! A steady state is silent: neither program writes, regardless of the number of polls.

use anyhow::Result;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use serde_json::json;

/// Number of polls of each object while nothing changes.
const POLLS_EACH: usize = 50;

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn fifty_quiet_intervals_cost_no_write() -> Result<()> {
    World::run("silence", async |world| {
        let (_toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        // Three intervals without a response would be reported, and a busy machine may pause for some seconds.
        let target = Target::shipped(world, outside.url())?.with("/spec/interval", json!("2s"));
        world.apply_target(&target).await?;
        world.start_both().await?;
        let names = ["web-a", "web-b", "web-c"];
        for name in names {
            world.create_some_proxy(name).await?;
        }
        for name in names {
            world.wait_until_verified(name).await?;
        }
        let before = outside.requests().len();
        // Fifty intervals of two seconds, and a machine that misses some.
        let polls = wait::until("every object to be polled so often", 3 * wait::DEADLINE, async || {
            let requests = outside.requests().split_off(before);
            let polls = |name: &str| requests.iter().filter(|request| request.path.ends_with(name)).count();
            let fewest = names.into_iter().map(polls).min().unwrap_or_default();
            Ok(if fewest >= POLLS_EACH { Seen::Met(()) } else { Seen::Instead(format!("{fewest} of one")) })
        });
        world.nothing_is_written_while(polls).await
    })
    .await
}
