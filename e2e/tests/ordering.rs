//! Late or reordered results, or results for an object that changed in the meantime, have no effect. Other writers of
//! the object lose no data and do not block ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use drift_api::names::{DRIFT_CORRECTED, DRIFT_OBSERVED, PAUSED_ANNOTATION};
use drift_e2e::programs::Which;
use drift_e2e::systems::outside::{Answer, Hold, Outside};
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::world::{History, Target, World, condition, describe, is_verified, note, tag};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

const WEB: &str = "/proxies/web";
const WITNESS: &str = "/proxies/witness";

/// Returns the shipped target with requested polls only, which do not time out while their response is held back.
fn rare(world: &World, outside: &Outside) -> Result<Target> {
    Ok(Target::shipped(world, outside.url())?.polled_when_asked())
}

/// Starts both programs, with the object `web` created and in sync.
async fn begin(world: &World) -> Result<(Toxiproxy, Outside)> {
    let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
    world.apply_target(&rare(world, &outside)?).await?;
    world.start_both().await?;
    world.create_some_proxy("web").await?;
    world.wait_until_healed_by("web", 1).await?;
    Ok((toxiproxy, outside))
}

/// Requests a poll of `web` and holds its response back, which contains the state at the request.
async fn hold_poll(world: &World, outside: &Outside) -> Result<Hold> {
    let hold = Hold::default();
    outside.once("GET", WEB, Answer::forwarded().held_by(&hold));
    world.ask_for_poll("web").await?;
    hold.wait_until_reached().await?;
    Ok(hold)
}

/// Returns the versions with a verdict that satisfies `wanted`.
async fn with_verdict(history: &History, wanted: impl Fn(&Value, &Value) -> bool) -> Result<Vec<Value>> {
    let versions = history.versions().await?;
    let fits = |object: &Value| condition(object, DRIFT_OBSERVED).is_some_and(|verdict| wanted(object, verdict));
    Ok(versions.into_iter().filter(fits).collect())
}

