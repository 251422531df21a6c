//! An object whose status can never be written holds back only itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use drift_api::names;
use drift_e2e::programs::Program;
use drift_e2e::systems::outside::{Documents, Outside};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, describe};
use kube::api::DeleteParams;
use serde_json::{Value, json};

/// A policy of the cluster's owner that refuses writes of the status of some objects.
pub(crate) struct Refusal {
    name: String,
}

const KINDS: [&str; 2] = ["ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"];

impl Refusal {
    /// Rejects them for objects that do not satisfy an expression, as `probe` does not.
    pub(crate) async fn begin(world: &World, expression: &str, probe: &str) -> Result<Self> {
        let name = format!("{}-stuck", world.objects_namespace());
        let version = "admissionregistration.k8s.io/v1";
        let rule = json!({"apiGroups": [world.group()], "apiVersions": ["*"], "operations": ["UPDATE"],
            "resources": ["proxies/status"]});
        let policy = json!({"apiVersion": version, "kind": KINDS[1], "metadata": {"name": name}, "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": expression, "message": "not this one"}]}});
        let binding = json!({"apiVersion": version, "kind": KINDS[0], "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": ["Deny"]}});
        world.apply(&policy).await?;
        world.apply(&binding).await?;
        wait::until("the policy to be active", wait::DEADLINE, async || {
            let patch = json!({"status": {"observedGeneration": 1}});
            Ok(match world.patch_proxy_status(probe, patch).await {
                Err(error) if format!("{error:#}").contains("not this one") => Seen::Met(()),
                other => Seen::Instead(format!("{other:?}")),
            })
        })
        .await?;
        Ok(Self { name })
    }

    pub(crate) async fn end(&self, world: &World) -> Result<()> {
        for kind in KINDS {
            let policies = world.api("admissionregistration.k8s.io/v1", kind, None)?;
            policies.delete(&self.name, &DeleteParams::default()).await?;
        }
        Ok(())
    }
}

/// Returns true if the poller's Lease excepts an object with this uid.
async fn is_excepted(world: &World, uid: &str) -> Result<(bool, String)> {
    let lease = world.lease("drift-poller").await?.unwrap_or_default();
    let word =
        lease["metadata"]["annotations"][names::ATTESTED_TARGETS_ANNOTATION].as_str().unwrap_or_default().to_owned();
    Ok((word.contains(uid), word))
}

/// Waits until the poller's Lease excepts the object with this uid.
pub(crate) async fn wait_until_excepted(world: &World, uid: &str) -> Result<()> {
    wait::until("the object to be excepted", wait::DEADLINE, async || {
        let (excepted, word) = is_excepted(world, uid).await?;
        Ok(if excepted { Seen::Met(()) } else { Seen::Instead(word) })
    })
    .await
}

pub(crate) fn paused(paused: &str) -> Value {
    json!({"metadata": {"annotations": {names::PAUSED_ANNOTATION: paused}}})
}

/// Two objects in sync. `stuck` then drifted while it was paused, and writes to its status are rejected.
struct Bed {
    outside: Outside,
    documents: Documents,
    poller: Arc<Program>,
    controller: Arc<Program>,
    refusal: Refusal,
    refused_since: Instant,
    uid: String,
}

