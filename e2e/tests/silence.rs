//! A steady state is silent: no write by either program, however often is polled.

use anyhow::Result;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};

/// Objects in a steady state, and how often each is polled meanwhile.
const OBJECTS: usize = 8;
const POLLS_EACH: usize = 15;

#[tokio::test]
async fn a_hundred_and_twenty_polls_without_a_change_cost_no_object_write() -> Result<()> {
    World::run("silence", async |world| {
        let (_toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        world.apply_target(&Target::shipped(world, outside.url())?).await?;
        world.start_both().await?;
        let names: Vec<String> = (0..OBJECTS).map(|number| format!("web-{number}")).collect();
        for name in &names {
            world.create_some_proxy(name).await?;
        }
        for name in &names {
            world.wait_until_verified(name).await?;
        }
        let before = outside.requests().len();
        // Two deadlines: fifteen intervals of three seconds, and a machine that misses some.
        let polls = wait::until("every object to be polled so often", 2 * wait::DEADLINE, async || {
            let requests = outside.requests().split_off(before);
            let polls = |name: &String| requests.iter().filter(|request| request.path.ends_with(name.as_str())).count();
            let fewest = names.iter().map(polls).min().unwrap_or_default();
            Ok(if fewest >= POLLS_EACH { Seen::Met(()) } else { Seen::Instead(format!("{fewest} of one")) })
        });
        world.nothing_is_written_while(polls).await
    })
    .await
}
