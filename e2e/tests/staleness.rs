//! No correction follows a stale verdict. Only a new poll under the text that both programs use allows one.
//!
//! A drift waits on a paused object. Once its verdict is stale, the pause is lifted, and only the missing attestation
//! prevents a correction.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use drift_api::names::PAUSED_ANNOTATION;
use drift_e2e::programs::{Options, Program, Which};
use drift_e2e::systems::outside::{Answer, Hold, Outside, Request};
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, condition};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::stuck::wait_until_excepted;

/// Time within which a change of the poller's Lease or of the configuration is active in the controller. It reads the
/// Lease every 2 s, and a change of the ConfigMaps within one. The rest is for a busy machine, and far below the 40 s
/// after which an attestation expires.
const ACTIVE_WITHIN: Duration = Duration::from_secs(25);

/// Time without any action: many times the delay of an unpaused object's correction.
pub(crate) const QUIET: Duration = Duration::from_secs(6);

/// The poller's last sign of life counts for 40 s by the controller's clock. It is seen up to 2 s late, and its age is
/// checked every 5 s. The rest is for a busy machine.
pub(crate) const HELD_WITHIN: Duration = Duration::from_secs(40 + 7 + 20);

/// A toxiproxy behind a recording server, the target for it, and both programs.
pub(crate) struct Bed {
    pub(crate) toxiproxy: Toxiproxy,
    pub(crate) outside: Outside,
    pub(crate) target: Target,
    pub(crate) poller: Arc<Program>,
    pub(crate) controller: Arc<Program>,
}

impl Bed {
    pub(crate) async fn start(world: &World) -> Result<Self> {
        Self::start_with(world, Options::default()).await
    }

    async fn start_with(world: &World, poller: Options) -> Result<Self> {
        let toxiproxy = world.start_toxiproxy().await?;
        let outside = world.start_outside().await?;
        outside.forward_to(toxiproxy.url());
        // A late poll on a busy machine would turn the waiting drift into Unknown.
        let target = Target::shipped(world, outside.url())?.polled_when_asked();
        world.apply_target(&target).await?;
        let poller = world.start(Which::Poller, poller).await?;
        let controller = world.start_controller().await?;
        Ok(Self { toxiproxy, outside, target, poller, controller })
    }

