//! A host with five hundred objects goes down, hangs, flaps and returns: other hosts are not affected, each object is
//! written seldom, and no knowledge is lost.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use drift_e2e::systems::outside::{Answer, Documents, Outside};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, condition, count_verdicts};
use serde_json::{Value, json};

/// Deadline of storms with hundreds of objects on two shared cores.
const STORM_DEADLINE: Duration = Duration::from_secs(150);

/// Poll interval of the objects on the other host. Three intervals without a poll would be reported for a healthy host,
/// so they are longer than the possible delay on a loaded machine.
const OTHER_INTERVAL: Duration = Duration::from_secs(4);

/// Possible delay of a poll on a loaded machine. A poll that waited for the bad host would be much later: its five
/// hundred polls of two seconds each, sixteen at a time, take a minute.
const LATE: Duration = Duration::from_secs(10);

/// Requests to a host that is down until all of its 500 objects are Unknown: sixteen at a time, each repeated once
/// after a broken connection, until the host is paused. A late response from before the fault ends that pause, so
/// twice. Then one in each pause of 1, 2, 4 … 30 s.
const REQUESTS_IN_OUTAGE: usize = 2 * 2 * 16 + 10;

/// A host: its documents, and the target that reads them.
struct Host {
    name: &'static str,
    outside: Outside,
    documents: Documents,
    names: Vec<String>,
}

impl Host {
    async fn new(world: &World, name: &'static str, count: usize) -> Result<Self> {
        let outside = world.start_outside().await?;
        let documents = outside.keep_documents();
        let names: Vec<String> = (0..count).map(|number| format!("{name}-{number}")).collect();
        for name in &names {
            documents.put(&path(name), json!({"listen": format!("{name}:80"), "upstream": "here:1", "enabled": true}));
        }
        Ok(Self { name, outside, documents, names })
    }

    fn target(&self, world: &World, interval: &str) -> Result<Target> {
        Ok(Target::shipped(world, self.outside.url())?
            .named(self.name)
            .with("/spec/objects/labelSelector", json!(format!("host={}", self.name)))
            .with("/spec/interval", json!(interval))
            // A machine that pauses for a second must not look like a host that hangs.
            .with("/spec/timeout", json!("2s"))
            .with("/spec/read/limits", json!({"concurrent": 16, "perSecond": 250}))
            .with("/spec/correct/mode", json!("Observe")))
    }

    async fn create_objects(&self, world: &World) -> Result<()> {
        let metadata = json!({"labels": {"host": self.name}});
        let spec = |name: &str| json!({"listen": format!("{name}:80"), "upstream": "here:1"});
        world.create_proxies(&self.names, &metadata, spec).await
    }

    fn refuse(&self) {
        self.outside.forget();
        self.outside.on("*", "/*", Answer::reset());
    }

    fn hang(&self) {
        self.outside.forget();
        self.outside.on("*", "/*", Answer::never());
    }

    fn come_back(&self) {
        self.outside.forget();
    }

    /// Counts the reads of its objects by the second after `from`.
    fn requests_by_second(&self, from: Instant) -> BTreeMap<u64, usize> {
        let mut seconds = BTreeMap::new();
        for time in self.outside.times_by_path("GET", from).into_values().flatten() {
            *seconds.entry(time.saturating_duration_since(from).as_secs()).or_default() += 1;
        }
        seconds
    }

    /// Returns the longest time without a request for one of its objects between the two moments.
    fn longest_silence(&self, from: Instant, to: Instant) -> Duration {
        let times = self.outside.times_by_path("GET", from);
        let silence = |name: &String| {
            let times = times.get(&path(name)).map_or(&[][..], Vec::as_slice);
            let marks: Vec<Instant> = std::iter::once(from).chain(times.iter().copied()).chain([to]).collect();
            marks.windows(2).map(|pair| pair[1].saturating_duration_since(pair[0])).max().unwrap_or_default()
        };
        self.names.iter().map(silence).max().unwrap_or_default()
    }
}

