//! `kubectl drift install` prints what kustomize prints, with the images of a registry, and the API server takes it.

use anyhow::{Context as _, Result, ensure};
use drift_e2e::cluster::control_plane::ControlPlane;
use drift_e2e::manifests;
use drift_e2e::programs::built;
use serde_json::Value;

use crate::manifests::SHIPPED_NAMES;

const NAMESPACE: &str = "install-check";
const OVERLAYS: [&str; 4] = ["production", "observe-only", "webhooks", "demo"];

/// Runs the command for a namespace of its own.
async fn install(arguments: &[&str]) -> Result<String> {
    let program = ControlPlane::shared().await?.kubectl().with_program(built().await?.cli()?);
    let given = ["install", "--images", "registry.example/drift", "--version", "1.2.3", "--namespace", NAMESPACE];
    Ok(program.run(&[&given, arguments].concat()).await?.output)
}

fn sorted(mut documents: Vec<Value>) -> Vec<Value> {
    documents.sort_by_key(|each| format!("{} {}", each["kind"], each["metadata"]["name"]));
    documents
}

#[tokio::test]
async fn install_prints_each_overlay_as_kustomize_does() -> Result<()> {
    let plane = ControlPlane::shared().await?;
    for overlay in OVERLAYS {
        let folder = manifests::folder().join("overlays").join(overlay);
        let expected = manifests::render(&plane.binaries().kubectl, &folder)?;
        let version = env!("CARGO_PKG_VERSION");
        let expected = ["poller", "controller"].iter().fold(expected, |text, program| {
            let image = format!("registry.example/drift/drift-{program}:1.2.3");
            text.replace(&format!("image: drift-{program}:{version}"), &format!("image: {image}"))
        });
        let expected = manifests::parse_stream(&expected.replace(manifests::NAMESPACE, NAMESPACE))?;
        let printed = manifests::parse_stream(&install(&["--overlay", overlay]).await?)?;
        ensure!(printed.len() == expected.len(), "{overlay}: {} and {}", printed.len(), expected.len());
        for (one, other) in sorted(printed).iter().zip(&sorted(expected)) {
            ensure!(one == other, "{overlay}: install prints\n{one:#}\nand kustomize\n{other:#}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_printed_installation_is_valid_without_the_demonstration() -> Result<()> {
    let kubectl = ControlPlane::shared().await?.kubectl();
    let _alone = SHIPPED_NAMES.lock().await;
    for overlay in OVERLAYS {
        let text = install(&["--overlay", overlay, "--without-demo"]).await?;
        ensure!(!text.contains("roxies"), "{overlay}: {text}");
        let documents = manifests::parse_stream(&text)?;
        // A dry run creates no namespace, so objects in one would be refused.
        let namespace = documents.iter().find(|each| each["kind"] == "Namespace").context("no Namespace")?;
        kubectl.run_with_input(&["apply", "-f", "-"], &namespace.to_string()).await?;
        let printed = kubectl.run_with_input(&["apply", "--dry-run=server", "-f", "-"], &text).await;
        let printed = printed.with_context(|| overlay.to_owned())?;
        ensure!(printed.complaints.is_empty(), "{overlay}: {}", printed.complaints);
        ensure!(documents.len() == printed.output.lines().count(), "{overlay}:\n{}", printed.output);
    }
    Ok(())
}
