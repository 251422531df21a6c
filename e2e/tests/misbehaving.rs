//! A failed poll is never drift: no response of the external system of this kind causes a correction.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_e2e::programs::Which;
use drift_e2e::systems::outside::{Answer, Outside};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, condition};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Returns the responses for each object, and the expected reason after enough of them. An empty reason keeps the
/// current verdict.
fn cases() -> Vec<(&'static str, Answer, &'static str)> {
    const HUNDRED_MEGABYTES: u64 = 100_000_000;
    vec![
        ("down", Answer::reset(), "ExternalUnreachable"),
        ("slow", Answer::never(), "PollTimedOut"),
        ("unauthorized", Answer::status(401), "Unauthorized"),
        ("forbidden", Answer::html(403), "Forbidden"),
        ("broken", Answer::status(500), "ExternalError"),
        ("redirecting", Answer::status(302).header("location", "http://127.0.0.1:1/"), "ExternalError"),
        ("ingress", Answer::html(404), "ResponseInvalid"),
        ("portal", Answer::html(200), "ResponseInvalid"),
        ("empty", Answer::json(200, &json!({})), "ResponseInvalid"),
        ("maintenance", Answer::json(200, &json!({"error": "maintenance"})), "ResponseInvalid"),
        ("nothing", Answer::status(200), "ResponseInvalid"),
        ("truncated", Answer::truncated(200, r#"{"listen": "127"#, 100), "ResponseInvalid"),
        ("huge", Answer::streamed(200, HUNDRED_MEGABYTES), "ResponseInvalid"),
        ("deep", Answer::nested(200, 100_000), "ResponseInvalid"),
        ("teapot", Answer::json(418, &json!({"listen": "x"})), "ExternalError"),
    ]
}

fn spec() -> Value {
    json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})
}

