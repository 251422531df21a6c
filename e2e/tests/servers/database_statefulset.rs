//! docs/cookbook/database-statefulset.md: a database, and the StatefulSet that runs it in the same cluster.
//!
//! The real StatefulSet controller creates the Pod. No node runs it: the test sets it to ready in place of the kubelet.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_api::names::{CORRECT_VERB, MADE_FOR_ANNOTATION};
use drift_e2e::cluster::control_plane::controllers::OF_WORKLOADS;
use drift_e2e::programs::Which;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{World, describe, right};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::page::{self, Subject};

/// Several polls of the test's interval.
const SOME_POLLS: Duration = Duration::from_secs(7);
/// A database with a foreign StatefulSet.
const FOREIGN: &str = "billing";

struct Sets<'w> {
    world: &'w World,
    api: Api<DynamicObject>,
}

impl Sets<'_> {
    async fn get(&self, name: &str) -> Result<Option<Value>> {
        Ok(self.api.get_opt(name).await?.map(serde_json::to_value).transpose()?)
    }

    async fn orders(&self) -> Result<Value> {
        self.get("orders").await?.context("there is no StatefulSet")
    }

    /// Runs kubectl like a user.
    async fn kubectl(&self, arguments: &[&str]) -> Result<()> {
        let namespace = ["--namespace", self.world.objects_namespace()];
        self.world.control_plane().kubectl().run(&[arguments, &namespace].concat()).await.map(drop)
    }

    /// Sets the Pod of the StatefulSet controller to ready.
    async fn make_pod_ready(&self) -> Result<()> {
        let pods = self.world.api("v1", "Pod", Some(self.world.objects_namespace()))?;
        let ready = json!({"type": "Ready", "status": "True"});
        let patch = Patch::Merge(json!({"status": {"phase": "Running", "conditions": [ready]}}));
        wait::until("the Pod of the StatefulSet", wait::DEADLINE, async || {
            Ok(Seen::Met(pods.patch_status("orders-0", &PatchParams::default(), &patch).await?))
        })
        .await
        .map(drop)
    }

    /// Creates a StatefulSet by hand.
    async fn make_foreign(&self) -> Result<Value> {
        let labels = json!({"app": FOREIGN});
        let template =
            json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "db", "image": "theirs:1"}]}});
        let spec = json!({"replicas": 0, "serviceName": FOREIGN, "selector": {"matchLabels": labels},
            "template": template});
        let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": FOREIGN}, "spec": spec});
        let made = self.api.create(&PostParams::default(), &serde_json::from_value(set)?).await?;
        Ok(serde_json::to_value(made)?["spec"].clone())
    }
}

/// Waits for the page's verbs. Without them a program would retry only later.
async fn wait_for_rights(world: &World) -> Result<()> {
    for (which, verb) in [(Which::Poller, "get"), (Which::Controller, CORRECT_VERB)] {
        world.wait_for_right(which, right("apps", "statefulsets", verb, world.objects_namespace()), true).await?;
    }
    Ok(())
}

