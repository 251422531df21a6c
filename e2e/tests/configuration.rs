//! A change of the configuration, valid or invalid, stops no running target, reports its errors, and needs no restart.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_api::names::DRIFT_OBSERVED;
use drift_e2e::programs::Which;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, condition, message};
use kube::api::DeleteParams;
use serde_json::json;

use crate::cleanup::{
    Bed, TARGETS, WELL_AFTER, create, has_finalizer, is_settled, settled, start, start_both, wait_for_notes,
};

#[tokio::test]
async fn a_bad_edit_leaves_the_last_good_target() -> Result<()> {
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

        // The last valid text still heals.
        let history = world.watch_object("web").await?;
        toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
        history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;

        // The repaired text, with another desired state, takes effect in the same processes.
        let mended = good.with("/spec/compare/desired/enabled", json!(false));
        world.apply_target(&mended).await?;
        wait::until("the new desired state to be outside", wait::DEADLINE, async || {
            let proxy = toxiproxy.proxy("web").await?.context("no such proxy")?;
            Ok(if proxy.enabled { Seen::Instead(format!("{proxy:?}")) } else { Seen::Met(()) })
        })
        .await?;
        world.wait_for_verdict("web", "False", "InSync").await.map(drop)
    })
    .await
}

#[tokio::test]
async fn a_bad_document_stops_only_itself() -> Result<()> {
    World::run("bad at start", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let good = Target::shipped(world, toxiproxy.url())?;
        let text = good.text()?;
        world.apply_target_texts("drift-targets", &[("bad.yaml", "kind: [nonsense"), ("good.yaml", &text)]).await?;
        world.start_poller().await?;
        world.start_controller().await?;
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
        world.wait_until_verified("web").await?;
        world.wait_for_event("TargetInvalid", "drift-targets").await?;
        world.nothing_is_written_for(Duration::from_secs(7)).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_edit_reading_unknown_fields_changes_nothing() -> Result<()> {
    World::run("unknown field", async |world| {
        let bed = Bed::new(world).await?;
        let good = bed.target(world, "proxies", "tier=a")?;
        world.apply_target(&good).await?;
        let poller = world.start_poller().await?;
        world.start_controller().await?;
        create(world, "web", "a").await?;
        settled(world, "web").await?;

        let wrong = good.clone().with("/spec/compare/desired/enabled", json!("${self.spec.?enabld.orValue(false)}"));
        world.apply_target(&wrong).await?;
        let event = world.wait_for_event("TargetInvalid", TARGETS).await?;
        let note = event["note"].as_str().context("an Event without a note")?;
        let said = note.contains("has no field spec.enabld") && note.contains("`enabled`") && note.contains(" line ");
        ensure!(said, "{note}");
        let bad = poller.metrics().await?.sum("drift_config_documents", &[("state", "bad")]);
        ensure!(bad == 1.0, "{bad} bad documents");

        // The last valid text heals, creates and deletes: nothing of the scope is held.
        bed.toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
        wait_for_upstream(&bed, "127.0.0.1:9").await?;
        create(world, "other", "a").await?;
        settled(world, "other").await?;
        world.delete_proxy("other").await?;
        wait::until("the other to be gone outside", wait::DEADLINE, async || {
            let upstream = bed.upstream("other").await?;
            Ok(if upstream.is_none() { Seen::Met(()) } else { Seen::Instead(format!("{upstream:?}")) })
        })
        .await?;

        world.apply_target(&good.with("/spec/compare/desired/upstream", json!("127.0.0.1:11"))).await?;
        wait_for_upstream(&bed, "127.0.0.1:11").await?;
        settled(world, "web").await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_config_map_made_anew_changes_nothing() -> Result<()> {
    World::run("recreated", async |world| {
        let bed = Bed::new(world).await?;
        let target = bed.target(world, "proxies", "tier=a")?;
        world.apply_target(&target).await?;
        world.start_both().await?;
        create(world, "web", "a").await?;
        let before = settled(world, "web").await?;
        world.nothing_is_written_for(Duration::from_secs(2)).await?;

        let maps = world.api("v1", "ConfigMap", Some(world.programs_namespace()))?;
        maps.delete(TARGETS, &DeleteParams::default()).await?;
        world.nothing_is_written_for(WELL_AFTER).await?;
        let object = world.proxy("web").await?.context("no such object")?;
        ensure!(object["status"] == before["status"] && is_settled(&object), "{object}");
        world.apply_target(&target).await?;
        world.nothing_is_written_for(WELL_AFTER).await?;
        let object = world.proxy("web").await?.context("no such object")?;
        ensure!(object["status"] == before["status"] && is_settled(&object), "{object}");

        // The count of corrections went on.
        let writes = bed.outside.writes();
        bed.toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
        wait_for_upstream(&bed, "127.0.0.1:9").await?;
        world
            .wait_for_proxy("web", "in sync after the second correction", |object| {
                is_settled(object) && message(object, DRIFT_OBSERVED).contains("correction 2")
            })
            .await?;
        ensure!(bed.outside.writes() == writes + 1, "{:?}", bed.outside.requests());
        Ok(())
    })
    .await
}

async fn wait_for_upstream(bed: &Bed, wanted: &str) -> Result<()> {
    wait::until(format!("the upstream {wanted} outside"), wait::DEADLINE, async || {
        let upstream = bed.upstream("web").await?;
        Ok(if upstream.as_deref() == Some(wanted) { Seen::Met(()) } else { Seen::Instead(format!("{upstream:?}")) })
    })
    .await
}

#[tokio::test]
async fn a_restart_leaves_a_bad_documents_objects_alone() -> Result<()> {
    World::run("bad restart", async |world| {
        let bed = Bed::new(world).await?;
        let (good, bad) = (bed.target(world, "good", "tier=good")?, bed.target(world, "wrong", "tier=bad")?);
        world.apply_targets(&[good.clone(), bad.clone()]).await?;
        let poller = start(world, Which::Poller).await?;
        let controller = start(world, Which::Controller).await?;
        create(world, "web", "good").await?;
        create(world, "orphan", "bad").await?;
        settled(world, "web").await?;
        let before = settled(world, "orphan").await?;
        controller.stop().await?;
        poller.stop().await?;

        let (good_text, bad_text) = (good.text()?, bad.text()?);
        let broken = bad_text.replace("identity:", "identiy:");
        world.apply_target_texts(TARGETS, &[("good.yaml", &good_text), ("wrong.yaml", &broken)]).await?;
        start_both(world).await?;
        bed.toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
        wait_for_upstream(&bed, "127.0.0.1:9").await?;
        settled(world, "web").await?;
        // In a certain state an unused finalizer is removed after five seconds.
        world.proxy_stays("orphan", "as it was", Duration::from_secs(20), |object| *object == before).await?;
        ensure!(bed.upstream("orphan").await?.is_some(), "the orphan is gone outside");

        // After the repair it is polled and corrected as before.
        world.apply_targets(&[good, bad]).await?;
        bed.toxiproxy.update("orphan", json!({"upstream": "127.0.0.1:10"})).await?;
        wait::until("the orphan to be healed", wait::DEADLINE, async || {
            let upstream = bed.upstream("orphan").await?;
            let is_healed = upstream.as_deref() == Some("127.0.0.1:9");
            Ok(if is_healed { Seen::Met(()) } else { Seen::Instead(format!("{upstream:?}")) })
        })
        .await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_renamed_target_keeps_its_objects() -> Result<()> {
    World::run("renamed", async |world| {
        let bed = Bed::new(world).await?;
        let target = bed.target(world, "before", "tier=a")?;
        world.apply_target(&target).await?;
        start_both(world).await?;
        create(world, "web", "a").await?;
        settled(world, "web").await?;
        wait_for_notes(world, &["before"]).await?;
        let (writes, history) = (bed.outside.writes(), world.watch_object("web").await?);

        world.apply_target(&target.named("after")).await?;
        wait_for_notes(world, &["after"]).await?;
        ensure!(bed.outside.writes() == writes, "{:?}", bed.outside.requests());
        for version in history.versions().await? {
            ensure!(is_settled(&version), "it was once: {version}");
        }
        bed.toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
        wait_for_upstream(&bed, "127.0.0.1:9").await?;
        settled(world, "web").await?;
        ensure!(bed.outside.writes() == writes + 1, "{:?}", bed.outside.requests());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn the_first_of_overlapping_targets_owns() -> Result<()> {
    World::run("overlap", async |world| {
        let bed = Bed::new(world).await?;
        let second = world.start_outside().await?;
        second.forward_to(bed.toxiproxy.url());
        // One system at two addresses: the first target's claims also belong to the second.
        let scope = json!("the proxies");
        let first = bed.target(world, "first", "tier=a")?.with("/spec/scope", scope.clone());
        let other = Target::shipped(world, second.url())?.named("second").with("/spec/scope", scope);
        let other = other.with("/spec/objects/labelSelector", json!("team=x"));
        world.apply_targets(&[first, other.clone()]).await?;
        let poller = start(world, Which::Poller).await?;
        let controller = start(world, Which::Controller).await?;
        let spec = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:9", "enabled": false});
        world.create_proxy_with("web", json!({"labels": {"tier": "a", "team": "x"}}), spec).await?;
        settled(world, "web").await?;
        wait::until("both programs to skip it", wait::DEADLINE, async || {
            let skipped = poller.metrics().await?.sum("drift_poller_objects_skipped", &[("target", "second")]);
            let labels = [("target", "second"), ("why", "ClaimedTwice")];
            let held = controller.metrics().await?.sum("drift_controller_held", &labels);
            let seen = format!("skipped {skipped}, held {held}");
            Ok(if (skipped, held) == (1.0, 1.0) { Seen::Met(()) } else { Seen::Instead(seen) })
        })
        .await?;
        world.wait_for_event("ClaimedTwice", "web").await?;
        second.forget_requests();
        bed.toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
        wait_for_upstream(&bed, "127.0.0.1:9").await?;
        world.wait_until_healed_by("web", 2).await?;
        ensure!(second.requests().is_empty(), "the second target was at it: {:?}", second.requests());
        let (writes, history) = (bed.outside.writes(), world.watch_object("web").await?);

        world.apply_target(&other).await?;
        wait_for_notes(world, &["second"]).await?;
        bed.toxiproxy.update("web", json!({"upstream": "127.0.0.1:11"})).await?;
        wait_for_upstream(&bed, "127.0.0.1:9").await?;
        settled(world, "web").await?;
        ensure!(bed.outside.writes() == writes, "the first target is gone: {:?}", bed.outside.requests());
        ensure!(second.writes() == 1, "{:?}", second.requests());
        for version in history.versions().await? {
            let is_kept = condition(&version, DRIFT_OBSERVED).is_some() && has_finalizer(&version);
            ensure!(is_kept, "it was once: {version}");
        }
        Ok(())
    })
    .await
}
