//! A bad edit of the configuration takes nothing down, says where it is wrong, and its fix needs no restart.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_e2e::reliability::{Group, Shown};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use serde_json::json;

#[tokio::test]
async fn a_bad_edit_leaves_the_last_good_target_in_force_until_it_is_mended() -> Result<()> {
    World::run("bad edit", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let good = Target::shipped(world, toxiproxy.url())?;
        world.apply_target(&good).await?;
        let poller = world.start_poller().await?;
        world.start_controller().await?;
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;

        let key = format!("{}.yaml", good.name());
        let text = good.text()?;
        let broken = text.replace("identity:", "identiy:");
        world.apply_target_texts("drift-targets", &[(&key, &broken)]).await?;
        let event = world.wait_for_event("TargetInvalid", "drift-targets").await?;
        let note = event["note"].as_str().context("an Event without a note")?;
        ensure!(note.contains("identiy") && note.contains("identity") && note.contains("line"), "{note}");
        wait::until("the metric to count a bad document", wait::DEADLINE, async || {
            let bad = poller.metrics().await?.sum("drift_config_documents", &[("state", "bad")]);
            Ok(if bad == 1.0 { Seen::Met(()) } else { Seen::Instead(format!("{bad} bad documents")) })
        })
        .await?;

        // The last good text still heals.
        let history = world.watch_object("web").await?;
        toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
        history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;

        // The mended text, with another wish, takes effect in the same processes.
        let mended = good.with("/spec/compare/desired/enabled", json!(false));
        world.apply_target(&mended).await?;
        wait::until("the new wish to be outside", wait::DEADLINE, async || {
            let proxy = toxiproxy.proxy("web").await?.context("no such proxy")?;
            Ok(if proxy.enabled { Seen::Instead(format!("{proxy:?}")) } else { Seen::Met(()) })
        })
        .await?;
        world.wait_for_verdict("web", "False", "InSync").await.map(drop)
    })
    .await
}

#[tokio::test]
async fn a_bad_document_beside_a_good_one_at_start_stops_only_itself() -> Result<()> {
    World::run("bad at start", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let good = Target::shipped(world, toxiproxy.url())?;
        let text = good.text()?;
        world.apply_target_texts("drift-targets", &[("bad.yaml", "kind: [nonsense"), ("good.yaml", &text)]).await?;
        world.start_poller().await?;
        world.start_controller().await?;
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        world.wait_for_event("TargetInvalid", "drift-targets").await?;
        world.nothing_is_written_for(Duration::from_secs(2)).await?;
        world.shows(Shown::new(
            Group::Configuration,
            "a bad document beside good ones",
            "both programs started on a ConfigMap with one document that is no target",
            "the good target created its object and fell silent, an Event named the bad document",
            "0 writes in 2 s afterwards",
        ));
        Ok(())
    })
    .await
}
