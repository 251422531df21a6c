//! Corrections that change nothing, are rejected, or are undone by another writer. Each one waits until the last is
//! verified, and then longer each time, up to a limit.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use drift_api::names;
use drift_e2e::systems::outside::{Answer, Outside, Request};
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, describe, message, note, tag};
use serde_json::{Value, json};

/// Paths at which the shipped target creates and updates the object `web`.
const CREATE: &str = "/proxies";
const UPDATE: &str = "/proxies/web";

/// An edit of `driftpoller.dev/retry-requested-at` requests a retry at once. The limit allows for two busy cores.
const AT_ONCE: Duration = Duration::from_secs(10);

/// Returns the shipped target, which confirms an absence at the first poll because the pauses under test start at two
/// seconds. A poll may take as long as the interval, far more than a busy machine needs. Verifying polls are prompt.
fn target(world: &World, outside: &Outside) -> Result<Target> {
    let target = Target::shipped(world, outside.url())?.with("/spec/interval", json!("10s"));
    Ok(target.with("/spec/confirm", json!({"absent": 1})))
}

/// Lets the target create by PUT. A create by POST is not repeated while a poll does not find what it made.
fn created_by_put(target: Target) -> Target {
    target.with("/spec/correct/http/create/0/method", json!("PUT"))
}

fn is_write(request: &Request) -> bool {
    request.method != "GET"
}

fn spec() -> Value {
    json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})
}

