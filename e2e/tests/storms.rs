//! Many objects at once: mass drift is held until a person looks, a single one is not, and whatever is corrected is
//! corrected within the limits as the external system itself measures them.

mod open_breaker;
mod shown_holds;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use drift_e2e::programs::Program;
use drift_e2e::systems::outside::{Answer, Documents, Outside};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use serde_json::{Value, json};

/// Storms of hundreds on two cores that other tests use too.
const STORM_DEADLINE: Duration = Duration::from_secs(180);

/// The breaker opens at ten objects, so nine may have been corrected before.
const MOST_BEFORE_TEN: usize = 9;

/// An external system with many documents, one target for it, and both programs.
struct Bed {
    outside: Outside,
    documents: Documents,
    poller: Arc<Program>,
    controller: Arc<Program>,
    target: Target,
}

impl Bed {
    async fn new(world: &World, limits: Value) -> Result<Self> {
        let outside = world.start_outside().await?;
        let documents = outside.keep_documents();
        let target = Target::of_documents(world, outside.url())?
            .with("/spec/interval", json!("3s"))
            .with("/spec/read/limits", json!({"concurrent": 16, "perSecond": 1000}))
            .with("/spec/correct/limits", limits);
        world.apply_target(&target).await?;
        let poller = world.start_poller().await?;
        let controller = world.start_controller().await?;
        Ok(Self { outside, documents, poller, controller, target })
    }

    /// A bed whose objects were created outside and are in sync.
    async fn in_sync(world: &World, count: usize, limits: Value) -> Result<Self> {
        let bed = Self::new(world, limits).await?;
        world.create_proxies(&names(count), &json!({}), spec).await?;
        world.wait_for_verdicts(count, "False/InSync", STORM_DEADLINE).await?;
        ensure!(bed.documents.count() == count, "{} documents", bed.documents.count());
        bed.outside.forget_requests();
        Ok(bed)
    }

    /// A bed whose objects were there outside before, may be adopted, and are in sync.
    async fn adopting(world: &World, count: usize, limits: Value) -> Result<Self> {
        let mut bed = Self::new(world, limits).await?;
        bed.target = bed.target.with("/spec/correct/existing", json!("Adopt"));
        world.apply_target(&bed.target).await?;
        names(count).iter().for_each(|name| bed.documents.put(&path(name), desired(name)));
        world.create_proxies(&names(count), &json!({}), spec).await?;
        world.wait_for_verdicts(count, "False/InSync", STORM_DEADLINE).await?;
        bed.outside.forget_requests();
        Ok(bed)
    }

    /// Somebody changes every document at one instant.
    fn change_all(&self) {
        self.documents.change_all(|_, document| document["upstream"] = json!("elsewhere:1"));
    }

    fn changed(&self) -> usize {
        self.documents.count_of(|document| document["upstream"] == "elsewhere:1")
    }

    async fn breaker(&self) -> Result<(f64, f64)> {
        let metrics = self.controller.metrics().await?;
        let held = metrics.sum("drift_controller_held", &[("why", "BreakerOpen")]);
        Ok((metrics.sum("drift_controller_breaker_open", &[]), held))
    }

    /// Waits until the breaker is open and holds this many.
    async fn wait_until_held(&self, count: usize) -> Result<()> {
        #[expect(clippy::cast_precision_loss, reason = "a small count")]
        let wanted = (1.0, count as f64);
        wait::until(format!("an open breaker that holds {count} objects"), wait::DEADLINE, async || {
            let seen = self.breaker().await?;
            Ok(if seen == wanted { Seen::Met(()) } else { Seen::Instead(format!("{seen:?}")) })
        })
        .await
    }
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("web-{number}")).collect()
}

fn spec(name: &str) -> Value {
    json!({"listen": format!("{name}:80"), "upstream": "here:1"})
}

/// What the target writes for such an object.
fn desired(name: &str) -> Value {
    json!({"listen": format!("{name}:80"), "upstream": "here:1", "enabled": true})
}

fn path(name: &str) -> String {
    format!("/proxies/{name}")
}

/// The largest number of external writes within any span of this length.
fn most_within(outside: &Outside, span: Duration) -> usize {
    let requests = outside.requests();
    let writes: Vec<Instant> = requests.iter().filter(|one| one.method == "PUT").map(|one| one.at).collect();
    let within = |(index, first): (usize, &Instant)| {
        writes[index..].iter().take_while(|one| one.duration_since(*first) < span).count()
    };
    writes.iter().enumerate().map(within).max().unwrap_or_default()
}

/// Each document was written exactly once.
fn ensure_each_written_once(outside: &Outside, count: usize) -> Result<()> {
    let requests = outside.requests();
    let writes: Vec<&str> = requests.iter().filter(|one| one.method == "PUT").map(|one| one.path.as_str()).collect();
    let distinct: BTreeSet<&str> = writes.iter().copied().collect();
    ensure!(
        writes.len() == count && distinct.len() == count,
        "{} writes to {} documents",
        writes.len(),
        distinct.len()
    );
    Ok(())
}

async fn breaker_events(world: &World, reason: &str) -> Result<Vec<String>> {
    let events = world.events().await?;
    let ours = events.iter().filter(|event| event["reason"] == reason && event["regarding"]["kind"] == "ConfigMap");
    Ok(ours.map(|event| event["note"].as_str().unwrap_or_default().to_owned()).collect())
}

