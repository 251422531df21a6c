//! Another object of the cluster as the external system: read with a right from the user, made and kept by a manifest,
//! untouched if foreign, and watched if the target requests it.

use anyhow::{Context as _, Result, ensure};
use drift_api::names::{CORRECT_VERB, MADE_FOR_ANNOTATION};
use drift_e2e::programs::{Options, Program, Which};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, describe, message, right};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

const RBAC: &str = "rbac.authorization.k8s.io/v1";

fn target(world: &World) -> Result<Target> {
    let kind = |more: Value| {
        let mut fields = json!({"apiVersion": "v1", "kind": "ConfigMap"});
        if let (Some(fields), Some(more)) = (fields.as_object_mut(), more.as_object()) {
            fields.extend(more.clone());
        }
        fields
    };
    let read = kind(json!({"name": "proxy-${self.metadata.name}", "observed": "${resource.?data}"}));
    let manifest = kind(json!({"metadata": {"labels": {"proxy": "${self.metadata.name}"}},
        "data": {"upstream": "${desired.upstream}"}}));
    let correct = json!({"mode": "Correct", "limits": {"maxDriftedPercent": 100},
        "kubernetes": {"manifest": manifest, "delete": true}});
    Ok(Target::shipped(world, "http://127.0.0.1:9")?
        .with("/spec/read", json!({"kubernetes": read}))
        .with("/spec/compare", json!({"desired": {"upstream": "${self.spec.upstream}"}}))
        .without("/spec/base")
        .without("/spec/insecure")
        .with("/spec/correct", correct))
}

/// Grants the rights on the objects of a target, as an example does.
async fn grant(world: &World, which: Which, verbs: &[&str]) -> Result<()> {
    let name = format!("{}-{}-configmaps", world.programs_namespace(), which.name());
    let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs});
    let (account, role) =
        (which.name(), json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}));
    let metadata = json!({"name": name, "namespace": world.objects_namespace()});
    world.apply(&json!({"apiVersion": RBAC, "kind": "Role", "metadata": metadata, "rules": [rule]})).await?;
    let subject = json!({"kind": "ServiceAccount", "name": account, "namespace": world.programs_namespace()});
    let binding = json!({"apiVersion": RBAC, "kind": "RoleBinding", "metadata": metadata, "roleRef": role,
        "subjects": [subject]});
    world.apply(&binding).await?;
    for verb in verbs {
        world.wait_for_right(which, right("", "configmaps", verb, world.objects_namespace()), true).await?;
    }
    Ok(())
}

fn config_maps(world: &World) -> Result<Api<DynamicObject>> {
    world.api("v1", "ConfigMap", Some(world.objects_namespace()))
}

async fn config_map(world: &World, name: &str) -> Result<Option<Value>> {
    let found = config_maps(world)?.get_opt(name).await?;
    Ok(found.map(serde_json::to_value).transpose()?)
}

async fn make(world: &World, name: &str) -> Result<Value> {
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"upstream": "theirs"}});
    let made = config_maps(world)?.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    Ok(serde_json::to_value(made)?)
}

async fn change(world: &World, name: &str, upstream: &str) -> Result<()> {
    let patch = Patch::Merge(json!({"data": {"upstream": upstream}}));
    config_maps(world)?.patch(name, &PatchParams::default(), &patch).await.map(drop).context("changing it")
}

async fn create(world: &World, name: &str) -> Result<()> {
    let spec = json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"});
    world.create_proxy(name, spec).await.map(drop)
}