/// Returns a response in the objects' desired state.
fn in_sync() -> Answer {
    Answer::json(200, &json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2", "enabled": true}))
}

async fn start(world: &World, outside: &Outside, target: Target) -> Result<()> {
    outside.on("GET", "/proxies/*", in_sync());
    world.apply_target(&target).await?;
    world.start_poller().await?;
    world.start_controller().await.map(drop)
}

fn ensure_never_drifted(versions: &[Value], name: &str) -> Result<()> {
    let drifted =
        versions.iter().find(|object| condition(object, "driftObserved").is_some_and(|it| it["status"] == "True"));
    ensure!(drifted.is_none(), "{name} was called drifted: {drifted:?}");
    Ok(())
}

#[tokio::test]
async fn no_misbehaviour_outside_is_called_drift() -> Result<()> {
    World::run("misbehaving", async |world| {
        let outside = world.start_outside().await?;
        let target = Target::shipped(world, outside.url())?.with("/spec/timeout", json!("2s"));
        start(world, &outside, target).await?;
        let mut histories = Vec::new();
        for (name, ..) in cases() {
            world.create_proxy(name, spec()).await?;
            histories.push(world.watch_object(name).await?);
        }
        for (name, ..) in cases() {
            world.wait_for_verdict(name, "False", "InSync").await?;
        }
        for (name, answer, _) in cases() {
            outside.on("GET", &format!("/proxies/{name}"), answer);
        }
        for (name, _, reason) in cases() {
            world.wait_for_verdict(name, "Unknown", reason).await.with_context(|| format!("the case «{name}»"))?;
        }
        outside.forget();
        outside.on("GET", "/proxies/*", in_sync());
        for ((name, ..), history) in cases().iter().zip(&histories) {
            world.wait_for_verdict(name, "False", "InSync").await?;
            ensure_never_drifted(&history.versions().await?, name)?;
        }
        ensure!(outside.count("POST") + outside.count("DELETE") == 0, "{:?}", outside.requests());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_pause_a_host_asks_for_is_kept() -> Result<()> {
    /// The requested pause in seconds: twice the interval.
    const ASKED: u64 = 4;
    /// Tolerance between the recorded times of two requests.
    const EARLY: Duration = Duration::from_millis(100);
    const GAPS: usize = 4;
    /// A poll that timed out before a busy machine answered does not know of the pause.
    const UNHEARD: usize = 1;
    World::run("paused host", async |world| {
        let outside = world.start_outside().await?;
        // Polled far more often than the host allows, so only the host's pause separates the polls.
        let target = Target::shipped(world, outside.url())?.with("/spec/interval", json!("2s"));
        start(world, &outside, target).await?;
        world.create_proxy("web", spec()).await?;
        let history = world.watch_object("web").await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        outside.on("GET", "/proxies/*", Answer::status(429).header("retry-after", &ASKED.to_string()));
        let before = outside.count("GET");
        world.wait_for_verdict("web", "Unknown", "RateLimited").await?;
        let gaps = wait::until(format!("{GAPS} pauses between refused polls"), wait::DEADLINE, async || {
            let refused: Vec<_> = outside.requests().split_off(before).into_iter().map(|request| request.at).collect();
            let gaps: Vec<_> = refused.windows(2).map(|pair| pair[1] - pair[0]).collect();
            Ok(if gaps.len() >= GAPS { Seen::Met(gaps) } else { Seen::Instead(format!("{gaps:?}")) })
        })
        .await?;
        let short = gaps.iter().filter(|gap| **gap < Duration::from_secs(ASKED) - EARLY).count();
        ensure!(short <= UNHEARD, "asked for {ASKED} s, it polled after {gaps:?}");
        outside.forget();
        outside.on("GET", "/proxies/*", in_sync());
        world.wait_for_verdict("web", "False", "InSync").await?;
        ensure_never_drifted(&history.versions().await?, "web")
    })
    .await
}

#[tokio::test]
async fn a_dropped_idle_connection_fails_no_poll() -> Result<()> {
    World::run("dropped connection", async |world| {
        let outside = world.start_outside().await?;
        let target = Target::shipped(world, outside.url())?;
        outside.on("GET", "/proxies/*", in_sync().then_reset_next());
        world.apply_target(&target).await?;
        let poller = world.start_poller().await?;
        world.create_proxy("web", spec()).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        let metrics = wait::until("ten polls that found it in sync", wait::DEADLINE, async || {
            let metrics = poller.metrics().await?;
            let polls = metrics.sum("drift_poller_polls_total", &[("outcome", "InSync")]);
            Ok(if polls >= 10.0 { Seen::Met(metrics) } else { Seen::Instead(format!("{polls} polls")) })
        })
        .await?;
        let failed = metrics.sum("drift_poller_polls_total", &[("outcome", "ExternalUnreachable")]);
        ensure!(failed == 0.0, "{failed} polls failed");
        // All but the first found a dropped connection and repeated the request.
        ensure!(outside.count("GET") >= 15, "only {} requests: hardly a connection was dropped", outside.count("GET"));
        let writes = world.all_writes_by(Which::Poller).await?;
        ensure!(writes.iter().filter(|write| write.subresource == "status").count() == 1, "{writes:?}");
        Ok(())
    })
    .await
}

/// An address on which no connection succeeds, as behind a dropping firewall or network policy. The listener never
/// accepts, and Linux drops new connections while its queue is full.
struct Silent {
    listener: TcpListener,
    queued: Vec<TcpStream>,
}

impl Silent {
    /// Longer than loopback needs for a connection, shorter than the second after which Linux retries.
    const NO_ANSWER: Duration = Duration::from_millis(500);

    async fn start() -> Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        let mut silent = Self { listener: socket.listen(0)?, queued: Vec::new() };
        let address = silent.listener.local_addr()?;
        while let Ok(connected) = tokio::time::timeout(Self::NO_ANSWER, TcpStream::connect(address)).await {
            silent.queued.push(connected?);
            ensure!(silent.queued.len() < 10, "the queue is never full");
        }
        Ok(silent)
    }

    fn url(&self) -> Result<String> {
        Ok(format!("http://{}", self.listener.local_addr()?))
    }
}

#[tokio::test]
async fn dropped_packets_end_at_the_first_limit() -> Result<()> {
    World::run("dropped packets", async |world| {
        let silent = Silent::start().await?;
        // The default timeout of this interval is 10 s, and a connection is given up after 5 s.
        let target = Target::shipped(world, &silent.url()?)?.with("/spec/interval", json!("10s"));
        world.apply_target(&target).await?;
        world.start_poller().await?;
        world.create_proxy("web", spec()).await?;
        world.wait_for_verdict("web", "Unknown", "ExternalUnreachable").await?;
        world.apply_target(&target.with("/spec/timeout", json!("1s"))).await?;
        world.wait_for_verdict("web", "Unknown", "PollTimedOut").await.map(drop)
    })
    .await
}
