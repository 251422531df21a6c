//! A target whose ConfigMap is missing at the programs' start is reported everywhere, and so is everything that waits
//! for it.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_api::names;
use drift_e2e::programs::{Program, Which};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::World;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::cleanup::{Bed, TARGETS, create, is_settled, settled, start};

/// The name of the missing ConfigMap.
const OTHER: &str = "other-targets";
/// An object reports what it waits for after a minute. The rest is for a busy machine.
const TOLD_WITHIN: Duration = Duration::from_secs(150);

/// Waits until the metric of both programs counts this many missing targets.
async fn wait_for_metric(programs: &[Arc<Program>; 2], wanted: f64) -> Result<()> {
    wait::until(format!("{wanted} missing targets in both programs' metrics"), wait::DEADLINE, async || {
        let mut counted = Vec::new();
        for program in programs {
            counted.push(program.metrics().await?.sum("drift_targets_missing", &[("target", "lost")]));
        }
        let is_so = counted.iter().all(|count| *count == wanted);
        Ok(if is_so { Seen::Met(()) } else { Seen::Instead(format!("{counted:?}")) })
    })
    .await
}

/// Checks the reports of programs and commands about the missing target.
async fn ensure_told(world: &World, programs: &[Arc<Program>; 2], is_missing: bool) -> Result<()> {
    let home = world.programs_namespace();
    let cause = format!("ConfigMap {home}/{OTHER} is gone or lacks the label");
    for program in programs {
        let (status, text) = program.page("/readyz").await?;
        ensure!(
            status == 200 && text.contains(&format!("target lost: missing: {cause}")) == is_missing,
            "{status} {text}"
        );
    }
    let place = ["-n", world.objects_namespace(), "--targets-namespace", home];
    let said = format!("target lost: {cause}");
    for command in [[&["get", "proxies"], &place[..]].concat(), vec!["check", "--from-cluster", "-n", home]] {
        let ended = world.run_command(&command).await?;
        ensure!(ended.complaints.contains(&said) == is_missing && (ended.code != 0) == is_missing, "{ended:?}");
    }
    Ok(())
}

async fn wait_for_event_on(world: &World, reason: &str, about: &str) -> Result<()> {
    wait::until(format!("an Event {reason} about {about}"), TOLD_WITHIN, async || {
        let events = world.events().await?;
        let found = events.iter().filter(|event| event["reason"] == reason && event["regarding"]["name"] == about);
        let notes: Vec<&str> = found.filter_map(|event| event["note"].as_str()).collect();
        let is_told = notes.len() == 1 && notes[0].contains("target lost");
        Ok(if is_told { Seen::Met(()) } else { Seen::Instead(format!("{notes:?}")) })
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_missing_target_shows_until_it_is_back() -> Result<()> {
    World::run("missing target", async |world| {
        let bed = Bed::new(world).await?;
        let (kept, lost) =
            (bed.target(world, "kept", "tier=kept")?.text()?, bed.target(world, "lost", "tier=lost")?.text()?);
        world.apply_target_texts(TARGETS, &[("kept.yaml", &kept)]).await?;
        world.apply_target_texts(OTHER, &[("lost.yaml", &lost)]).await?;
        let poller = start(world, Which::Poller).await?;
        let controller = start(world, Which::Controller).await?;
        create(world, "web", "kept").await?;
        create(world, "orphan", "lost").await?;
        settled(world, "web").await?;
        let before = settled(world, "orphan").await?;
        controller.stop().await?;
        poller.stop().await?;

        let maps = world.api("v1", "ConfigMap", Some(world.programs_namespace()))?;
        let unlabelled = json!({"metadata": {"labels": {names::TARGETS_LABEL: null}}});
        maps.patch(OTHER, &PatchParams::default(), &Patch::Merge(&unlabelled)).await?;
        let programs = [start(world, Which::Poller).await?, start(world, Which::Controller).await?];
        wait_for_metric(&programs, 1.0).await?;
        for lease in ["drift-poller", "drift-controller"] {
            wait_for_event_on(world, "TargetMissing", lease).await?;
        }
        ensure_told(world, &programs, true).await?;

        // In its scope, new resources are created. Deletions wait and say why.
        create(world, "new", "kept").await?;
        settled(world, "new").await?;
        world.delete_proxy("web").await?;
        wait_for_event_on(world, "DeletionHeld", "web").await?;
        wait_for_metric(&programs, 1.0).await?;
        ensure_told(world, &programs, true).await?;
        let orphan = world.proxy("orphan").await?.context("no such object")?;
        ensure!(orphan == before, "{orphan}");

        world.apply_target_texts(OTHER, &[("lost.yaml", &lost)]).await?;
        wait_for_metric(&programs, 0.0).await?;
        wait::until("the deletion to end", wait::DEADLINE, async || {
            let (object, upstream) = (world.proxy("web").await?, bed.upstream("web").await?);
            let is_gone = object.is_none() && upstream.is_none();
            Ok(if is_gone { Seen::Met(()) } else { Seen::Instead(format!("{object:?} {upstream:?}")) })
        })
        .await?;
        let orphan = world.proxy("orphan").await?.context("no such object")?;
        ensure!(is_settled(&orphan), "{orphan}");
        ensure_told(world, &programs, false).await?;
        Ok(())
    })
    .await
}
