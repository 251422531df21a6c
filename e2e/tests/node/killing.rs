//! Pods end, gracefully or not, in the middle of a drift: no drift is lost, and a repeated correction has the same
//! idempotency key.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use drift_e2e::node::Installation;
use drift_e2e::programs::Which;
use drift_e2e::progress;
use drift_e2e::systems::outside::{Answer, Request};
use serde_json::json;
use std::time::Duration;

/// Longer than the start of a Pod's termination, shorter than the 10 s of a correction.
const IN_FLIGHT: Duration = Duration::from_secs(4);

/// Creates an object in sync, polled every two seconds.
async fn settle(installation: &Installation) -> Result<()> {
    installation.set_interval("2s").await?;
    installation.create_proxies(&["web".to_owned()]).await?;
    installation.wait_until_verified("web").await.map(drop)
}

async fn drift(installation: &Installation) -> Result<()> {
    installation.toxiproxy().update("web", json!({"upstream": "127.0.0.1:10"})).await.map(drop)
}

/// Waits until the drift is healed outside and verified, and returns the external writes since `before`.
async fn healed(installation: &Installation, before: usize) -> Result<Vec<Request>> {
    let wanted = |proxy: Option<&drift_e2e::systems::toxiproxy::Proxy>| {
        proxy.is_some_and(|proxy| proxy.upstream == "127.0.0.1:9")
    };
    installation.toxiproxy().wait_for("web", wanted).await?;
    installation.wait_until_verified("web").await?;
    let writes = installation.outside().requests().into_iter().filter(|request| request.method != "GET");
    Ok(writes.skip(before).collect())
}

/// Causes drift, ends the poller's Pod at once, and checks that the next poller sees it.
async fn play_poller(installation: &Installation, how: &str, arguments: &[&str]) -> Result<()> {
    let before = installation.outside().writes();
    let began = Instant::now();
    drift(installation).await?;
    installation.delete_pod(Which::Poller, arguments).await?;
    let writes = healed(installation, before).await?;
    ensure!(writes.len() == 1, "{writes:?}");
    let seconds = began.elapsed().as_secs_f64();
    progress::say(format!("poller {how} at the drift: healed and verified after {seconds:.1} s, 1 external write"));
    installation.wait_for_pod(Which::Poller).await.map(drop)
}

#[tokio::test]
async fn drift_is_not_lost_with_the_pollers_pod() -> Result<()> {
    Installation::run("poller-killed", async |installation| {
        settle(installation).await?;
        play_poller(installation, "deleted", &[]).await?;
        play_poller(installation, "deleted by force", &["--grace-period=0", "--force"]).await
    })
    .await
}

#[tokio::test]
async fn a_pod_that_ends_writes_once() -> Result<()> {
    Installation::run("controller-deleted", async |installation| {
        settle(installation).await?;
        let before = installation.outside().writes();
        installation.outside().once("POST", "/proxies/web", Answer::forwarded().after(IN_FLIGHT));
        drift(installation).await?;
        installation.outside().wait_for_requests("POST", before + 1).await?;
        let began = Instant::now();
        installation.delete_pod(Which::Controller, &[]).await?;
        installation.wait_for_pod(Which::Controller).await?;
        let back = began.elapsed().as_secs_f64();
        let writes = healed(installation, before).await?;
        ensure!(writes.len() == 1, "{writes:?}");
        // The controller waited for the response and recorded it. Otherwise the creation would still be the last
        // correction.
        ensure!(installation.wait_until_verified("web").await? == 2, "the answer was not waited for");
        progress::say(format!(
            "controller deleted with a correction in flight: 1 external write, one Pod after {back:.1} s"
        ));
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_killed_controller_repeats_its_key() -> Result<()> {
    Installation::run("controller-killed", async |installation| {
        settle(installation).await?;
        let before = installation.outside().writes();
        // The request is lost with the controller, so its outcome is unknown.
        installation.outside().once("POST", "/proxies/web", Answer::never());
        drift(installation).await?;
        installation.outside().wait_for_requests("POST", before + 1).await?;
        let began = Instant::now();
        installation.kill(Which::Controller).await?;
        let writes = healed(installation, before).await?;
        ensure!(writes.len() == 2, "{writes:?}");
        let keys: Vec<&str> = writes.iter().filter_map(|request| request.header("idempotency-key")).collect();
        let key = keys.first().context("a write without an idempotency key")?;
        ensure!(keys.len() == 2 && keys.iter().all(|other| other == key), "{keys:?}");
        let seconds = began.elapsed().as_secs_f64();
        progress::say(format!(
            "controller killed with a correction in flight: healed after {seconds:.1} s, 2 external writes with one key"
        ));
        Ok(())
    })
    .await
}
