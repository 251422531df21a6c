//! docs/cookbook/registry.md: a tag of an OCI registry.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use drift_e2e::http_client;
use drift_e2e::pages::blocks;
use drift_e2e::process::{Launch, Process};
use drift_e2e::world::{World, message};
use http::HeaderMap;
use serde_json::{Value, json};

use crate::installed::{program, serving};
use crate::page;

const PAGE: &str = "registry.md";
/// Address of the registry's notifications on the page.
const HINTS: &str = "drift-poller-hints.drift-system.svc";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The digest on the page.
pub(crate) const WRITTEN: &str = "sha256:6a7078dac115df4262cd6736b10600a8efc49779be67be45551b88087d92bedf";

/// A registry with the repository `team/app`.
pub(crate) struct Registry {
    folder: PathBuf,
    pub(crate) address: String,
    process: Process,
    /// The test's own token to push, if the registry requires one.
    token: Option<String>,
}

impl Registry {
    /// Starts a registry that sends its notifications to the poller at this address, as on the page.
    async fn telling(world: &World, hints: &str) -> Result<Self> {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cookbook").join(PAGE);
        let blocks = blocks(&fs::read_to_string(page)?, "text");
        let of_notifications = blocks.iter().find(|block| block.contains("notifications:")).context("no such block")?;
        ensure!(of_notifications.contains(HINTS), "{of_notifications}");
        let notifications: Value = serde_saphyr::from_str(&of_notifications.replace(HINTS, hints))?;
        Self::begin(world, notifications, None).await
    }

    /// Starts a registry that requires tokens, with `auth` of its configuration and a token with all rights.
    pub(crate) async fn with_tokens(world: &World, (auth, token): (Value, String)) -> Result<Self> {
        Self::begin(world, json!({"auth": auth}), Some(token)).await
    }

    /// Starts a registry with further parts of a configuration.
    async fn begin(world: &World, further: Value, token: Option<String>) -> Result<Self> {
        let folder = world.folder().join("registry");
        fs::create_dir_all(&folder)?;
        let address = world.free_listen_address()?;
        let storage = json!({"filesystem": {"rootdirectory": folder.join("data")}});
        let mut configuration = json!({"version": 0.1, "storage": storage, "http": {"addr": address}});
        json_patch::merge(&mut configuration, &further);
        fs::write(folder.join("config.yml"), configuration.to_string())?;
        let process = Self::launch(&folder, &address).await?;
        Ok(Self { folder, address, process, token })
    }

    async fn launch(folder: &Path, address: &str) -> Result<Process> {
        let launch = Launch::new("docker-registry", program("docker-registry", "docker-registry")?);
        serving(launch.argument("serve").argument(folder.join("config.yml")), folder, address).await
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/v2/team/app/{path}", self.address)
    }

    /// Returns the digest of the manifest under a tag.
    async fn digest(&self, tag: &str) -> Result<String> {
        let head = http_client::new()?.head(self.url(&format!("manifests/{tag}"))).header("accept", MANIFEST);
        digest_in(head.send().await?.error_for_status()?.headers())
    }

    /// Pushes an image without layers under a tag and returns its digest. The note makes it unique.
    pub(crate) async fn push(&self, tag: &str, note: &str) -> Result<String> {
        let client = http_client::new()?;
        let authorized = |request: reqwest::RequestBuilder| match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let upload = authorized(client.post(self.url("blobs/uploads/"))).send().await?.error_for_status()?;
        let place = upload.headers()["location"].to_str()?.to_owned();
        let digest = format!("sha256:{}", sha256(b"{}"));
        authorized(client.put(format!("{place}&digest={digest}"))).body("{}").send().await?.error_for_status()?;
        let config = json!({"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest, "size": 2});
        let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [],
            "annotations": {"note": note}});
        let put = authorized(client.put(self.url(&format!("manifests/{tag}")))).header("content-type", MANIFEST);
        // Unusual formatting: a client that parses and rewrites it would get another digest.
        let text = serde_json::to_string_pretty(&manifest)?.replace("\"note\":", "\"note\" : ");
        digest_in(put.body(text).send().await?.error_for_status()?.headers())
    }
}

fn digest_in(headers: &HeaderMap) -> Result<String> {
    Ok(headers.get("docker-content-digest").context("no digest")?.to_str()?.to_owned())
}

/// Returns the hash in lower-case hex digits.
fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn a_moved_tag_in_a_registry_is_put_back() -> Result<()> {
    World::run("registry", async |world| {
        let hints = world.free_listen_address()?;
        let mut server = Registry::telling(world, &hints).await?;
        let wanted = server.push("1.0", "approved").await?;
        let replaced = [("registry.images.svc:5000", server.address.as_str()), (WRITTEN, &wanted)];
        let (subject, poller) = page::follow_told(world, (PAGE, &hints), &replaced).await?;
        subject.wait_until_healed_by(1).await?;
        ensure!(server.digest("stable").await? == wanted);

        let history = subject.watch().await?;
        let other = server.push("stable", "of somebody else").await?;
        ensure!(other != wanted);
        history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(2).await?;
        ensure!(server.digest("stable").await? == wanted);
        page::wait_until_hinted(&poller).await?;

        // An unknown digest is rejected before anything is written.
        let unknown = format!("sha256:{}", "0".repeat(64));
        subject.edit(json!({"spec": {"digest": unknown}})).await?;
        let object = subject.wait_for_correction("False/CorrectionFailed").await?;
        let said = message(&object, "driftCorrected");
        ensure!(said.contains("update, step manifest: 404: manifest unknown"), "{said}");
        ensure!(server.digest("stable").await? == wanted);
        subject.edit(json!({"spec": {"digest": wanted}})).await?;
        subject.wait_for_verdict("False/InSync").await?;

        server.process.stop().await?;
        subject.wait_for_verdict("Unknown/ExternalUnreachable").await?;
        server.process = Registry::launch(&server.folder, &server.address).await?;
        subject.wait_for_verdict("False/InSync").await?;

        subject.delete().await?;
        ensure!(server.digest("stable").await? == wanted, "a target without delete took it away");
        Ok(())
    })
    .await
}
