//! Several replicas of each program: one works and the others stand by, even if the leader fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use drift_e2e::cluster::control_plane::AuditRecord;
use drift_e2e::http_client;
use drift_e2e::programs::clock_shift;
use drift_e2e::programs::{LED, Options, Program, Which};
use drift_e2e::systems::outside::{Answer, Hold, Outside, Request};
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, condition, describe};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// Time within which a new leader acts after a crash.
const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(15);

/// A record must be unchanged for 12 s before another takes the Lease. It is 3 s old when its holder dies, or up to 8 s
/// on a busy machine, after which a holder that cannot renew it steps down.
const TAKEN_OVER_AFTER: Duration = Duration::from_secs(12 - 8);

/// Time within which a released Lease has a new holder.
const HANDED_OVER_WITHIN: Duration = Duration::from_secs(1);

/// Additional time for a busy machine.
const SLACK: Duration = Duration::from_secs(7);

/// Twice the duration of a Lease.
const TWICE_THE_LEASE: Duration = Duration::from_secs(24);

/// A toxiproxy behind a recording server, and two replicas of each program. The first of each leads.
struct Bed {
    toxiproxy: Toxiproxy,
    outside: Outside,
    pollers: [Arc<Program>; 2],
    controllers: [Arc<Program>; 2],
}

fn instance(name: &str) -> Options {
    Options { instance: Some(name.to_owned()), ..Options::default() }
}

impl Bed {
    async fn start(world: &World) -> Result<Self> {
        Self::start_with(world, instance).await
    }

    async fn start_with(world: &World, options: impl Fn(&str) -> Options) -> Result<Self> {
        let toxiproxy = world.start_toxiproxy().await?;
        let outside = world.start_outside().await?;
        outside.forward_to(toxiproxy.url());
        world.apply_target(&Target::shipped(world, outside.url())?).await?;
        let mut programs = Vec::new();
        for (which, names) in
            [(Which::Poller, ["poller-a", "poller-b"]), (Which::Controller, ["controller-a", "controller-b"])]
        {
            for name in names {
                programs.push(world.start(which, options(name)).await?);
                wait_for_holder(world, which, names[0]).await?;
            }
        }
        let [a, b, c, d] = programs.try_into().ok().context("not four programs")?;
        Ok(Self { toxiproxy, outside, pollers: [a, b], controllers: [c, d] })
    }

