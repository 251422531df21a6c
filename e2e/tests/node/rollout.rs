//! A rollout of both programs with 500 objects: no object waits long for its poll, no needless write happens, and no
//! Pod hits a limit.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use drift_e2e::cluster::kubectl::Kubectl;
use drift_e2e::manifests::NAMESPACE;
use drift_e2e::node::{BOTH, Installation};
use drift_e2e::progress;
use drift_e2e::wait::{self, Seen};

const OBJECTS: usize = 500;

/// The shipped interval.
const INTERVAL: Duration = Duration::from_secs(30);

/// Additional time for a change of leader.
const SLACK: Duration = Duration::from_secs(15);

/// Creates objects whose resources are already in the desired state, so that no correction is needed at first.
async fn populate(installation: &Installation) -> Result<()> {
    let names: Vec<String> = (0..OBJECTS).map(|number| format!("proxy-{number}")).collect();
    for name in &names {
        installation.toxiproxy().create_disabled(name, "127.0.0.1:1", "127.0.0.1:9").await?;
    }
    installation.create_proxies(&names).await
}

/// Returns the number of objects that have this verdict, by what `kubectl get` says.
async fn count(kubectl: &Kubectl, verdict: &str) -> Result<usize> {
    let path = r#"jsonpath={range .items[*]}{.status.conditions[?(@.type=="driftObserved")].reason}{"\n"}{end}"#;
    let printed = kubectl.run(&["get", "proxies", "-A", "-o", path]).await?;
    Ok(printed.output.lines().filter(|line| *line == verdict).count())
}

#[tokio::test]
async fn a_rollout_leaves_no_gap() -> Result<()> {
    Installation::run("rollout", async |installation| {
        populate(installation).await?;
        let kubectl = installation.kubectl();
        wait::until("500 objects in sync", wait::DEADLINE * 3, async || {
            let count = count(kubectl, "InSync").await?;
            Ok(if count == OBJECTS { Seen::Met(()) } else { Seen::Instead(format!("{count} in sync")) })
        })
        .await?;
        say_usage(installation, "before the rollout").await?;

        let written = installation.cluster().writes_by_programs()?;
        let began = Instant::now();
        for which in BOTH {
            kubectl.run(&["rollout", "restart", "-n", NAMESPACE, &format!("deployment/{}", which.name())]).await?;
        }
        for which in BOTH {
            let deployment = format!("deployment/{}", which.name());
            kubectl.run(&["rollout", "status", "-n", NAMESPACE, &deployment, "--timeout=50s"]).await?;
            installation.wait_for_pod(which).await?;
        }
        let rolled_out = began.elapsed().as_secs_f64();
        // Wait until the new Pod has polled every object.
        tokio::time::sleep((INTERVAL + SLACK).saturating_sub(began.elapsed()) + INTERVAL).await;
        // Includes the last poll before the rollout, which may itself have been late.
        let gaps = installation.gaps_since(began.checked_sub(INTERVAL + SLACK).context("a young clock")?);
        let longest = gaps.values().max().copied().context("no poll at all")?;
        ensure!(gaps.len() == OBJECTS, "{} objects were polled", gaps.len());
        ensure!(longest <= INTERVAL + SLACK, "an object was not polled for {longest:?}");
        let news = match (written, installation.cluster().writes_by_programs()?) {
            (Some(before), Some(after)) => {
                let news = after.get(before.len()..).unwrap_or_default();
                ensure!(news.is_empty(), "written without a transition: {news:#?}");
                "0 writes to objects"
            }
            _ => "writes to objects not counted, the audit log is somebody else's",
        };
        progress::say(format!(
            "rollout of both with {OBJECTS} objects: {rolled_out:.1} s, longest gap between two polls {:.1} s, {news}",
            longest.as_secs_f64()
        ));
        say_usage(installation, "after the rollout").await
    })
    .await
}

/// Prints the usage of both Pods, and fails if one hit a limit.
async fn say_usage(installation: &Installation, when: &str) -> Result<()> {
    for which in BOTH {
        let Some(usage) = installation.usage(which).await? else { return Ok(()) };
        progress::say(format!(
            "{} {when}: {:.1} MiB allocated, {:.1} MiB at most with page cache, {:.2} s of processor time",
            which.name(),
            mebibytes(usage.memory),
            mebibytes(usage.most_memory),
            usage.processor
        ));
        ensure!(usage.limit_met == 0 && usage.throttled == 0, "{} met a limit: {usage:?}", which.name());
    }
    Ok(())
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}