#[tokio::test]
async fn an_object_of_the_cluster_is_made_and_kept() -> Result<()> {
    World::run("cluster resource", async |world| {
        world.apply_target(&target(world)?).await?;
        world.start_both().await?;
        create(world, "web").await?;
        let unknown = world.wait_for_verdict("web", "Unknown", "Forbidden").await?;
        ensure!(message(&unknown, "driftObserved").contains("status 403"), "{}", describe(&unknown, "driftObserved"));

        grant(world, Which::Poller, &["get"]).await?;
        world.wait_for_verdict("web", "True", "NotCreated").await?;
        let refused = world.wait_for_note("web", "False", "CorrectionFailed").await?;
        let words = message(&refused, "driftCorrected");
        ensure!(words.contains("the controller lacks a right (403)"), "{words}");
        ensure!(config_map(world, "proxy-web").await?.is_none(), "made without a right");
        let event = world.wait_for_event("RightsMissing", "drift-targets").await?;
        let rule = "resources: [configmaps], verbs: [correct, create, delete, get, patch]";
        ensure!(event["note"].as_str().is_some_and(|note| note.contains(rule)), "{event}");

        grant(world, Which::Controller, &["get", "create", "patch", "delete", CORRECT_VERB]).await?;
        let healed = world.wait_until_healed_by("web", 1).await?;
        let made = config_map(world, "proxy-web").await?.context("nothing was made")?;
        ensure!(made["metadata"]["annotations"][MADE_FOR_ANNOTATION] == healed["metadata"]["uid"], "{made}");
        ensure!(
            made["data"] == json!({"upstream": "127.0.0.1:9"}) && made["metadata"]["labels"]["proxy"] == "web",
            "{made}"
        );

        change(world, "proxy-web", "drifted").await?;
        world.wait_until_healed_by("web", 2).await?;
        let kept = config_map(world, "proxy-web").await?.context("it is gone")?;
        ensure!(
            kept["data"]["upstream"] == "127.0.0.1:9" && kept["metadata"]["uid"] == made["metadata"]["uid"],
            "{kept}"
        );

        world.delete_proxy("web").await?;
        world.wait_until_gone("web").await?;
        ensure!(config_map(world, "proxy-web").await?.is_none(), "left behind");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_object_that_somebody_else_made_is_left_alone() -> Result<()> {
    World::run("foreign cluster resource", async |world| {
        grant(world, Which::Poller, &["get"]).await?;
        grant(world, Which::Controller, &["get", "create", "patch", "delete", CORRECT_VERB]).await?;
        let theirs = make(world, "proxy-web").await?;
        world.apply_target(&target(world)?).await?;
        world.start_both().await?;
        create(world, "web").await?;
        world.wait_for_note("web", "False", "NotOurs").await?;
        ensure!(config_map(world, "proxy-web").await? == Some(theirs), "it was touched");

        create(world, "db").await?;
        world.wait_until_healed_by("db", 1).await?;
        config_maps(world)?.delete("proxy-db", &DeleteParams::default()).await?;
        let theirs = make(world, "proxy-db").await?;
        let refused = world.wait_for_note("db", "False", "CorrectionFailed").await?;
        let words = message(&refused, "driftCorrected");
        ensure!(words.contains("was not made for this one"), "{words}");
        for name in ["db", "web"] {
            world.delete_proxy(name).await?;
            world.wait_until_gone(name).await?;
        }
        world.wait_for_event("ExternalLeftBehind", "db").await?;
        wait::until("their object to stand", wait::DEADLINE, async || {
            let found = config_map(world, "proxy-db").await?;
            Ok(if found.as_ref() == Some(&theirs) { Seen::Met(()) } else { Seen::Instead(format!("{found:?}")) })
        })
        .await
    })
    .await
}

/// Returns a program's count of hints.
async fn hints(poller: &Program, outcome: &str) -> Result<f64> {
    Ok(poller.metrics().await?.sum("drift_poller_hints_total", &[("outcome", outcome)]))
}

/// Regular polls are a day apart, so every read was requested.
#[tokio::test]
async fn a_change_in_the_cluster_is_seen_at_once() -> Result<()> {
    World::run("watched cluster resource", async |world| {
        let target = target(world)?.polled_when_asked().with("/spec/hints/watch", json!(true));
        let target = target.with("/spec/correct", json!({"mode": "Observe"}));
        world.apply_target(&target).await?;
        grant(world, Which::Poller, &["get"]).await?;
        make(world, "proxy-web").await?;
        change(world, "proxy-web", "127.0.0.1:9").await?;
        let options = Options { do_not_wait: true, ..Options::default() };
        let poller = world.start(Which::Poller, options).await?;
        create(world, "web").await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        let event = world.wait_for_event("RightsMissing", "drift-targets").await?;
        let rule = "resources: [configmaps], verbs: [list, watch]";
        ensure!(event["note"].as_str().is_some_and(|note| note.contains(rule)), "{event}");

        change(world, "proxy-web", "unseen").await?;
        grant(world, Which::Poller, &["get", "list", "watch"]).await?;
        world.wait_for_verdict("web", "True", "FieldsDiffer").await?;

        change(world, "proxy-web", "127.0.0.1:9").await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        a_change_between_two_texts_is_heard(world, target, &poller).await?;
        config_maps(world)?.delete("proxy-web", &DeleteParams::default()).await?;
        world.wait_for_verdict("web", "True", "ExternalMissing").await?;
        is_counted_and_never_listed(world, &poller).await
    })
    .await
}

/// Removes and restores the target's watch, as happens briefly at each edit.
async fn a_change_between_two_texts_is_heard(world: &World, target: Target, poller: &Program) -> Result<()> {
    world.apply_target(&target.clone().without("/spec/hints")).await?;
    wait::until("the text without a watch to be active", wait::DEADLINE, async || {
        let is_active = poller.log_text()?.contains("new text is active");
        Ok(if is_active { Seen::Met(()) } else { Seen::Instead("the former one".to_owned()) })
    })
    .await?;
    change(world, "proxy-web", "unheard").await?;
    world.apply_target(&target).await?;
    world.wait_for_verdict("web", "True", "FieldsDiffer").await?;
    change(world, "proxy-web", "127.0.0.1:9").await?;
    world.wait_for_verdict("web", "False", "InSync").await.map(drop)
}

/// Changes an object that no target reads.
async fn is_counted_and_never_listed(world: &World, poller: &Program) -> Result<()> {
    let (unknown, polled) = (hints(poller, "unknown").await?, hints(poller, "polled").await?);
    ensure!(polled >= 2.0, "{polled} polls by hints");
    make(world, "what-nobody-reads").await?;
    wait::until("what nobody reads to be counted", wait::DEADLINE, async || {
        let now = hints(poller, "unknown").await?;
        Ok(if now > unknown { Seen::Met(()) } else { Seen::Instead(now.to_string()) })
    })
    .await?;
    ensure!(!poller.log_text()?.contains("what-nobody-reads"));
    Ok(())
}
