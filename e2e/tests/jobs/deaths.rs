//! The controller dies at points between its claim, the Job and the note. Its successor follows the same Job, and none
//! creates a second one.

use anyhow::{Result, ensure};
use drift_e2e::process::Exit;
use drift_e2e::programs::{Options, Which};
use drift_e2e::world::World;
use drift_kube::process::kill_point::KillPoint::{self, *};
use serde_json::json;

use super::{Cluster, grant_jobs, target};

/// SIGABRT, which ends an aborting process.
const ABORTED: Exit = Exit::Signal(6);

/// Deaths in one correction, one process after the other. The first step looks for other Jobs, the second creates the
/// Job, and later ones check it.
const DEATHS: [&[(KillPoint, u32)]; 6] = [
    &[(ControllerAfterClaim, 1)],
    &[(ControllerBeforeStep, 2)],
    &[(ControllerAfterStep, 2)],
    &[(ControllerAfterStep, 3)],
    &[(ControllerAfterStep, 2), (ControllerAfterStep, 2), (ControllerAfterStep, 3)],
    &[(ControllerBeforeNote, 1)],
];

/// Lets controllers die one after the other during one update. The last one lives.
async fn die(cluster: &Cluster<'_>, number: usize) -> Result<()> {
    let (world, jobs) = (cluster.world, cluster.all().await?.len());
    cluster.outside.update("web", json!({"upstream": format!("127.0.0.1:{}", 100 + number)})).await?;
    let mut completed = false;
    for (turn, (point, time)) in DEATHS[number].iter().enumerate() {
        let options = Options::dying_at(*point, *time).named(format!("controller-{number}-{turn}"));
        let victim = world.start(Which::Controller, options).await?;
        if *point == ControllerBeforeNote {
            cluster.complete("update").await?;
            completed = true;
        }
        let exit = victim.wait_until_ended().await?;
        ensure!(exit == ABORTED, "it was to abort at {point:?}, and ended with {exit}");
        world.clear_lease(Which::Controller.name()).await?;
    }
    let survivor = world.start(Which::Controller, Options::default().named(format!("controller-{number}"))).await?;
    if !completed {
        cluster.complete("update").await?;
    }
    world.wait_until_verified("web").await?;
    survivor.stop().await?;
    let all = cluster.all().await?;
    ensure!(all.len() == jobs + 1, "{:?} began other Jobs: {:?}", DEATHS[number], all.keys());
    Ok(())
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_death_begins_no_second_job() -> Result<()> {
    World::run("job deaths", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        grant_jobs(world, &["create", "delete", "get", "list"]).await?;
        world.apply_target(&target(world, toxiproxy.url())?).await?;
        world.start_poller().await?;
        let first = world.start_controller().await?;
        let jobs = world.api("batch/v1", "Job", Some(world.objects_namespace()))?;
        let cluster = Cluster { world, jobs, outside: toxiproxy.api() };
        let spec = json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"});
        world.create_proxy("web", spec).await?;
        cluster.complete("create").await?;
        world.wait_until_verified("web").await?;
        first.stop().await?;
        for number in 0..DEATHS.len() {
            die(&cluster, number).await?;
        }
        Ok(())
    })
    .await
}
