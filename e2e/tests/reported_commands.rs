//! The commands of `kubectl-drift` on objects whose conditions are in DriftReports.

use anyhow::{Context as _, Result, ensure};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use serde_json::{Value, json};

#[tokio::test]
async fn commands_read_conditions_from_reports() -> Result<()> {
    World::run("reported-commands", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let target = Target::shipped(world, toxiproxy.url())?;
        let target = target.with("/spec/objects/conditions", json!("Report")).without("/spec/correct");
        world.apply_target(&target).await?;
        world.start_poller().await?;
        let listen = world.free_listen_address()?;
        toxiproxy.create("good", &listen, "127.0.0.1:9").await?;
        world.create_proxy("good", json!({"listen": listen, "upstream": "127.0.0.1:9"})).await?;
        world.create_some_proxy("web").await?;
        let place = ["-n", world.objects_namespace(), "--targets-namespace", world.programs_namespace()];
        let run = async |words: &[&str]| world.run_command(&[words, &place].concat()).await;
        let item_of = async |name: &str| -> Result<Value> {
            let told = run(&["get", "proxies", "-o", "json"]).await?;
            let told: Value = serde_json::from_str(&told.output).with_context(|| format!("{told:?}"))?;
            let mut items = told["items"].as_array().into_iter().flatten();
            Ok(items.find(|item| item["name"] == name).cloned().unwrap_or_default())
        };
        for (name, reason) in [("good", "InSync"), ("web", "NotCreated")] {
            wait::until(format!("get to show {reason}"), wait::DEADLINE, async || {
                let item = item_of(name).await?;
                let is_shown = item["driftObserved"]["reason"] == reason;
                Ok(if is_shown { Seen::Met(()) } else { Seen::Instead(item.to_string()) })
            })
            .await?;
        }
        let report = item_of("web").await?["report"].as_str().context("no report")?.to_owned();
        ensure!(
            world.proxy("web").await?.context("no web")?["status"]["conditions"].is_null(),
            "the status keeps no condition"
        );

        let explained = run(&["explain", "proxy/web"]).await?;
        let has_report = explained.output.contains(&format!("in DriftReport {report}"));
        ensure!(explained.code == 1 && has_report, "{explained:?}");
        ensure!(explained.output.contains("stands      driftObserved True/NotCreated"), "{explained:?}");

        let kind = format!("proxies.{}", world.group());
        let objects = ["-n", world.objects_namespace()];
        let home = ["--targets-namespace", world.programs_namespace()];
        let (good, web) = (format!("{kind}/good"), format!("{kind}/web"));
        let polled = world.run_command(&[&["poll", &good, "--wait"], &objects[..], &home[..]].concat()).await?;
        ensure!(polled.code == 0 && polled.output.contains(" False InSync: "), "{polled:?}");
        let polled = world.run_command(&[&["poll", &web, "--wait"], &objects[..], &home[..]].concat()).await?;
        ensure!(polled.code == 1 && polled.output.contains(" True NotCreated: "), "{polled:?}");

        let retried = world.run_command(&[&["retry", &good, "--dry-run"], &objects[..]].concat()).await?;
        ensure!(retried.code == 0 && retried.complaints.contains("nothing of it waits"), "{retried:?}");
        let given = world.run_command(&[&["give-up", &web, "--dry-run"], &objects[..]].concat()).await?;
        ensure!(given.code == 3 && given.complaints.contains("owns nothing"), "{given:?}");
        let adopted = run(&["adopt", "proxy/web", "--dry-run"]).await?;
        ensure!(adopted.code == 3 && adopted.complaints.contains("own nothing"), "{adopted:?}");
        Ok(())
    })
    .await
}