#[tokio::test]
async fn a_poll_across_a_correction_is_not_believed() -> Result<()> {
    World::run("late poll", async |world| {
        let (toxiproxy, outside) = begin(world).await?;
        world.patch_proxy("web", json!({"metadata": {"annotations": {PAUSED_ANNOTATION: "true"}}})).await?;
        toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
        world.ask_for_poll("web").await?;
        world.wait_for_verdict("web", "True", "FieldsDiffer").await?;
        let history = world.watch_object("web").await?;
        let late = hold_poll(world, &outside).await?;
        world.patch_proxy("web", json!({"metadata": {"annotations": {PAUSED_ANNOTATION: null}}})).await?;
        let corrected = world.wait_for_proxy("web", "corrected", |object| note(object).correction == 2).await?;
        ensure!(tag(&corrected).correction == 1, "verified with the poll under way: {corrected}");
        late.release();
        world.wait_until_healed_by("web", 2).await?;
        let wrong =
            with_verdict(&history, |object, verdict| verdict["status"] == "True" && tag(object).correction == 2);
        ensure!(wrong.await?.is_empty(), "the late answer was taken for the state after the correction");
        ensure!(outside.requests_to("POST", WEB).len() == 1, "{:?}", outside.requests());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_poll_of_the_old_spec_says_nothing() -> Result<()> {
    World::run("edited in a poll", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        world.apply_target(&rare(world, &outside)?).await?;
        world.start_both().await?;
        for name in ["web", "witness"] {
            world.create_some_proxy(name).await?;
            world.wait_until_healed_by(name, 1).await?;
        }
        let history = world.watch_object("web").await?;
        let late = hold_poll(world, &outside).await?;
        world.patch_proxy("web", json!({"spec": {"upstream": "127.0.0.1:11"}})).await?;
        // Both objects are on one watch. Once the poller knows this, it knows the edit.
        let polls = outside.requests_to("GET", WITNESS).len();
        world.ask_for_poll("witness").await?;
        outside.wait_for_next("GET", WITNESS, polls).await?;
        late.release();
        world.wait_for_verdict("web", "False", "InSync").await?;
        let new = with_verdict(&history, |_, verdict| verdict["observedGeneration"] == 2).await?;
        let first = new.first().context("no verdict of the edited spec")?;
        ensure!(describe(first, DRIFT_OBSERVED) == "True/NotUpdated", "the first word on the edited spec was {first}");
        ensure!(toxiproxy.proxy("web").await?.is_some_and(|proxy| proxy.upstream == "127.0.0.1:11"));
        ensure!(outside.requests_to("POST", WEB).len() == 1, "{:?}", outside.requests());
        Ok(())
    })
    .await
}

/// Edits the spec while the response to an update is held back. Returns the number of updates, or `None` if a busy
/// machine took so long that the controller gave the update up.
async fn edit_during_a_correction(
    world: &World,
    system: &(Toxiproxy, Outside),
    upstream: &str,
) -> Result<Option<usize>> {
    /// The controller gives a step up after 10 s, counted from before the request arrives.
    const SURELY_WITHIN: Duration = Duration::from_secs(9);
    let (toxiproxy, outside) = system;
    let is_at_rest = |object: &Value| {
        let verdict = condition(object, DRIFT_OBSERVED);
        is_verified(object) && verdict.is_some_and(|it| it["observedGeneration"] == object["metadata"]["generation"])
    };
    let before = world.wait_for_proxy("web", "at rest", is_at_rest).await?;
    let (number, desired) = (note(&before).correction, before["spec"]["upstream"].clone());
    let history = world.watch_object("web").await?;
    let updates = outside.requests_to("POST", WEB).len();
    let slow = Hold::default();
    outside.once("POST", WEB, Answer::forwarded().held_by(&slow));
    toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
    world.ask_for_poll("web").await?;
    slow.wait_until_reached().await?;
    let sent = outside.wait_for_next("POST", WEB, updates).await?.at;
    let edited = world.patch_proxy("web", json!({"spec": {"upstream": upstream}})).await?;
    let generation = &edited["metadata"]["generation"];
    let is_seen = |object: &Value| {
        describe(object, DRIFT_OBSERVED) == "True/NotUpdated" && object["metadata"]["generation"] == *generation
    };
    history.wait_for("NotUpdated", is_seen).await?;
    // A verdict on the edited spec exists, and a correction is in progress: no other request may be sent.
    let lull = outside.nothing_is_written_for(Duration::from_secs(2)).await;
    slow.release();
    if sent.elapsed() >= SURELY_WITHIN {
        return Ok(None);
    }
    lull?;
    let object = world.wait_until_healed_by("web", number + 2).await?;
    ensure!(object["metadata"]["generation"] == *generation, "{object}");
    ensure!(toxiproxy.proxy("web").await?.is_some_and(|proxy| proxy.upstream == upstream));
    let updates = outside.requests_to("POST", WEB).split_off(updates);
    let written: Vec<Value> =
        updates.iter().map(|request| Ok(request.json()?["upstream"].clone())).collect::<Result<_>>()?;
    ensure!(written == [desired, json!(upstream)], "{written:?}");
    let versions = history.versions().await?;
    let noted = versions.iter().find(|object| note(object).correction == number + 1);
    let noted = noted.context("the first was not noted")?;
    let old = &before["metadata"]["generation"];
    ensure!(condition(noted, DRIFT_CORRECTED).is_some_and(|note| note["observedGeneration"] == *old), "{noted}");
    Ok(Some(updates.len()))
}

#[tokio::test]
async fn an_edit_during_a_correction_follows_it() -> Result<()> {
    World::run("edited in a correction", async |world| {
        let system = begin(world).await?;
        let mut updates = None;
        // A third time the pauses between corrections would exceed the deadlines here.
        for upstream in ["127.0.0.1:11", "127.0.0.1:12"] {
            updates = edit_during_a_correction(world, &system, upstream).await?;
            if updates.is_some() {
                break;
            }
        }
        updates.context("each time it took too long to keep an answer back until the edit was seen")?;
        Ok(())
    })
    .await
}

/// Pause of other writers between two writes: shorter than any read and write of ours together.
const REST: Duration = Duration::from_millis(1);

/// Two other writers of `web`, each as fast as its writes are answered: one of metadata, one of its own condition.
struct Others {
    stop: Arc<AtomicBool>,
    annotating: JoinHandle<Result<u64>>,
    declaring: JoinHandle<Result<u64>>,
}

impl Others {
    fn start(world: &World) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let version = format!("{}/v1", world.group());
        let annotating = tokio::spawn(write_often(world.proxies(), stop.clone(), |count| {
            Patch::Merge(json!({"metadata": {"annotations": {"e2e/count": count.to_string()}}}))
        }));
        let declaring = tokio::spawn(write_often(world.proxies(), stop.clone(), move |count| {
            let ready = json!({"type": "Ready", "status": "True", "reason": "Theirs", "message": count.to_string(),
                               "lastTransitionTime": "2026-01-01T00:00:00Z"});
            Patch::Apply(json!({"apiVersion": version, "kind": "Proxy", "metadata": {"name": "web"},
                                "status": {"conditions": [ready]}}))
        }));
        Self { stop, annotating, declaring }
    }

    /// Stops them and returns their numbers of writes.
    async fn stop(self) -> Result<(u64, u64)> {
        self.stop.store(true, Ordering::Relaxed);
        Ok((self.annotating.await??, self.declaring.await??))
    }
}

async fn write_often(
    api: Api<DynamicObject>,
    stop: Arc<AtomicBool>,
    patch: impl Fn(u64) -> Patch<Value> + Send,
) -> Result<u64> {
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        count += 1;
        let patch = patch(count);
        let whole = matches!(patch, Patch::Merge(_));
        let parameters = match whole {
            true => PatchParams::default(),
            false => PatchParams::apply("e2e-other").force(),
        };
        match whole {
            true => drop(api.patch("web", &parameters, &patch).await?),
            false => drop(api.patch_status("web", &parameters, &patch).await?),
        }
        tokio::time::sleep(REST).await;
    }
    Ok(count)
}