fn path(name: &str) -> String {
    format!("/proxies/{name}")
}

fn bad_target(world: &World, bad: &Host) -> Result<Target> {
    Ok(bad.target(world, "3s")?.with("/spec/confirm/unknown", json!(1)))
}

fn other_target(world: &World, other: &Host) -> Result<Target> {
    other.target(world, &format!("{}s", OTHER_INTERVAL.as_secs()))
}

/// Creates the host under test and another one, with all their objects in sync. One failed poll makes an object of the
/// first Unknown, so that all of them change within one interval.
async fn two_hosts(world: &World) -> Result<(Host, Host)> {
    let bad = Host::new(world, "bad", 500).await?;
    let other = Host::new(world, "other", 50).await?;
    world.apply_targets(&[bad_target(world, &bad)?, other_target(world, &other)?]).await?;
    world.start_poller().await?;
    bad.create_objects(world).await?;
    other.create_objects(world).await?;
    world.wait_for_verdicts(bad.names.len() + other.names.len(), "False/InSync", STORM_DEADLINE).await?;
    Ok((bad, other))
}

/// Waits until all objects of the bad host are Unknown for this reason. Most of them are never polled, because the host
/// is paused.
async fn wait_until_unknown(world: &World, bad: &Host, reason: &str) -> Result<Vec<Value>> {
    let wanted = format!("Unknown/{reason}");
    wait::until(format!("{} objects to be {wanted}", bad.names.len()), STORM_DEADLINE, async || {
        let objects = world.all_proxies().await?;
        let counts = count_verdicts(&objects, "driftObserved");
        let met = counts.get(&wanted) == Some(&bad.names.len());
        tokio::time::sleep(Duration::from_millis(500)).await;
        Ok(if met { Seen::Met(objects) } else { Seen::Instead(format!("{counts:?}")) })
    })
    .await
}

