//! A deletion removes the external resource exactly if it belongs to the object, waits as long as that takes, and never
//! blocks on objects without corrections.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use drift_api::names;
use drift_e2e::programs::Which;
use drift_e2e::systems::outside::{Answer, Hold, Outside};
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, condition, describe, note};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

const WEB: &str = "/proxies/web";

/// Starts both programs, with the object `web` in sync and held by our finalizer.
async fn begin(world: &World, target: &Target) -> Result<Value> {
    world.apply_target(target).await?;
    world.start_both().await?;
    world.create_some_proxy("web").await?;
    let object = world.wait_until_healed_by("web", 1).await?;
    ensure!(is_held(&object), "no finalizer on {object}");
    Ok(object)
}

fn is_held(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|all| all.iter().any(|one| one == names::FINALIZER))
}

async fn wait_until_held(world: &World, held: bool) -> Result<Value> {
    world.wait_for_proxy("web", &format!("held by our finalizer: {held}"), |object| is_held(object) == held).await
}

/// Returns the idempotency keys of deletions. Each key lacks the object's uid, the desired state and the fingerprint of
/// the target's steps.
fn deletions(outside: &Outside, object: &Value) -> Result<Vec<String>> {
    let requests = outside.requests_to("DELETE", WEB);
    let uid = object["metadata"]["uid"].as_str().context("an object without uid")?;
    let keys = requests
        .iter()
        .filter_map(|request| request.header("idempotency-key")?.strip_prefix(uid)?.rsplitn(3, '-').nth(2));
    let keys: Vec<String> = keys.map(str::to_owned).collect();
    ensure!(keys.len() == requests.len(), "a deletion without its key: {requests:?}");
    Ok(keys)
}

