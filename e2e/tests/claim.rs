//! Ownership of an external resource: found, adopted, claimed by two objects, renamed, forgotten, or claimed before a
//! crash.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use drift_api::condition::CorrectionStatus;
use drift_api::names::{DRIFT_CORRECTED, DRIFT_OBSERVED, FINALIZER, GIVE_UP_ANNOTATION, POLL_REQUESTED_ANNOTATION};
use drift_e2e::programs::{Options, Which};
use drift_e2e::systems::outside::{Answer, Hold, Outside, Request};
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, condition, describe, message};
use drift_kube::process::kill_point::KillPoint;
use serde_json::{Value, json};

/// Long, so that every poll has a cause.
const INTERVAL: &str = "24h";
/// The desired value of the objects, and the earlier foreign one.
const OURS: &str = "127.0.0.1:9";
const FOREIGN: &str = "127.0.0.1:8";

/// A real external system and a recorder in front of it.
struct Bed<'a> {
    world: &'a World,
    toxiproxy: Toxiproxy,
    outside: Outside,
}

/// A resource is named by its object's label `resource`, which can be edited and shared.
async fn bed<'a>(world: &'a World, existing: &str) -> Result<Bed<'a>> {
    let toxiproxy = world.start_toxiproxy().await?;
    let outside = world.start_outside().await?;
    outside.forward_to(toxiproxy.url());
    let identity = "${self.metadata.labels.resource}";
    let one = format!("{}/proxies/{identity}", outside.url());
    let target = Target::shipped(world, outside.url())?
        .with("/spec/interval", json!(INTERVAL))
        .with("/spec/identity", json!(identity))
        .with("/spec/read/http/url", json!(one))
        .with("/spec/correct/existing", json!(existing))
        .with("/spec/correct/http/create/0/body/name", json!(identity))
        .with("/spec/correct/http/update/0/url", json!(one))
        .with("/spec/correct/http/delete/0/url", json!(one))
        .with("/spec/require", json!([{"that": "${self.metadata.name != 'forbidden'}", "else": "that name is taken"}]));
    world.apply_target(&target).await?;
    Ok(Bed { world, toxiproxy, outside })
}

impl Bed<'_> {
    /// Creates an object for the resource of this name.
    async fn create(&self, name: &str, resource: &str, upstream: &str) -> Result<()> {
        let spec = json!({"listen": self.world.free_listen_address()?, "upstream": upstream});
        self.world.create_proxy_with(name, json!({"labels": {"resource": resource}}), spec).await.map(drop)
    }

    /// Creates the resource as a foreign one.
    async fn found(&self, resource: &str) -> Result<()> {
        self.toxiproxy.create(resource, &self.world.free_listen_address()?, FOREIGN).await.map(drop)
    }

    async fn rename(&self, name: &str, resource: &str) -> Result<()> {
        let patch = json!({"metadata": {"labels": {"resource": resource}}});
        self.world.patch_proxy(name, patch).await.map(drop)
    }

    async fn upstream(&self, resource: &str) -> Result<Option<String>> {
        Ok(self.toxiproxy.proxy(resource).await?.map(|proxy| proxy.upstream))
    }

    /// Returns the requests that would change the external system.
    fn writes(&self) -> Vec<Request> {
        self.outside.requests().into_iter().filter(|request| request.method != "GET").collect()
    }

    /// Creates an object and returns its state at the first external write.
    async fn at_the_first_write(&self, name: &str, method: &str, path: &str) -> Result<Value> {
        // The response waits, so that no outcome is recorded in the meantime.
        let hold = Hold::default();
        self.outside.once(method, path, Answer::forwarded().held_by(&hold));
        self.create(name, name, OURS).await?;
        hold.wait_until_reached().await?;
        let object = self.world.proxy(name).await?.context("no such object");
        hold.release();
        object
    }
}

fn owns(object: &Value, identity: &str) -> bool {
    let message = condition(object, DRIFT_CORRECTED).and_then(|found| found["message"].as_str());
    CorrectionStatus::parse(message.unwrap_or_default()).owned().is_some_and(|owned| &*owned.identity == identity)
}

fn is_held(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|all| all.iter().any(|one| one == FINALIZER))
}

