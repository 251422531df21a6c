//! The base images of the Dockerfiles: their public defaults if the builder can pull them, else local ones. The local
//! build base is a minimal Debian with this machine's Rust toolchain and crates. The local runtime base contains only a
//! CA bundle.
//!
//! They replace the defaults through `--build-arg`, like a user's mirror.

use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest as _, Sha256};

use super::super::namespaces::run;
use super::builder::{Builder, Settings};
use super::workspace::{WORKSPACE, path};
use crate::binaries::cache;
use crate::progress::{self, Heartbeat};

/// The Debian suite and packages of the public default, `rust:…-bookworm`.
const SUITE: &str = "bookworm";
const PACKAGES: &str = "gcc,libc6-dev,make,ca-certificates";

const BUILDER: &str = "localhost/drift-build-base";
const RUNTIME: &str = "localhost/drift-base";
/// The names of local base images. Their tag is the key.
pub(super) const NAMES: [&str; 2] = [BUILDER, RUNTIME];

/// Paths of the toolchain in the builder.
const TOOLCHAIN_PROGRAMS: &str = "/usr/local/rust/bin";
const TOOLCHAIN_LIBRARIES: &str = "/usr/local/rust/lib";
/// Path of the crates in the public default and in the builder.
const REGISTRY: &str = "/usr/local/cargo/registry";
const ENVIRONMENT: [&str; 3] = [
    "PATH=/usr/local/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "CARGO_HOME=/usr/local/cargo",
    "CARGO_NET_OFFLINE=true",
];

/// Replaces rustup in the builder.
const RUSTUP: &str = "#!/bin/sh\n# The toolchain is the machine's own: it has the target, or it has not.\n\
    [ \"$1 $2\" = \"target add\" ] && [ -d \"/usr/local/rust/lib/rustlib/$3\" ]\n";

const BUNDLE: &str = "etc/ssl/certs/ca-certificates.crt";
const BUNDLE_PLACE: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The base images for this machine's toolchain and these dependencies.
#[derive(Debug)]
pub(super) struct Bases {
    folder: PathBuf,
    system_key: String,
    key: String,
    sysroot: PathBuf,
}

impl Bases {
    /// Computes the keys of all inputs. Builds nothing yet.
    pub(super) fn known(folder: &Path) -> Result<Self> {
        let sysroot = PathBuf::from(cargo_tool("rustc", &["--print", "sysroot"])?.trim());
        let mut hash = Sha256::new();
        for part in [SUITE, PACKAGES, RUSTUP, &cargo_tool("rustc", &["-vV"])?] {
            hash.update(part);
        }
        let system_key = cache::name(hash.clone())?;
        hash.update(fs::read(Path::new(WORKSPACE).join("Cargo.lock"))?);
        Ok(Self { folder: folder.to_path_buf(), system_key, key: cache::name(hash)?, sysroot })
    }

    /// Returns a hash of all inputs.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Returns the build arguments for a Dockerfile, or none if its defaults are available.
    ///
    /// Existing local bases are reused until the dependencies change. A second build needs the layers of the first, and
    /// an unreachable registry is not asked again each time.
    pub(super) fn arguments(&self, builder: &dyn Builder, dockerfile: &str) -> Result<Vec<String>> {
        let (build, runtime) = (format!("{BUILDER}:{}", self.key), format!("{RUNTIME}:{}", self.key));
        if !builder.has(&build) {
            let text = fs::read_to_string(Path::new(WORKSPACE).join(dockerfile))?;
            // The small image first, because it shows quickly whether a registry is reachable.
            if builder.brings(default(&text, "BASE_IMAGE")?) && builder.brings(default(&text, "BUILD_IMAGE")?) {
                progress::say("building on the public bases");
                return Ok(Vec::new());
            }
            builder.forget_others(&self.key)?;
            self.make(builder, &build, &runtime)?;
        }
        Ok(vec![format!("BUILD_IMAGE={build}"), format!("BASE_IMAGE={runtime}")])
    }

    /// Builds both bases. Fetches the target and the crates if this machine lacks them.
    fn make(&self, builder: &dyn Builder, build: &str, runtime: &str) -> Result<()> {
        let target = format!("{ARCH}-unknown-linux-musl");
        if !self.sysroot.join("lib/rustlib").join(&target).is_dir() {
            cargo_tool("rustup", &["target", "add", &target])?;
        }
        cargo_tool("cargo", &["fetch", "--quiet", "--locked", "--target", &target])?;
        let system = self.system()?;
        let heartbeat = Heartbeat::begin("making the bases of the images (once for each Cargo.lock)");
        let bundle = [(system.join(BUNDLE), BUNDLE_PLACE)];
        builder.make(runtime, &bundle, &Settings { environment: &["PATH=/"], entrypoint: None })?;
        let files = [
            (system, "/"),
            (self.sysroot.join("bin"), TOOLCHAIN_PROGRAMS),
            (self.sysroot.join("lib"), TOOLCHAIN_LIBRARIES),
            (cargo_home()?.join("registry"), REGISTRY),
        ];
        builder.make(build, &files, &Settings { environment: &ENVIRONMENT, entrypoint: None })?;
        heartbeat.end();
        Ok(())
    }

    /// Returns the folder with the builder's system.
    fn system(&self) -> Result<PathBuf> {
        let system = self.folder.join(format!("{SUITE}-{}", self.system_key));
        if system.is_dir() {
            return Ok(system);
        }
        let heartbeat = Heartbeat::begin("making a minimal Debian with debootstrap (once for this machine)");
        let beside = self.folder.join("system.partial");
        if beside.is_dir() {
            fs::remove_dir_all(&beside)?;
        }
        let include = format!("--include={PACKAGES}");
        run("debootstrap", &["--variant=minbase", &include, SUITE, path(&beside)?])?;
        let rustup = beside.join("usr/local/bin/rustup");
        fs::write(&rustup, RUSTUP)?;
        fs::set_permissions(&rustup, fs::Permissions::from_mode(0o755))?;
        fs::rename(&beside, &system)?;
        heartbeat.end();
        Ok(system)
    }
}

/// Returns the public default of a Dockerfile's argument.
fn default<'a>(dockerfile: &'a str, argument: &str) -> Result<&'a str> {
    let start = format!("ARG {argument}=");
    let default = dockerfile.lines().find_map(|line| line.strip_prefix(&start));
    default.with_context(|| format!("the Dockerfile has no {start}"))
}

/// Runs a Rust tool in the workspace, so that its toolchain file applies.
fn cargo_tool(program: &str, arguments: &[&str]) -> Result<String> {
    run("env", &[&["-C", WORKSPACE, program], arguments].concat())
}

fn cargo_home() -> Result<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let home = variable("CARGO_HOME").or_else(|| variable("HOME").map(|home| home.join(".cargo")));
    home.context("neither CARGO_HOME nor HOME says where cargo keeps crates")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_dockerfiles_name_both_public_bases() -> Result<()> {
        for dockerfile in
            [include_str!("../../../../Dockerfile.poller"), include_str!("../../../../Dockerfile.controller")]
        {
            for argument in ["BUILD_IMAGE", "BASE_IMAGE"] {
                assert!(default(dockerfile, argument)?.contains(':'), "{argument} has no version");
            }
        }
        Ok(())
    }
}
