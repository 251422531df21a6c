//! Builds each image a second time and compares the programs. Only a reproducible build lets others verify that a
//! published image matches its sources.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::super::namespaces::run;
use super::archive;
use super::builder::{Build, Layers};
use super::image_cache::{ImageCache, PRODUCT};
use super::workspace::{WORKSPACE, path, read_by};
use crate::process::run_folder;

/// The extent of the second build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// The workspace's own crates. The layer with their dependencies comes from the first build.
    OwnCrates,
    /// The dependencies as well.
    Everything,
}

/// A program that was built twice.
#[derive(Debug)]
pub struct BuiltTwice {
    /// Name of the program.
    pub program: String,
    /// The SHA-256 of the program in the image that the node runs.
    pub first: String,
    /// The SHA-256 of the program from the second build.
    pub second: String,
}

/// Builds both images again in another folder.
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

/// Copies all inputs of a build and adds one file to the program's sources, so that their layers differ from those of
/// the first build.
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
