//! Reads an image archive in the format of `docker save` and buildah: layers beside a manifest.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::super::namespaces::run;
use super::workspace::path;
use crate::process::run_folder;

/// A program in an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// Length in bytes.
    pub(super) bytes: u64,
    /// SHA-256 in hex digits.
    pub(super) hash: String,
}

/// Returns the program at the root of the image's last layer. The Dockerfiles copy it last.
pub(super) fn program(archive: &Path, name: &str) -> Result<Program> {
    let scratch = run_folder::path()?.join(format!("{name}.parts"));
    fs::create_dir_all(&scratch).with_context(|| format!("making {}", scratch.display()))?;
    let read = read(archive, name, &scratch).with_context(|| format!("looking for {name} in {}", archive.display()));
    fs::remove_dir_all(&scratch)?;
    read
}

fn read(archive: &Path, name: &str, scratch: &Path) -> Result<Program> {
    let unpack =
        |archive: &Path, file: &str| run("tar", &["-xf", path(archive)?, "-C", path(scratch)?, file]).map(drop);
    unpack(archive, "manifest.json")?;
    let manifest: Value = serde_json::from_slice(&fs::read(scratch.join("manifest.json"))?)?;
    let layers = manifest[0]["Layers"].as_array().context("a manifest without layers")?;
    let layer = layers.last().and_then(Value::as_str).context("an image without layers")?;
    unpack(archive, layer)?;
    unpack(&scratch.join(layer), name)?;
    let bytes = fs::read(scratch.join(name))?;
    ensure!(bytes.starts_with(b"\x7fELF"), "it is no program");
    let hash = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Program { bytes: bytes.len() as u64, hash })
}
