//! The shipped alerts, asked by Prometheus' own tool: to series as the programs give them they say what they should.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use drift_e2e::cluster::control_plane::ControlPlane;
use drift_e2e::manifests::{folder, is, parse_stream, render};
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
