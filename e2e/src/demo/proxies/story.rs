//! The first act, step by step. A step that does not happen fails the demonstration.

use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::super::kubectl_watch::{KubectlWatch, correction, in_sync, verdict};
use super::super::terminal::Terminal;
use super::stage::Stage;
use crate::manifests;
use crate::world::describe;

/// The objects of the shipped example.
const NAMES: [&str; 3] = ["web", "database", "cache"];

/// Their kind and namespace.
const OBJECTS: (&str, &str) = ("proxies", manifests::OBJECTS_NAMESPACE);

/// The object whose proxy is changed, and its new upstream.
const CHANGED: &str = "web";
const FOREIGN_UPSTREAM: &str = "127.0.0.1:6666";

/// Tells the whole story.
pub(super) async fn tell(terminal: &Terminal, stage: &Stage) -> Result<()> {
    terminal.start_clock();
    let watch = create_objects(terminal, stage).await?;
    stage.installation.start_programs(terminal).await?;
    see_missing(terminal, &watch).await?;
    see_created(terminal, stage, &watch).await?;
    change_and_heal(terminal, stage, &watch).await?;
    delete(terminal, stage).await?;
    stage.installation.ensure_programs_run().await?;
    terminal.well("\u{2713} every step above happened and was checked against the API server and toxiproxy")
}

async fn create_objects(terminal: &Terminal, stage: &Stage) -> Result<KubectlWatch> {
    terminal.step("Three Proxy objects are created")?;
    let file = stage.objects.display().to_string();
    let applied = stage.installation.kubectl.run(&["apply", "--server-side", "-f", &file]).await?;
    terminal.command("kubectl apply --server-side -f proxies.yaml")?;
    terminal.note(applied.output.trim_end())?;
    let outside = stage.toxiproxy.proxies().await?;
    ensure!(outside.is_empty(), "toxiproxy is not empty: {outside:?}");
    terminal.say("toxiproxy has no proxies")?;
    let watch = KubectlWatch::start(&stage.installation, OBJECTS, NAMES.len()).await?;
    terminal.command(&watch.command())?;
    Ok(watch)
}

async fn see_missing(terminal: &Terminal, watch: &KubectlWatch) -> Result<()> {
    terminal.step("The poller finds that the proxies do not exist")?;
    for name in NAMES {
        let wanted = |object: &Value| describe(object, "driftObserved") == "True/NotCreated";
        let version = watch.wait_for(name, 0, "driftObserved True, NotCreated", wanted).await?;
        terminal.say(&verdict(name, &version.object))?;
    }
    Ok(())
}

async fn see_created(terminal: &Terminal, stage: &Stage, watch: &KubectlWatch) -> Result<()> {
    terminal.step("The controller, which watches the API only, creates them")?;
    for name in NAMES {
        let version = watch.wait_for(name, 0, "in sync", in_sync).await?;
        let desired = &version.object["spec"];
        let enabled = desired["enabled"].as_bool().unwrap_or(true);
        let proxy = stage.toxiproxy.wait_for(name, |proxy| {
            proxy.is_some_and(|it| {
                desired["listen"] == it.listen && desired["upstream"] == it.upstream && enabled == it.enabled
            })
        });
        if let Some(proxy) = proxy.await? {
            terminal.say(&format!(
                "toxiproxy: {name} {} \u{2192} {}, enabled {}",
                proxy.listen, proxy.upstream, proxy.enabled
            ))?;
        }
    }
    stage.installation.show_table(terminal, OBJECTS).await
}

async fn change_and_heal(terminal: &Terminal, stage: &Stage, watch: &KubectlWatch) -> Result<()> {
    terminal.step("Someone changes a proxy in toxiproxy")?;
    let before = watch.count()?;
    let Some(original) = stage.toxiproxy.proxy(CHANGED).await? else { anyhow::bail!("toxiproxy lost {CHANGED}") };
    let changed = stage.toxiproxy.update(CHANGED, json!({"upstream": FOREIGN_UPSTREAM})).await?;
    let began = Instant::now();
    ensure!(changed.upstream == FOREIGN_UPSTREAM, "toxiproxy did not take the change: {changed:?}");
    let url = stage.toxiproxy.url();
    terminal.command(&format!("curl -X POST {url}/proxies/{CHANGED} -d '{{\"upstream\": \"{FOREIGN_UPSTREAM}\"}}'"))?;

    terminal.step("The poller sets driftObserved to True. kubectl printed:")?;
    let drifted = |object: &Value| describe(object, "driftObserved") == "True/FieldsDiffer";
    let version = watch.wait_for(CHANGED, before, "driftObserved True, FieldsDiffer", drifted).await?;
    terminal.note("# output of the kubectl watch above")?;
    terminal.note(&version.text)?;

    terminal.step("The controller corrects it, and the poller confirms")?;
    let healed = |object: &Value| in_sync(object) && correction(object) > correction(&version.object);
    let healed = watch.wait_for(CHANGED, before, "in sync again, with a correction more", healed).await?;
    let proxy = stage.toxiproxy.wait_for(CHANGED, |proxy| proxy == Some(&original)).await?;
    terminal.say(&verdict(CHANGED, &healed.object))?;
    terminal
        .say(&format!("toxiproxy: {CHANGED} \u{2192} {} again", proxy.map(|it| it.upstream).unwrap_or_default()))?;
    terminal.say(&format!("healed within {:.2} s", began.elapsed().as_secs_f64()))?;
    stage.installation.show_table(terminal, OBJECTS).await
}

async fn delete(terminal: &Terminal, stage: &Stage) -> Result<()> {
    terminal.step("The object is deleted, and its finalizer takes the proxy with it")?;
    // kubectl returns once the object is gone, after the release of the finalizer.
    let arguments = ["delete", "proxy", CHANGED, "--namespace", manifests::OBJECTS_NAMESPACE, "--timeout=50s"];
    let deleted = stage.installation.kubectl.run(&arguments).await?;
    terminal.command(&format!("kubectl {}", arguments[..5].join(" ")))?;
    terminal.note(deleted.output.trim_end())?;
    let left: Vec<String> = stage.toxiproxy.proxies().await?.into_keys().collect();
    ensure!(left == ["cache", "database"], "toxiproxy should have cache and database left, and has {left:?}");
    terminal.say(&format!("toxiproxy has {} left", left.join(" and ")))
}
