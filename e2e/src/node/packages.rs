//! Checks the programs that a node needs, and reports missing ones in one sentence.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

/// Programs and their Debian packages.
const PROGRAMS: [(&str, &str); 10] = [
    ("containerd", "containerd"),
    ("runc", "runc"),
    ("buildah", "buildah"),
    ("debootstrap", "debootstrap"),
    ("dnsmasq", "dnsmasq-base"),
    ("iptables", "iptables"),
    ("ip", "iproute2"),
    ("sysctl", "procps"),
    ("unshare", "util-linux"),
    ("gcc", "gcc"),
];

/// Programs that are not needed if a Docker engine builds the images.
const BESIDE_DOCKER: [&str; 2] = ["buildah", "debootstrap"];

/// The Debian package of the CNI plugins.
const PLUGINS_PACKAGE: &str = "containernetworking-plugins";

/// Folder of the plugins from Debian's package `containernetworking-plugins`.
pub(super) const NETWORK_PLUGINS: &str = "/usr/lib/cni";

/// Fails with installation instructions if something is missing. `docker` is true if an engine builds the images.
pub(super) fn ensure_all(docker: bool) -> Result<()> {
    ensure!(cfg!(target_os = "linux"), "a real node needs Linux");
    ensure!(rustix::process::geteuid().is_root(), "a real node needs root: `sudo -E cargo e2e-node`");
    let wanted = PROGRAMS.iter().filter(|(program, _)| !(docker && BESIDE_DOCKER.contains(program)));
    let missing = wanted.filter(|(program, _)| find(program).is_err()).map(|(_, package)| *package);
    let plugins = PathBuf::from(NETWORK_PLUGINS).join("bridge");
    let plugins = if plugins.is_file() { None } else { Some(PLUGINS_PACKAGE) };
    let missing: Vec<&str> = missing.chain(plugins).collect();
    ensure!(
        missing.is_empty(),
        "a real node needs more: apt-get install --no-install-recommends {}",
        missing.join(" ")
    );
    Ok(())
}

/// Returns the path of a program, because programs inside the node are started by path.
pub(super) fn find(program: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let sbin = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    let mut folders = std::env::split_paths(&path).chain(sbin);
    let found = folders.find_map(|folder| Some(folder.join(program)).filter(|file| file.is_file()));
    found.with_context(|| format!("there is no program {program}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_installs_what_is_asked_for() {
        let script = include_str!("../../../.ci/node");
        let lines: Vec<&str> = script.lines().filter(|line| line.contains("packages")).collect();
        let installed: Vec<&str> = lines.iter().flat_map(|line| line.split(['(', ')', ' '])).collect();
        // util-linux is part of every Debian.
        let wanted = PROGRAMS.iter().map(|(_, package)| *package).filter(|package| *package != "util-linux");
        for package in wanted.chain([PLUGINS_PACKAGE]) {
            assert!(installed.contains(&package), "{package} is missing in {lines:?}");
        }
        let lines: Vec<&str> = script.lines().filter(|line| line.contains("programs")).collect();
        let looked_for: Vec<&str> = lines.iter().flat_map(|line| line.split(['(', ')', ' '])).collect();
        for (program, _) in PROGRAMS.iter().filter(|(program, _)| *program != "unshare") {
            assert!(looked_for.contains(program), "{program} is not looked for in {lines:?}");
        }
    }
}