async fn is_made_scaled_and_deleted(subject: &Subject, sets: &Sets<'_>) -> Result<()> {
    let database = subject.wait_until_healed_by(1).await?;
    let made = sets.orders().await?;
    ensure!(made["spec"]["replicas"] == 1, "{made}");
    ensure!(made["metadata"]["annotations"][MADE_FOR_ANNOTATION] == database["metadata"]["uid"], "{made}");
    sets.make_pod_ready().await?;
    subject.wait_for("one replica that is ready", |object| object["status"]["readyReplicas"] == 1).await?;

    let history = subject.watch().await?;
    sets.kubectl(&["scale", "statefulset", "orders", "--replicas=3"]).await?;
    history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
    subject.wait_until_healed_by(2).await?;
    let healed = sets.orders().await?;
    ensure!(healed["spec"]["replicas"] == 1 && healed["metadata"]["uid"] == made["metadata"]["uid"], "{healed}");

    subject.edit(json!({"spec": {"version": "17"}})).await?;
    subject.wait_until_healed_by(3).await?;
    let image = sets.orders().await?["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    ensure!(image == "docker.io/library/postgres:17", "{image}");
    ensure!(subject.edit(json!({"spec": {"storage": "20Gi"}})).await.is_err(), "the volumes can be edited");

    sets.kubectl(&["delete", "statefulset", "orders"]).await?;
    subject.wait_until_healed_by(4).await?;
    ensure!(sets.orders().await?["metadata"]["uid"] != made["metadata"]["uid"], "it is not made anew");
    Ok(())
}

/// Checks that an unreadable state is Unknown and causes no external write.
async fn is_unknown_without_the_right(world: &World, subject: &Subject, sets: &Sets<'_>) -> Result<()> {
    let granted = page::documents(world, "database-statefulset.md", &[])?;
    let granted = granted.iter().find(|document| document["metadata"]["name"] == "drift-poller-databases");
    let granted = granted.context("the page gives the poller no Role")?;
    let mut role = granted.clone();
    let rules = role["rules"].as_array_mut().context("a Role without rules")?;
    rules.retain(|rule| rule["apiGroups"][0] != "apps");
    world.apply(&role).await?;
    subject.wait_for_verdict("Unknown/Forbidden").await?;
    sets.kubectl(&["scale", "statefulset", "orders", "--replicas=3"]).await?;
    wait::throughout("no correction by what nobody saw", SOME_POLLS, async || {
        let replicas = sets.orders().await?["spec"]["replicas"].clone();
        Ok(if replicas == 3 { Seen::Met(()) } else { Seen::Instead(replicas.to_string()) })
    })
    .await?;
    world.apply(granted).await?;
    subject.wait_until_healed_by(5).await?;
    ensure!(sets.orders().await?["spec"]["replicas"] == 1);
    Ok(())
}

async fn leaves_a_foreign_one_alone(world: &World, sets: &Sets<'_>) -> Result<()> {
    let theirs = sets.make_foreign().await?;
    let databases = world.api("data.example/v1", "Database", Some(world.objects_namespace()))?;
    let object = json!({"apiVersion": "data.example/v1", "kind": "Database",
        "metadata": {"name": FOREIGN, "namespace": world.objects_namespace()},
        "spec": {"version": "16", "replicas": 1, "storage": "1Gi"}});
    world.apply(&object).await?;
    wait::until("the Database of a foreign StatefulSet to be refused", wait::DEADLINE, async || {
        let said = describe(&serde_json::to_value(databases.get(FOREIGN).await?)?, "driftCorrected");
        Ok(if said == "False/NotOurs" { Seen::Met(()) } else { Seen::Instead(said) })
    })
    .await?;
    sets.kubectl(&["delete", "database", FOREIGN, "--timeout=30s"]).await?;
    let left = sets.get(FOREIGN).await?.context("a foreign StatefulSet was deleted")?;
    ensure!(left["spec"] == theirs, "it was touched: {left}");
    Ok(())
}

#[tokio::test]
async fn a_database_keeps_its_stateful_set() -> Result<()> {
    World::run("database", async |world| {
        world.control_plane().start_controllers(OF_WORKLOADS).await?;
        let subject = page::apply(world, "database-statefulset.md", &[]).await?;
        wait_for_rights(world).await?;
        world.start_both().await?;
        let sets = Sets { world, api: world.api("apps/v1", "StatefulSet", Some(world.objects_namespace()))? };
        is_made_scaled_and_deleted(&subject, &sets).await?;
        leaves_a_foreign_one_alone(world, &sets).await?;
        is_unknown_without_the_right(world, &subject, &sets).await?;
        subject.delete().await?;
        ensure!(sets.get("orders").await?.is_none(), "left behind");
        Ok(())
    })
    .await
}
