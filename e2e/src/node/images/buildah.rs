//! buildah with a storage of our own: it needs no daemon and no registry. Its mounts are in a namespace of their own,
//! so that one that was killed leaves none behind.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::super::{holder::run, packages};
use crate::process::Launch;
use crate::run_folder;

/// A storage of images.
#[derive(Debug)]
pub(super) struct Buildah {
    storage: PathBuf,
}

impl Buildah {
    /// The storage in this folder, made when it is first used.
    pub(super) fn in_folder(storage: PathBuf) -> Self {
        Self { storage }
    }

    /// Whether the storage has an image of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.run(&["inspect", "--type", "image", name]).is_ok()
    }

    /// Builds from a Dockerfile, which may take minutes.
    pub(super) fn build(&self, what: &str, arguments: &[String]) -> Result<()> {
        Launch::new(what.replace(' ', "-"), packages::find("unshare")?)
            .arguments(self.options())
            .arguments(["build", "--isolation", "chroot"])
            .arguments(arguments)
            .in_folder(super::WORKSPACE)
            .run_speaking(what, run_folder::path()?)
    }

    /// Makes an image of files alone, with the settings that `buildah config` takes.
    pub(super) fn make(&self, name: &str, files: &[(&Path, &str)], settings: &[&str]) -> Result<()> {
        let container = self.run(&["from", "scratch"])?;
        let container = container.trim();
        for (file, place) in files {
            self.run(&["copy", "--quiet", container, super::path(file)?, place])?;
        }
        self.run(&[&["config"], settings, &[container]].concat())?;
        self.run(&["commit", "--quiet", "--rm", container, name]).map(drop)
    }

    /// Writes an image into an archive that bears its name; complete by construction.
    pub(super) fn save(&self, name: &str, archive: &Path) -> Result<()> {
        let beside = archive.with_extension("partial");
        // An archive is never added to.
        let _ = std::fs::remove_file(&beside);
        self.run(&["push", "--quiet", name, &format!("docker-archive:{}:{name}", beside.display())])?;
        Ok(std::fs::rename(&beside, archive)?)
    }

    fn run(&self, arguments: &[&str]) -> Result<String> {
        let options = self.options();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        run("unshare", &[&options, arguments].concat())
    }

    /// What stands before buildah's own arguments.
    fn options(&self) -> Vec<String> {
        let folder = |name: &str| self.storage.join(name).display().to_string();
        let namespace = ["--mount", "--propagation", "private", "buildah"];
        let storage = ["--root", &folder("root"), "--runroot", &folder("run"), "--storage-driver", "overlay"];
        namespace.into_iter().chain(storage).map(str::to_owned).collect()
    }
}