    /// Creates a proxy that was in sync, has drifted, and is not corrected because its object is paused.
    pub(crate) async fn drifted_and_paused(&self, world: &World, name: &str) -> Result<()> {
        world.create_proxy(name, json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
        // InSync may be reported before the creation is recorded. A later drift would then wait for more than
        // attestation.
        world.wait_until_verified(name).await?;
        pause(world, name, true).await?;
        self.toxiproxy.update(name, json!({"upstream": "127.0.0.1:10"})).await?;
        world.ask_for_poll(name).await?;
        world.wait_for_verdict(name, "True", "FieldsDiffer").await.map(drop)
    }

    /// Repairs the resource by hand.
    async fn mend_outside(&self, name: &str) -> Result<()> {
        self.toxiproxy.update(name, json!({"upstream": "127.0.0.1:9"})).await.map(drop)
    }

    /// Waits until the controller knows if the target is attested. Returns the elapsed time.
    pub(crate) async fn wait_until_attested(&self, attested: bool, within: Duration) -> Result<Duration> {
        let began = Instant::now();
        let wanted = f64::from(u8::from(attested));
        wait::until(format!("the controller to know that attested is {wanted}"), within, async || {
            let metrics = self.controller.metrics().await?;
            // Only a leader has the series. A program without its Lease knows nothing.
            let seen: Vec<f64> =
                metrics.matching("drift_controller_attested", &[]).map(|sample| sample.value).collect();
            Ok(if seen == [wanted] { Seen::Met(()) } else { Seen::Instead(format!("{seen:?}")) })
        })
        .await?;
        Ok(began.elapsed())
    }

    /// Lifts the pause of a drifted object and checks that it is held for lack of attestation.
    pub(crate) async fn ensure_held(&self, world: &World, name: &str) -> Result<()> {
        pause(world, name, false).await?;
        self.wait_until_held().await?;
        self.outside.nothing_is_written_for(QUIET).await
    }

    /// Waits until one object is held for lack of attestation.
    async fn wait_until_held(&self) -> Result<()> {
        wait::until("the object to be held because nobody attests", wait::DEADLINE, async || {
            let held = self.controller.metrics().await?.sum("drift_controller_held", &[("why", "NotAttested")]);
            Ok(if held == 1.0 { Seen::Met(()) } else { Seen::Instead(format!("{held} objects are")) })
        })
        .await
    }

    /// Requests from the one with this number on.
    fn requests_since(&self, number: usize) -> Vec<Request> {
        self.outside.requests().split_off(number)
    }
}

pub(crate) async fn pause(world: &World, name: &str, paused: bool) -> Result<()> {
    let value = if paused { json!("true") } else { Value::Null };
    world.patch_proxy(name, json!({"metadata": {"annotations": {PAUSED_ANNOTATION: value}}})).await.map(drop)
}

#[tokio::test]
async fn a_stopped_poller_is_not_believed() -> Result<()> {
    World::run("poller stopped", async |world| {
        let bed = Bed::start(world).await?;
        bed.drifted_and_paused(world, "web").await?;
        bed.poller.stop().await?;
        bed.wait_until_attested(false, ACTIVE_WITHIN).await?;
        bed.ensure_held(world, "web").await?;
        Ok(())
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_paused_poller_writes_no_stale_verdict() -> Result<()> {
    World::run("poller paused", async |world| {
        let bed = Bed::start(world).await?;
        bed.drifted_and_paused(world, "waiting").await?;
        world.create_proxy("late", json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
        world.wait_until_verified("late").await?;
        let history = world.watch_object("late").await?;

        // The response to the current poll reports drift and reaches a paused poller.
        let drifted = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:10", "enabled": true});
        let answer = Hold::default();
        bed.outside.on("GET", "/proxies/late", Answer::json(200, &drifted).held_by(&answer));
        world.ask_for_poll("late").await?;
        answer.wait_until_reached().await?;
        bed.poller.pause().await?;
        bed.outside.forget();
        answer.release();
        bed.wait_until_attested(false, HELD_WITHIN).await?;
        bed.ensure_held(world, "waiting").await?;

        // The resource was repaired by hand in the meantime, so the True verdict is stale.
        bed.mend_outside("waiting").await?;
        let writes = bed.outside.writes();
        bed.poller.resume().await?;
        world.wait_for_verdict("waiting", "False", "InSync").await?;
        bed.wait_until_attested(true, wait::DEADLINE).await?;
        ensure!(bed.outside.writes() == writes, "corrected on a stale word: {:?}", bed.outside.requests());
        let seen = history.transitions("driftObserved").await?;
        ensure!(seen == ["False/InSync"], "the stale answer became a verdict: {seen:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_poller_with_another_text_attests_nothing() -> Result<()> {
    World::run("last good", async |world| {
        let gate = world.start_api_gate().await?;
        let through = Options { api_server: Some(gate.url().to_owned()), ..Options::default() };
        let bed = Bed::start_with(world, through).await?;
        bed.drifted_and_paused(world, "web").await?;
        bed.wait_until_attested(true, wait::DEADLINE).await?;

        // The desired state stays the same: only the text distinguishes the two verdicts.
        gate.hold_back(&format!("/api/v1/namespaces/{}/configmaps", world.programs_namespace()));
        world.apply_target(&bed.target.clone().with("/spec/confirm/drift", json!(2))).await?;
        bed.wait_until_attested(false, ACTIVE_WITHIN).await?;
        bed.ensure_held(world, "web").await?;

        let reads = bed.outside.requests().len();
        gate.let_through();
        world.wait_for_verdict("web", "False", "InSync").await?;
        let after = bed.requests_since(reads);
        let first_write = after.iter().position(|request| request.method == "POST");
        ensure!(first_write.is_some_and(|place| place >= 1), "corrected before it was polled: {after:?}");
        Ok(())
    })
    .await
}

#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
#[tokio::test]
async fn a_dead_watch_attests_nothing() -> Result<()> {
    /// Two bookmarks may be missed before a watch counts as dead.
    const DEAD_WITHIN: Duration = Duration::from_secs(130 + 60);
    World::run("dead watch", async |world| {
        let gate = world.start_api_gate().await?;
        let through = Options { api_server: Some(gate.url().to_owned()), ..Options::default() };
        let bed = Bed::start_with(world, through).await?;
        bed.drifted_and_paused(world, "web").await?;
        bed.wait_until_attested(true, wait::DEADLINE).await?;
        gate.hold_back(&format!("/apis/{}/v1/namespaces/{}/proxies", world.group(), world.objects_namespace()));
        bed.wait_until_attested(false, DEAD_WITHIN).await?;
        let renewed = |lease: Option<Value>| lease.map(|lease| lease["spec"]["renewTime"].clone());
        let before = renewed(world.lease("drift-poller").await?);
        bed.ensure_held(world, "web").await?;
        ensure!(
            renewed(world.lease("drift-poller").await?) != before,
            "the Lease did not live: the test shows nothing"
        );

        gate.let_through();
        world.wait_for_verdict("web", "False", "InSync").await?;
        ensure!(bed.outside.count("POST") == 2, "{:?}", bed.outside.requests());
        Ok(())
    })
    .await
}

fn is_free(object: &Value) -> bool {
    object["metadata"].get("finalizers").is_none()
}

#[tokio::test]
async fn suspend_when_corrects_only_after_a_new_poll() -> Result<()> {
    World::run("suspend when", async |world| {
        let bed = Bed::start(world).await?;
        let when = "${self.metadata.?annotations[?'hold'].orValue('no') == 'yes'}";
        world.apply_target(&bed.target.clone().with("/spec/suspendWhen", json!(when))).await?;
        for name in ["mended", "drifted"] {
            bed.drifted_and_paused(world, name).await?;
            world.patch_proxy(name, json!({"metadata": {"annotations": {"hold": "yes"}}})).await?;
            world.wait_for_verdict(name, "Unknown", "Suspended").await?;
            pause(world, name, false).await?;
        }
        bed.outside.nothing_is_written_for(QUIET).await?;
        bed.mend_outside("mended").await?;
        let reads = bed.outside.requests().len();
        for name in ["mended", "drifted"] {
            world.patch_proxy(name, json!({"metadata": {"annotations": {"hold": null}}})).await?;
            world.wait_for_verdict(name, "False", "InSync").await?;
        }
        let after = bed.requests_since(reads);
        let writes: Vec<_> = after.iter().filter(|request| request.method == "POST").collect();
        ensure!(writes.len() == 1 && writes[0].path == "/proxies/drifted", "{after:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn an_object_back_in_the_selection_is_polled() -> Result<()> {
    /// For ten seconds the controller acts on no verdict from before the selection. After that only attestation holds
    /// it.
    const LONGER_THAN_THE_PAUSE: Duration = Duration::from_secs(12);

    World::run("selected again", async |world| {
        let bed = Bed::start(world).await?;
        world.apply_target(&bed.target.clone().with("/spec/objects/labelSelector", json!("tier!=other"))).await?;
        let label = async |name: &str, tier: Value| {
            let metadata = json!({"labels": {"tier": tier}, "annotations": {PAUSED_ANNOTATION: null}});
            world.patch_proxy(name, json!({"metadata": metadata})).await
        };
        for name in ["mended", "drifted"] {
            bed.drifted_and_paused(world, name).await?;
            label(name, json!("other")).await?;
            // Outside the selection the finalizer is removed.
            world.wait_for_proxy(name, "without a finalizer", is_free).await?;
        }
        bed.mend_outside("mended").await?;
        let reads = bed.outside.requests().len();
        for name in ["mended", "drifted"] {
            // The poll of a returning object takes longer than the controller needs to act.
            let poll = Hold::default();
            bed.outside.on("GET", &format!("/proxies/{name}"), Answer::forwarded().held_by(&poll));
            label(name, Value::Null).await?;
            poll.wait_until_reached().await?;
            let object = world.proxy(name).await?.context("no such object")?;
            wait_until_excepted(world, object["metadata"]["uid"].as_str().context("no uid")?).await?;
            bed.outside.nothing_is_written_for(LONGER_THAN_THE_PAUSE).await?;
            bed.wait_until_held().await?;
            bed.wait_until_attested(true, wait::DEADLINE).await?;
            poll.release();
            world.wait_for_verdict(name, "False", "InSync").await?;
        }
        let after = bed.requests_since(reads);
        let writes: Vec<_> = after.iter().filter(|request| request.method == "POST").collect();
        ensure!(writes.len() == 1 && writes[0].path == "/proxies/drifted", "{after:?}");
        Ok(())
    })
    .await
}

/// Number of objects in sync, and of drifted ones, when the target's text changes.
const EACH: usize = 200;

fn crowd(kind: &str) -> impl Iterator<Item = String> {
    (0..EACH).map(move |number| format!("{kind}-{number}"))
}

async fn create_crowd(world: &World) -> Result<()> {
    for name in crowd("same") {
        world.create_proxy(&name, json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})).await?;
    }
    for name in crowd("other") {
        world.create_proxy(&name, json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:3"})).await?;
    }
    Ok(())
}

async fn wait_for_counts(world: &World, wanted: (usize, usize)) -> Result<()> {
    wait::until(format!("(drifted, in sync) to be {wanted:?}"), 2 * wait::DEADLINE, async || {
        let all = world.all_proxies().await?;
        let count = |status: &str| {
            all.iter().filter(|it| condition(it, "driftObserved").is_some_and(|it| it["status"] == status)).count()
        };
        let seen = (count("True"), count("False"));
        Ok(if seen == wanted { Seen::Met(()) } else { Seen::Instead(format!("{seen:?}")) })
    })
    .await
}

/// Waits until earlier decisions have completed.
async fn wait_for_the_tries_to_end(outside: &Outside, controller: &Program) -> Result<()> {
    wait::until("the tries under way to be over", wait::DEADLINE, async || {
        let lull = outside.nothing_is_written_for(Duration::from_secs(2)).await;
        let log = controller.log_text()?;
        let [begun, ended] = [r#""correcting""#, r#""outcome":"#].map(|word| log.matches(word).count());
        ensure!(begun > 0, "the log has no word of the corrections that came");
        if begun != ended {
            return Ok(Seen::Instead(format!("{begun} corrections begun, {ended} ended")));
        }
        Ok(lull.map_or_else(|error| Seen::Instead(format!("{error:#}")), Seen::Met))
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn an_edited_compare_polls_all_before_it_corrects() -> Result<()> {
    World::run_crowded("compare edited", async |world| {
        let outside = world.start_outside().await?;
        let answer = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2", "enabled": true});
        outside.on("GET", "/proxies/*", Answer::json(200, &answer));
        outside.on("POST", "/proxies/*", Answer::status(503));
        let observing = Target::shipped(world, outside.url())?
            .with("/spec/interval", json!("1h"))
            .with("/spec/read/limits", json!({"concurrent": 16, "perSecond": 200}))
            .with("/spec/correct/existing", json!("Adopt"))
            // Nothing is deleted here: no finalizers.
            .without("/spec/correct/http/delete")
            .with("/spec/correct/limits", json!({"concurrent": 8, "perMinute": 6000}))
            .with("/spec/correct/mode", json!("Observe"));
        create_crowd(world).await?;
        world.apply_target(&observing).await?;
        world.start_poller().await?;
        let controller = world.start_controller().await?;
        wait_for_counts(world, (EACH, EACH)).await?;

        // Another text with the same desired state, in mode Correct: only attestation distinguishes the verdicts.
        let reads = outside.requests().len();
        let correcting = observing.with("/spec/correct/mode", json!("Correct"));
        let reworded = correcting.clone().with("/spec/compare/desired/upstream", json!("${self['spec'].upstream}"));
        world.apply_target(&reworded).await?;
        outside.wait_for_requests("POST", EACH / 2).await?;
        let after = outside.requests().split_off(reads);
        let first = after.iter().position(|request| request.method == "POST").context("no correction")?;
        let polled: std::collections::BTreeSet<_> =
            after[..first].iter().filter(|it| it.path.contains("/other-")).map(|it| it.path.clone()).collect();
        ensure!(polled.len() == EACH, "corrected when {} of {EACH} drifted objects were polled", polled.len());
        ensure!(after.iter().all(|it| it.method == "GET" || it.path.contains("/other-")));

        // A text without drift: the True verdicts are stale, and delayed attempts end.
        let ignoring = correcting
            .with("/spec/compare/rules", json!([{"path": "/upstream", "ignore": true}]))
            // What is ignored is not in `desired`.
            .with("/spec/correct/http/create/0/body/upstream", json!("${self.spec.upstream}"));
        world.apply_target(&ignoring).await?;
        wait_for_counts(world, (0, 2 * EACH)).await?;
        wait_for_the_tries_to_end(&outside, &controller).await?;
        outside.nothing_is_written_for(QUIET).await?;
        Ok(())
    })
    .await
}
