//! The images on the node: the two programs', built from the two Dockerfiles as they are, and the one that holds a
//! Pod's namespaces.
//!
//! What was built is kept in the user's cache folder under a hash of all that it was built from, so that an
//! unchanged checkout builds nothing. No image is pulled: see [`bases`].

mod bases;
mod buildah;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use sha2::{Digest as _, Sha256};

use super::holder::run;
use crate::binaries::cache;
use crate::progress;
use bases::Bases;

/// The image of the process that does nothing in every Pod.
pub(super) const PAUSE: &str = "drift.local/pause:1";

/// The largest image that is still quickly pulled onto a node: the program is nearly all of it.
const MOST_BYTES: u64 = 20_000_000;

/// The images of the product: their Dockerfile's ending and the name that the manifests use.
const PRODUCT: [(&str, &str); 2] =
    [("poller", "docker.io/library/drift-poller:0.1.0"), ("controller", "docker.io/library/drift-controller:0.1.0")];

/// The workspace, where the Dockerfiles lie.
const WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

const PAUSE_PROGRAM: &str = "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n";

/// All images as archives that containerd can import, built if they have changed.
pub(super) async fn built() -> Result<Vec<PathBuf>> {
    tokio::task::spawn_blocking(built_blocking).await?
}

fn built_blocking() -> Result<Vec<PathBuf>> {
    let folder = cache::folder()?.join("node");
    let archives = folder.join("images");
    fs::create_dir_all(&archives).with_context(|| format!("making {}", archives.display()))?;
    let _lock = cache::lock(&folder, "waiting for another process that builds images")?;
    let bases = Bases::known(&folder)?;
    let mut all = vec![pause(&folder, &archives, &bases)?];
    for (program, name) in PRODUCT {
        all.push(product(program, name, &archives, &bases)?);
    }
    Ok(all)
}

fn product(program: &str, name: &str, archives: &Path, bases: &Bases) -> Result<PathBuf> {
    let dockerfile = format!("Dockerfile.{program}");
    let archive = archives.join(format!("{program}-{}.tar", sources(&dockerfile, bases)?));
    if !archive.is_file() {
        let storage = bases.storage()?;
        storage.build(&format!("building the image of drift-{program}"), &build(&dockerfile, name, bases)?)?;
        forget_others(archives, program)?;
        storage.save(name, &archive)?;
    }
    let bytes = fs::metadata(&archive)?.len();
    progress::say(format!("the image of drift-{program} has {:.1} MB", bytes as f64 / 1e6));
    ensure!(bytes <= MOST_BYTES, "the image of drift-{program} has {bytes} bytes, more than {MOST_BYTES}");
    Ok(archive)
}

fn build(dockerfile: &str, name: &str, bases: &Bases) -> Result<Vec<String>> {
    let mut arguments = vec!["--layers".to_owned(), "--file".to_owned(), dockerfile.to_owned()];
    arguments.extend(["--tag".to_owned(), name.to_owned()]);
    arguments.extend(bases.arguments()?);
    arguments.push(WORKSPACE.to_owned());
    Ok(arguments)
}

fn pause(folder: &Path, archives: &Path, bases: &Bases) -> Result<PathBuf> {
    let archive = archives.join("pause.tar");
    if !archive.is_file() {
        let (source, program) = (folder.join("pause.c"), folder.join("pause"));
        fs::write(&source, PAUSE_PROGRAM)?;
        run("gcc", &["-static", "-Os", "-s", "-o", path(&program)?, path(&source)?])?;
        let storage = bases.storage()?;
        storage.make(PAUSE, &[(program.as_path(), "/pause")], &["--entrypoint", r#"["/pause"]"#])?;
        storage.save(PAUSE, &archive)?;
    }
    Ok(archive)
}

/// A hash of everything that a build of this Dockerfile reads: what `.dockerignore` lets in, and the bases.
fn sources(dockerfile: &str, bases: &Bases) -> Result<String> {
    let workspace = Path::new(WORKSPACE);
    let let_in = fs::read_to_string(workspace.join(".dockerignore"))?;
    let mut hash = Sha256::new();
    hash.update(bases.key());
    for name in let_in.lines().filter_map(|line| line.strip_prefix('!')).chain([dockerfile]) {
        add(&mut hash, &workspace.join(name))?;
    }
    cache::name(hash)
}

/// Adds a file, or a folder with all that is in it, in a stable order.
fn add(hash: &mut Sha256, path: &Path) -> Result<()> {
    if path.is_dir() {
        let entries = fs::read_dir(path).with_context(|| format!("reading {}", path.display()))?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        paths.sort();
        return paths.iter().try_for_each(|path| add(hash, path));
    }
    hash.update(path.strip_prefix(WORKSPACE).unwrap_or(path).as_os_str().as_encoded_bytes());
    hash.update(fs::read(path).with_context(|| format!("reading {}", path.display()))?);
    Ok(())
}

/// Removes the archives of former sources.
fn forget_others(archives: &Path, program: &str) -> Result<()> {
    for entry in fs::read_dir(archives)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&format!("{program}-")) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is no UTF-8", path.display()))
}
