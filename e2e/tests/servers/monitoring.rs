//! The shipped alerts and the metrics of the programs, checked by Prometheus' own tool: for given series the alerts say
//! what they should, and the linter finds no fault in the metrics.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use drift_e2e::cluster::control_plane::ControlPlane;
use drift_e2e::manifests::{folder, is, parse_stream, render};
use drift_e2e::world::{Target, World};
use serde_json::json;

use crate::installed::program;

#[tokio::test]
async fn alerts_fire_when_they_should_and_never_else() -> Result<()> {
    let plane = ControlPlane::shared().await?;
    let component = parse_stream(&render(&plane.binaries().kubectl, &folder().join("components/monitoring"))?)?;
    let rules = component.iter().find(|document| is(document, "PrometheusRule", "drift"));
    let groups = &rules.context("the component has no rules")?["spec"]["groups"];
    let scratch = tempfile::tempdir()?;
    // JSON is YAML.
    fs::write(scratch.path().join("rules.yaml"), json!({"groups": groups}).to_string())?;
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/monitoring/alerts.yaml");
    fs::copy(expected, scratch.path().join("alerts.yaml"))?;
    let mut tool = Command::new(program("promtool", "prometheus")?);
    let said = tool.args(["test", "rules", "alerts.yaml"]).current_dir(scratch.path()).output()?;
    let [output, complaints] = [said.stdout, said.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    ensure!(said.status.success(), "{output}{complaints}");
    Ok(())
}

#[tokio::test]
async fn the_linter_of_prometheus_accepts_all_metrics() -> Result<()> {
    World::run("metrics", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        world.apply_target(&Target::shipped(world, outside.url())?.with("/spec/interval", json!("1s"))).await?;
        let programs = [world.start_poller().await?, world.start_controller().await?];
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
        world.wait_until_verified("web").await?;
        ensure!(toxiproxy.proxy("web").await?.is_some());
        let own = [
            ["drift_poller_target_info", "drift_poller_oldest_verdict_age_ratio"],
            ["drift_controller_correction_duration_seconds_count", "drift_controller_held_duration_seconds_count"],
        ];
        for (program, own) in programs.iter().zip(own) {
            let (_, text) = program.page("/metrics").await?;
            let file = world.folder().join("metrics.txt");
            fs::write(&file, &text)?;
            let mut tool = Command::new(self::program("promtool", "prometheus")?);
            let said = tool.args(["check", "metrics"]).stdin(File::open(&file)?).output()?;
            let [output, complaints] =
                [said.stdout, said.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
            ensure!(said.status.success() && complaints.is_empty(), "{output}{complaints}{text}");
            let both =
                ["drift_build_info", "drift_api_requests_total", "process_cpu_seconds_total", "drift_rights_missing"];
            for name in both.iter().chain(&own) {
                ensure!(text.contains(&format!("\n{name}{{")), "no {name} in {text}");
            }
        }
        Ok(())
    })
    .await
}
