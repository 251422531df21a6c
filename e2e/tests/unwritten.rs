//! A verdict that the poller cannot write is not shown as current.

use anyhow::{Context as _, Result, ensure};
use drift_api::names::{ATTESTED_TARGETS_ANNOTATION, POLLER_LEASE, UNWRITTEN_ANNOTATION};
use drift_e2e::programs::Which;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, right};
use k8s_openapi::api::authorization::v1::ResourceAttributes;
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use serde_json::{Value, json};

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Returns the bindings that let the poller write the verdicts of this world.
async fn bindings(world: &World) -> Result<Vec<DynamicObject>> {
    let all = world.api(RBAC, "ClusterRoleBinding", None)?.list(&ListParams::default()).await?;
    let is_bound = |binding: &DynamicObject| {
        let subjects = binding.data["subjects"].as_array().into_iter().flatten();
        let is_poller = |subject: &Value| {
            subject["namespace"] == world.programs_namespace() && subject["name"] == Which::Poller.name()
        };
        subjects.into_iter().any(is_poller)
    };
    Ok(all.items.into_iter().filter(is_bound).collect())
}

fn writing_of_verdicts(world: &World) -> ResourceAttributes {
    right(world.group(), "proxies/status", "patch", world.objects_namespace())
}

async fn give_back(world: &World, bindings: Vec<DynamicObject>) -> Result<()> {
    for mut binding in bindings {
        (binding.metadata.resource_version, binding.metadata.uid) = (None, None);
        world.api(RBAC, "ClusterRoleBinding", None)?.create(&PostParams::default(), &binding).await?;
    }
    world.wait_for_right(Which::Poller, writing_of_verdicts(world), true).await
}

async fn annotation(world: &World, name: &str) -> Result<String> {
    let lease = world.lease(POLLER_LEASE).await?.unwrap_or_default();
    Ok(lease["metadata"]["annotations"][name].as_str().unwrap_or_default().to_owned())
}

/// Returns an object as `kubectl drift get` lists it: its reason and its status in the table, and its JSON.
async fn listed(world: &World, name: &str) -> Result<(String, i32, Value)> {
    let arguments = ["get", "proxies", name, "-n", world.objects_namespace()];
    let home = ["--targets-namespace", world.programs_namespace()];
    let table = world.run_command(&[&arguments[..], &home].concat()).await?;
    let json = world.run_command(&[&arguments[..], &home, &["-o", "json"]].concat()).await?;
    let list: Value = serde_json::from_str(&json.output).with_context(|| format!("{json:?}"))?;
    let line = table.output.lines().nth(1).unwrap_or_default().to_owned();
    Ok((line, table.code, list["items"][0].clone()))
}

async fn wait_until_listed(world: &World, name: &str, reason: &str, code: i32) -> Result<Value> {
    wait::until(format!("{name} to be listed as {reason}"), wait::DEADLINE, async || {
        let (line, ended, json) = listed(world, name).await?;
        let is_listed = line.contains(reason) && ended == code;
        Ok(if is_listed { Seen::Met(json) } else { Seen::Instead(format!("{ended}: {line}")) })
    })
    .await
}

#[tokio::test]
async fn lost_rights_take_back_the_verdict() -> Result<()> {
    World::run("unwritten", async |world| {
        let outside = world.start_outside().await?;
        let documents = outside.keep_documents();
        let target = Target::of_documents(world, outside.url())?.with("/spec/correct/mode", json!("Correct"));
        world.apply_target(&target).await?;
        world.start_both().await?;
        for name in ["changed", "left"] {
            world.create_proxy(name, json!({"listen": format!("{name}:80"), "upstream": "here:1"})).await?;
            world.wait_until_verified(name).await?;
        }
        let changed = world.proxy("changed").await?.context("the object is gone")?;
        let uid = changed["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let bindings = bindings(world).await?;
        ensure!(!bindings.is_empty(), "the poller has no ClusterRoleBinding");
        for binding in &bindings {
            let name = binding.metadata.name.as_deref().unwrap_or_default();
            world.api(RBAC, "ClusterRoleBinding", None)?.delete(name, &DeleteParams::default()).await?;
        }
        world.wait_for_right(Which::Poller, writing_of_verdicts(world), false).await?;
        crate::stuck::drift(&documents, "changed");

        let row = wait_until_listed(world, "changed", "RightsMissing (InSync)", 2).await?;
        ensure!(row["doubt"] == "RightsMissing" && row["driftObserved"]["status"] == "False", "{row}");
        let attested = annotation(world, ATTESTED_TARGETS_ANNOTATION).await?;
        ensure!(attested.contains(&format!("except {uid}")), "{attested}");
        let unwritten: Value = serde_json::from_str(&annotation(world, UNWRITTEN_ANNOTATION).await?)?;
        let expected = json!({"word": "RightsMissing", "count": 1, "uids": [uid]});
        ensure!(unwritten[target.name()] == expected, "{unwritten}");
        wait_until_listed(world, "left", "InSync", 0).await?;
        let place = ["-n", world.objects_namespace(), "--targets-namespace", world.programs_namespace()];
        let told = world.run_command(&[&["explain", "proxy/changed"][..], &place].concat()).await?;
        ensure!(told.output.contains("RightsMissing (driftObserved False/InSync"), "{told:?}");

        give_back(world, bindings).await?;
        wait_until_listed(world, "changed", " InSync", 0).await?;
        world.wait_until_healed_by("changed", 2).await?;
        wait::until("the Lease to except nothing", wait::DEADLINE, async || {
            let (attested, unwritten) =
                (annotation(world, ATTESTED_TARGETS_ANNOTATION).await?, annotation(world, UNWRITTEN_ANNOTATION).await?);
            let is_clear = unwritten == "{}" && attested.contains(target.name()) && !attested.contains("except");
            Ok(if is_clear { Seen::Met(()) } else { Seen::Instead(format!("{attested} {unwritten}")) })
        })
        .await?;
        Ok(())
    })
    .await
}
