//! Setup of the first act: toxiproxy, and the manifests with its address in their target.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::super::installation::Installation;
use super::super::terminal::Terminal;
use super::super::things_to_try::ThingsToTry;
use crate::manifests;
use crate::process::ports;
use crate::systems::toxiproxy::Toxiproxy;

/// The interval of the shipped target and its replacement, which avoids waits of half a minute.
const INTERVALS: (&str, &str) = ("interval: 30s", "interval: 1s");

/// The running setup.
pub(super) struct Stage {
    pub(super) installation: Installation,
    pub(super) toxiproxy: Toxiproxy,
    /// The file with the three objects.
    pub(super) objects: PathBuf,
}

impl Stage {
    /// Builds missing programs, starts the systems and applies the shipped manifests.
    pub(super) async fn build(terminal: &Terminal) -> Result<Self> {
        terminal.step("Preparing the control plane and the external system")?;
        let installation = Installation::start(terminal).await?;
        let program = &installation.plane.binaries().toxiproxy;
        let toxiproxy = Toxiproxy::start(program, &installation.folder, "toxiproxy").await?;
        terminal.say(&format!("toxiproxy, the external system, is ready at {}", toxiproxy.url()))?;
        let objects = write_objects(&installation.folder)?;
        let stage = Self { installation, toxiproxy, objects };
        stage.installation.apply_manifests(terminal, "", Some(stage.target()?)).await?;
        stage.installation.wait_for_kind(&format!("proxies.{}", manifests::GROUP)).await?;
        terminal.say("the target polls every second here, and every 30 s as shipped")?;
        Ok(stage)
    }

    /// Returns the shipped target with this machine's address and a short interval.
    fn target(&self) -> Result<Value> {
        let text = manifests::shipped_target(&self.installation.plane.binaries().kubectl, "proxies.yaml")?;
        let changed = text.replace(manifests::TOXIPROXY_URL, self.toxiproxy.url()).replace(INTERVALS.0, INTERVALS.1);
        ensure!(changed.contains(INTERVALS.1), "the shipped target has no {}", INTERVALS.0);
        let metadata = json!({"name": manifests::TARGETS, "namespace": manifests::NAMESPACE});
        let data = json!({"proxies.yaml": changed});
        Ok(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}))
    }

    /// Returns the text that `--keep` prints.
    pub(super) async fn things_to_try(&self) -> Result<String> {
        let proxies = format!("{}/proxies", self.toxiproxy.url());
        let things = ThingsToTry {
            change: format!("curl -s -X POST {proxies}/database -d '{{\"upstream\": \"127.0.0.1:6666\"}}'"),
            other_change: format!("curl -s -X DELETE {proxies}/cache"),
            outside: ("toxiproxy", proxies),
            changed: ["proxy/database -n drift-demo", "proxy/cache -n drift-demo"],
            target: "proxies",
        };
        things.text(&self.installation).await
    }
}

/// Writes the shipped example objects with ports that are free on this machine.
fn write_objects(folder: &Path) -> Result<PathBuf> {
    let text = fs::read_to_string(manifests::folder().join("examples/proxies.yaml"))?;
    let mut documents = manifests::parse_stream(&text)?;
    for document in documents.iter_mut().filter(|document| document["kind"] == "Proxy") {
        document["spec"]["listen"] = Value::String(format!("127.0.0.1:{}", ports::free_port()?));
    }
    let texts: Vec<String> = documents.iter().map(serde_saphyr::to_string).collect::<Result<_, _>>()?;
    let path = folder.join("proxies.yaml");
    fs::write(&path, texts.join("---\n"))?;
    Ok(path)
}
