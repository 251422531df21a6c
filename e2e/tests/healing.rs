//! The loop closes: a missing or changed resource is seen, reported and healed, with one external write and few status
//! writes.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use drift_api::names::POLL_REQUESTED_ANNOTATION;
use drift_e2e::systems::outside::Outside;
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::world::{Target, World};
use serde_json::json;

/// Limit of prompt actions on two busy cores. A regular poll would come hours later.
const AT_ONCE: Duration = Duration::from_secs(20);

/// A toxiproxy with a recording server in front of it, the shipped target for it, and both programs.
struct Bed {
    toxiproxy: Toxiproxy,
    outside: Outside,
}

/// The interval is long, so that only prompt polls can be fast.
async fn bed(world: &World, interval: &str) -> Result<Bed> {
    let toxiproxy = world.start_toxiproxy().await?;
    let outside = world.start_outside().await?;
    outside.forward_to(toxiproxy.url());
    let target = Target::shipped(world, outside.url())?.with("/spec/interval", json!(interval));
    world.apply_target(&target).await?;
    world.start_poller().await?;
    world.start_controller().await?;
    Ok(Bed { toxiproxy, outside })
}

/// Requests a poll. With a long interval it is the only one, so that none falls between a correction and its note,
/// where it would correctly cause one more write.
async fn ask_for_poll(world: &World, reason: &str) -> Result<()> {
    let annotations = json!({POLL_REQUESTED_ANNOTATION: reason});
    world.patch_proxy("web", json!({"metadata": {"annotations": annotations}})).await.map(drop)
}

fn external_writes(outside: &Outside) -> usize {
    outside.count("POST") + outside.count("DELETE")
}

#[tokio::test]
async fn a_missing_proxy_costs_five_writes() -> Result<()> {
    World::run("created", async |world| {
        // A long interval: a poll between the correction and its note would correctly cause one more write.
        let bed = bed(world, "24h").await?;
        let history = world.watch_object("web").await?;
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
        world.wait_until_verified("web").await?;
        history.wait_for_transitions("driftObserved", &[("True", "NotCreated"), ("False", "InSync")]).await?;
        ensure!(bed.toxiproxy.proxy("web").await?.is_some_and(|proxy| proxy.upstream == "127.0.0.1:9"));
        ensure!(external_writes(&bed.outside) == 1, "{:?}", bed.outside.requests());
        let status_writes = world.writes().await?.status;
        ensure!(status_writes <= 4, "{status_writes} status writes for a creation");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_changed_proxy_costs_four_writes() -> Result<()> {
    World::run("changed", async |world| {
        let bed = bed(world, "24h").await?;
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
        world.wait_until_verified("web").await?;
        for round in 1..=2 {
            let (external, status) = (external_writes(&bed.outside), world.writes().await?.status);
            let history = world.watch_object("web").await?;
            let began = Instant::now();
            bed.toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
            ask_for_poll(world, &format!("round {round}")).await?;
            let healed = [("True", "FieldsDiffer"), ("False", "InSync")];
            history.wait_for_transitions("driftObserved", &healed).await?;
            let took = began.elapsed();
            ensure!(bed.toxiproxy.proxy("web").await?.is_some_and(|proxy| proxy.upstream == "127.0.0.1:9"));
            ensure!(external_writes(&bed.outside) - external == 1, "round {round}: {:?}", bed.outside.requests());
            let status = world.writes().await?.status - status;
            ensure!(status <= 3, "round {round}: {status} status writes for a heal");
            // At most the delay before a third correction (2 s), which is the second of these.
            ensure!(took < AT_ONCE, "round {round}: healed only after {took:?}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_removed_proxy_is_created_again() -> Result<()> {
    World::run("removed", async |world| {
        let bed = bed(world, "24h").await?;
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
        world.wait_until_verified("web").await?;
        let (external, status) = (external_writes(&bed.outside), world.writes().await?.status);
        let history = world.watch_object("web").await?;
        bed.toxiproxy.delete("web").await?;
        ask_for_poll(world, "removed").await?;
        let healed = [("True", "ExternalMissing"), ("False", "InSync")];
        history.wait_for_transitions("driftObserved", &healed).await?;
        ensure!(bed.toxiproxy.proxy("web").await?.is_some());
        ensure!(external_writes(&bed.outside) - external == 1, "{:?}", bed.outside.requests());
        let status = world.writes().await?.status - status;
        // The verdict, the record before the create, its outcome, and the verdict on it.
        ensure!(status <= 4, "{status} status writes for a heal");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_spec_edit_is_brought_outside() -> Result<()> {
    World::run("edited", async |world| {
        let bed = bed(world, "24h").await?;
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
        world.wait_until_verified("web").await?;
        let mut first_polls = Vec::new();
        for (number, upstream) in ["127.0.0.1:11", "127.0.0.1:12", "127.0.0.1:13"].into_iter().enumerate() {
            // Prompt polls of one object are a second apart, so the last one must be that old.
            let last = bed.outside.requests_to("GET", "/proxies/web").last().map(|request| request.at);
            tokio::time::sleep_until((last.context("no poll")? + Duration::from_secs(1)).into()).await;
            let polls = bed.outside.requests().len();
            let edited = Instant::now();
            world.patch_proxy("web", json!({"spec": {"upstream": upstream}})).await?;
            world.wait_until_healed_by("web", number as u64 + 2).await?;
            let first = bed.outside.requests().get(polls).map(|request| request.at.duration_since(edited));
            first_polls.push(first.context("no poll after the edit")?);
            ensure!(bed.toxiproxy.proxy("web").await?.is_some_and(|proxy| proxy.upstream == upstream));
        }
        // A pause of the machine may affect one or two of the three.
        let (fastest, slowest) = (first_polls.iter().min(), first_polls.iter().max());
        ensure!(slowest.is_some_and(|after| *after < AT_ONCE), "the first polls came after {first_polls:?}");
        ensure!(
            fastest.is_some_and(|after| *after < Duration::from_secs(1)),
            "the first polls came after {first_polls:?}"
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_deleted_object_takes_its_proxy_with_it() -> Result<()> {
    World::run("deleted", async |world| {
        let bed = bed(world, "3s").await?;
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
        world.wait_until_verified("web").await?;
        world.delete_proxy("web").await?;
        world.wait_until_gone("web").await?;
        ensure!(bed.toxiproxy.proxy("web").await?.is_none());
        ensure!(bed.outside.count("DELETE") == 1, "{:?}", bed.outside.requests());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_observing_target_shows_drift_and_touches_nothing() -> Result<()> {
    World::run("observed", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let outside = world.start_outside().await?;
        outside.forward_to(toxiproxy.url());
        let target = Target::shipped(world, outside.url())?.with("/spec/correct/mode", json!("Observe"));
        // A single poll longer than the interval would cause a write about an object that is known to have drifted.
        world.apply_target(&target.with("/spec/interval", json!("8s"))).await?;
        world.start_poller().await?;
        world.start_controller().await?;
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
        let object = world.wait_for_verdict("web", "True", "NotCreated").await?;
        ensure!(object["metadata"].get("finalizers").is_none(), "a finalizer on an observed object");
        let polls = outside.count("GET");
        world.nothing_is_written_while(outside.wait_for_requests("GET", polls + 2)).await?;
        ensure!(external_writes(&outside) == 0 && toxiproxy.proxies().await?.is_empty());
        Ok(())
    })
    .await
}