impl Bed {
    /// One correction at a time, so that a stuck one would visibly block the others.
    async fn new(world: &World) -> Result<Self> {
        let outside = world.start_outside().await?;
        let documents = outside.keep_documents();
        world
            .apply_target(
                // A late poll on a busy machine would turn the drift into Unknown.
                &Target::of_documents(world, outside.url())?
                    .polled_when_asked()
                    .with("/spec/correct/limits/concurrent", json!(1)),
            )
            .await?;
        let poller = world.start_poller().await?;
        let controller = world.start_controller().await?;
        for name in ["stuck", "free"] {
            world.create_proxy(name, json!({"listen": format!("{name}:80"), "upstream": "here:1"})).await?;
            world.wait_until_verified(name).await?;
        }
        world.patch_proxy("stuck", paused("true")).await?;
        wait::until("the controller to know of the pause", wait::DEADLINE, async || {
            drift(&documents, "stuck");
            let held = controller.metrics().await?.sum("drift_controller_held", &[("why", "Paused")]);
            Ok(if held == 1.0 { Seen::Met(()) } else { Seen::Instead(format!("{held} paused")) })
        })
        .await?;
        world.ask_for_poll("stuck").await?;
        let stuck = world.wait_for_verdict("stuck", "True", "FieldsDiffer").await?;
        let uid = stuck["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let refused_since = Instant::now();
        let refusal = Refusal::begin(world, "object.metadata.name != 'stuck'", "stuck").await?;
        outside.forget_requests();
        Ok(Self { outside, documents, poller, controller, refusal, refused_since, uid })
    }

    /// Allows writes to the status of `stuck` again and waits for one. The pauses between rejected writes double, so
    /// the next attempt may take as long again.
    async fn end_refusal(&self, world: &World) -> Result<()> {
        self.refusal.end(world).await?;
        let deadline = wait::DEADLINE + self.refused_since.elapsed();
        wait::until("the stuck object to be in sync", deadline, async || {
            let object = world.proxy("stuck").await?.unwrap_or_default();
            let verdict = describe(&object, names::DRIFT_OBSERVED);
            Ok(if verdict == "False/InSync" { Seen::Met(()) } else { Seen::Instead(verdict) })
        })
        .await
    }

    /// Returns the external writes since then.
    fn written(&self) -> Vec<String> {
        let requests = self.outside.requests().into_iter();
        requests.filter(|one| one.method == "PUT").map(|one| one.path).collect()
    }
}

pub(crate) fn drift(documents: &Documents, name: &str) {
    documents.change_all(|path, document| {
        if path.contains(name) {
            document["upstream"] = json!("elsewhere:1");
        }
    });
}

#[tokio::test]
async fn an_unwritable_verdict_keeps_back_nobody_else() -> Result<()> {
    World::run("stuck", async |world| {
        let bed = Bed::new(world).await?;
        bed.poller.stop().await?;
        bed.documents.change_all(|_, document| document["upstream"] = json!("here:1"));
        world.start_poller().await?;
        wait_until_excepted(world, &bed.uid).await?;
        wait::until("the controller to have read the exception", wait::DEADLINE, async || {
            let read = bed.controller.log_text()?.contains(r#""excepted":1"#);
            Ok(if read { Seen::Met(()) } else { Seen::Instead("it knows of none".to_owned()) })
        })
        .await?;
        // From here on only the exception holds it back.
        world.patch_proxy("stuck", paused("false")).await?;
        drift(&bed.documents, "free");
        world.ask_for_poll("free").await?;
        bed.outside.wait_for_requests("PUT", 1).await?;
        world.wait_for_verdict("free", "False", "InSync").await?;
        ensure!(bed.written() == ["/proxies/free"], "{:?}", bed.written());

        bed.end_refusal(world).await?;
        wait::until("the exception to end", wait::DEADLINE, async || {
            let (excepted, word) = is_excepted(world, &bed.uid).await?;
            Ok(if excepted { Seen::Instead(word) } else { Seen::Met(()) })
        })
        .await?;
        drift(&bed.documents, "stuck");
        world.ask_for_poll("stuck").await?;
        bed.outside.wait_for_requests("PUT", 2).await?;
        world.wait_for_verdict("stuck", "False", "InSync").await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_correction_without_its_note_is_not_repeated() -> Result<()> {
    World::run("unnoted", async |world| {
        let bed = Bed::new(world).await?;
        world.patch_proxy("stuck", paused("false")).await?;
        bed.outside.wait_for_requests("PUT", 1).await?;
        drift(&bed.documents, "free");
        world.ask_for_poll("free").await?;
        bed.outside.wait_for_requests("PUT", 2).await?;
        world.wait_for_verdict("free", "False", "InSync").await?;
        bed.outside.nothing_is_written_for(Duration::from_secs(7)).await?;
        ensure!(bed.written() == ["/proxies/stuck", "/proxies/free"], "{:?}", bed.written());

        bed.end_refusal(world).await?;
        ensure!(bed.written().len() == 2, "{:?}", bed.written());
        Ok(())
    })
    .await
}
