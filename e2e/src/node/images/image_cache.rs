//! Builds images, one process at a time, and keeps them until their sources change.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use sha2::{Digest as _, Sha256};

use super::super::namespaces::run;
use super::archive;
use super::bases::Bases;
use super::buildah::Buildah;
use super::builder::{Build, Builder, Layers, Settings};
use super::docker;
use super::workspace::{WORKSPACE, add, path, read_by};
use crate::binaries::cache;
use crate::progress;

/// The image of the pause container in every Pod.
pub(in super::super) const PAUSE: &str = "drift.local/pause:1";

/// Size limit of an image, which still pulls quickly onto a node. The program is nearly all of it: drift-poller had
/// 22.0 MB on 30 November 2026.
const MOST_BYTES: u64 = 27_000_000;

/// Size of the programs' public base: about 2 MB by its documentation, plus a margin of half a megabyte. The local base
/// has only 0.2 MB, so the size of an image on it is too optimistic.
const PUBLIC_BASE_BYTES: u64 = 2_500_000;

/// The product's images: the suffix of their Dockerfile and their name in the manifests.
pub(super) const PRODUCT: [(&str, &str); 2] =
    [("poller", "docker.io/library/drift-poller:0.1.0"), ("controller", "docker.io/library/drift-controller:0.1.0")];

const PAUSE_PROGRAM: &str = "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n";

/// The image of a command line that sends one request, for Jobs. The top of its source documents its arguments.
pub const JOB_TOOL: &str = "drift.local/job-tool:1";

const JOB_TOOL_PROGRAM: &str = include_str!("job_tool.c");

/// Returns all images as archives for containerd and builds changed ones.
pub(in super::super) async fn built() -> Result<Vec<PathBuf>> {
    tokio::task::spawn_blocking(built_blocking).await?
}

fn built_blocking() -> Result<Vec<PathBuf>> {
    let cache = ImageCache::open()?;
    let mut all = vec![
        cache.of_program(PAUSE, "pause", PAUSE_PROGRAM)?,
        cache.of_program(JOB_TOOL, "job-tool", JOB_TOOL_PROGRAM)?,
    ];
    for (program, name) in PRODUCT {
        all.push(cache.product(program, name)?);
    }
    Ok(all)
}

/// Folder and builder of the images.
#[derive(Debug)]
pub(super) struct ImageCache {
    folder: PathBuf,
    pub(super) bases: Bases,
    pub(super) builder: Box<dyn Builder>,
    _lock: File,
}

impl ImageCache {
    pub(super) fn open() -> Result<Self> {
        let folder = cache::folder()?.join("node");
        fs::create_dir_all(folder.join("images")).with_context(|| format!("making {}", folder.display()))?;
        let lock = cache::lock(&folder, "waiting for another process that builds images")?;
        let bases = Bases::known(&folder)?;
        let builder = find(&folder, bases.key());
        Ok(Self { folder, bases, builder, _lock: lock })
    }

    fn archive(&self, name: &str) -> PathBuf {
        self.folder.join("images").join(format!("{name}.tar"))
    }

    pub(super) fn product(&self, program: &str, name: &str) -> Result<PathBuf> {
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

    /// Builds an image that contains only one statically linked C program.
    fn of_program(&self, image: &str, name: &str, source: &str) -> Result<PathBuf> {
        let archive = self.archive(&format!("{name}-{}", cache::name(Sha256::new_with_prefix(source))?));
        if !archive.is_file() {
            let (file, program) = (self.folder.join(format!("{name}.c")), self.folder.join(name));
            fs::write(&file, source)?;
            run("gcc", &["-static", "-Os", "-s", "-o", path(&program)?, path(&file)?])?;
            let (place, entrypoint) = (format!("/{name}"), Some(format!("/{name}")));
            let settings = Settings { environment: &[], entrypoint: entrypoint.as_deref() };
            self.builder.make(image, &[(program, &place)], &settings)?;
            forget_others(&archive, name)?;
            self.builder.save(image, &archive)?;
        }
        Ok(archive)
    }

    /// Returns a hash of all inputs of a Dockerfile's build, and of its builder.
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

/// Removes the archives of earlier sources.
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

/// Chooses Docker if an engine answers, because most users build with it. Otherwise buildah, which needs no engine.
fn find(folder: &Path, key: &str) -> Box<dyn Builder> {
    if docker::answers() {
        return Box::new(docker::Docker);
    }
    Box::new(Buildah::in_folder(folder, key))
}
