//! The interface of image builders.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::super::packages;
use crate::process::Launch;
use crate::process::run_folder;

/// Builds images and writes them into archives.
pub(super) trait Builder: Debug {
    /// Returns the builder's name for messages and for the hash of an image's inputs.
    fn name(&self) -> &'static str;

    /// Returns true if it has an image with this name.
    fn has(&self, image: &str) -> bool;

    /// Makes an image of files: each file, or all contents of a folder, at its path.
    fn make(&self, image: &str, files: &[(PathBuf, &str)], settings: &Settings) -> Result<()>;

    /// Builds from a Dockerfile, which may take minutes.
    fn build(&self, build: &Build) -> Result<()>;

    /// Writes an image into an archive under its name. The archive is always complete.
    fn save(&self, image: &str, archive: &Path) -> Result<()>;

    /// Removes images and layers with bases of other keys. Layers of old dependencies take the most space by far.
    fn forget_others(&self, key: &str) -> Result<()>;

    /// Returns true if it has this image of a foreign registry. Pulls it if necessary.
    fn brings(&self, image: &str) -> bool;
}

/// Settings of an image that contains only files.
#[derive(Debug, Default)]
pub(super) struct Settings<'a> {
    /// Environment variables as `NAME=value`.
    pub(super) environment: &'a [&'a str],
    /// The container's first program.
    pub(super) entrypoint: Option<&'a str>,
}

/// A build from a Dockerfile.
#[derive(Debug)]
pub(super) struct Build<'a> {
    /// Description for messages and the log's name.
    pub(super) what: &'a str,
    /// Name of the Dockerfile in the context.
    pub(super) dockerfile: &'a str,
    /// The folder that the Dockerfile copies from.
    pub(super) context: &'a Path,
    /// Name of the image.
    pub(super) image: &'a str,
    /// Build arguments as `NAME=value`.
    pub(super) arguments: &'a [String],
    /// Use of layers from earlier builds.
    pub(super) layers: Layers,
}

impl Build<'_> {
    /// Runs a program with the arguments that both builders share.
    pub(super) fn run_with(&self, program: &str, arguments: &[&str]) -> Result<()> {
        Launch::new(self.what.replace(' ', "-"), packages::find(program)?)
            // The environment contains the engine's address.
            .with_whole_environment()
            .arguments(arguments)
            .arguments(["--file", self.dockerfile, "--tag", self.image])
            .arguments(self.arguments.iter().flat_map(|argument| ["--build-arg", argument]))
            .argument(".")
            .in_folder(self.context)
            .run_speaking(self.what, run_folder::path()?)
    }
}

/// Use of layers from earlier builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layers {
    /// Reuses unchanged layers.
    Taken,
    /// Builds every layer again.
    Anew,
}