#[tokio::test]
async fn what_was_there_before_is_left_alone() -> Result<()> {
    World::run("refused", async |world| {
        let bed = bed(world, "Refuse").await?;
        bed.found("web").await?;
        world.start_poller().await?;
        world.start_controller().await?;
        bed.create("web", "web", OURS).await?;
        let object = world.wait_for_note("web", "False", "NotOurs").await?;
        ensure!(describe(&object, "driftObserved") == "True/NotUpdated" && !is_held(&object), "{object}");
        world.nothing_is_written_for(Duration::from_secs(3)).await?;
        // Once the object desires the existing state, there is nothing to refuse.
        let found = bed.toxiproxy.proxy("web").await?.context("it is gone")?;
        let desired = json!({"spec": {"listen": found.listen, "upstream": found.upstream}});
        world.patch_proxy("web", desired).await?;
        let no_note = |object: &Value| condition(object, DRIFT_CORRECTED).is_none();
        world.wait_for_proxy("web", "no note any more", no_note).await?;
        world.delete_proxy("web").await?;
        world.wait_until_gone("web").await?;
        ensure!(bed.upstream("web").await?.as_deref() == Some(FOREIGN), "it was touched");
        ensure!(bed.writes().is_empty(), "{:#?}", bed.writes());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_claim_stands_before_the_first_request() -> Result<()> {
    World::run("claimed", async |world| {
        let bed = bed(world, "Adopt").await?;
        bed.found("old").await?;
        world.start_poller().await?;
        world.start_controller().await?;
        for (resource, path) in [("old", "/proxies/old"), ("new", "/proxies")] {
            bed.outside.forget_requests();
            let object = bed.at_the_first_write(resource, "POST", path).await?;
            ensure!(describe(&object, DRIFT_CORRECTED) == "Unknown/CorrectionStarted", "{resource}: {object}");
            ensure!(owns(&object, resource) && is_held(&object), "{resource}: {object}");
            world.wait_for_verdict(resource, "False", "InSync").await?;
            world.wait_for_note(resource, "True", "CorrectionApplied").await?;
            ensure!(bed.upstream(resource).await?.as_deref() == Some(OURS), "{resource} is not as desired");
            ensure!(bed.writes().len() == 1, "{:#?}", bed.writes());
        }
        Ok(())
    })
    .await
}

/// Creates two objects for one resource, deletes the first, and checks the second's final condition.
async fn inherit(existing: &str, then: (&str, &str)) -> Result<()> {
    World::run(&format!("shared {existing}"), async |world| {
        let bed = bed(world, existing).await?;
        bed.create("one", "shared", OURS).await?;
        // Creation times have whole seconds.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        bed.create("two", "shared", "127.0.0.1:7").await?;
        world.start_poller().await?;
        world.wait_for_verdict("two", "True", "NotCreated").await?;
        world.wait_for_verdict("one", "True", "NotCreated").await?;
        world.start_controller().await?;
        world.wait_for_note("one", "True", "CorrectionApplied").await?;
        world.wait_for_verdict("one", "False", "InSync").await?;
        let two = world.wait_for_note("two", "False", "IdentityTaken").await?;
        ensure!(message(&two, DRIFT_CORRECTED).ends_with(&format!("{}/one", world.objects_namespace())), "{two}");
        ensure!(bed.writes().len() == 1, "{:#?}", bed.writes());
        world.delete_proxy("one").await?;
        world.wait_until_gone("one").await?;
        world.wait_for_event("ExternalLeftBehind", "one").await?;
        world.wait_for_note("two", then.0, then.1).await?;
        ensure!(bed.outside.count("DELETE") == 0, "it was deleted under the second object");
        let (heir, writes) = (bed.upstream("shared").await?, bed.writes().len());
        let expected = if existing == "Adopt" { ("127.0.0.1:7", 2) } else { (OURS, 1) };
        ensure!((heir.as_deref(), writes) == (Some(expected.0), expected.1), "{heir:?}: {:#?}", bed.writes());
        Ok(())
    })
    .await
}

/// Copies the first object's record to the second, like a restore from a backup.
async fn copy_record(world: &World, from: &str, to: &str) -> Result<()> {
    let (from, to_object) = (world.proxy(from).await?, world.proxy(to).await?);
    let of = |object: &Option<Value>, kind: &str| object.as_ref().and_then(|object| condition(object, kind).cloned());
    // The second object may be refused before its first poll.
    let conditions: Vec<_> =
        [of(&to_object, DRIFT_OBSERVED), of(&from, DRIFT_CORRECTED)].into_iter().flatten().collect();
    world.patch_proxy_status(to, json!({"status": {"conditions": conditions}})).await.map(drop)
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn of_two_claims_neither_acts_until_one_is_given_up() -> Result<()> {
    World::run("two claims", async |world| {
        let bed = bed(world, "Refuse").await?;
        world.start_poller().await?;
        let controller = world.start_controller().await?;
        bed.create("one", "shared", OURS).await?;
        world.wait_until_verified("one").await?;
        bed.create("two", "shared", "127.0.0.1:7").await?;
        world.wait_for_note("two", "False", "IdentityTaken").await?;
        copy_record(world, "one", "two").await?;
        for (name, other) in [("one", "two"), ("two", "one")] {
            let object = world.wait_for_note(name, "False", "IdentityContested").await?;
            ensure!(message(&object, DRIFT_CORRECTED).contains(&format!("/{other}")), "{object}");
            ensure!(owns(&object, "shared"), "{object}");
        }
        bed.toxiproxy.update("shared", json!({"upstream": FOREIGN})).await?;
        let asked = json!({"metadata": {"annotations": {POLL_REQUESTED_ANNOTATION: "now"}}});
        world.patch_proxy("one", asked).await?;
        world.wait_for_verdict("one", "True", "FieldsDiffer").await?;
        controller.kill().await?;
        world.start_controller().await?;
        bed.outside.nothing_is_written_for(Duration::from_secs(5)).await?;
        ensure!(bed.upstream("shared").await?.as_deref() == Some(FOREIGN), "it was corrected");

        world.patch_proxy("two", json!({"metadata": {"annotations": {GIVE_UP_ANNOTATION: "shared"}}})).await?;
        let two = world.wait_for_note("two", "False", "NotOurs").await?;
        ensure!(!owns(&two, "shared"), "{two}");
        world.wait_for_note("one", "True", "CorrectionApplied").await?;
        world.wait_until_verified("one").await?;
        ensure!(bed.upstream("shared").await?.as_deref() == Some(OURS), "it was not healed");
        world.delete_proxy("two").await?;
        world.wait_until_gone("two").await?;
        let (writes, deletes) = (bed.outside.writes(), bed.outside.count("DELETE"));
        ensure!((writes, deletes) == (2, 0), "{:#?}", bed.writes());
        Ok(())
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn the_second_object_adopts_when_the_first_goes() -> Result<()> {
    inherit("Adopt", ("True", "CorrectionApplied")).await
}

#[tokio::test]
async fn the_second_object_adopts_nothing_unasked() -> Result<()> {
    inherit("Refuse", ("False", "NotOurs")).await
}

#[tokio::test]
async fn an_edited_identity_renames_nothing_and_deletes_nothing() -> Result<()> {
    World::run("renamed", async |world| {
        let bed = bed(world, "Refuse").await?;
        world.start_poller().await?;
        world.start_controller().await?;
        bed.create("web", "before", OURS).await?;
        world.wait_until_verified("web").await?;
        let changed = |object: &Value| describe(object, DRIFT_CORRECTED) == "False/IdentityChanged";
        bed.rename("web", "after").await?;
        world.wait_for_proxy("web", "IdentityChanged", changed).await?;
        bed.rename("web", "before").await?;
        world.wait_for_note("web", "True", "CorrectionApplied").await?;
        bed.rename("web", "after").await?;
        let object = world.wait_for_proxy("web", "IdentityChanged", changed).await?;
        ensure!(owns(&object, "before"), "{object}");
        world.nothing_is_written_for(Duration::from_secs(3)).await?;
        world.delete_proxy("web").await?;
        world.wait_until_gone("web").await?;
        world.wait_for_event("ExternalLeftBehind", "web").await?;
        ensure!(bed.upstream("before").await?.is_some() && bed.upstream("after").await?.is_none());
        ensure!(bed.writes().len() == 1, "{:#?}", bed.writes());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_object_with_a_forbidden_name_is_untouched() -> Result<()> {
    World::run("not allowed", async |world| {
        let bed = bed(world, "Adopt").await?;
        world.start_poller().await?;
        world.start_controller().await?;
        bed.create("forbidden", "web", OURS).await?;
        let object = world.wait_for_verdict("forbidden", "Unknown", "NotAllowed").await?;
        let message = condition(&object, "driftObserved").and_then(|found| found["message"].as_str());
        ensure!(message.is_some_and(|text| text.starts_with("that name is taken")), "{object}");
        world.nothing_is_written_for(Duration::from_secs(3)).await?;
        let object = world.proxy("forbidden").await?.context("it is gone")?;
        ensure!(!is_held(&object) && condition(&object, DRIFT_CORRECTED).is_none(), "{object}");
        ensure!(bed.outside.requests().is_empty(), "{:#?}", bed.outside.requests());
        Ok(())
    })
    .await
}

/// Returns the status of an operator that knows only its own conditions.
fn whole_status() -> Value {
    let ready = json!({"type": "Ready", "status": "True", "reason": "Theirs", "message": "",
                       "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    json!({"status": {"conditions": [ready]}})
}

/// Time for which the other operator replaces every status that it sees.
const WAR: Duration = Duration::from_secs(20);
/// Time until both programs have drained their buckets afterwards: one write a minute, plus the wait for its verdict.
const PEACE: Duration = Duration::from_secs(180);

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn an_operator_that_replaces_statuses_does_no_harm() -> Result<()> {
    World::run("wiped always", async |world| {
        let bed = bed(world, "Refuse").await?;
        bed.found("foreign").await?;
        world.start_poller().await?;
        world.start_controller().await?;
        bed.create("web", "web", OURS).await?;
        bed.create("foreign", "foreign", OURS).await?;
        let began = Instant::now();
        while began.elapsed() < WAR {
            for name in ["web", "foreign"] {
                let object = world.proxy(name).await?.context("no such object")?;
                if object["status"]["conditions"] != whole_status()["status"]["conditions"] {
                    world.patch_proxy_status(name, whole_status()).await?;
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        wait::until("both objects at rest after the war", PEACE, async || {
            let web = world.proxy("web").await?.context("no such object")?;
            let foreign = world.proxy("foreign").await?.context("no such object")?;
            let is_owned = owns(&web, "web");
            let is_healed = describe(&web, "driftObserved") == "False/InSync" && is_owned;
            let is_refused = describe(&foreign, DRIFT_CORRECTED) == "False/NotOurs";
            Ok(if is_healed && is_refused { Seen::Met(()) } else { Seen::Instead(format!("{web} {foreign}")) })
        })
        .await?;
        for name in ["web", "foreign"] {
            world.delete_proxy(name).await?;
            world.wait_until_gone(name).await?;
        }
        ensure!(bed.upstream("web").await?.is_none(), "it was left behind");
        ensure!(bed.upstream("foreign").await?.as_deref() == Some(FOREIGN), "what is foreign was touched");
        ensure!(bed.writes().len() == 2, "more than a creation and a deletion: {:#?}", bed.writes());
        Ok(())
    })
    .await
}

/// Runs a controller that dies at this point of the object's creation.
async fn die_while_creating(bed: &Bed<'_>, point: KillPoint) -> Result<()> {
    let options = Options::dying_at(point, 1).named("victim".to_owned());
    let victim = bed.world.start(Which::Controller, options).await?;
    bed.create("web", "web", OURS).await?;
    victim.wait_until_ended().await?;
    ensure!(victim.times_reached(point)? == 1, "it did not die at {}", point.as_str());
    Ok(())
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn what_others_make_after_a_claim_is_ours() -> Result<()> {
    World::run("stolen claim", async |world| {
        let bed = bed(world, "Refuse").await?;
        world.start_poller().await?;
        die_while_creating(&bed, KillPoint::ControllerAfterClaim).await?;
        bed.found("web").await?;
        world.clear_lease(Which::Controller.name()).await?;
        world.start_controller().await?;
        world.wait_for_note("web", "True", "CorrectionApplied").await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        // It is indistinguishable from a creation that was sent. See "Details" in docs/reference/target/correct.md.
        let writes: Vec<String> = bed.writes().iter().map(|write| format!("{} {}", write.method, write.path)).collect();
        ensure!(writes == ["POST /proxies/web"], "{writes:?}");
        Ok(())
    })
    .await
}
