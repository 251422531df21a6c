//! A target that promises idempotency keys to a server that ignores them.

use anyhow::{Result, ensure};
use drift_api::names;
use drift_e2e::programs::{Options, Which};
use drift_e2e::systems::outside::Answer;
use drift_e2e::world::{World, describe, note};
use serde_json::{Value, json};

use super::{Keyless, create_labelled, keep_ids, prove_reads, wait_for_told_doubt, wait_until_named_in_sync};

/// Requests with one key: the first one, and the repetitions until a poll decides.
const MOST_WITH_ONE_KEY: usize = 6;

fn is_recorded_twice(object: &Value) -> bool {
    let is_failed = describe(object, names::DRIFT_CORRECTED) == "False/CorrectionFailed";
    is_failed && note(object).unseen.is_some_and(|unseen| unseen.sent >= 2)
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_server_that_ignores_keys_makes_six_at_most() -> Result<()> {
    World::run("ignored-keys", async |world| {
        let server = Keyless::start(world, |_, item| {
            let is_first = item["name"].as_str().is_some_and(|name| name.starts_with("first-"));
            if is_first { Answer::json(201, item) } else { Answer::never() }
        })
        .await?;
        keep_ids(world).await?;
        let targets = [server.labelled_target(world, "name", false)?, server.labelled_target(world, "id", true)?];
        let targets = targets.map(|target| {
            let target = target.with("/spec/correct/http/create/0/idempotent", json!(true));
            target.with("/spec/correct/http/create/0/timeout", json!("300ms"))
        });
        world.apply_targets(&targets).await?;
        world.start_poller().await?;
        let first = world.start_controller().await?;
        prove_reads(world, &["name", "id"]).await?;
        create_labelled(world, "web-name", "name").await?;
        create_labelled(world, "web-id", "id").await?;
        wait_until_named_in_sync(world, "web-name").await?;
        // The second result is recorded, and the third try is two seconds away.
        world.wait_for_proxy("web-id", "two creates without an answer", is_recorded_twice).await?;
        first.kill().await?;
        world.clear_lease(Which::Controller.name()).await?;
        world.start(Which::Controller, Options::default().named("controller-second".to_owned())).await?;
        wait_for_told_doubt(world, "web-id", u32::try_from(MOST_WITH_ONE_KEY)?).await?;
        server.wait_for_no_more_than(server.outside.count("POST")).await?;
        let (by_id, by_name) = (server.count_of("web-id"), server.count_of("web-name"));
        ensure!(by_id.max(by_name) <= MOST_WITH_ONE_KEY, "{by_id} by id, {by_name} by name");
        let requests = server.outside.requests_to("POST", "/items");
        let mut keys: Vec<_> = requests
            .iter()
            .filter(|request| request.json().is_ok_and(|item| item["name"] == "web-id"))
            .map(|request| request.header("idempotency-key"))
            .collect();
        keys.dedup();
        ensure!(keys.len() == 1 && keys[0].is_some(), "{keys:?}");
        Ok(())
    })
    .await
}