    async fn create_in_sync(&self, world: &World, name: &str) -> Result<()> {
        world.create_proxy(name, json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
        world.wait_until_verified(name).await.map(drop)
    }

    async fn drift(&self, name: &str) -> Result<()> {
        self.toxiproxy.update(name, json!({"upstream": "127.0.0.1:10"})).await.map(drop)
    }

    /// Waits until this correction has healed the object and is verified: no further write follows.
    async fn wait_until_healed(&self, world: &World, name: &str, correction: u64) -> Result<()> {
        self.toxiproxy.wait_for(name, |proxy| proxy.is_some_and(|proxy| proxy.upstream == "127.0.0.1:9")).await?;
        let number = format!("correction {correction}");
        let verified = |object: &Value| {
            let message =
                |kind| condition(object, kind).and_then(|entry| entry["message"].as_str()).unwrap_or_default();
            describe(object, "driftObserved") == "False/InSync"
                && message("driftObserved").contains(&number)
                && message("driftCorrected").starts_with(&number)
        };
        world.wait_for_proxy(name, &format!("healed by {number}"), verified).await.map(drop)
    }

    /// Waits until all earlier requests are read, so that they do not count as later. Our own request arrives after
    /// everything that waits on the same machine.
    async fn read_what_was_sent(&self) -> Result<()> {
        let answer = http_client::new()?.get(format!("{}/marker", self.outside.url())).send().await?;
        answer.bytes().await.map(drop).context("reading the answer to a request of our own")
    }

    /// Returns the time at which the first request of this method came after a moment.
    fn first_after(&self, method: &str, moment: Instant) -> Option<Instant> {
        let requests = self.outside.requests();
        requests.iter().find(|request| request.method == method && request.at > moment).map(|request| request.at)
    }

    async fn wait_for_first_after(&self, method: &str, moment: Instant) -> Result<Instant> {
        wait::until(format!("a {method} outside"), wait::DEADLINE, async || {
            Ok(self.first_after(method, moment).map_or_else(|| Seen::Instead("none".to_owned()), Seen::Met))
        })
        .await
    }
}

async fn wait_for_holder(world: &World, which: Which, instance: &str) -> Result<Instant> {
    wait::until(format!("{instance} to hold the Lease {}", which.name()), wait::DEADLINE, async || {
        let lease = world.lease(which.name()).await?.unwrap_or_default();
        let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
        Ok(if holder.starts_with(instance) { Seen::Met(Instant::now()) } else { Seen::Instead(holder) })
    })
    .await
}

/// Returns the number of a program's visible actions: polls, corrections, and writes to objects.
async fn deeds(program: &Program) -> Result<f64> {
    let metrics = program.metrics().await?;
    let names: &[&str] = match program.which() {
        Which::Poller => &["drift_poller_polls_total", "drift_poller_writes_total"],
        Which::Controller => &["drift_controller_corrections_total", "drift_controller_writes_total"],
    };
    Ok(names.iter().map(|name| metrics.sum(name, &[])).sum())
}

/// Waits until a poller's count of its writes equals the API server's, and returns it. The response to a write may
/// arrive after its effect is visible.
async fn wait_until_all_writes_are_counted(world: &World, leader: &Program) -> Result<f64> {
    wait::until("the poller to count what it wrote", wait::DEADLINE, async || {
        let counted = leader.metrics().await?.sum("drift_poller_writes_total", &[("outcome", "written")]);
        let accepted = accepted_writes(world, Which::Poller)?;
        if counted != accepted {
            return Ok(Seen::Instead(format!("it counts {counted}, the API server {accepted}")));
        }
        Ok(Seen::Met(leader.metrics().await?.sum("drift_poller_writes_total", &[])))
    })
    .await
}

/// Returns the number of accepted writes of one program to this world's objects.
#[expect(clippy::cast_precision_loss, reason = "a small count")]
fn accepted_writes(world: &World, which: Which) -> Result<f64> {
    let writes = world.writes_by(which)?;
    Ok(writes.iter().filter(|it| it.group == world.group() && it.accepted()).count() as f64)
}

fn seconds(span: Duration) -> String {
    format!("{:.1} s", span.as_secs_f64())
}

#[tokio::test]
async fn of_two_replicas_one_writes() -> Result<()> {
    World::run("two of each", async |world| {
        let bed = Bed::start(world).await?;
        let names = ["one", "two", "three"];
        for name in names {
            bed.create_in_sync(world, name).await?;
        }
        for name in names {
            bed.drift(name).await?;
            bed.wait_until_healed(world, name, 2).await?;
        }
        world.nothing_is_written_for(Duration::from_secs(7)).await?;
        ensure!(bed.outside.writes() == 6, "{:?}", bed.outside.requests());
        for (leader, standby) in [&bed.pollers, &bed.controllers].map(|[leader, standby]| (leader, standby)) {
            ensure!(deeds(standby).await? == 0.0, "{} did something", standby.instance());
            // Each accepted write of this ServiceAccount must be one that the leader counts.
            let name = match leader.which() {
                Which::Poller => "drift_poller_writes_total",
                Which::Controller => "drift_controller_writes_total",
            };
            let counted = leader.metrics().await?.sum(name, &[("outcome", "written")]);
            let accepted = accepted_writes(world, leader.which())?;
            ensure!(counted == accepted, "{} counts {counted}, the API server {accepted}", leader.instance());
        }
        Ok(())
    })
    .await
}

/// Kills leaders until one is replaced within the promised time, because a pause of the machine may affect some.
/// Returns the fastest time, including `before`.
async fn take_over_unhindered(world: &World, leader: &Arc<Program>, before: Duration) -> Result<Duration> {
    const TAKE_OVERS: usize = 3;
    let (mut leader, mut fastest) = (leader.clone(), before);
    for number in 1..=TAKE_OVERS {
        if fastest <= TAKEN_OVER_WITHIN {
            break;
        }
        let next = world.start(leader.which(), instance(&format!("next-{number}"))).await?;
        leader.kill().await?;
        let killed = Instant::now();
        let held = wait_for_holder(world, leader.which(), next.instance()).await? - killed;
        ensure!(held <= TAKEN_OVER_WITHIN + SLACK, "the Lease was taken after {held:?}");
        fastest = fastest.min(held);
        leader = next;
    }
    Ok(fastest)
}

#[tokio::test]
async fn a_killed_leader_is_replaced_within_fifteen_seconds() -> Result<()> {
    World::run("leader killed", async |world| {
        let bed = Bed::start(world).await?;
        bed.create_in_sync(world, "web").await?;
        let mut figures = Vec::new();
        let mut fastest = TAKEN_OVER_WITHIN + SLACK;
        for (which, pair, method) in
            [(Which::Poller, &bed.pollers, "GET"), (Which::Controller, &bed.controllers, "POST")]
        {
            pair[0].kill().await?;
            let killed = Instant::now();
            if which == Which::Controller {
                bed.drift("web").await?;
            }
            let held = wait_for_holder(world, which, pair[1].instance()).await? - killed;
            let acted = bed.wait_for_first_after(method, killed).await? - killed;
            let name = which.name();
            ensure!(held <= TAKEN_OVER_WITHIN + SLACK, "{name}: the Lease was taken after {held:?}");
            ensure!(acted <= TAKEN_OVER_WITHIN + 2 * SLACK, "{name}: acted after {acted:?}");
            fastest = fastest.min(held);
            figures.push(format!("{name}: holder after {}, acts after {}", seconds(held), seconds(acted)));
        }
        bed.wait_until_healed(world, "web", 2).await?;
        fastest = fastest.min(take_over_unhindered(world, &bed.controllers[1], fastest).await?);
        ensure!(fastest <= TAKEN_OVER_WITHIN, "the Leases were taken after {fastest:?} at the earliest");
        ensure!(bed.outside.writes() == 2, "{:?}", bed.outside.requests());
        Ok(())
    })
    .await
}

/// Stops leaders until one hands over within the promised time, because a pause of the machine may affect one or two.
/// All of them release their Lease.
async fn hand_over(world: &World, which: Which, pair: &[Arc<Program>; 2]) -> Result<Duration> {
    const HAND_OVERS: usize = 3;
    let [mut leader, mut next] = pair.clone();
    let mut slow = Vec::new();
    for number in 1..=HAND_OVERS {
        let exit = leader.stop().await?;
        let ended = Instant::now();
        ensure!(exit.success(), "{exit}");
        let lease = world.lease(which.name()).await?.context("no Lease")?;
        let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
        ensure!(!holder.starts_with(leader.instance()), "{} ended and kept its Lease", which.name());
        let took = wait_for_holder(world, which, next.instance()).await? - ended;
        ensure!(took <= HANDED_OVER_WITHIN + SLACK, "{}: handed over after {took:?}", which.name());
        if took <= HANDED_OVER_WITHIN {
            return Ok(took);
        }
        slow.push(took);
        let another = world.start(which, instance(&format!("{}-{number}", which.name()))).await?;
        leader = std::mem::replace(&mut next, another);
    }
    bail!("{}: handed over after {slow:?}", which.name())
}

#[tokio::test]
async fn an_ending_leader_hands_over_at_once() -> Result<()> {
    World::run("leader stopped", async |world| {
        let bed = Bed::start(world).await?;
        bed.create_in_sync(world, "web").await?;
        let mut figures = Vec::new();
        for (which, pair) in [(Which::Poller, &bed.pollers), (Which::Controller, &bed.controllers)] {
            let took = hand_over(world, which, pair).await?;
            figures.push(format!("{} after {}", which.name(), seconds(took)));
        }
        bed.drift("web").await?;
        bed.wait_until_healed(world, "web", 2).await?;
        ensure!(bed.outside.writes() == 2, "{:?}", bed.outside.requests());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_deleted_lease_stays_with_its_holder() -> Result<()> {
    World::run("Lease deleted", async |world| {
        let bed = Bed::start(world).await?;
        bed.create_in_sync(world, "web").await?;
        let mut figures = Vec::new();
        for [leader, _] in [&bed.pollers, &bed.controllers] {
            let name = leader.which().name();
            world.delete_lease(name).await?;
            let deleted = Instant::now();
            let took = wait_for_holder(world, leader.which(), leader.instance()).await? - deleted;
            figures.push(format!("{name} has it again after {}", seconds(took)));
        }
        bed.drift("web").await?;
        bed.wait_until_healed(world, "web", 2).await?;
        for [leader, standby] in [&bed.pollers, &bed.controllers] {
            let led = (leader.times_led()?, standby.times_led()?);
            ensure!(led == (1, 0), "{} and the other led {led:?} times", leader.instance());
        }
        ensure!(bed.outside.writes() == 2, "{:?}", bed.outside.requests());
        Ok(())
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_controller_frozen_past_its_lease_writes_nothing() -> Result<()> {
    World::run("controller frozen", async |world| {
        let bed = Bed::start(world).await?;
        bed.create_in_sync(world, "web").await?;
        world.wait_for_note("web", "True", "CorrectionApplied").await?;
        let [first, second] = &bed.controllers;
        bed.outside.on("POST", "/proxies/*", Answer::status(503));
        let before = deeds(first).await?;
        let frozen = Instant::now();
        first.pause().await?;
        bed.drift("web").await?;
        wait_for_holder(world, Which::Controller, second.instance()).await?;
        // The creation and an attempt of the second: the drift waits.
        bed.outside.wait_for_requests("POST", 2).await?;
        tokio::time::sleep_until((frozen + TWICE_THE_LEASE).into()).await;

        // Only the resumed one could correct, and it does not hold the Lease.
        second.pause().await?;
        bed.read_what_was_sent().await?;
        // Requests that the second had sent to the API server before it was paused.
        let noted = world.all_writes_by(Which::Controller).await?.len();
        let quiet = Instant::now();
        bed.outside.forget();
        first.resume().await?;
        let corrected = bed.wait_for_first_after("POST", quiet).await?;
        let waited = corrected - quiet;
        ensure!(waited >= Duration::from_secs(8), "it acted {waited:?} after waking, on a Lease of another");
        let writes = world.all_writes_by(Which::Controller).await?.split_off(noted);
        let first_of = |wanted: &dyn Fn(&AuditRecord) -> bool| writes.iter().position(wanted);
        let lease = first_of(&|write| write.resource == "leases" && write.accepted());
        let object = first_of(&|write| write.group == world.group());
        ensure!(lease.zip(object).is_none_or(|(lease, object)| lease < object), "it wrote before: {writes:?}");
        wait::until("the first to count what it did", wait::DEADLINE, async || {
            let now = deeds(first).await?;
            Ok(if now > before { Seen::Met(()) } else { Seen::Instead(format!("{now} deeds, {before} before")) })
        })
        .await?;
        second.resume().await?;
        bed.wait_until_healed(world, "web", 2).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_poller_frozen_past_its_lease_writes_nothing() -> Result<()> {
    World::run("poller frozen", async |world| {
        let bed = Bed::start(world).await?;
        bed.create_in_sync(world, "web").await?;
        let [first, second] = &bed.pollers;
        let sent_before = wait_until_all_writes_are_counted(world, first).await?;
        // The response on its way to it reports drift.
        let drifted = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:10", "enabled": true});
        let answer = Hold::default();
        bed.outside.on("GET", "/proxies/web", Answer::json(200, &drifted).held_by(&answer));
        answer.wait_until_reached().await?;
        let frozen = Instant::now();
        first.pause().await?;
        bed.outside.forget();
        answer.release();
        let took = wait_for_holder(world, Which::Poller, second.instance()).await? - frozen;
        ensure!(took <= TAKEN_OVER_WITHIN + SLACK, "taken over after {took:?}");
        tokio::time::sleep_until((frozen + TWICE_THE_LEASE).into()).await;

        let history = world.watch_object("web").await?;
        first.resume().await?;
        bed.drift("web").await?;
        bed.wait_until_healed(world, "web", 2).await?;
        world.nothing_is_written_for(Duration::from_secs(7)).await?;
        let metrics = first.metrics().await?;
        let writes = |labels: &[(&str, &str)]| metrics.sum("drift_poller_writes_total", labels);
        let stopped = writes(&[("outcome", "not_leading")]);
        let sent = writes(&[]) - stopped;
        ensure!(sent == sent_before, "it wrote after it woke: {sent} writes after {sent_before}");
        // On a paused machine a poll of the second may fail and report Unknown in between. The first wrote none of
        // these.
        let mut seen = history.transitions("driftObserved").await?;
        seen.retain(|one| !one.starts_with("Unknown"));
        seen.dedup();
        ensure!(seen == ["False/InSync", "True/FieldsDiffer", "False/InSync"], "{seen:?}");
        ensure!(bed.outside.writes() == 2, "{:?}", bed.outside.requests());
        Ok(())
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_clock_an_hour_off_changes_nothing() -> Result<()> {
    let (ahead, behind) = (clock_shift::variables("+1h").await?, clock_shift::variables("-1h").await?);
    World::run("clocks", async |world| {
        let options = |name: &str| {
            let variables = if ["poller-a", "controller-b"].contains(&name) { &ahead } else { &behind };
            Options { variables: variables.clone(), ..instance(name) }
        };
        let bed = Bed::start_with(world, options).await?;
        bed.create_in_sync(world, "web").await?;
        // At a creation both programs write to an object that the other may just have changed. Afterwards it is stable.
        let refused = world.writes().await?.refused;
        let object = world.proxy("web").await?.context("no such proxy")?;
        let time = condition(&object, "driftObserved").and_then(|it| it["lastTransitionTime"].as_str());
        let time: jiff::Timestamp = time.context("no time")?.parse()?;
        let off = time.duration_since(jiff::Timestamp::now()).as_secs();
        ensure!((3500..=3600).contains(&off), "the clock is off by {off} s: the test shows nothing");
        let heal = async |correction| {
            bed.drift("web").await?;
            bed.wait_until_healed(world, "web", correction).await
        };
        heal(2).await?;
        world.nothing_is_written_for(Duration::from_secs(7)).await?;

        // The others' clocks are off by two hours from the times on the Leases that they take.
        let mut figures = Vec::new();
        for (which, pair) in [(Which::Poller, &bed.pollers), (Which::Controller, &bed.controllers)] {
            let asked = Instant::now();
            pair[0].kill().await?;
            let took = wait_for_holder(world, which, pair[1].instance()).await? - asked;
            let bounds = TAKEN_OVER_AFTER..=TAKEN_OVER_WITHIN + SLACK;
            ensure!(bounds.contains(&took), "{}: taken over after {took:?}", which.name());
            figures.push(format!("{} taken over after {}", which.name(), seconds(took)));
        }
        heal(3).await?;
        ensure!(bed.outside.writes() == 3, "{:?}", bed.outside.requests());
        ensure!(world.writes().await?.refused == refused, "a write was refused after the creation");
        world.nothing_is_written_for(Duration::from_secs(7)).await?;
        Ok(())
    })
    .await
}

/// Measures the longest pause of the recording thread, and so the maximum delay of a record.
struct Stalls {
    longest: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Stalls {
    fn watch() -> Self {
        let longest = Arc::new(AtomicU64::new(0));
        let sink = longest.clone();
        let task = tokio::spawn(async move {
            loop {
                let before = Instant::now();
                tokio::time::sleep(wait::ASK_EVERY).await;
                let late = before.elapsed().saturating_sub(wait::ASK_EVERY);
                sink.fetch_max(u64::try_from(late.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
            }
        });
        Self { longest, task }
    }

    fn end(self) -> Duration {
        self.task.abort();
        Duration::from_millis(self.longest.load(Ordering::Relaxed))
    }
}

/// Checks in the program's log that it held the Lease before it corrected anything.
fn ensure_it_led_before_it_corrected(program: &Program) -> Result<()> {
    let log = program.log_text()?;
    let [led, corrected] = [LED, r#""correcting""#].map(|word| log.find(word));
    let (led, corrected) =
        led.zip(corrected).with_context(|| format!("it led or corrected never: {led:?}, {corrected:?}"))?;
    ensure!(led < corrected, "{} wrote without the Lease", program.instance());
    Ok(())
}

/// Makes the connection carry nothing, in either direction.
async fn swallow_everything(network: &Toxiproxy, line: &str) -> Result<()> {
    for stream in ["upstream", "downstream"] {
        network.add_toxic(line, json!({"type": "timeout", "stream": stream, "attributes": {"timeout": 0}})).await?;
    }
    Ok(())
}

/// Returns the first leader's writes after it was cut off. Each has its own connections, and the first may open another
/// one at any step. A write of the second may come shortly before its takeover is visible.
fn writes_of_the_first(all: &[Request], cut: Instant, taken: Instant) -> Vec<&Request> {
    let is_early = |it: &&Request| it.at <= cut || it.at + SLACK < taken;
    let of_the_first: Vec<u64> = all.iter().filter(is_early).map(|it| it.connection).collect();
    let writes = all.iter().filter(|it| it.method == "POST" && it.at > cut);
    writes.filter(|it| of_the_first.contains(&it.connection)).collect()
}

/// Number of steps of one correction, and the time for each: long enough to be cut in the middle.
const STEPS: usize = 16;
const EACH_STEP: Duration = Duration::from_millis(900);
/// Maximum time from the last renewal to the start of a step.
const FRESH_LEASE: Duration = Duration::from_secs(5);
/// Maximum time until its arrival on a busy machine: less than the three seconds until a holder steps down.
const ON_ITS_WAY: Duration = Duration::from_secs(2);

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_leader_cut_off_ends_before_another_begins() -> Result<()> {
    World::run("cut off", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let outside = world.start_outside().await?;
        outside.forward_to(toxiproxy.url());
        let target = Target::shipped(world, outside.url())?;
        let step = json!({"method": "POST", "url": format!("{}/proxies/${{self.metadata.name}}", outside.url()), "body": "${desired}"});
        let target = target.with("/spec/correct/http/update", json!(vec![step; STEPS]));
        world.apply_target(&target).await?;
        world.start_poller().await?;

        let network = world.start_toxiproxy_named("network").await?;
        let line = world.free_listen_address()?;
        network.create("line", &line, world.control_plane().url().trim_start_matches("https://")).await?;
        let through = Options { api_server: Some(format!("https://{line}")), ..instance("controller-a") };
        world.start(Which::Controller, through).await?;
        wait_for_holder(world, Which::Controller, "controller-a").await?;
        let second = world.start(Which::Controller, instance("controller-b")).await?;
        let listen = world.free_listen_address()?;
        world.create_proxy("web", json!({"listen": listen, "upstream": "127.0.0.1:9"})).await?;
        world.wait_until_verified("web").await?;

        outside.on("POST", "/proxies/web", Answer::status(200).after(EACH_STEP));
        let (before, stalls) = (outside.count("POST"), Stalls::watch());
        toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
        outside.wait_for_requests("POST", before + 2).await?;
        swallow_everything(&network, "line").await?;
        let cut = Instant::now();
        let taken = wait_for_holder(world, Which::Controller, second.instance()).await?;
        outside.forget();
        let stalled = stalls.end();
        let all = outside.requests();
        let own = writes_of_the_first(&all, cut, taken);
        let last = own.iter().map(|it| it.at).max().unwrap_or(cut);
        let (stopped, gap) = (last - cut, taken - last);
        ensure!(stopped <= FRESH_LEASE + ON_ITS_WAY + stalled, "it wrote until {stopped:?} after it was cut off");
        ensure!(gap + stalled >= Duration::from_secs(4), "the Lease was taken {gap:?} after its last write");
        ensure!(own.len() + 2 < STEPS, "the correction was over before the cut: nothing is shown");

        // Verified too, because a regular poll may report InSync between the first step and the note.
        world.wait_until_healed_by("web", 2).await?;
        ensure_it_led_before_it_corrected(&second)?;
        // The connection comes back, and the first sees that it no longer leads.
        network.delete("line").await?;
        network.create("line", &line, world.control_plane().url().trim_start_matches("https://")).await?;
        outside.nothing_is_written_for(Duration::from_secs(5)).await?;
        world.nothing_is_written_for(Duration::from_secs(4)).await?;
        Ok(())
    })
    .await
}
