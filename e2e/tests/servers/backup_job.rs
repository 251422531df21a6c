//! docs/cookbook/backup-job.md: plans of a backup system that only a command line can change.
//!
//! The real Job controller creates the Pods and ends the Jobs. No node runs a Pod. The test plays the tool in it, which
//! follows its arguments, and the kubelet, which reports its end.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use drift_e2e::cluster::control_plane::controllers::OF_WORKLOADS;
use drift_e2e::programs::Which;
use drift_e2e::systems::outside::{Answer, Documents, Outside};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{World, right};
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::page::{self, Subject};

/// Several polls of the test's interval.
const SOME_POLLS: Duration = Duration::from_secs(7);

/// The backup system, and the Pods that would change it.
struct Tool {
    plans: Documents,
    pods: Api<DynamicObject>,
    /// Path of the page's plan.
    path: String,
}

/// Returns the command of a Pod, with its arguments.
fn words(pod: &Value) -> Vec<&str> {
    let container = &pod["spec"]["containers"][0];
    let lists = ["command", "args"].map(|list| container[list].as_array().into_iter().flatten());
    lists.into_iter().flatten().filter_map(Value::as_str).collect()
}

impl Tool {
    /// Returns the Pods that wait for a node.
    async fn waiting(&self) -> Result<Vec<Value>> {
        let pods = self.pods.list(&ListParams::default()).await?.into_iter();
        let pods = pods.map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
        Ok(pods.into_iter().filter(|pod| pod["status"]["phase"] == "Pending").collect())
    }

    async fn next_pod(&self) -> Result<Value> {
        wait::until("a Pod of a Job", wait::DEADLINE, async || {
            let mut waiting = self.waiting().await?;
            ensure!(waiting.len() < 2, "two Jobs of one object run at once: {waiting:?}");
            Ok(waiting.pop().map_or_else(|| Seen::Instead("none".to_owned()), Seen::Met))
        })
        .await
    }

    /// Does the tool's work for the Pod's arguments.
    fn run(&self, pod: &Value) -> Result<()> {
        match words(pod).as_slice() {
            ["backupctl", "plan", "set", _, "--", name, schedule, keep_daily] => {
                let plan = json!({"schedule": schedule, "keepDaily": keep_daily.parse::<u32>()?});
                self.plans.put(&format!("/plans/{name}"), plan);
            }
            ["backupctl", "plan", "remove", "--if-exists", _, "--", name] => {
                self.plans.remove(&format!("/plans/{name}"));
            }
            other => bail!("the tool knows no {other:?}"),
        }
        Ok(())
    }

    /// Sets the end of a Pod.
    async fn end(&self, pod: &Value, phase: &str) -> Result<()> {
        let name = pod["metadata"]["name"].as_str().context("a Pod without a name")?;
        let patch = Patch::Merge(json!({"status": {"phase": phase}}));
        self.pods.patch_status(name, &PatchParams::default(), &patch).await.map(drop).context("ending a Pod")
    }

    async fn complete(&self) -> Result<()> {
        let pod = self.next_pod().await?;
        self.run(&pod)?;
        self.end(&pod, "Succeeded").await
    }

    /// Stores the plan with fewer backups than desired.
    fn drift(&self) {
        self.plans.put(&self.path, json!({"schedule": "0 3 * * *", "keepDaily": 1}));
    }
}

/// Checks that the state is Unknown while the system does not answer, and that no Job starts.
async fn is_unknown_without_an_answer(subject: &Subject, tool: &Tool, outside: &Outside) -> Result<()> {
    outside.on("GET", "*", Answer::reset());
    subject.wait_for_verdict("Unknown/ExternalUnreachable").await?;
    tool.drift();
    wait::throughout("no Job begins", SOME_POLLS, async || {
        let waiting = tool.waiting().await?;
        Ok(if waiting.is_empty() { Seen::Met(()) } else { Seen::Instead(format!("{waiting:?}")) })
    })
    .await?;
    outside.forget();
    Ok(())
}

#[tokio::test]
async fn a_plan_is_set_by_jobs() -> Result<()> {
    World::run("backup plan", async |world| {
        world.control_plane().start_controllers(OF_WORKLOADS).await?;
        let outside = world.start_outside().await?;
        let address = outside.url().trim_start_matches("http://").to_owned();
        let subject = page::apply(world, "backup-job.md", &[("backups.net.svc:8080", &address)]).await?;
        world
            .wait_for_right(Which::Controller, right("batch", "jobs", "list", world.objects_namespace()), true)
            .await?;
        world.start_both().await?;
        let pods = world.api("v1", "Pod", Some(world.objects_namespace()))?;
        let path = format!("/plans/{}.orders", world.objects_namespace());
        let tool = Tool { plans: outside.keep_documents(), pods, path };
        tool.complete().await?;
        subject.wait_until_healed_by(1).await?;
        let wanted = json!({"schedule": "0 3 * * *", "keepDaily": 14});
        ensure!(tool.plans.get(&tool.path) == Some(wanted.clone()), "{:?}", tool.plans.get(&tool.path));

        is_unknown_without_an_answer(&subject, &tool, &outside).await?;
        // The first Pod fails, and another Job does the work.
        let failing = tool.next_pod().await?;
        tool.end(&failing, "Failed").await?;
        subject.wait_until_told("it failed with BackoffLimitExceeded").await?;
        tool.complete().await?;
        subject.wait_until_healed_by(3).await?;
        ensure!(tool.plans.get(&tool.path) == Some(wanted), "{:?}", tool.plans.get(&tool.path));

        let (deleted, removed) = tokio::join!(subject.delete(), tool.complete());
        deleted.and(removed)?;
        ensure!(tool.plans.count() == 0, "the plan stays");
        Ok(())
    })
    .await
}
