//! Many objects of one namespace whose status can never be written hold back only that namespace.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use drift_api::names;
use drift_e2e::programs::Program;
use drift_e2e::systems::outside::{Documents, Outside};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, describe};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::stuck::{Refusal, drift, paused};

/// More than the number of individual exceptions.
const CROWD: usize = 25;

/// Returns the attestations in the poller's Lease.
async fn word(world: &World) -> Result<String> {
    let lease = world.lease("drift-poller").await?.unwrap_or_default();
    Ok(lease["metadata"]["annotations"][names::ATTESTED_TARGETS_ANNOTATION].as_str().unwrap_or_default().to_owned())
}

/// Patches an object of the other namespace. Returns the poller's last report on it.
async fn patch_neighbour(world: &World, namespace: &str, patch: Value) -> Result<String> {
    let proxies = world.api(&format!("{}/v1", world.group()), "Proxy", Some(namespace))?;
    let patched = proxies.patch("free", &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(describe(&serde_json::to_value(patched)?, names::DRIFT_OBSERVED))
}

async fn wait_for_neighbour(world: &World, namespace: &str) -> Result<()> {
    wait::until("the neighbour to be in sync", wait::DEADLINE, async || {
        let verdict = patch_neighbour(world, namespace, json!({})).await?;
        Ok(if verdict == "False/InSync" { Seen::Met(()) } else { Seen::Instead(verdict) })
    })
    .await
}

/// 25 paused objects of one namespace and one of another, all in sync.
struct Bed {
    outside: Outside,
    documents: Documents,
    poller: Arc<Program>,
    controller: Arc<Program>,
    neighbours: String,
    crowd: Vec<String>,
}

impl Bed {
    async fn new(world: &World) -> Result<Self> {
        let outside = world.start_outside().await?;
        let documents = outside.keep_documents();
        let neighbours = format!("{}-free", world.objects_namespace());
        // The crowd's drift must not open the circuit breaker for its neighbour.
        let target = Target::of_documents(world, outside.url())?
            .polled_when_asked()
            .with("/spec/correct/limits/maxDriftedPercent", json!(100))
            .with("/spec/objects/namespaces", json!([world.objects_namespace(), neighbours]));
        world.apply_target(&target).await?;
        let poller = world.start_poller().await?;
        let controller = world.start_controller().await?;
        world.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": neighbours}})).await?;
        let spec = |name: &str| json!({"listen": format!("{name}:80"), "upstream": "here:1"});
        let free = json!({"apiVersion": format!("{}/v1", world.group()), "kind": "Proxy", "spec": spec("free"),
            "metadata": {"name": "free", "namespace": neighbours}});
        world.apply(&free).await?;
        let crowd: Vec<String> = (0..CROWD).map(|number| format!("crowd-{number:02}")).collect();
        world.create_proxies(&crowd, &json!({}), spec).await?;
        world.wait_for_verdicts(CROWD, "False/InSync", wait::DEADLINE).await?;
        wait_for_neighbour(world, &neighbours).await?;
        Ok(Self { outside, documents, poller, controller, neighbours, crowd })
    }

    async fn pause_crowd(&self, world: &World, is_paused: &str) -> Result<()> {
        for name in &self.crowd {
            world.patch_proxy(name, paused(is_paused)).await?;
        }
        Ok(())
    }

    /// Lets the crowd drift while it is paused, then starts to reject each write of its status.
    async fn refuse_drifted_crowd(&self, world: &World) -> Result<Refusal> {
        self.pause_crowd(world, "true").await?;
        wait::until("the controller to know of the pauses", wait::DEADLINE, async || {
            drift(&self.documents, "crowd-");
            let held = self.controller.metrics().await?.sum("drift_controller_held", &[("why", "Paused")]);
            Ok(if held == CROWD as f64 { Seen::Met(()) } else { Seen::Instead(format!("{held} paused")) })
        })
        .await?;
        for name in &self.crowd {
            world.ask_for_poll(name).await?;
        }
        world.wait_for_verdicts(CROWD, "True/FieldsDiffer", wait::DEADLINE).await?;
        let expression = format!("object.metadata.namespace != '{}'", world.objects_namespace());
        Refusal::begin(world, &expression, &self.crowd[0]).await
    }

    async fn wait_until_excepted(&self, world: &World) -> Result<()> {
        let excepted = format!("except-namespaces {}\"", world.objects_namespace());
        wait::until("the namespace to be excepted", wait::DEADLINE, async || {
            let (word, log) = (word(world).await?, self.controller.log_text()?);
            let is_read = log.contains(&format!(r#""namespaces":"{}""#, world.objects_namespace()));
            let is_met = word.contains(&excepted) && is_read;
            Ok(if is_met { Seen::Met(()) } else { Seen::Instead(format!("{word}, read: {is_read}")) })
        })
        .await
    }

    /// Checks that only the exception holds the crowd back: its neighbour is healed, and the crowd is not.
    async fn heals_neighbour_alone(&self, world: &World) -> Result<()> {
        self.pause_crowd(world, "false").await?;
        drift(&self.documents, "free");
        let asked = json!({"metadata": {"annotations": {names::POLL_REQUESTED_ANNOTATION: "now"}}});
        patch_neighbour(world, &self.neighbours, asked).await?;
        self.outside.wait_for_requests("PUT", 1).await?;
        wait_for_neighbour(world, &self.neighbours).await?;
        self.outside.nothing_is_written_for(Duration::from_secs(6)).await?;
        let puts = self.outside.requests().into_iter().filter(|one| one.method == "PUT").map(|one| one.path);
        ensure!(puts.clone().eq(["/proxies/free".to_owned()]), "{:?}", puts.collect::<Vec<_>>());
        Ok(())
    }
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_crowd_that_cannot_be_written_keeps_back_its_namespace() -> Result<()> {
    World::run("crowded", async |world| {
        let bed = Bed::new(world).await?;
        let refusal = bed.refuse_drifted_crowd(world).await?;
        let refused_since = Instant::now();
        bed.poller.stop().await?;
        bed.documents.change_all(|_, document| document["upstream"] = json!("here:1"));
        bed.outside.forget_requests();
        let poller = world.start_poller().await?;

        bed.wait_until_excepted(world).await?;
        let line =
            format!("too many verdicts are not the poller's own in the namespaces {}", world.objects_namespace());
        wait::until("the line in /readyz", wait::DEADLINE, async || {
            let (_, text) = poller.page("/readyz").await?;
            Ok(if text.contains(&line) { Seen::Met(()) } else { Seen::Instead(text) })
        })
        .await?;
        bed.heals_neighbour_alone(world).await?;

        refusal.end(world).await?;
        let deadline = wait::DEADLINE + refused_since.elapsed();
        world.wait_for_verdicts(CROWD, "False/InSync", deadline).await?;
        wait::until("no exception and no line in /readyz", wait::DEADLINE, async || {
            let (word, (_, text)) = (word(world).await?, poller.page("/readyz").await?);
            let is_over = !word.contains("except") && !text.contains(&line);
            Ok(if is_over { Seen::Met(()) } else { Seen::Instead(format!("{word} {text}")) })
        })
        .await?;
        Ok(())
    })
    .await
}
