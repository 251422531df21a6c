//! The poller's status page shows the conditions of objects.

use anyhow::{Context as _, Result, ensure};
use drift_e2e::programs::{Options, Program, Which};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, condition};
use serde_json::{Value, json};

async fn json_of(program: &Program, path: &str) -> Result<Value> {
    let (status, text) = program.page(path).await?;
    ensure!(status == 200, "{path}: {status}");
    serde_json::from_str(&text).with_context(|| text)
}

/// Pauses `there`, which drifted, and finds both values and the pause on the page.
async fn shows_the_drift_of_a_paused_object(world: &World, poller: &Program) -> Result<()> {
    let annotations = json!({"driftpoller.dev/paused": "true"});
    world.patch_proxy("there", json!({"metadata": {"annotations": annotations}})).await?;
    world.ask_for_poll("there").await?;
    world.wait_for_verdict("there", "True", "FieldsDiffer").await?;
    wait::until("desired beside observed on the page", wait::DEADLINE, async || {
        let (_, page) = poller.page("/?search=there").await?;
        let shows_change = page.contains("/upstream") && page.contains("127.<wbr>0.<wbr>0.<wbr>1:<wbr>10");
        let is_met = shows_change && page.contains("the object is paused by its annotation");
        Ok(if is_met { Seen::Met(()) } else { Seen::Instead(page) })
    })
    .await
}

#[tokio::test]
async fn the_page_shows_the_conditions_of_objects() -> Result<()> {
    World::run("page", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let address = world.free_listen_address()?;
        toxiproxy.create_disabled("there", &address, "127.0.0.1:9").await?;
        world.apply_target(&Target::shipped(world, toxiproxy.url())?.polled_when_asked()).await?;
        let poller = world.start_poller().await?;
        let spec = json!({"listen": address, "upstream": "127.0.0.1:9", "enabled": false});
        for name in ["there", "missing"] {
            world.create_proxy(name, spec.clone()).await?;
        }
        let targets = wait::until("both objects on the page", wait::DEADLINE, async || {
            let targets = json_of(&poller, "/targets").await?;
            let (counts, attested) = (&targets[0]["objects"], &targets[0]["attested"]);
            let is_so = counts["inSync"] == 1 && counts["drifted"] == 1 && counts["unknown"] == 0 && *attested == true;
            Ok(if is_so { Seen::Met(targets) } else { Seen::Instead(targets.to_string()) })
        })
        .await?;
        ensure!(targets[0]["mode"] == "Correct" && targets[0]["intervalSeconds"] == 86400.0, "{targets}");
        let found = json_of(&poller, "/objects?shown=drifted&search=miss").await?;
        let stands = world.proxy("missing").await?.context("gone")?;
        let stands = condition(&stands, "driftObserved").context("no verdict")?;
        let row = &found["objects"][0];
        ensure!(found["matching"] == 1 && row["object"] == format!("{}/missing", world.objects_namespace()), "{found}");
        ensure!(row["driftObserved"]["reason"] == stands["reason"] && stands["reason"] == "NotCreated", "{found}");
        ensure!(row["driftObserved"]["since"] == stands["lastTransitionTime"], "{found}");
        let (status, page) = poller.page("/?search=there").await?;
        ensure!(status == 200 && page.contains(">there</span>") && !page.contains(">missing</span>"), "{page}");
        ensure!(page.contains("InSync") && !page.contains("stands by"), "{page}");
        let title = format!("<title>1 drifted · 0 unknown · 1 in sync – {} – drift ", world.programs_namespace());
        ensure!(page.contains(&title), "{page}");
        let (_, page) = poller.page("/?shown=drifted").await?;
        let kind = format!("proxy.{}", world.group());
        let command = format!("kubectl drift explain {kind}/missing -n {}", world.objects_namespace());
        ensure!(page.contains(&command) && !page.contains(">there</span>"), "{page}");
        ensure!(
            page.contains("href=\"icon-drifted.svg\"") && poller.page("/icon-drifted.svg").await?.0 == 200,
            "{page}"
        );
        let missing = format!("object=Proxy.{}/{}/missing", world.group(), world.objects_namespace());
        for (query, expected) in [
            ("search=nosuch", "Nothing matches"),
            ("target=nosuch", "No active target is called"),
            (missing.as_str(), command.as_str()),
            ("object=Proxy/a/b", "No target selects"),
        ] {
            let (_, page) = poller.page(&format!("/?{query}")).await?;
            ensure!(page.contains(expected), "{query}: {page}");
        }
        toxiproxy.update("there", json!({"upstream": "127.0.0.1:10"})).await?;
        shows_the_drift_of_a_paused_object(world, &poller).await?;
        let standby = Options { instance: Some("standby".to_owned()), ..Options::default() };
        let standby = world.start(Which::Poller, standby).await?;
        let (_, page) = standby.page("/").await?;
        ensure!(page.contains("This replica stands by"), "{page}");
        Ok(())
    })
    .await
}
