//! Jobs that succeed while no controller runs.

use anyhow::{Result, ensure};
use drift_e2e::process::Exit;
use drift_e2e::programs::{Options, Which};
use drift_e2e::systems::outside::Answer;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::World;
use drift_kube::process::kill_point::KillPoint;
use serde_json::json;

use super::{Cluster, grant_jobs, target};
use crate::doubtful_creates::{SOME_PAUSES, wait_for_told_doubt};

/// SIGABRT, which ends an aborting process.
const ABORTED: Exit = Exit::Signal(6);

/// The second one is made, but no read shows it.
const OBJECTS: [&str; 2] = ["shown", "hidden"];

impl Cluster<'_> {
    /// Waits until this many Jobs exist that have not ended.
    async fn wait_for_open(&self, count: usize) -> Result<()> {
        wait::until(format!("{count} Jobs"), wait::DEADLINE, async || {
            let open = self.open().await?;
            Ok(if open.len() == count { Seen::Met(()) } else { Seen::Instead(format!("{open:?}")) })
        })
        .await
    }

    /// Lets all Jobs succeed that have not ended.
    async fn complete_all(&self) -> Result<()> {
        for job in self.all().await?.values().filter(|job| job["status"]["conditions"].is_null()) {
            self.run(job).await?;
            self.end(job, "SuccessCriteriaMet", "Complete", "CompletionsReached").await?;
        }
        Ok(())
    }
}

async fn create(world: &World, name: &str) -> Result<()> {
    let spec = json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"});
    world.create_proxy(name, spec).await.map(drop)
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn an_unseen_success_begins_no_second_job() -> Result<()> {
    World::run("job-unseen", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        outside.on("GET", "/proxies/hidden", Answer::json(404, &json!({})));
        grant_jobs(world, &["create", "delete", "get", "list"]).await?;
        let target = target(world, outside.url())?.with("/spec/confirm", json!({"absent": 1}));
        world.apply_target(&target).await?;
        world.start_poller().await?;
        let jobs = world.api("batch/v1", "Job", Some(world.objects_namespace()))?;
        let cluster = Cluster { world, jobs, outside: toxiproxy.api() };
        let first = world.start_controller().await?;
        // Before a poll has found something, a target has one create at a time.
        create(world, "first").await?;
        cluster.wait_for_open(1).await?;
        cluster.complete_all().await?;
        world.wait_until_verified("first").await?;
        for name in OBJECTS {
            create(world, name).await?;
        }
        for name in OBJECTS {
            world.wait_for_note(name, "Unknown", "CorrectionStarted").await?;
        }
        cluster.wait_for_open(OBJECTS.len()).await?;
        first.kill().await?;
        cluster.complete_all().await?;
        world.clear_lease(Which::Controller.name()).await?;

        let options = Options::dying_at(KillPoint::ControllerBeforeNote, 1).named("controller-second".to_owned());
        let exit = world.start(Which::Controller, options).await?.wait_until_ended().await?;
        ensure!(exit == ABORTED, "it was to abort, and ended with {exit}");
        world.clear_lease(Which::Controller.name()).await?;
        world.start(Which::Controller, Options::default().named("controller-third".to_owned())).await?;
        world.wait_until_verified("shown").await?;
        wait_for_told_doubt(world, "hidden", 1).await?;
        wait::throughout("no other Job", SOME_PAUSES, async || {
            let all = cluster.all().await?;
            Ok(if all.len() == 3 { Seen::Met(()) } else { Seen::Instead(format!("{:?}", all.keys())) })
        })
        .await?;
        Ok(())
    })
    .await
}
