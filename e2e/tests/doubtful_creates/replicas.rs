//! The leading controller is killed while its create is being answered, and another one takes over.

use anyhow::{Result, ensure};
use drift_e2e::programs::{Options, Which};
use drift_e2e::systems::outside::{Answer, Hold};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::World;

use super::{Keyless, create_labelled, keep_ids, prove_reads, wait_for_told_doubt, wait_until_named_in_sync};

async fn wait_for_leader(world: &World, instance: &str) -> Result<()> {
    wait::until(format!("{instance} to hold the Lease"), wait::DEADLINE, async || {
        let lease = world.lease(Which::Controller.name()).await?.unwrap_or_default();
        let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
        Ok(if holder.starts_with(instance) { Seen::Met(()) } else { Seen::Instead(holder) })
    })
    .await
}

async fn take_over(world: &World) -> Result<()> {
    let hold = Hold::default();
    let held = hold.clone();
    let server = Keyless::start(world, move |_, item| {
        let is_first = item["name"].as_str().is_some_and(|name| name.starts_with("first-"));
        let answer = Answer::json(201, item);
        if is_first { answer } else { answer.held_by(&held) }
    })
    .await?;
    keep_ids(world).await?;
    let targets = [server.labelled_target(world, "name", false)?, server.labelled_target(world, "id", true)?];
    world.apply_targets(&targets).await?;
    world.start_poller().await?;
    let named = |name: &str| Options::default().named(name.to_owned());
    let leader = world.start(Which::Controller, named("controller-a")).await?;
    prove_reads(world, &["name", "id"]).await?;
    let second = world.start(Which::Controller, named("controller-b")).await?;
    for (name, label) in [("web-name", "name"), ("web-id", "id")] {
        create_labelled(world, name, label).await?;
        server.wait_for_posts(name, 1).await?;
    }
    leader.kill().await?;
    wait_for_leader(world, second.instance()).await?;
    hold.release();
    wait_until_named_in_sync(world, "web-name").await?;
    wait_for_told_doubt(world, "web-id", 1).await?;
    server.wait_for_no_more_than(4).await?;
    ensure!(server.count() == 4, "{:?}", server.made);
    wait_for_told_doubt(world, "web-id", 1).await.map(drop)
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_leader_killed_in_a_create_makes_one_resource() -> Result<()> {
    World::run("create-leader-killed", async |world| take_over(world).await).await
}
