//! The holds of the controller in the commands of `kubectl-drift`.

use anyhow::{Context as _, Result, ensure};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::World;
use serde_json::{Value, json};

use super::Bed;

/// The objects that `get` shows with this next step.
async fn objects_with_next(world: &World, next: &str) -> Result<Vec<Value>> {
    let place = ["-n", world.objects_namespace(), "--targets-namespace", world.programs_namespace()];
    let get = world.run_command(&[&["get", "-o", "json"], &place[..]].concat()).await?;
    let told: Value = serde_json::from_str(&get.output).with_context(|| format!("{get:?}"))?;
    let items = told["items"].as_array().into_iter().flatten();
    Ok(items.filter(|item| item["next"] == next).cloned().collect())
}

async fn explain(world: &World, object: &Value) -> Result<String> {
    let object = format!("proxy/{}", object["name"].as_str().unwrap_or_default());
    let place = ["-n", world.objects_namespace(), "--targets-namespace", world.programs_namespace()];
    let explain = world.run_command(&[&["explain", &object], &place[..]].concat()).await?;
    Ok(explain.output)
}

fn watching(world: &World) -> [&str; 7] {
    ["get", "-w", "--drifted", "-n", world.objects_namespace(), "--targets-namespace", world.programs_namespace()]
}

/// Waits until a query of the poller's status page looks like this.
async fn wait_for_page(bed: &Bed, query: &str, is_met: impl Fn(&str) -> bool) -> Result<()> {
    wait::until("the holds on the status page", wait::DEADLINE, async || {
        let (_, page) = bed.poller.page(query).await?;
        Ok(if is_met(&page) { Seen::Met(()) } else { Seen::Instead(page) })
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn an_open_breaker_shows_until_it_closes() -> Result<()> {
    World::run("shown breaker", async |world| {
        let bed = Bed::in_sync(world, 20, json!({"perMinute": 600})).await?;
        let mut watch = world.start_command("get-watch-holds", &watching(world)).await?;
        bed.change_all();
        world.wait_for_event("BreakerOpened", "drift-targets").await?;
        let held = wait::until("get to show every held object", wait::DEADLINE, async || {
            let held = objects_with_next(world, "BreakerOpen").await?;
            let is_all = held.len() == bed.changed() && !held.is_empty();
            Ok(if is_all { Seen::Met(held) } else { Seen::Instead(format!("{} of {}", held.len(), bed.changed())) })
        })
        .await?;
        let sentence = format!("the breaker of target {} is open (BreakerOpen): ", bed.target.name());
        let said = held[0]["held"]["message"].as_str().unwrap_or_default();
        ensure!(said.starts_with(&sentence) && said.contains(" of 20 objects drifted"), "{}", held[0]);
        let explained = explain(world, &held[0]).await?;
        let in_explain = explained.lines().any(|line| line.starts_with("held ") && line.contains(&sentence));
        ensure!(in_explain && !explained.contains("follows "), "{explained}");
        // No object changes after the breaker opened.
        wait::until("get -w to print every held object again", wait::DEADLINE, async || {
            let printed = std::fs::read_to_string(watch.log())?;
            let count = printed.lines().filter(|line| line.trim_end().ends_with("BreakerOpen")).count();
            Ok(if count >= held.len() { Seen::Met(()) } else { Seen::Instead(printed) })
        })
        .await?;
        watch.kill().await?;
        let on_each = format!("</strong>{sentence}");
        // One group with three cards, and the target.
        wait_for_page(&bed, "/", |page| {
            let is_grouped = page.contains("held by <strong>BreakerOpen</strong>");
            is_grouped && page.matches(&on_each).count() == 4 && page.contains("<strong>Held: </strong>")
        })
        .await?;
        wait_for_page(&bed, "/?held=BreakerOpen", |page| page.matches(&on_each).count() == bed.changed()).await?;

        world.apply_target(&bed.target.clone().with("/spec/correct/limits/maxDriftedPercent", json!(100))).await?;
        world.wait_for_verdicts(20, "False/InSync", wait::DEADLINE).await?;
        wait::until("the Lease to list no hold", wait::DEADLINE, async || {
            let lease = world.lease("drift-controller").await?.unwrap_or_default();
            let listed = &lease["metadata"]["annotations"]["driftpoller.dev/held-corrections"];
            let is_empty = listed == r#"{"leftOut":0,"targets":{}}"#;
            Ok(if is_empty { Seen::Met(()) } else { Seen::Instead(listed.to_string()) })
        })
        .await?;
        wait_for_page(&bed, "/", |page| !page.contains("BreakerOpen")).await?;
        let held = objects_with_next(world, "BreakerOpen").await?;
        ensure!(held.is_empty() && !explain(world, &json!({"name": "web-0"})).await?.contains(&sentence), "{held:?}");
        Ok(())
    })
    .await
}
