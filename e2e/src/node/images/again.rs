//! A second build of each image, to see whether it gives the same program: only then can somebody else's build say
//! whether a published image is what its sources say.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::super::namespaces::run;
use super::archive;
use super::builder::{Build, Layers};
use super::image_cache::{ImageCache, PRODUCT};
use super::workspace::{WORKSPACE, path, read_by};
use crate::process::run_folder;

/// How much is built a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// The workspace's own crates; the layer with their dependencies is taken from the first build.
    OwnCrates,
    /// The dependencies too.
    Everything,
}

/// A program that was built twice.
#[derive(Debug)]
pub struct BuiltTwice {
    /// Its name.
    pub program: String,
    /// The SHA-256 of the program in the image that the node runs.
    pub first: String,
    /// The SHA-256 of the program that was built for this alone.
    pub second: String,
}

/// Builds both images again, in another folder.
///
/// # Errors
/// When an image cannot be built.
pub async fn build_again(again: Again) -> Result<Vec<BuiltTwice>> {
    tokio::task::spawn_blocking(move || {
        let cache = ImageCache::open()?;
        PRODUCT.iter().map(|(program, name)| build_one_again(&cache, program, name, again)).collect()
    })
    .await?
}

fn build_one_again(cache: &ImageCache, ending: &str, name: &str, again: Again) -> Result<BuiltTwice> {
    let program = format!("drift-{ending}");
    let dockerfile = format!("Dockerfile.{ending}");
    let first = archive::program(&cache.product(ending, name)?, &program)?;
    let context = context(ending, &dockerfile)?;
    let second = context.with_extension("tar");
    let (builder, image) = (&cache.builder, format!("localhost/{program}:again"));
    builder.build(&Build {
        what: &format!("building {program} a second time"),
        dockerfile: &dockerfile,
        context: &context,
        image: &image,
        arguments: &cache.bases.arguments(builder.as_ref(), &dockerfile)?,
        layers: if again == Again::Everything { Layers::Anew } else { Layers::Taken },
    })?;
    builder.save(&image, &second)?;
    let second = archive::program(&second, &program)?;
    Ok(BuiltTwice { program, first: first.hash, second: second.hash })
}

/// A copy of all that a build reads, with one file more among the program's sources: so the layers that hold them are
/// no longer those of the first build.
fn context(ending: &str, dockerfile: &str) -> Result<PathBuf> {
    let context = run_folder::path()?.join(format!("{ending}-again"));
    fs::create_dir_all(&context).with_context(|| format!("making {}", context.display()))?;
    let workspace = Path::new(WORKSPACE);
    let read = read_by(dockerfile)?;
    let read = read.iter().map(String::as_str).chain([".dockerignore"]);
    let command = ["-C", WORKSPACE, "cp", "--archive", "--parents"];
    let target = [path(&context)?];
    run("env", &command.into_iter().chain(read).chain(target).collect::<Vec<_>>())?;
    fs::write(context.join(ending).join("built-again"), workspace.as_os_str().as_encoded_bytes())?;
    Ok(context)
}
