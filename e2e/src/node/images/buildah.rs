//! buildah with a storage of our own. It needs no daemon and no registry. Its mounts are in a separate namespace, so
//! that a killed build leaves none behind.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::super::namespaces::run;
use super::builder::{Build, Builder, Layers, Settings};
use super::workspace::path;

/// A storage of images.
#[derive(Debug)]
pub(super) struct Buildah {
    storage: PathBuf,
}

impl Buildah {
    /// Returns the storage for bases of this key. It is created at first use.
    pub(super) fn in_folder(folder: &Path, key: &str) -> Self {
        Self { storage: folder.join(storage(key)) }
    }

    fn run(&self, arguments: &[&str]) -> Result<String> {
        let options = self.options();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        run("unshare", &[&options, arguments].concat())
    }

    /// Returns the global options of buildah.
    fn options(&self) -> Vec<String> {
        let folder = |name: &str| self.storage.join(name).display().to_string();
        let namespace = ["--mount", "--propagation", "private", "buildah"];
        let storage = ["--root", &folder("root"), "--runroot", &folder("run"), "--storage-driver", "overlay"];
        namespace.into_iter().chain(storage).map(str::to_owned).collect()
    }
}

impl Builder for Buildah {
    fn name(&self) -> &'static str {
        "buildah"
    }

    fn has(&self, image: &str) -> bool {
        self.run(&["inspect", "--type", "image", image]).is_ok()
    }

    fn make(&self, image: &str, files: &[(PathBuf, &str)], settings: &Settings) -> Result<()> {
        let container = self.run(&["from", "scratch"])?;
        let container = container.trim();
        for (file, place) in files {
            self.run(&["copy", "--quiet", container, path(file)?, place])?;
        }
        let entrypoint = settings.entrypoint.map(|program| format!(r#"["{program}"]"#));
        let mut config = vec!["config"];
        config.extend(settings.environment.iter().flat_map(|variable| ["--env", variable]));
        config.extend(entrypoint.iter().flat_map(|list| ["--entrypoint", list.as_str()]));
        config.push(container);
        self.run(&config)?;
        self.run(&["commit", "--quiet", "--rm", container, image]).map(drop)
    }

    fn build(&self, build: &Build) -> Result<()> {
        let layers = match build.layers {
            Layers::Taken => "--layers",
            Layers::Anew => "--no-cache",
        };
        let options = self.options();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        build.run_with("unshare", &[&options[..], &["build", "--isolation", "chroot", layers]].concat())
    }

    fn save(&self, image: &str, archive: &Path) -> Result<()> {
        let beside = archive.with_extension("partial");
        // buildah never appends to an archive.
        let _ = fs::remove_file(&beside);
        self.run(&["push", "--quiet", image, &format!("docker-archive:{}:{image}", beside.display())])?;
        Ok(fs::rename(&beside, archive)?)
    }

    fn forget_others(&self, key: &str) -> Result<()> {
        let folder = self.storage.parent().context("a storage without a folder")?;
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let other = entry.file_name();
            if other.to_string_lossy().starts_with(&storage("")) && *other != *storage(key) {
                fs::remove_dir_all(entry.path()).with_context(|| format!("removing {}", entry.path().display()))?;
            }
        }
        Ok(())
    }

    /// Returns false: without an engine the suite asks no registry, so that it starts at once without a network.
    fn brings(&self, _image: &str) -> bool {
        false
    }
}

/// Returns the name of the storage folder for a key.
fn storage(key: &str) -> String {
    format!("storage-{key}")
}