fn in_sync() -> Answer {
    Answer::json(200, &json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2", "enabled": true}))
}

fn uid(object: &Value) -> Result<&str> {
    object["metadata"]["uid"].as_str().context("an object without uid")
}

/// Returns the idempotency keys of the writes to a path, without the object's uid.
fn keys(outside: &Outside, path: &str, object: &Value) -> Result<Vec<String>> {
    let uid = uid(object)?;
    let key = |request: &Request| {
        let key = request.header("idempotency-key").and_then(|key| key.strip_prefix(uid)?.strip_prefix('-'));
        key.map(str::to_owned).context("a write without the object's idempotency key")
    };
    outside.requests().iter().filter(|one| is_write(one) && one.path == path).map(key).collect()
}

/// Returns the numbers of the corrections in idempotency keys. Fingerprints of the desired state and of the target's
/// steps follow them.
fn numbers(keys: &[String]) -> Vec<&str> {
    keys.iter().filter_map(|key| key.rsplitn(3, '-').nth(2)).collect()
}

/// Returns the seconds between the writes among requests, in the order of arrival.
fn gaps(requests: &[Request]) -> Vec<f64> {
    let writes: Vec<Instant> = requests.iter().filter(|one| is_write(one)).map(|one| one.at).collect();
    writes.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect()
}

/// Checks that the documented pauses were kept, except the first, which is zero. A pause separates the starts of
/// corrections. On a busy machine a request may arrive long after its start, but never before the previous one. So at
/// least the pause passes from the request before the pause's own to the one after it. The first pause of the two is a
/// third as long, so pauses that do not grow would show. Tests with simulated time check the exact lengths.
fn ensure_no_shorter(gaps: &[f64], pauses: &[f64]) -> Result<()> {
    let kept = |(pair, pause): (&[f64], &f64)| pair.iter().sum::<f64>() >= *pause;
    let all = gaps.len() >= pauses.len() && gaps.windows(2).zip(&pauses[1..]).all(kept);
    ensure!(all, "between corrections there were {gaps:?} s, at pauses of {pauses:?} s");
    Ok(())
}

/// Requests one more create after `before`. Returns the elapsed time. A controller that has just become the leader
/// treats the existing value as old. This can happen on a machine too busy to renew Leases, and then another request is
/// needed.
async fn request_retry(world: &World, (outside, method): (&Outside, &str), before: usize) -> Result<Duration> {
    for attempt in 1..=5 {
        let asked = Instant::now();
        let annotations = json!({names::RETRY_REQUESTED_ANNOTATION: format!("tuesday {attempt}")});
        world.patch_proxy("web", json!({"metadata": {"annotations": annotations}})).await?;
        if let Ok(tried) = tokio::time::timeout(AT_ONCE, outside.wait_for_next(method, CREATE, before)).await {
            return Ok(tried?.at - asked);
        }
    }
    bail!("asked five times, and nothing came within {AT_ONCE:?}")
}

#[tokio::test]
async fn exhausted_attempts_wait_for_a_request() -> Result<()> {
    World::run("exhausted", async |world| {
        let outside = world.start_outside().await?;
        outside.on("PUT", CREATE, Answer::json(201, &json!({})));
        let target = target(world, &outside)?.with("/spec/correct/limits", json!({"attempts": 2}));
        world.apply_target(&created_by_put(target)).await?;
        world.start_both().await?;
        // The initial value is old.
        let annotations = json!({"annotations": {names::RETRY_REQUESTED_ANNOTATION: "monday"}});
        world.create_proxy_with("web", annotations, spec()).await?;
        let exhausted = world.wait_for_note("web", "False", "AttemptsExhausted").await?;
        ensure!(note(&exhausted).correction == 2 && tag(&exhausted).unhealed == 2, "{exhausted}");
        // With attempts left, the next would come after two seconds.
        world.nothing_is_written_for(Duration::from_secs(8)).await?;
        ensure!(outside.count("PUT") == 2, "{:?}", outside.requests());

        request_retry(world, (&outside, "PUT"), 2).await?;
        world
            .wait_for_proxy("web", "exhausted again", |object| {
                describe(object, "driftCorrected") == "False/AttemptsExhausted" && note(object).correction == 3
            })
            .await?;
        // The one after that would come after six seconds.
        world.nothing_is_written_for(Duration::from_secs(10)).await?;
        ensure!(outside.count("PUT") == 3, "{:?}", outside.requests());

        outside.on("GET", "/proxies/*", in_sync());
        world.wait_for_note("web", "True", "CorrectionApplied").await?;
        world.nothing_is_written_for(Duration::from_secs(3)).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_refusal_ends_in_exhausted_attempts() -> Result<()> {
    World::run("refused", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        outside.on("POST", CREATE, Answer::json(422, &json!({"error": "no"})));
        let target = target(world, &outside)?.with("/spec/correct/limits", json!({"attempts": 2}));
        world.apply_target(&target).await?;
        world.start_both().await?;
        let history = world.watch_object("web").await?;
        let object = world.create_some_proxy("web").await?;
        let exhausted = world.wait_for_note("web", "False", "AttemptsExhausted").await?;
        ensure!(note(&exhausted).correction == 2, "{exhausted}");
        history.wait_for_transitions("driftCorrected", &[("False", "CorrectionFailed")]).await?;
        world.nothing_is_written_for(Duration::from_secs(8)).await?;
        ensure!(numbers(&keys(&outside, CREATE, &object)?) == ["1", "2"], "{:?}", outside.requests());
        outside.forget();
        request_retry(world, (&outside, "POST"), 2).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        ensure!(toxiproxy.proxy("web").await?.is_some());
        let keys = keys(&outside, CREATE, &object)?;
        ensure!(numbers(&keys) == ["1", "2", "3"], "{keys:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_doubtful_answer_keeps_its_key() -> Result<()> {
    World::run("in doubt", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        outside.on("POST", CREATE, Answer::status(503));
        // No regular poll: one between the last attempt and its note would correctly cause one more write.
        let target = target(world, &outside)?.with("/spec/interval", json!("24h"));
        // Without this promise, a poll comes before another create.
        let target = target.with("/spec/correct/http/create/0/idempotent", json!(true));
        world.apply_target(&target.with("/spec/correct/limits", json!({"attempts": 1}))).await?;
        world.start_both().await?;
        let history = world.watch_object("web").await?;
        let object = world.create_some_proxy("web").await?;
        outside.wait_for_next("POST", CREATE, 1).await?;
        let failed = world.wait_for_note("web", "False", "CorrectionFailed").await?;
        ensure!(note(&failed).correction == 0, "{failed}");
        let written = world.writes().await?;
        outside.wait_for_next("POST", CREATE, 2).await?;
        outside.forget();
        world.wait_for_verdict("web", "False", "InSync").await?;
        let noted = world.wait_for_note("web", "True", "CorrectionApplied").await?;
        ensure!(note(&noted).correction == 1, "{noted}");
        ensure!(toxiproxy.proxy("web").await?.is_some());
        let keys = keys(&outside, CREATE, &object)?;
        // Four, and more if the machine paused between two checks of this test.
        ensure!(keys.len() >= 4 && keys.iter().all(|key| *key == keys[0] && key.starts_with("1-")), "{keys:?}");
        let gaps = gaps(&outside.requests());
        ensure_no_shorter(&gaps, &[0.0, 2.0, 6.0])?;
        let seen = history.transitions("driftCorrected").await?;
        ensure!(!seen.iter().any(|one| one.contains("AttemptsExhausted")), "{seen:?}");
        // The writes after the first failure: the record before each create, the correction and its verification.
        let written = world.writes().await? - written;
        ensure!(written.status <= 2 + keys.len() as u64 && written.refused == 0, "{written:?}");
        Ok(())
    })
    .await
}

/// Changes an object's resource again as soon as it is in sync, four times. Returns the pauses between the writes.
async fn undo_every_heal(world: &World, (toxiproxy, outside): &(Toxiproxy, Outside), name: &str) -> Result<Vec<f64>> {
    let before = outside.requests().len();
    world.create_some_proxy(name).await?;
    for round in 1..=4 {
        world.wait_until_healed_by(name, round).await?;
        toxiproxy.update(name, json!({"upstream": "127.0.0.1:10"})).await?;
        if round < 4 {
            outside.wait_for_next("POST", &format!("/proxies/{name}"), usize::try_from(round)? - 1).await?;
        }
    }
    world.wait_until_healed_by(name, 5).await?;
    let requests = outside.requests().split_off(before);
    let gaps = gaps(&requests);
    ensure!(gaps.len() == 4, "a creation and four updates: {requests:?}");
    ensure_no_shorter(&gaps, &[0.0, 2.0, 6.0, 18.0])?;
    Ok(gaps)
}

#[tokio::test]
async fn who_undoes_every_heal_slows_corrections_down() -> Result<()> {
    World::run("third party", async |world| {
        let system = world.start_fronted_toxiproxy().await?;
        world.apply_target(&target(world, &system.1)?.with("/spec/interval", json!("1s"))).await?;
        let poller = world.start_poller().await?;
        let controller = world.start_controller().await?;
        // The controller forgets recent corrections if it loses its Lease, as on a paused machine.
        let mut name = "web";
        let mut gaps = undo_every_heal(world, &system, name).await;
        if controller.times_led()? > 1 {
            world.delete_proxy(name).await?;
            world.wait_until_gone(name).await?;
            name = "again";
            gaps = undo_every_heal(world, &system, name).await;
        }
        gaps?;
        world.wait_for_event("VerdictFlapping", name).await?;
        wait::until("the flapping object to be counted", wait::DEADLINE, async || {
            let flapping = poller.metrics().await?.sum("drift_poller_objects_flapping", &[]);
            Ok(if flapping == 1.0 { Seen::Met(()) } else { Seen::Instead(flapping.to_string()) })
        })
        .await?;
        let tells = |event: &&Value| event["reason"] == "VerdictFlapping" && event["regarding"]["name"] == name;
        let told = world.events().await?.iter().filter(tells).count();
        ensure!(told == 1, "{told} Events say that the verdict flaps");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_lagging_outside_gets_one_write() -> Result<()> {
    const LAG: Duration = Duration::from_secs(5);
    /// Much longer, so that the external system of a busy machine does not lag beyond it.
    const SETTLE: Duration = Duration::from_secs(14);
    /// The claim on the object may lead to a poll before the outcome is noted. `settle` applies to later ones.
    const UNDER_WAY: Duration = Duration::from_secs(1);
    World::run("lagging", async |world| {
        let outside = world.start_outside().await?;
        outside.on("POST", CREATE, Answer::json(201, &json!({})));
        // No regular poll: one might be in progress when the correction is noted, and `settle` applies to later ones.
        let target = target(world, &outside)?.with("/spec/interval", json!("24h"));
        world.apply_target(&target.with("/spec/correct/settle", json!(format!("{}s", SETTLE.as_secs())))).await?;
        world.start_both().await?;
        let history = world.watch_object("web").await?;
        world.create_proxy("web", spec()).await?;
        let written = outside.wait_for_next("POST", CREATE, 0).await?.at;
        // Until then reads do not show the accepted write.
        tokio::time::sleep_until((written + LAG).into()).await;
        outside.on("GET", "/proxies/*", in_sync());
        world.wait_for_verdict("web", "False", "InSync").await?;
        ensure!(outside.writes() == 1, "{:?}", outside.requests());
        let seen = history.transitions("driftObserved").await?;
        ensure!(seen.iter().filter(|one| one.starts_with("True")).count() <= 1, "{seen:?}");
        let reads = outside.requests_to("GET", UPDATE);
        ensure!(reads.iter().any(|read| read.at > written + SETTLE), "no poll after settle");
        let after = reads.iter().map(|read| read.at.saturating_duration_since(written));
        let early: Vec<_> = after.filter(|after| (UNDER_WAY..SETTLE).contains(after)).collect();
        ensure!(early.is_empty(), "polled before the correction had settled: {early:?} after the write");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_system_with_another_form_is_named() -> Result<()> {
    World::run("another form", async |world| {
        let outside = world.start_outside().await?;
        let kept = json!({"listen": "127.0.0.1:1", "upstream": "host.example:2", "enabled": true});
        outside.on("PUT", CREATE, Answer::json(201, &kept));
        outside.on("POST", UPDATE, Answer::json(200, &kept));
        world.apply_target(&created_by_put(target(world, &outside)?)).await?;
        world.start_both().await?;
        world.create_proxy("web", json!({"listen": "127.0.0.1:1", "upstream": "Host.example:2"})).await?;
        outside.wait_for_next("PUT", CREATE, 0).await?;
        outside.on("GET", UPDATE, Answer::json(200, &kept));
        let noted = "sent twice, the same answer: perhaps the system keeps another form, and a rule with as: caseInsensitive in \
                     compare ends that: 1 field differs: /upstream ";
        let is_noted = |object: &Value| message(object, "driftObserved").starts_with(noted);
        let object = world.wait_for_proxy("web", "the note about another form", is_noted).await?;
        ensure!(tag(&object).unhealed >= 2, "{object}");
        let place = ["-n", world.objects_namespace(), "--targets-namespace", world.programs_namespace()];
        let listed = world.run_command(&[&["get", "-o", "wide"], &place[..]].concat()).await?;
        ensure!(listed.output.contains(" /upstream ") && listed.output.contains("sent twice"), "{listed:?}");
        Ok(())
    })
    .await
}
