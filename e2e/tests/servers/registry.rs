//! docs/cookbook/registry.md: a tag of an OCI registry.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use drift_e2e::http_client;
use drift_e2e::process::{Launch, Process};
use drift_e2e::world::{World, condition, message};
use serde_json::{Value, json};

use crate::installed::{program, serving};
use crate::page;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The digest that stands on the page.
const WRITTEN: &str = "sha256:6a7078dac115df4262cd6736b10600a8efc49779be67be45551b88087d92bedf";

/// A registry with the repository `team/app`.
struct Registry {
    folder: PathBuf,
    address: String,
    process: Process,
}

impl Registry {
    async fn start(world: &World) -> Result<Self> {
        let folder = world.folder().join("registry");
        fs::create_dir_all(&folder)?;
        let address = world.free_listen_address()?;
        let storage = json!({"filesystem": {"rootdirectory": folder.join("data")}});
        let configuration = json!({"version": 0.1, "storage": storage, "http": {"addr": address}});
        fs::write(folder.join("config.yml"), configuration.to_string())?;
        let process = Self::launch(&folder, &address).await?;
        Ok(Self { folder, address, process })
    }

    async fn launch(folder: &Path, address: &str) -> Result<Process> {
        let launch = Launch::new("docker-registry", program("docker-registry", "docker-registry")?);
        serving(launch.argument("serve").argument(folder.join("config.yml")), folder, address).await
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/v2/team/app/{path}", self.address)
    }

    /// Puts an image without layers that is told from others by this note under a tag, and gives its digest.
    async fn push(&self, tag: &str, note: &str) -> Result<String> {
        let client = http_client::new()?;
        let upload = client.post(self.url("blobs/uploads/")).send().await?.error_for_status()?;
        let place = upload.headers()["location"].to_str()?.to_owned();
        let digest = format!("sha256:{}", sha256(b"{}"));
        client.put(format!("{place}&digest={digest}")).body("{}").send().await?.error_for_status()?;
        let config = json!({"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest, "size": 2});
        let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [],
            "annotations": {"note": note}});
        let put = client.put(self.url(&format!("manifests/{tag}"))).header("content-type", MANIFEST);
        let answer = put.body(manifest.to_string()).send().await?.error_for_status()?;
        let digest = answer.headers().get("docker-content-digest").context("no digest")?;
        Ok(digest.to_str()?.to_owned())
    }
}

/// As lower-case hex digits.
fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn a_tag_that_was_moved_in_a_registry_is_seen() -> Result<()> {
    World::run("registry", async |world| {
        let mut server = Registry::start(world).await?;
        let wanted = server.push("1.0", "approved").await?;
        let replaced = [("registry.images.svc:5000", server.address.as_str()), (WRITTEN, &wanted)];
        let subject = page::follow(world, "registry.md", &replaced).await?;
        subject.wait_for_verdict("True/NotCreated").await?;
        server.push("stable", "approved").await?;
        subject.wait_for_verdict("False/InSync").await?;

        let other = server.push("stable", "of somebody else").await?;
        let object = subject.wait_for_verdict("True/FieldsDiffer").await?;
        let said = message(&object, "driftObserved");
        ensure!(said.starts_with("1 field differs: /digest desired"), "{said}");
        ensure!(said.contains(other.get(other.len() - 8..).unwrap_or("?")), "{said} does not show the end of {other}");
        server.push("stable", "approved").await?;
        subject.wait_for_verdict("False/InSync").await?;

        server.process.stop().await?;
        subject.wait_for_verdict("Unknown/ExternalUnreachable").await?;
        server.process = Registry::launch(&server.folder, &server.address).await?;
        let object = subject.wait_for_verdict("False/InSync").await?;
        ensure!(condition(&object, "driftCorrected").is_none(), "a target without correct was corrected: {object}");

        subject.delete().await?;
        let tags = http_client::new()?.get(server.url("tags/list")).send().await?.text().await?;
        let tags: Value = serde_json::from_str(&tags)?;
        ensure!(tags["tags"].as_array().is_some_and(|tags| tags.contains(&json!("stable"))), "{tags}");
        Ok(())
    })
    .await
}
