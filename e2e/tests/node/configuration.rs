//! An edited ConfigMap is active without a restart.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use drift_e2e::node::{BOTH, Installation};
use drift_e2e::progress;
use drift_e2e::wait::{self, Seen};

#[tokio::test]
async fn an_applied_config_map_needs_no_restart() -> Result<()> {
    Installation::run("configuration", async |installation| {
        installation.create_proxies(&["web".to_owned()]).await?;
        installation.wait_until_verified("web").await?;
        let mut before = Vec::new();
        for which in BOTH {
            before.push(installation.wait_for_pod(which).await?);
        }
        let edited = Instant::now();
        installation.set_interval("1s").await?;
        let polls = || installation.outside().requests().into_iter().filter(|request| request.at > edited).count();
        // The shipped interval is 30 s; no more than two polls would fall into this time.
        wait::until("four polls", Duration::from_secs(20), async || {
            Ok(if polls() >= 4 { Seen::Met(()) } else { Seen::Instead(format!("{} polls", polls())) })
        })
        .await?;
        let took = edited.elapsed();
        for (which, before) in BOTH.into_iter().zip(before) {
            let pod = installation.wait_for_pod(which).await?;
            ensure!(pod == before, "the Pod changed: {before:?}, then {pod:?}");
        }
        progress::say(format!(
            "four polls at the new interval of 1 s within {:.1} s of kubectl apply, no restart",
            took.as_secs_f64()
        ));
        Ok(())
    })
    .await
}
