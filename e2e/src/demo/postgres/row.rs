//! The part of the second act that changes a row: its trigger notifies the listening poller, which polls at once.

use std::fs;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::StreamExt as _;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, WatchEvent, WatchParams};
use serde_json::Value;

use super::super::kubectl_watch::{KubectlWatch, correction, in_sync, verdict};
use super::super::terminal::Terminal;
use super::stage::{NAMESPACE, Stage};
use crate::wait;
use crate::world::describe;

/// The objects' kind and namespace.
const OBJECTS: (&str, &str) = ("featureflags", NAMESPACE);

/// The name of the object and of its row.
const NAME: &str = "dark-mode";
const OBJECT: &str = "
apiVersion: shop.example/v1
kind: FeatureFlag
metadata: {name: dark-mode, namespace: team-a}
spec: {name: dark-mode, enabled: true, percent: 25}
";
const CHANGE: &str = "UPDATE features SET percent = 100 WHERE name = 'dark-mode'";

/// Prompt polls of one object are at least a second apart. The row is not changed during this time.
const APART: Duration = Duration::from_millis(1_100);

/// Creates an object and its row, changes the row, and waits until the poller sees and the controller heals it.
pub(super) async fn change_and_heal(terminal: &Terminal, stage: &Stage) -> Result<()> {
    terminal.step("A FeatureFlag is created: a row of a table")?;
    let file = stage.installation.folder.join("feature.yaml");
    fs::write(&file, OBJECT)?;
    let file = file.display().to_string();
    let applied = stage.installation.kubectl.run(&["apply", "--server-side", "-f", &file]).await?;
    terminal.command("kubectl apply --server-side -f feature.yaml")?;
    terminal.note(applied.output.trim_end())?;
    let watch = KubectlWatch::start(&stage.installation, OBJECTS, 1).await?;
    let created = watch.wait_for(NAME, 0, "in sync", in_sync).await?;
    terminal.say(&verdict(NAME, &created.object))?;
    tokio::time::sleep(APART).await;

    terminal.step("Someone changes the row. Its trigger notifies the poller, which polls at once")?;
    let before = watch.count()?;
    let (drifted, took) = change_until_seen(stage).await?;
    terminal.command(&format!("psql -c \"{CHANGE}\""))?;
    terminal.say(&verdict(NAME, &drifted))?;
    terminal.say(&format!("the verdict arrived {} ms after the commit", took.as_millis()))?;
    let healed = |object: &Value| in_sync(object) && correction(object) > correction(&created.object);
    let healed = watch.wait_for(NAME, before, "in sync again, with a correction more", healed).await?;
    terminal.say(&verdict(NAME, &healed.object))
}

/// Returns the first version that reports the change, and its delay after the commit.
async fn change_until_seen(stage: &Stage) -> Result<(Value, Duration)> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("shop.example", "v1", "FeatureFlag"));
    let client = stage.installation.plane.admin_client().await?;
    let api: Api<DynamicObject> = Api::namespaced_with(client, NAMESPACE, &resource);
    let now = api.get(NAME).await?.metadata.resource_version.context("an object without a resourceVersion")?;
    let mut changes = pin!(api.watch(&WatchParams::default(), &now).await?);
    stage.server.administrate(CHANGE).await?;
    let committed = Instant::now();
    while let Some(change) = tokio::time::timeout(wait::DEADLINE, changes.next()).await? {
        let WatchEvent::Modified(object) = change? else { continue };
        let object = serde_json::to_value(object)?;
        if describe(&object, "driftObserved") == "True/FieldsDiffer" {
            return Ok((object, committed.elapsed()));
        }
    }
    bail!("the watch of {NAME} ended")
}