/// Returns the largest number of status writes of one object since `before`.
async fn most_written(world: &World, before: &BTreeMap<String, usize>) -> Result<usize> {
    let now = world.verdicts_written().await?;
    let since = now.iter().map(|(name, count)| count - before.get(name).copied().unwrap_or_default());
    Ok(since.max().unwrap_or_default())
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn an_outage_is_written_and_delays_no_other_host() -> Result<()> {
    World::run_crowded("host outage", async |world| {
        let (bad, other) = two_hosts(world).await?;
        let down = Instant::now();
        let asked = bad.outside.count("GET");
        bad.refuse();
        wait_until_unknown(world, &bad, "ExternalUnreachable").await?;
        let requests = bad.outside.count("GET") - asked;
        let by_second = bad.requests_by_second(down);
        ensure!(
            requests <= REQUESTS_IN_OUTAGE,
            "a host that answers nothing was asked {requests} times: {by_second:?}"
        );
        bad.hang();
        wait_until_unknown(world, &bad, "PollTimedOut").await?;
        world.nothing_is_written_for(Duration::from_secs(3)).await?;

        let silence = other.longest_silence(down, Instant::now());
        ensure!(silence <= OTHER_INTERVAL + LATE, "an object on the other host was not polled for {silence:?}");
        // From here on a paused machine must not look like a host that hangs. Neither one failed poll nor three
        // intervals without one may report that.
        let patient = bad.target(world, "6s")?.with("/spec/confirm/unknown", json!(20));
        world.apply_targets(&[patient, other_target(world, &other)?]).await?;
        let during = world.verdicts_written().await?;
        bad.come_back();
        world.wait_for_verdicts(550, "False/InSync", STORM_DEADLINE).await?;
        world.nothing_is_written_for(Duration::from_secs(8)).await?;
        let most = most_written(world, &during).await?;
        ensure!(most == 1, "an object was written {most} times on return");
        Ok(())
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_flapping_host_costs_few_writes() -> Result<()> {
    World::run_crowded("flapping", async |world| {
        let (bad, other) = two_hosts(world).await?;
        let before = world.verdicts_written().await?;
        let began = Instant::now();
        for flap in 0..20 {
            if flap % 2 == 0 {
                bad.refuse()
            } else {
                bad.come_back()
            }
            tokio::time::sleep(Duration::from_secs(3)).await;
        }
        let silence = other.longest_silence(began, Instant::now());
        ensure!(silence <= OTHER_INTERVAL + LATE, "an object on the other host was not polled for {silence:?}");
        world.wait_for_verdicts(550, "False/InSync", STORM_DEADLINE).await?;
        // Six at once and one a minute, for the minute of flapping and those that started after it.
        let most = most_written(world, &before).await?;
        let minutes = usize::try_from(began.elapsed().as_secs() / 60)?;
        ensure!(most <= 6 + minutes + 1, "an object was written {most} times in {minutes} whole minutes of flapping");

        // Another host's outage is written without a wait.
        let down = Instant::now();
        other.refuse();
        wait::until("the other host's objects to be Unknown", wait::DEADLINE, async || {
            // An object behind the first host may have spent its bucket on a last Unknown and keep it for a minute.
            let mut objects = world.all_proxies().await?;
            objects.retain(|object| object["metadata"]["labels"]["host"] == other.name);
            let counts = count_verdicts(&objects, "driftObserved");
            let met = counts.get("Unknown/ExternalUnreachable") == Some(&50);
            Ok(if met { Seen::Met(()) } else { Seen::Instead(format!("{counts:?}")) })
        })
        .await?;
        let told = down.elapsed();
        ensure!(told < Duration::from_secs(30), "the other host's outage was told only after {told:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_restart_in_an_outage_keeps_in_sync() -> Result<()> {
    World::run_crowded("restart in outage", async |world| {
        let bad = Host::new(world, "bad", 60).await?;
        world.apply_target(&bad.target(world, "4s")?).await?;
        let poller = world.start_poller().await?;
        bad.create_objects(world).await?;
        world.wait_for_verdicts(60, "False/InSync", STORM_DEADLINE).await?;
        bad.refuse();
        let unknown = wait_until_unknown(world, &bad, "ExternalUnreachable").await?;
        ensure!(
            unknown
                .iter()
                .filter_map(|object| condition(object, "driftObserved"))
                .all(|entry| { entry["message"].as_str().is_some_and(|message| message.contains(", seen")) }),
            "an Unknown does not say that it was in sync before"
        );
        poller.kill().await?;
        for (number, name) in bad.names.iter().enumerate() {
            match number % 3 {
                0 => bad.documents.remove(&path(name)),
                1 => bad.documents.change_all(|at, document| {
                    if at == path(name) {
                        document["upstream"] = json!("elsewhere:1");
                    }
                }),
                _ => {}
            }
        }
        world.start_poller().await?;
        // As many as are needed until the host is paused.
        let asked = bad.outside.count("GET");
        bad.outside.wait_for_requests("GET", asked + 3).await?;
        bad.come_back();
        world.wait_for_verdicts(20, "False/InSync", wait::DEADLINE).await?;
        let expected = BTreeMap::from([("False/InSync", 20), ("True/ExternalMissing", 20), ("True/FieldsDiffer", 20)]);
        wait::until("all to be judged again", wait::DEADLINE, async || {
            let objects = world.all_proxies().await?;
            let seen = count_verdicts(&objects, "driftObserved");
            let met = seen.iter().map(|(verdict, count)| (verdict.as_str(), *count)).eq(expected.clone());
            if seen.keys().any(|verdict| verdict.starts_with("True/Not")) {
                return Ok(Seen::Hopeless(format!("what was in sync before counts as never seen: {seen:?}")));
            }
            Ok(if met { Seen::Met(()) } else { Seen::Instead(format!("{seen:?}")) })
        })
        .await?;
        Ok(())
    })
    .await
}
