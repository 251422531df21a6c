//! The images on the node: the two programs', built from the two Dockerfiles as they are, and the one that holds a
//! Pod's namespaces.
//!
//! What was built is kept in the user's cache folder under a hash of all that it was built from, so that an
//! unchanged checkout builds nothing. What builds is hidden in [`builder`], what is built on in [`bases`].

mod again;
mod archive;
mod bases;
mod buildah;
mod builder;
mod docker;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use sha2::{Digest as _, Sha256};

use super::holder::run;
use crate::binaries::cache;
use crate::progress;
use bases::Bases;
use builder::{Build, Builder, Layers, Settings};

pub use again::{Again, BuiltTwice, build_again};
pub(super) use docker::answers as docker_answers;

/// The image of the process that does nothing in every Pod.
pub(super) const PAUSE: &str = "drift.local/pause:1";

/// The largest image that is still quickly pulled onto a node: the program is nearly all of it.
const MOST_BYTES: u64 = 20_000_000;

/// What the public base of the programs brings: about 2 MB by its own documentation, and half a megabyte that it may grow
/// by. The base that is made here has 0.2 MB, so an image on it says too little.
const PUBLIC_BASE_BYTES: u64 = 2_500_000;

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
    let workshop = Workshop::open()?;
    let mut all = vec![workshop.pause()?];
    for (program, name) in PRODUCT {
        all.push(workshop.product(program, name)?);
    }
    Ok(all)
}

/// Where images are built, by one process at a time.
#[derive(Debug)]
struct Workshop {
    folder: PathBuf,
    bases: Bases,
    builder: Box<dyn Builder>,
    _lock: File,
}

impl Workshop {
    fn open() -> Result<Self> {
        let folder = cache::folder()?.join("node");
        fs::create_dir_all(folder.join("images")).with_context(|| format!("making {}", folder.display()))?;
        let lock = cache::lock(&folder, "waiting for another process that builds images")?;
        let bases = Bases::known(&folder)?;
        let builder = builder::find(&folder, bases.key());
        Ok(Self { folder, bases, builder, _lock: lock })
    }

    fn archive(&self, name: &str) -> PathBuf {
        self.folder.join("images").join(format!("{name}.tar"))
    }

    fn product(&self, program: &str, name: &str) -> Result<PathBuf> {
        let dockerfile = format!("Dockerfile.{program}");
        let archive = self.archive(&format!("{program}-{}", self.sources(&dockerfile)?));
        if !archive.is_file() {
            let arguments = self.bases.arguments(self.builder.as_ref(), &dockerfile)?;
            self.builder.build(&Build {
                what: &format!("building the image of drift-{program} with {}", self.builder.name()),
                dockerfile: &dockerfile,
                context: Path::new(WORKSPACE),
                image: name,
                arguments: &arguments,
                layers: Layers::Taken,
            })?;
            forget_others(&archive, program)?;
            self.builder.save(name, &archive)?;
        }
        ensure_small(&archive, &format!("drift-{program}"))?;
        Ok(archive)
    }

    fn pause(&self) -> Result<PathBuf> {
        let archive = self.archive("pause");
        if !archive.is_file() {
            let (source, program) = (self.folder.join("pause.c"), self.folder.join("pause"));
            fs::write(&source, PAUSE_PROGRAM)?;
            run("gcc", &["-static", "-Os", "-s", "-o", path(&program)?, path(&source)?])?;
            let settings = Settings { environment: &[], entrypoint: Some("/pause") };
            self.builder.make(PAUSE, &[(program, "/pause")], &settings)?;
            self.builder.save(PAUSE, &archive)?;
        }
        Ok(archive)
    }

    /// A hash of everything that a build of this Dockerfile reads, and of what it is built with.
    fn sources(&self, dockerfile: &str) -> Result<String> {
        let mut hash = Sha256::new();
        hash.update(self.builder.name());
        hash.update(self.bases.key());
        for name in read_by(dockerfile)? {
            add(&mut hash, &Path::new(WORKSPACE).join(name))?;
        }
        cache::name(hash)
    }
}

/// Fails if the image would be too large on the public base.
fn ensure_small(archive: &Path, program: &str) -> Result<()> {
    let image = fs::metadata(archive)?.len();
    let own = archive::program(archive, program)?.bytes;
    progress::say(format!("{program} has {:.1} MB, its image {:.1} MB", own as f64 / 1e6, image as f64 / 1e6));
    let most = MOST_BYTES - PUBLIC_BASE_BYTES;
    ensure!(own <= most, "{program} has {own} bytes, more than the {most} that leave room for a base");
    ensure!(image <= MOST_BYTES, "the image of {program} has {image} bytes, more than {MOST_BYTES}");
    Ok(())
}

/// What a build of this Dockerfile reads of the workspace: what `.dockerignore` lets in, and itself.
fn read_by(dockerfile: &str) -> Result<Vec<String>> {
    let let_in = fs::read_to_string(Path::new(WORKSPACE).join(".dockerignore"))?;
    let names = let_in.lines().filter_map(|line| line.strip_prefix('!')).chain([dockerfile]);
    Ok(names.map(str::to_owned).collect())
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
fn forget_others(archive: &Path, program: &str) -> Result<()> {
    let archives = archive.parent().context("an archive without a folder")?;
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
