//! A running Docker engine. It belongs to the user, so only images with our names are touched.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::super::namespaces::run;
use super::super::packages;
use super::builder::{Build, Builder, Layers, Settings};
use super::workspace::path;
use crate::process::run_folder;
use crate::progress;

/// An engine's deadline to answer. It answers within a second, and a missing one fails at once.
const ANSWER_SECONDS: &str = "5";

/// Time limit to pull an image. The largest, the public Rust image, has half a gigabyte.
const PULL_SECONDS: &str = "600";

/// The engine that the `docker` command line reaches.
#[derive(Debug)]
pub(super) struct Docker;

/// Returns true if an engine answers. The command line alone is often installed without one.
pub(in super::super) fn answers() -> bool {
    docker_within(ANSWER_SECONDS, &["info", "--format", "{{.ServerVersion}}"])
        .is_ok_and(|version| !version.trim().is_empty())
}

impl Builder for Docker {
    fn name(&self) -> &'static str {
        "docker"
    }

    fn has(&self, image: &str) -> bool {
        run("docker", &["image", "inspect", image]).is_ok()
    }

    fn make(&self, image: &str, files: &[(PathBuf, &str)], settings: &Settings) -> Result<()> {
        let staging = run_folder::path()?.join("image-of-files.tar");
        for (number, (file, place)) in files.iter().enumerate() {
            let mode = if number == 0 { "-cf" } else { "-rf" };
            add(mode, &staging, file, place)?;
        }
        let variables = settings.environment.iter().map(|variable| format!("ENV {variable}"));
        let entrypoint = settings.entrypoint.map(|program| format!(r#"ENTRYPOINT ["{program}"]"#));
        let changes: Vec<String> = variables.chain(entrypoint).collect();
        let changes = changes.iter().flat_map(|change| ["--change", change]);
        let import = ["import"].into_iter().chain(changes).chain([path(&staging)?, image]);
        run("docker", &import.collect::<Vec<_>>())?;
        Ok(fs::remove_file(staging)?)
    }

    fn build(&self, build: &Build) -> Result<()> {
        let arguments = match build.layers {
            Layers::Taken => &["build"][..],
            Layers::Anew => &["build", "--no-cache"],
        };
        build.run_with("docker", arguments)
    }

    fn save(&self, image: &str, archive: &Path) -> Result<()> {
        let beside = archive.with_extension("partial");
        run("docker", &["save", "--output", path(&beside)?, image])?;
        Ok(fs::rename(&beside, archive)?)
    }

    fn forget_others(&self, key: &str) -> Result<()> {
        for base in super::bases::NAMES {
            let format = "{{.Repository}}:{{.Tag}}";
            let images = run("docker", &["image", "ls", "--filter", &format!("reference={base}"), "--format", format])?;
            for image in images.lines().filter(|image| **image != format!("{base}:{key}")) {
                run("docker", &["image", "rm", image])?;
            }
        }
        Ok(())
    }

    fn brings(&self, image: &str) -> bool {
        let brought = self.has(image) || docker_within(PULL_SECONDS, &["pull", "--quiet", image]).is_ok();
        if !brought {
            progress::say(format!("docker cannot pull {image}"));
        }
        brought
    }
}

fn docker_within(seconds: &str, arguments: &[&str]) -> Result<String> {
    packages::find("docker")?;
    run("timeout", &[&[seconds, "docker"], arguments].concat())
}

/// Adds a file, or all contents of a folder, to an archive at the given path.
fn add(mode: &str, archive: &Path, file: &Path, place: &str) -> Result<()> {
    let folder = file.parent().with_context(|| format!("{} has no folder", file.display()))?;
    let name = file.file_name().with_context(|| format!("{} has no name", file.display()))?.to_string_lossy();
    let place = place.trim_start_matches('/');
    let place = if place.is_empty() { "." } else { place };
    // `S` leaves the targets of symbolic links unchanged.
    let renamed = format!("--transform=s,^{name},{place},S");
    run("tar", &[mode, path(archive)?, "-C", path(folder)?, &renamed, &name]).map(drop)
}
