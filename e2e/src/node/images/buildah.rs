//! buildah with a storage of our own: it needs no daemon and no registry. Its mounts are in a namespace of their own,
//! so that one that was killed leaves none behind.

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
    /// The storage for bases of this key, made when it is first used.
    pub(super) fn in_folder(folder: &Path, key: &str) -> Self {
        Self { storage: folder.join(storage(key)) }
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
        // An archive is never added to.
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

    /// Where there is no engine the suite asks no registry: it has to run on a machine that reaches none, at once.
    fn brings(&self, _image: &str) -> bool {
        false
    }
}

/// The name of the folder for a key.
fn storage(key: &str) -> String {
    format!("storage-{key}")
}
