//! A lagging API server: watches and lists return an old state, while single reads and writes use the current one.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_e2e::cluster::api_gate::Fault;
use drift_e2e::world::World;
use kube::api::ListParams;

use super::bed::{Bed, WISHES};

/// Time for which a program sees only the past.
const BEHIND: Duration = Duration::from_secs(25);

#[tokio::test]
async fn a_held_watch_corrects_no_old_spec() -> Result<()> {
    World::run("api watch held", async |world| {
        let mut bed = Bed::start(world).await?;
        let recovery = bed
            .go_through(BEHIND, |bed| {
                let objects = bed.objects();
                bed.gate.on(move |asked| asked.is_watch() && asked.uri.starts_with(&objects), Fault::Hold);
            })
            .await?;
        bed.ensure_recovered(&recovery).await
    })
    .await
}

#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
#[tokio::test]
async fn minutes_behind_no_old_spec_is_corrected() -> Result<()> {
    stale_start(Duration::from_secs(240)).await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_start_on_a_stale_list_corrects_no_old_spec() -> Result<()> {
    stale_start(BEHIND).await
}

async fn stale_start(span: Duration) -> Result<()> {
    World::run("api behind", async |world| {
        let mut bed = Bed::start(world).await?;
        let list = world.proxies().list(&ListParams::default().limit(1)).await?;
        let version = list.metadata.resource_version.context("a list without a version")?;
        // The newest state is known and corrected before the programs see the past.
        bed.edit(WISHES[1]).await?;
        bed.wait_until_edits_stand().await?;
        bed.begin_to_count().await?;
        for program in bed.programs.drain(..) {
            program.stop().await?;
        }
        let (lists, watches) = (bed.objects(), bed.objects());
        bed.gate.on(move |asked| asked.is_list() && asked.uri.starts_with(&lists), Fault::AsOf(version));
        bed.gate.on(move |asked| asked.is_watch() && asked.uri.starts_with(&watches), Fault::Late(span));
        bed.start_programs().await?;
        let recovery = bed.go_through(span, |_| ()).await?;
        let lists = recovery.asked.iter().filter(|asked| asked.is_list()).count();
        ensure!(lists < 60, "{lists} lists");
        bed.ensure_recovered(&recovery).await
    })
    .await
}
