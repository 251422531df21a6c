//! What the Dockerfiles build on, made here, since no registry is asked: the builder is a minimal Debian whose Rust
//! toolchain and crates are this machine's own, mounted for reading; the runtime is nothing but a CA bundle.
//!
//! They take the place of the Dockerfiles' public defaults by `--build-arg`, as a mirror of a user's would.

use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest as _, Sha256};

use super::super::holder::run;
use super::buildah::Buildah;
use crate::binaries::cache;
use crate::progress::Heartbeat;

/// What the public default, `rust:…-bookworm`, is made of.
const SUITE: &str = "bookworm";
const PACKAGES: &str = "gcc,libc6-dev,ca-certificates";

const BUILDER: &str = "localhost/build-base";
const RUNTIME: &str = "localhost/base";

/// Where the mounted toolchain appears in the builder.
const TOOLCHAIN: &str = "/usr/local/rust";
/// Where crates are in the public default, and so in the builder.
const CRATES: &str = "/usr/local/cargo";

/// Stands for rustup in the builder.
const RUSTUP: &str = "#!/bin/sh\n# The toolchain is the machine's own: it has the target, or it has not.\n\
    [ \"$1 $2\" = \"target add\" ] && [ -d \"/usr/local/rust/lib/rustlib/$3\" ]\n";

const BUNDLE: &str = "etc/ssl/certs/ca-certificates.crt";

/// The bases for this machine's toolchain and these dependencies.
#[derive(Debug)]
pub(super) struct Bases {
    folder: PathBuf,
    key: String,
    sysroot: PathBuf,
}

impl Bases {
    /// Finds out what they depend on; nothing is made yet.
    pub(super) fn known(folder: &Path) -> Result<Self> {
        let sysroot = PathBuf::from(cargo_tool("rustc", &["--print", "sysroot"])?.trim());
        let mut hash = Sha256::new();
        for part in [SUITE, PACKAGES, RUSTUP, &cargo_tool("rustc", &["-vV"])?] {
            hash.update(part);
        }
        Ok(Self { folder: folder.to_path_buf(), key: cache::name(hash)?, sysroot })
    }

    /// A name for all that they depend on.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// The storage with both, made now if they are not in it.
    ///
    /// There is one for each set of dependencies: their layer is by far the largest, and the former one is of no use.
    pub(super) fn storage(&self) -> Result<Buildah> {
        let mut hash = Sha256::new();
        hash.update(&self.key);
        hash.update(fs::read(Path::new(super::WORKSPACE).join("Cargo.lock"))?);
        let name = format!("storage-{}", cache::name(hash)?);
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let other = entry.file_name();
            if other.to_string_lossy().starts_with("storage-") && other != *name {
                fs::remove_dir_all(entry.path()).with_context(|| format!("removing {}", entry.path().display()))?;
            }
        }
        let storage = Buildah::in_folder(self.folder.join(name));
        if !storage.has(BUILDER) {
            let system = self.system()?;
            let path = format!("PATH={TOOLCHAIN}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
            let home = format!("CARGO_HOME={CRATES}");
            let settings = ["--env", &path, "--env", &home, "--env", "CARGO_NET_OFFLINE=true"];
            storage.make(RUNTIME, &[(system.join(BUNDLE).as_path(), &format!("/{BUNDLE}"))], &["--env", "PATH=/"])?;
            storage.make(BUILDER, &[(system.as_path(), "/")], &settings)?;
        }
        Ok(storage)
    }

    /// What a build has to be told to use them. The target and the crates are fetched if they are not there.
    pub(super) fn arguments(&self) -> Result<Vec<String>> {
        let target = format!("{ARCH}-unknown-linux-musl");
        if !self.sysroot.join("lib/rustlib").join(&target).is_dir() {
            cargo_tool("rustup", &["target", "add", &target])?;
        }
        cargo_tool("cargo", &["fetch", "--quiet", "--locked", "--target", &target])?;
        let registry = cargo_home()?.join("registry");
        Ok([
            format!("--build-arg=BUILD_IMAGE={BUILDER}"),
            format!("--build-arg=BASE_IMAGE={RUNTIME}"),
            format!("--volume={}:{TOOLCHAIN}:ro", self.sysroot.display()),
            format!("--volume={}:{CRATES}/registry:ro", registry.display()),
        ]
        .to_vec())
    }

    /// The folder with the builder's system.
    fn system(&self) -> Result<PathBuf> {
        let system = self.folder.join(format!("{SUITE}-{}", self.key));
        if system.is_dir() {
            return Ok(system);
        }
        let heartbeat = Heartbeat::begin("making a minimal Debian with debootstrap (once for this machine)");
        let beside = self.folder.join("system.partial");
        if beside.is_dir() {
            fs::remove_dir_all(&beside)?;
        }
        let include = format!("--include={PACKAGES}");
        run("debootstrap", &["--variant=minbase", &include, SUITE, super::path(&beside)?])?;
        let rustup = beside.join("usr/local/bin/rustup");
        fs::write(&rustup, RUSTUP)?;
        fs::set_permissions(&rustup, fs::Permissions::from_mode(0o755))?;
        fs::rename(&beside, &system)?;
        heartbeat.end();
        Ok(system)
    }
}

/// Runs a Rust tool as in the workspace: its toolchain file counts.
fn cargo_tool(program: &str, arguments: &[&str]) -> Result<String> {
    run("env", &[&["-C", super::WORKSPACE, program], arguments].concat())
}

fn cargo_home() -> Result<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let home = variable("CARGO_HOME").or_else(|| variable("HOME").map(|home| home.join(".cargo")));
    home.context("neither CARGO_HOME nor HOME says where cargo keeps crates")
}