#[tokio::test]
async fn writers_who_never_rest_lose_nothing() -> Result<()> {
    World::run("busy writers", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        world.apply_target(&Target::shipped(world, outside.url())?).await?;
        world.create_some_proxy("web").await?;
        let (others, busy) = (Others::start(world), Instant::now());
        world.start_both().await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        let history = world.watch_object("web").await?;
        toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
        history.wait_for_transitions(DRIFT_OBSERVED, &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
        let ((annotations, declarations), busy) = (others.stop().await?, busy.elapsed());
        let object = world.wait_until_verified("web").await?;
        let theirs = condition(&object, "Ready").context("their condition is gone")?;
        ensure!(theirs["message"].as_str() == Some(&declarations.to_string()), "after {declarations}: {theirs}");
        let theirs = &object["metadata"]["annotations"]["e2e/count"];
        ensure!(theirs.as_str() == Some(&annotations.to_string()), "after {annotations}: {theirs}");
        ensure!(external_writes(&outside) == 2, "{:?}", outside.requests());
        let refused = world.writes().await?.refused;
        // Five attempts of each program at once, then it waits. Two first verdicts and a finalizer are pending.
        ensure!(refused <= 10 + 6 * busy.as_secs(), "{refused} refused writes in {busy:?}");
        world.nothing_is_written_for(Duration::from_secs(7)).await?;
        Ok(())
    })
    .await
}

fn external_writes(outside: &Outside) -> usize {
    outside.count("POST") + outside.count("DELETE")
}

/// Replaces the whole list of conditions, like a writer that considers it its own.
async fn overwrite_conditions(world: &World, name: &str, list: Value) -> Result<()> {
    world.patch_proxy_status(name, json!({"status": {"conditions": list}})).await.map(drop)
}

/// Removes or forges the verdict on an object six times, each time once it exists, then once more. Returns the time of
/// the six, and the time without writes afterwards.
async fn keep_taking_the_verdict(
    world: &World,
    (toxiproxy, outside): &(Toxiproxy, Outside),
    name: &str,
) -> Result<(Duration, Duration)> {
    let object = world.create_some_proxy(name).await?;
    toxiproxy.create(name, object["spec"]["listen"].as_str().context("no listen")?, "127.0.0.1:9").await?;
    let truth = world.wait_for_verdict(name, "False", "InSync").await?;
    let mut lie = condition(&truth, DRIFT_OBSERVED).context("no verdict")?.clone();
    lie["status"] = json!("True");
    lie["reason"] = json!("FieldsDiffer");
    let began = Instant::now();
    for round in 0..6 {
        let list = if round % 2 == 0 { json!([]) } else { json!([lie]) };
        overwrite_conditions(world, name, list).await?;
        world.wait_for_verdict(name, "False", "InSync").await?;
    }
    let took = began.elapsed();
    overwrite_conditions(world, name, json!([])).await?;
    // The bucket held six. The next token comes a minute after the first was taken.
    let rest = Duration::from_secs(50).saturating_sub(began.elapsed()).min(Duration::from_secs(20));
    let path = format!("/proxies/{name}");
    let polls = outside.requests_to("GET", &path).len();
    world.nothing_is_written_for(rest).await?;
    let polls = outside.requests_to("GET", &path).len() - polls;
    ensure!(rest > Duration::from_secs(10) && polls > 1, "no time was left: {took:?}");
    let writes = world.all_writes_by(Which::Poller).await?.into_iter();
    let writes = writes.filter(|write| write.subresource == "status" && write.name == name).count();
    // Our first verdict, which may have been drift, and six corrections.
    ensure!((7..=8).contains(&writes), "{writes} writes");
    Ok((took, rest))
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_verdict_taken_again_and_again_returns_slowly() -> Result<()> {
    /// One is enough unless the API server pauses for so long that the poller loses its Lease.
    const PLAYS: usize = 3;
    World::run("verdict taken", async |world| {
        let system = world.start_fronted_toxiproxy().await?;
        // No poll may time out within its interval, because each failed one would cost a write. A prompt poll restores
        // the verdict.
        let target = Target::shipped(world, system.1.url())?.with("/spec/interval", json!("5s"));
        let target = target.with("/spec/correct/mode", json!("Observe")).with("/spec/confirm", json!({"unknown": 20}));
        world.apply_target(&target).await?;
        let poller = world.start_poller().await?;
        world.start_controller().await?;
        // The poller's memory of an object, including the bucket, starts again with each term as leader.
        let mut played = None;
        for play in 1..=PLAYS {
            let term = poller.times_led()?;
            let result = keep_taking_the_verdict(world, &system, &format!("web-{play}")).await;
            if poller.times_led()? == term {
                played = Some(result?);
                break;
            }
            // It must no longer count.
            world.delete_proxy(&format!("web-{play}")).await?;
        }
        played.context("the poller lost its Lease in every play")?;
        Ok(())
    })
    .await
}
