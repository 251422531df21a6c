//! What builds images. Everything else speaks of images and files, and does not know which builder it is.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::super::packages;
use crate::process::Launch;
use crate::process::run_folder;

/// Builds images and writes them into archives.
pub(super) trait Builder: Debug {
    /// Its name for messages, and for the hash of what an image was built with.
    fn name(&self) -> &'static str;

    /// Returns true if it has an image of this name.
    fn has(&self, image: &str) -> bool;

    /// Makes an image of files alone: each file, or all that is in a folder, at its place.
    fn make(&self, image: &str, files: &[(PathBuf, &str)], settings: &Settings) -> Result<()>;

    /// Builds from a Dockerfile, which may take minutes.
    fn build(&self, build: &Build) -> Result<()>;

    /// Writes an image into an archive that bears its name; complete by construction.
    fn save(&self, image: &str, archive: &Path) -> Result<()>;

    /// Removes what was made with bases of other keys than this: layers of other dependencies are by far the largest
    /// things here, and of no use.
    fn forget_others(&self, key: &str) -> Result<()>;

    /// Returns true if it has this image of somebody else's registry, brought now if it can be.
    fn brings(&self, image: &str) -> bool;
}

/// What an image of files alone says about its programs.
#[derive(Debug, Default)]
pub(super) struct Settings<'a> {
    /// `NAME=value`.
    pub(super) environment: &'a [&'a str],
    /// The program that a container begins with.
    pub(super) entrypoint: Option<&'a str>,
}

/// A build from a Dockerfile.
#[derive(Debug)]
pub(super) struct Build<'a> {
    /// For messages and the log's name.
    pub(super) what: &'a str,
    /// The Dockerfile's name in the context.
    pub(super) dockerfile: &'a str,
    /// The folder that the Dockerfile copies from.
    pub(super) context: &'a Path,
    /// The name of the image.
    pub(super) image: &'a str,
    /// `NAME=value` for the Dockerfile's arguments.
    pub(super) arguments: &'a [String],
    /// Whether layers of former builds may be taken.
    pub(super) layers: Layers,
}

impl Build<'_> {
    /// Runs a program with what both builders are told in the same words.
    pub(super) fn run_with(&self, program: &str, arguments: &[&str]) -> Result<()> {
        Launch::new(self.what.replace(' ', "-"), packages::find(program)?)
            // It says where an engine is and how to reach it.
            .with_whole_environment()
            .arguments(arguments)
            .arguments(["--file", self.dockerfile, "--tag", self.image])
            .arguments(self.arguments.iter().flat_map(|argument| ["--build-arg", argument]))
            .argument(".")
            .in_folder(self.context)
            .run_speaking(self.what, run_folder::path()?)
    }
}

/// What a build does with the layers of former ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layers {
    /// What is the same is taken.
    Taken,
    /// Everything is built.
    Anew,
}