#[tokio::test]
async fn mass_drift_is_held_after_nine_corrections() -> Result<()> {
    World::run("mass drift", async |world| {
        let bed = Bed::in_sync(world, 20, json!({"perMinute": 600})).await?;
        bed.change_all();
        world.wait_for_event("BreakerOpened", "drift-targets").await?;
        wait::until("the drift of all to be known", wait::DEADLINE, async || {
            let (open, held) = bed.breaker().await?;
            let held = held as usize;
            let settled = open == 1.0 && held == bed.changed() && held > 0;
            Ok(if settled {
                Seen::Met(())
            } else {
                Seen::Instead(format!("open {open}, held {held}, changed {}", bed.changed()))
            })
        })
        .await?;
        bed.outside.nothing_is_written_for(Duration::from_secs(5)).await?;
        let before = bed.outside.writes();
        ensure!(before <= MOST_BEFORE_TEN, "{before} corrections got through");
        let notes = breaker_events(world, "BreakerOpened").await?;
        ensure!(
            notes.len() == 1 && notes[0].starts_with("the breaker of target proxies is open (BreakerOpen): "),
            "{notes:?}"
        );
        ensure!(bed.controller.log_text()?.contains("BreakerOpened"), "the log does not say so");
        ensure!(breaker_events(world, "BreakerClosed").await?.is_empty(), "it closed by itself");

        let edited = bed.target.clone().with("/spec/correct/limits/maxDriftedPercent", json!(100));
        world.apply_target(&edited).await?;
        world.wait_for_verdicts(20, "False/InSync", wait::DEADLINE).await?;
        ensure!(bed.changed() == 0 && bed.outside.writes() == 20, "{} writes", bed.outside.writes());
        world.wait_for_event("BreakerClosed", "drift-targets").await?;
        wait::until("nothing to be held any more", wait::DEADLINE, async || {
            let seen = bed.breaker().await?;
            Ok(if seen == (0.0, 0.0) { Seen::Met(()) } else { Seen::Instead(format!("{seen:?}")) })
        })
        .await?;
        Ok(())
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_typo_in_compare_writes_nothing_outside() -> Result<()> {
    World::run_crowded("typo", async |world| {
        let bed = Bed::adopting(world, 100, json!({"perMinute": 6000})).await?;
        // Few reads a second: were the first that differ corrected before the last is read, it would show.
        let typo = bed
            .target
            .clone()
            .with("/spec/compare/desired/upstream", json!("${self.spec.upstream + ' '}"))
            .with("/spec/interval", json!("1m"))
            .with("/spec/read/limits/perSecond", json!(4));
        world.apply_target(&typo).await?;
        world.wait_for_event("BreakerOpened", "drift-targets").await?;
        world.wait_for_verdicts(100, "True/FieldsDiffer", wait::DEADLINE).await?;
        bed.wait_until_held(100).await?;
        bed.outside.nothing_is_written_for(Duration::from_secs(5)).await?;
        ensure!(bed.outside.writes() == 0, "{} written outside", bed.outside.writes());

        world.apply_target(&bed.target).await?;
        world.wait_for_verdicts(100, "False/InSync", wait::DEADLINE).await?;
        world.wait_for_event("BreakerClosed", "drift-targets").await?;
        ensure!(bed.outside.writes() == 0, "{} written outside", bed.outside.writes());
        Ok(())
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn two_hundred_new_objects_open_no_breaker() -> Result<()> {
    World::run_crowded("two hundred", async |world| {
        let bed = Bed::new(world, json!({"concurrent": 8, "perMinute": 6000})).await?;
        world.create_proxies(&names(200), &json!({}), spec).await?;
        world.wait_for_verdicts(200, "False/InSync", STORM_DEADLINE).await?;
        ensure!(bed.documents.count() == 200, "{} documents", bed.documents.count());
        ensure_each_written_once(&bed.outside, 200)?;
        ensure!(breaker_events(world, "BreakerOpened").await?.is_empty(), "an installation opened the breaker");
        let writes = world.writes().await?;
        // Claim and note; drifted, in sync where a regular poll sees it before the note, and verified.
        ensure!(writes.status <= 200 * 5, "{} status writes for 200 creations", writes.status);
        Ok(())
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn three_hundred_are_healed_within_the_limits() -> Result<()> {
    World::run_crowded("limits", async |world| {
        let limits = json!({"concurrent": 4, "perMinute": 200, "maxDriftedPercent": 100});
        let bed = Bed::adopting(world, 300, limits).await?;
        // An answer that takes its time, so that corrections overlap.
        bed.outside.on("PUT", "/*", Answer::stored().after(Duration::from_millis(50)));
        let began = Instant::now();
        bed.change_all();
        wait::until("all to be healed", STORM_DEADLINE, async || {
            let changed = bed.changed();
            Ok(if changed == 0 { Seen::Met(()) } else { Seen::Instead(format!("{changed} are changed still")) })
        })
        .await?;
        let took = began.elapsed();
        world.wait_for_verdicts(300, "False/InSync", wait::DEADLINE).await?;
        ensure_each_written_once(&bed.outside, 300)?;
        let at_once = bed.outside.most_at_once("PUT");
        ensure!((2..=4).contains(&at_once), "{at_once} at once where 4 are allowed");
        // A correction begins some time before its request arrives: ten seconds for a loaded machine.
        let in_a_minute = most_within(&bed.outside, Duration::from_secs(50));
        ensure!(in_a_minute <= 200, "{in_a_minute} within a minute where 200 are allowed");
        ensure!(took > Duration::from_secs(50), "300 took {took:?}, at 200 a minute");
        ensure!(breaker_events(world, "BreakerOpened").await?.is_empty(), "at 100 % the breaker opened");
        Ok(())
    })
    .await
}
