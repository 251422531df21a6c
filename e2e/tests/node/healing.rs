//! The loop closes through Pods: drift shows in `kubectl get -o yaml` and is healed.

use std::time::Instant;

use anyhow::{Result, ensure};
use drift_e2e::manifests::OBJECTS_NAMESPACE;
use drift_e2e::node::Installation;
use drift_e2e::progress;
use serde_json::json;

#[tokio::test]
async fn drift_is_shown_and_healed_by_pods() -> Result<()> {
    Installation::run("healing", async |installation| {
        installation.set_interval("2s").await?;
        installation.create_proxies(&["web".to_owned()]).await?;
        let created = installation.wait_for_verdict("web", "False", "InSync").await?;
        installation.wait_until_verified("web").await?;

        // Paused, so that the verdict lasts long enough for users.
        let annotate = |value| ["annotate", "proxy", "web", "-n", OBJECTS_NAMESPACE, "--overwrite", value];
        installation.kubectl().run(&annotate("driftpoller.dev/paused=true")).await?;
        let writes = installation.outside().writes();
        installation.toxiproxy().update("web", json!({"upstream": "127.0.0.1:10"})).await?;
        let seen = installation.wait_for_verdict("web", "True", "FieldsDiffer").await?;
        ensure!(installation.outside().writes() == writes, "a paused object was corrected");

        let released = Instant::now();
        installation.kubectl().run(&annotate("driftpoller.dev/paused-")).await?;
        installation.wait_for_verdict("web", "False", "InSync").await?;
        let healed = released.elapsed();
        let proxy = installation.toxiproxy().proxy("web").await?;
        ensure!(proxy.is_some_and(|proxy| proxy.upstream == "127.0.0.1:9"));
        ensure!(installation.outside().writes() - writes == 1, "{:?}", installation.outside().requests());
        progress::say(format!(
            "created and verified in {:.1} s, drift to True in {:.1} s, True to False in {:.1} s, 1 external write",
            created.as_secs_f64(),
            seen.as_secs_f64(),
            healed.as_secs_f64()
        ));
        Ok(())
    })
    .await
}