#[tokio::test]
async fn a_deletion_waits_for_a_dead_outside() -> Result<()> {
    World::run("outside down", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        let object = begin(world, &Target::shipped(world, outside.url())?).await?;
        for method in ["GET", "POST"] {
            outside.on(method, "/*", Answer::reset());
        }
        // Two attempts fail. The third takes effect, but its response waits for the checks.
        for _ in 0..2 {
            outside.once("DELETE", WEB, Answer::reset());
        }
        let served = Hold::default();
        outside.once("DELETE", WEB, Answer::forwarded().held_by(&served));
        let began = Instant::now();
        world.delete_proxy("web").await?;
        outside.wait_for_next("DELETE", WEB, 1).await?;
        let waiting = world.wait_for_note("web", "False", "CorrectionFailed").await?;
        ensure!(is_held(&waiting) && note(&waiting).correction == 1, "{waiting}");
        let written = world.writes().await?;
        outside.forget();
        served.release();
        world.wait_until_gone("web").await?;
        ensure!(toxiproxy.proxy("web").await?.is_none());
        let keys = deletions(&outside, &object)?;
        ensure!(keys == ["-2-delete", "-2-delete", "-2-delete"], "{keys:?}");
        // The creation counts too, so these come 2 s and 6 s after the ones before. Measured from the deletion, because
        // a busy machine may deliver each late.
        let since: Vec<_> = outside.requests_to("DELETE", WEB).iter().map(|request| request.at - began).collect();
        ensure!(since[1] >= Duration::from_secs(2) && since[2] >= Duration::from_secs(2 + 6), "{since:?}");
        let written = world.writes().await? - written;
        ensure!(written.status == 0 && written.objects == 1, "more than the finalizer: {written:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_deletion_under_way_holds_the_object() -> Result<()> {
    World::run("done later", async |world| {
        let (_toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        let target = Target::shipped(world, outside.url())?
            .with("/spec/correct/http/delete/0/accept", json!([202, 204]))
            .with("/spec/correct/http/delete/0/doneOn", json!([204, 404]));
        let object = begin(world, &target).await?;
        // Twice the deletion is only accepted. Then it is done, but that response waits for the checks.
        let done = Hold::default();
        outside.on("DELETE", WEB, Answer::forwarded().held_by(&done));
        for _ in 0..2 {
            outside.once("DELETE", WEB, Answer::status(202));
        }
        world.delete_proxy("web").await?;
        outside.wait_for_next("DELETE", WEB, 1).await?;
        let waiting = world
            .wait_for_proxy("web", "noted that it was asked for twice", |object| note(object).correction == 3)
            .await?;
        ensure!(is_held(&waiting), "{waiting}");
        ensure!(describe(&waiting, names::DRIFT_CORRECTED) == "Unknown/CorrectionStarted", "{waiting}");
        done.release();
        world.wait_until_gone("web").await?;
        let keys = deletions(&outside, &object)?;
        ensure!(keys == ["-2-delete", "-3-delete", "-4-delete"], "{keys:?}");
        let missed = world.events().await?.into_iter().find(|event| event["reason"] == "DeletionFoundNothing");
        ensure!(missed.is_none(), "it was found: {missed:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_resource_that_the_read_still_finds_keeps_its_object() -> Result<()> {
    World::run("nothing to delete", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        begin(world, &Target::shipped(world, outside.url())?).await?;
        outside.on("DELETE", WEB, Answer::json(404, &json!({})));
        world.delete_proxy("web").await?;
        let event = world.wait_for_event("DeletionFoundNothing", "web").await?;
        let told = world.wait_for_note("web", "False", "DeletionUnclear").await?;
        ensure!(is_held(&told), "{told}");
        ensure!(describe(&told, names::DRIFT_OBSERVED) == "False/InSync", "the read finds it: {told}");
        ensure!(event["note"].as_str().is_some_and(|note| note.contains("the read still finds")), "{event}");
        ensure!(toxiproxy.proxy("web").await?.is_some(), "the deletion was not passed on");
        toxiproxy.delete("web").await?;
        world.wait_until_gone("web").await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_deletion_ends_with_what_the_read_calls_absent() -> Result<()> {
    World::run("never done", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        let absent = "${response.status == 404 || response.status == 200 && response.body.enabled == false}";
        let target = Target::shipped(world, outside.url())?
            .with("/spec/read/http/absentWhen", json!(absent))
            .with("/spec/correct/http/delete/0/accept", json!([202]))
            .with("/spec/correct/http/delete/0/doneOn", json!([404]));
        begin(world, &target).await?;
        outside.on("DELETE", WEB, Answer::status(202));
        world.delete_proxy("web").await?;
        outside.wait_for_next("DELETE", WEB, 1).await?;
        let waiting = world.wait_for_note("web", "Unknown", "CorrectionStarted").await?;
        ensure!(is_held(&waiting), "{waiting}");
        toxiproxy.update("web", json!({"enabled": false})).await?;
        world.wait_until_gone("web").await?;
        ensure!(toxiproxy.proxy("web").await?.is_some(), "it is only marked");
        let missed = world.events().await?.into_iter().find(|event| event["reason"] == "DriftObserved");
        ensure!(missed.is_none(), "a deletion is no incident: {missed:?}");
        Ok(())
    })
    .await
}

/// Applies a change that makes the object unmanaged, and checks that it is released and its resource stays.
async fn is_let_go(sequence: &str, change: impl AsyncFnOnce(&World, Target) -> Result<()>) -> Result<()> {
    World::run(sequence, async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        let target = Target::shipped(world, outside.url())?.with("/spec/objects/labelSelector", json!("tier!=test"));
        begin(world, &target).await?;
        change(world, target).await?;
        wait_until_held(world, false).await?;
        world.wait_for_event("ExternalLeftBehind", "web").await?;
        world.delete_proxy("web").await?;
        world.wait_until_gone("web").await?;
        ensure!(toxiproxy.proxy("web").await?.is_some(), "it was deleted outside");
        ensure!(outside.count("DELETE") == 0, "{:?}", outside.requests());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_removed_target_lets_its_objects_go() -> Result<()> {
    is_let_go("The target is removed", async |world, _| world.apply_targets(&[]).await).await
}

#[tokio::test]
async fn a_target_that_now_observes_lets_go() -> Result<()> {
    is_let_go("The target is set to Observe", async |world, target| set_mode(world, &target, "Observe").await).await
}

#[tokio::test]
async fn a_target_without_delete_lets_go() -> Result<()> {
    is_let_go("`delete` is removed from the target", async |world, target| {
        world.apply_target(&target.without("/spec/correct/http/delete")).await
    })
    .await
}

#[tokio::test]
async fn an_object_out_of_the_selection_is_released() -> Result<()> {
    is_let_go("The object is relabelled out of the selection", async |world, _| {
        world.patch_proxy("web", json!({"metadata": {"labels": {"tier": "test"}}})).await.map(drop)
    })
    .await
}

/// Acts as the namespace controller of a real cluster, which is missing here: deletes the content, then the namespace.
async fn delete_namespace(world: &World, when_terminating: impl AsyncFnOnce() -> Result<()>) -> Result<()> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Namespace"));
    let namespaces: Api<DynamicObject> = Api::all_with(world.client(), &kind);
    let name = world.objects_namespace();
    namespaces.delete(name, &DeleteParams::default()).await?;
    let terminating = namespaces.get(name).await?;
    ensure!(terminating.data["status"]["phase"] == "Terminating", "{terminating:?}");
    world.proxies().delete_collection(&DeleteParams::default(), &Default::default()).await?;
    when_terminating().await?;
    wait::until("the namespace to be empty", wait::DEADLINE, async || {
        let left = world.all_proxies().await?;
        Ok(if left.is_empty() { Seen::Met(()) } else { Seen::Instead(format!("{left:#?}")) })
    })
    .await?;
    let mut emptied = namespaces.get(name).await?;
    emptied.data["spec"]["finalizers"] = json!([]);
    let request =
        http::Request::put(format!("/api/v1/namespaces/{name}/finalize")).body(serde_json::to_vec(&emptied)?)?;
    world.client().request::<Value>(request).await?;
    ensure!(namespaces.get_opt(name).await?.is_none(), "the namespace is still there");
    Ok(())
}

#[tokio::test]
async fn a_deleted_namespace_does_not_hang() -> Result<()> {
    World::run("namespace", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        begin(world, &Target::shipped(world, outside.url())?).await?;
        for name in ["cache", "database"] {
            world.create_some_proxy(name).await?;
            world.wait_for_verdict(name, "False", "InSync").await?;
        }
        // A failure in the terminating namespace, where its Event cannot be created.
        outside.once("DELETE", WEB, Answer::status(503));
        delete_namespace(world, async || outside.wait_for_next("DELETE", WEB, 0).await.map(drop)).await?;
        ensure!(toxiproxy.proxies().await?.is_empty(), "{:?}", toxiproxy.proxies().await?);
        wait::until("an Event to be refused", wait::DEADLINE, async || {
            let writes = world.writes_by(Which::Controller)?;
            let refused = writes.iter().filter(|write| write.resource == "events" && !write.accepted()).count();
            Ok(if refused > 0 { Seen::Met(()) } else { Seen::Instead("none".to_owned()) })
        })
        .await?;
        Ok(())
    })
    .await
}

/// Another controller's finalizer, which keeps a deleted object visible.
const THEIRS: &str = "e2e.driftpoller.dev/other";

async fn add_their_finalizer(world: &World) -> Result<()> {
    let add = json!([{"op": "add", "path": "/metadata/finalizers/-", "value": THEIRS}]);
    let patch = Patch::Json::<()>(serde_json::from_value(add)?);
    world.proxies().patch("web", &PatchParams::default(), &patch).await.map(drop).context("adding a finalizer")
}

/// Checks that `explain` shows no verdict for the deletion of `web`, but these texts.
async fn explains(world: &World, expected: &[&str]) -> Result<()> {
    let place = ["-n", world.objects_namespace(), "--targets-namespace", world.programs_namespace()];
    let told = world.run_command(&[&["explain", "proxy/web"], &place[..]].concat()).await?;
    ensure!(told.code == 2 && told.output.contains("\ndeleting    since 2"), "{told:?}");
    ensure!(!told.output.contains("\nverdict"), "{told:?}");
    for expected in expected {
        ensure!(told.output.contains(expected), "{expected}: {told:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_deleting_object_is_not_polled_or_created() -> Result<()> {
    World::run("being deleted", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        begin(world, &Target::shipped(world, outside.url())?).await?;
        world.create_some_proxy("witness").await?;
        world.wait_until_verified("witness").await?;
        add_their_finalizer(world).await?;
        // The external resource is missing, and the verdict says so, before the deletion.
        world.patch_proxy("web", json!({"metadata": {"annotations": {names::PAUSED_ANNOTATION: "true"}}})).await?;
        toxiproxy.delete("web").await?;
        world.wait_for_verdict("web", "True", "ExternalMissing").await?;
        world.delete_proxy("web").await?;
        world.wait_for_event("DeletionHeld", "web").await?;
        explains(world, &["held        the object is paused", "would send  DELETE ", "(ours)"]).await?;
        // Both objects are on one watch. Once the poller knows this edit, it knows the other's deletion.
        world.patch_proxy("witness", json!({"spec": {"upstream": "127.0.0.1:11"}})).await?;
        world.wait_until_healed_by("witness", 2).await?;
        let polls = outside.requests_to("GET", WEB).len();
        world.patch_proxy("web", json!({"metadata": {"annotations": {names::PAUSED_ANNOTATION: null}}})).await?;
        let object = wait_until_held(world, false).await?;
        ensure!(object["metadata"]["finalizers"] == json!([THEIRS]), "{object}");
        world.nothing_is_written_for(Duration::from_secs(8)).await?;
        // One poll may have been in progress.
        let polls = outside.requests_to("GET", WEB).len() - polls;
        ensure!(polls <= 1, "{polls} polls of an object that is being deleted, at an interval of three seconds");
        // One creation for each object.
        let creations = outside.requests_to("POST", "/proxies").len();
        ensure!(creations == 2 && toxiproxy.proxy("web").await?.is_none(), "{:?}", outside.requests());
        ensure!(outside.requests_to("POST", WEB).is_empty(), "{:?}", outside.requests());
        ensure!(
            condition(&object, names::DRIFT_OBSERVED).is_some_and(|verdict| verdict["status"] == "True"),
            "{object}"
        );
        explains(world, &[&format!("kept by {THEIRS}\n"), "follows     nothing by these programs"]).await?;
        world.patch_proxy("web", json!({"metadata": {"finalizers": null}})).await?;
        world.wait_until_gone("web").await?;
        Ok(())
    })
    .await
}

async fn set_mode(world: &World, target: &Target, mode: &str) -> Result<()> {
    world.apply_target(&target.clone().with("/spec/correct/mode", json!(mode))).await
}

#[tokio::test]
async fn the_finalizer_follows_a_changing_target() -> Result<()> {
    World::run("back and forth", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        let target = Target::shipped(world, outside.url())?;
        set_mode(world, &target, "Observe").await?;
        world.start_both().await?;
        world.create_some_proxy("web").await?;
        world.wait_for_verdict("web", "True", "NotCreated").await?;
        wait_until_held(world, false).await?;
        for (mode, held) in [("Correct", true), ("Observe", false), ("Correct", true)] {
            set_mode(world, &target, mode).await?;
            wait_until_held(world, held).await?;
        }
        // Faster than the programs can follow.
        for _ in 0..3 {
            set_mode(world, &target, "Observe").await?;
            set_mode(world, &target, "Correct").await?;
        }
        // Work in progress ends within the five seconds between two housekeeping runs.
        wait::until("our finalizer to stand and to stay", wait::DEADLINE, async || {
            wait_until_held(world, true).await?;
            let stays = world.proxy_stays("web", "held", Duration::from_secs(6), is_held).await;
            Ok(stays.map_or_else(|error| Seen::Instead(format!("{error:#}")), Seen::Met))
        })
        .await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        ensure!(toxiproxy.proxy("web").await?.is_some() && outside.count("POST") == 1, "{:?}", outside.requests());
        world.delete_proxy("web").await?;
        world.wait_until_gone("web").await?;
        ensure!(toxiproxy.proxies().await?.is_empty() && outside.count("DELETE") == 1, "{:?}", outside.requests());
        Ok(())
    })
    .await
}

/// Returns a target in which both objects name one resource: the part of their names before the dash.
fn sharing(world: &World, outside: &Outside) -> Result<Target> {
    let text = Target::shipped(world, outside.url())?.text()?;
    let shared = text.replace("${self.metadata.name}", "${self.metadata.name.split('-')[0]}");
    ensure!(shared != text, "the shipped target names its resources otherwise: {text}");
    Ok(Target::from_document(serde_saphyr::from_str(&shared)?))
}

async fn takes_over(world: &World, toxiproxy: &Toxiproxy, outside: &Outside) -> Result<Value> {
    world.delete_proxy("web").await?;
    world.wait_until_gone("web").await?;
    // It is polled before it may act. It owns nothing, and says so.
    world.wait_for_note("web-copy", "False", "NotOurs").await?;
    let heir = world.wait_for_verdict("web-copy", "False", "InSync").await?;
    ensure!(toxiproxy.proxy("web").await?.is_some() && outside.count("DELETE") == 0, "{:?}", outside.requests());
    Ok(heir)
}

#[tokio::test]
async fn a_shared_resource_outlives_its_maker() -> Result<()> {
    World::run("shared identity", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        let object = begin(world, &sharing(world, &outside)?).await?;
        world.create_proxy("web-copy", object["spec"].clone()).await?;
        world.wait_for_note("web-copy", "False", "IdentityTaken").await?;
        takes_over(world, &toxiproxy, &outside).await?;
        world.wait_for_event("ExternalLeftBehind", "web").await?;
        world.nothing_is_written_for(Duration::from_secs(7)).await?;
        Ok(())
    })
    .await
}
