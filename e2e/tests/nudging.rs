//! Another operator owns the object: a nudge wakes it to correct, and nothing else is changed, outside or inside.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_api::names::{NUDGE_MANAGER, NUDGE_VERB};
use drift_e2e::programs::Which;
use drift_e2e::systems::toxiproxy::ToxiproxyApi;
use drift_e2e::wait;
use drift_e2e::world::{Target, World, describe, message, note, right};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

/// The annotation that wakes the stand-in operator.
const REQUESTED: &str = "operator.example/requestedAt";
/// A foreign value in place of the desired one.
const DRIFTED: &str = "127.0.0.1:10";
/// Time without a nudge after the attempts are exhausted.
const QUIET: Duration = Duration::from_secs(8);

fn nudges(object: &Value) -> &str {
    object["metadata"]["annotations"][REQUESTED].as_str().unwrap_or_default()
}

/// The stand-in operator: applies every new, edited or nudged object to the external system.
async fn operate(world: &World, outside: &ToxiproxyApi, lives: &AtomicBool) -> Result<()> {
    let mut handled = std::collections::BTreeMap::new();
    loop {
        for object in world.all_proxies().await?.iter().filter(|_| lives.load(Ordering::SeqCst)) {
            let name = object["metadata"]["name"].as_str().context("an object without name")?;
            let seen = (object["metadata"]["generation"].clone(), nudges(object).to_owned());
            if handled.insert(name.to_owned(), seen.clone()) != Some(seen) {
                bring_outside(outside, name, &object["spec"]).await?;
            }
        }
        tokio::time::sleep(wait::ASK_EVERY).await;
    }
}

async fn bring_outside(outside: &ToxiproxyApi, name: &str, spec: &Value) -> Result<()> {
    let text = |field: &str| spec[field].as_str().context("a spec without a field");
    if outside.proxy(name).await?.is_none() {
        return outside.create(name, text("listen")?, text("upstream")?).await.map(drop);
    }
    outside.update(name, json!({"upstream": text("upstream")?})).await.map(drop)
}

async fn grant_nudges(world: &World) -> Result<()> {
    const RBAC: &str = "rbac.authorization.k8s.io/v1";
    let name = format!("{}-nudge", world.programs_namespace());
    let rule = json!({"apiGroups": [world.group()], "resources": ["proxies"], "verbs": [NUDGE_VERB]});
    let account =
        json!({"kind": "ServiceAccount", "name": Which::Controller.name(), "namespace": world.programs_namespace()});
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
    world
        .apply(&json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]}))
        .await?;
    let binding = json!({"apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": role, "subjects": [account]});
    world.apply(&binding).await?;
    let nudge = right(world.group(), "proxies", NUDGE_VERB, world.objects_namespace());
    world.wait_for_right(Which::Controller, nudge, true).await
}

/// Creates an object that its operator applies by itself: no nudge and no claim.
async fn create(world: &World, name: &str) -> Result<()> {
    world.create_proxy(name, json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
    let object = world.wait_for_verdict(name, "False", "InSync").await?;
    ensure!(nudges(&object).is_empty(), "nudged before its operator had its turn: {object}");
    ensure!(note(&object).reason.is_none(), "{}", describe(&object, "driftCorrected"));
    Ok(())
}

async fn story(world: &World, outside: &ToxiproxyApi, lives: &AtomicBool) -> Result<()> {
    create(world, "held").await?;
    create(world, "web").await?;
    the_missing_right_is_told(world, outside).await?;
    grant_nudges(world).await?;
    let healed = world.wait_until_healed_by("held", 1).await?;
    ensure!(nudges(&healed) == "drift-1", "a refusal spent a number: {healed}");

    outside.update("web", json!({"upstream": DRIFTED})).await?;
    let healed = world.wait_until_healed_by("web", 1).await?;
    ensure!(nudges(&healed) == "drift-1" && message(&healed, "driftCorrected") == "correction 1: nudged", "{healed}");
    ensure!(note(&healed).claim.is_none() && healed["metadata"].get("finalizers").is_none(), "{healed}");
    ensure!(healed["metadata"]["generation"] == 1, "a nudge is no edit: {healed}");
    let managers = healed["metadata"]["managedFields"].to_string();
    ensure!(managers.contains(NUDGE_MANAGER), "{managers}");

    lives.store(false, Ordering::SeqCst);
    outside.update("web", json!({"upstream": DRIFTED})).await?;
    let given_up = world.wait_for_note("web", "False", "AttemptsExhausted").await?;
    ensure!(nudges(&given_up) == "drift-3", "{given_up}");
    world.nothing_is_written_for(QUIET).await?;
    ensure!(outside.proxy("web").await?.is_some_and(|proxy| proxy.upstream == DRIFTED), "who healed it?");
    no_other_object_is_nudged(world).await
}

async fn the_missing_right_is_told(world: &World, outside: &ToxiproxyApi) -> Result<()> {
    outside.update("held", json!({"upstream": DRIFTED})).await?;
    let refused = world.wait_for_note("held", "False", "CorrectionFailed").await?;
    let words = message(&refused, "driftCorrected");
    let expected = "nudge: the API server says that the controller lacks a right (403): ";
    ensure!(words.starts_with(expected) && words.ends_with("; it is tried again"), "{words}");
    let event = world.wait_for_event("RightsMissing", "drift-targets").await?;
    let rule = format!("{{apiGroups: [\"{}\"], resources: [proxies], verbs: [{NUDGE_VERB}]}}", world.group());
    ensure!(event["note"].as_str().is_some_and(|note| note.contains(&rule)), "{event}");
    Ok(())
}

/// Checks the uid in the patch: the API server rejects it for another object, and the controller recognizes this
/// response by its field.
async fn no_other_object_is_nudged(world: &World) -> Result<()> {
    let proxies: Api<DynamicObject> = world.proxies();
    let patch = json!({"metadata": {"uid": "00000000-0000-0000-0000-000000000000", "annotations": {"a": "b"}}});
    for (name, code, field) in [("web", 422, Some("metadata.uid")), ("gone", 404, None)] {
        let answer = proxies.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await;
        let Err(kube::Error::Api(status)) = answer else { anyhow::bail!("{name}: {answer:?}") };
        let cause = status.details.as_ref().and_then(|details| details.causes.first());
        ensure!(status.code == code && cause.map(|cause| cause.field.as_str()) == field, "{name}: {status:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_nudged_operator_heals_its_objects() -> Result<()> {
    World::run("nudged", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let correct = json!({"mode": "Correct", "settle": "1s", "limits": {"attempts": 2, "maxDriftedPercent": 100},
            "nudge": {"annotations": {REQUESTED: "drift-${correction}"}}});
        let target = Target::shipped(world, toxiproxy.url())?.with("/spec/correct", correct);
        world.apply_target(&target).await?;
        world.start_both().await?;
        let (outside, lives) = (toxiproxy.api(), AtomicBool::new(true));
        tokio::select! {
            told = story(world, &outside, &lives) => told,
            ended = operate(world, &outside, &lives) => ended.context("the operator ended"),
        }
    })
    .await
}
