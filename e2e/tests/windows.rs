//! Corrections and deletions wait for their windows, every surface names the opening, and an annotation opens a window.

use anyhow::{Context as _, Result, ensure};
use drift_api::names::WINDOW_OPEN_UNTIL_ANNOTATION;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

const WEB: &str = "/proxies/web";

/// A window of a minute that opens about twelve hours from now.
fn closed() -> Value {
    let hour = Timestamp::now().saturating_add(SignedDuration::from_hours(12)).unwrap_or(Timestamp::MAX).strftime("%H");
    json!([{"cron": format!("0 {hour} * * *"), "duration": "1m", "timeZone": "UTC"}])
}

async fn open(world: &World, until: Option<Timestamp>) -> Result<()> {
    let until = until.map(|until| until.to_string());
    world.patch_proxy("web", json!({"metadata": {"annotations": {WINDOW_OPEN_UNTIL_ANNOTATION: until}}})).await?;
    Ok(())
}

/// Waits until `get` shows the hold, and returns its line of `-o json`.
async fn wait_until_shown(world: &World, hold: &str) -> Result<Value> {
    let place = ["-n", world.objects_namespace(), "--targets-namespace", world.programs_namespace()];
    wait::until(format!("get to show {hold}"), wait::DEADLINE, async || {
        let got = world.run_command(&[&["get", "proxies", "-o", "json"], &place[..]].concat()).await?;
        let listed: Value = serde_json::from_str(&got.output).context(got.complaints)?;
        let item = &listed["items"][0];
        Ok(if item["next"] == hold { Seen::Met(item.clone()) } else { Seen::Instead(listed.to_string()) })
    })
    .await
}

#[tokio::test]
async fn corrections_and_deletions_wait_for_their_window() -> Result<()> {
    World::run("windows", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        let target = Target::shipped(world, outside.url())?
            .with("/spec/correct/windows", closed())
            .with("/spec/correct/deletionWindows", closed());
        world.apply_target(&target).await?;
        world.start_both().await?;
        world.create_some_proxy("web").await?;
        world.wait_for_verdict("web", "True", "NotCreated").await?;
        let item = wait_until_shown(world, "OutsideWindow").await?;
        let until: Timestamp = item["held"]["until"].as_str().context("no time of the opening")?.parse()?;
        let hours = until.duration_since(Timestamp::now()).as_secs() / 3600;
        ensure!((10..=13).contains(&hours), "{item}");
        let place = ["-n", world.objects_namespace(), "--targets-namespace", world.programs_namespace()];
        let explained = world.run_command(&[&["explain", "proxies/web"], &place[..]].concat()).await?;
        ensure!(explained.output.contains("(OutsideWindow): the next one opens at "), "{explained:?}");
        world.nothing_is_written_for(std::time::Duration::from_secs(3)).await?;
        ensure!(outside.requests_to("POST", "/proxies").is_empty(), "created outside of a window");

        open(world, Some(Timestamp::now() + SignedDuration::from_hours(1))).await?;
        world.wait_until_healed_by("web", 1).await?;
        ensure!(toxiproxy.proxy("web").await?.is_some());

        open(world, None).await?;
        world.delete_proxy("web").await?;
        let held = world.wait_for_event("DeletionHeld", "web").await?;
        ensure!(held["note"].as_str().is_some_and(|note| note.contains("deletionWindows")), "{held}");
        wait_until_shown(world, "OutsideDeletionWindow").await?;
        ensure!(outside.requests_to("DELETE", WEB).is_empty(), "deleted outside of a window");
        open(world, Some(Timestamp::now() + SignedDuration::from_hours(1))).await?;
        world.wait_until_gone("web").await?;
        ensure!(toxiproxy.proxy("web").await?.is_none());
        Ok(())
    })
    .await
}
