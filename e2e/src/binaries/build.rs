//! Builds one program with Go from its published module.
//!
//! The first build takes minutes and reports its progress. Go's own build cache reduces later ones to seconds.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::{Kubernetes, Tool};
use crate::process::Launch;
use crate::process::run_folder;

/// Builds `tool` of a version of Kubernetes into the file `output`.
pub(super) fn build(tool: Tool, kubernetes: Kubernetes, output: &Path) -> Result<()> {
    ensure_go()?;
    let (number, count) = tool.place();
    let name = tool.file_name();
    let what = format!("building {name} with Go ({number} of {count}, once for this machine)");
    Launch::new(format!("build-{name}"), "go")
        .arguments(["build", "-trimpath", "-ldflags", &kubernetes.of_tool(tool).stamps()?, "-o"])
        .argument(output)
        .argument(tool.package())
        .with_whole_environment()
        .variable("CGO_ENABLED", "0")
        .variable("GOWORK", "off")
        .in_folder(folder(tool.module(kubernetes)))
        .run_speaking(&what, run_folder::path()?)
}

/// Returns the folder of a module, with its go.mod and go.sum.
pub(super) fn folder(module: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(module)
}

fn ensure_go() -> Result<()> {
    let go = Command::new("go").arg("version").stdin(Stdio::null()).output();
    let found = go.as_ref().is_ok_and(|output| output.status.success());
    if found {
        return Ok(());
    }
    let error = go.err().map_or_else(|| "`go version` failed".to_owned(), |error| error.to_string());
    Err(anyhow::anyhow!(error)).context(
        "the end-to-end tests and the demo need a control plane: install Go 1.26 or newer (it is then built once, in \
         about five minutes), or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver and kubectl (toxiproxy \
         is built with Go in either case)",
    )
}
