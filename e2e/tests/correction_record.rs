//! Each correction ends with a line in the controller's log whose keys are documented.

use anyhow::{Context as _, Result, ensure};
use drift_e2e::world::{Target, World};
use serde_json::{Value, json};

/// Returns the record of the object's last correction from the controller's log.
fn last_record(log: &str) -> Result<Value> {
    let mut lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.rfind(|line| line["outcome"].is_string()).context("no record in the log")
}

#[tokio::test]
async fn each_correction_leaves_one_record_in_the_log() -> Result<()> {
    World::run("record", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        world.apply_target(&Target::shipped(world, outside.url())?).await?;
        world.start_poller().await?;
        let controller = world.start_controller().await?;
        let object = world.create_some_proxy("web").await?;
        world.wait_until_healed_by("web", 1).await?;
        toxiproxy.update("web", json!({"upstream": "127.0.0.1:6666"})).await?;
        world.wait_until_healed_by("web", 2).await?;
        let record = last_record(&controller.log_text()?)?;
        let keys: Vec<_> = record.as_object().context("no object")?.keys().map(String::as_str).collect();
        let documented = [
            "timestamp",
            "level",
            "message",
            "target",
            "kind",
            "namespace",
            "name",
            "uid",
            "identity",
            "action",
            "correction",
            "outcome",
            "drift",
            "steps",
            "duration_ms",
            "result",
        ];
        ensure!(keys.len() == documented.len() && documented.iter().all(|key| keys.contains(key)), "{keys:?}");
        ensure!(record["uid"] == object["metadata"]["uid"] && record["identity"] == "web", "{record}");
        ensure!(
            record["action"] == "update" && record["correction"] == 2 && record["outcome"] == "applied",
            "{record}"
        );
        let drift = record["drift"].as_str().context("no drift")?;
        ensure!(drift.contains(r#"/upstream desired "#) && drift.contains(r#"observed "127.0.0.1:6666""#), "{record}");
        ensure!(record["steps"] == "1: 200" && record["duration_ms"].is_u64(), "{record}");
        world.delete_proxy("web").await?;
        world.wait_until_gone("web").await?;
        let record = last_record(&controller.log_text()?)?;
        ensure!(record["action"] == "delete" && record["steps"] == "1: 204" && record["drift"] == "", "{record}");
        Ok(())
    })
    .await
}
