//! The cgroups of Pods, version 1 or 2. The kernel's counters give the usage of a Pod and its hits of limits.
//! Namespaces do not separate cgroups, so a second kubelet would treat the Pods of another as its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};

use crate::wait::{self, Seen};

const ROOT: &str = "/sys/fs/cgroup";

/// The cgroup of the kubelet's Pods.
const PODS: &str = "kubepods";

/// The cgroups of the Pods' QoS classes.
const CLASSES: [&str; 3] = ["kubepods/burstable", "kubepods", "kubepods/besteffort"];

/// Maximum length of a process name in the kernel.
const NAME_LETTERS: usize = 15;

/// Time limit for the kernel to end the Pods of a removed node.
const ENDED_WITHIN: Duration = Duration::from_secs(20);

/// Resource usage of a Pod since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Peak memory in bytes, including files in the page cache.
    pub most_memory: u64,
    /// Allocated memory in bytes, without the page cache.
    pub memory: u64,
    /// Processor time, in seconds.
    pub processor: f64,
    /// Number of allocations that hit the memory limit.
    pub limit_met: u64,
    /// Number of periods in which the processor limit throttled the Pod.
    pub throttled: u64,
}

/// Fails if Pods of another kubelet run on this machine, because ours would end them. Removes empty cgroups.
pub(super) async fn ensure_free() -> Result<()> {
    let folders: Vec<PathBuf> = fs::read_dir(ROOT)?.flatten().map(|entry| entry.path()).collect();
    let all = folders.iter().map(|folder| folder.join(PODS)).chain([Path::new(ROOT).join(PODS)]);
    let all: Vec<PathBuf> = all.filter(|path| path.is_dir()).collect();
    wait::until("no Pods of another kubelet on this machine", ENDED_WITHIN, async || {
        let living = all.iter().map(|path| processes(path)).collect::<Result<Vec<_>>>()?.concat();
        Ok(if living.is_empty() { Seen::Met(()) } else { Seen::Instead(format!("the processes {living:?}")) })
    })
    .await?;
    all.iter().for_each(|path| remove_empty(path));
    Ok(())
}

/// Removes cgroups from the leaves up. The kernel keeps those in use.
fn remove_empty(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir()) {
        remove_empty(&entry.path());
    }
    let _ = fs::remove_dir(folder);
}

/// Returns the resource usage of the Pod with this uid.
pub(super) fn usage(uid: &str) -> Result<Usage> {
    let first = |names: &[(&str, &str)]| -> Result<String> {
        let paths = names.iter().filter_map(|(controller, file)| Some(folder(controller, uid)?.join(file)));
        let text = paths.filter_map(|path| fs::read_to_string(path).ok()).next();
        text.with_context(|| format!("no cgroup of the Pod {uid} has any of {names:?}"))
    };
    let number = |text: String| text.trim().parse().with_context(|| format!("not a number: {text}"));
    let statistics = first(&[("memory", "memory.stat"), ("", "memory.stat")])?;
    let processor = match first(&[("cpuacct", "cpuacct.usage")]) {
        Ok(nanoseconds) => number(nanoseconds)? as f64 / 1e9,
        Err(_) => field(&first(&[("", "cpu.stat")])?, "usage_usec") as f64 / 1e6,
    };
    Ok(Usage {
        most_memory: number(first(&[("memory", "memory.max_usage_in_bytes"), ("", "memory.peak")])?)?,
        // Version 1 excludes child cgroups from the plain counter. Version 2 has only one.
        memory: field(&statistics, "total_rss").max(field(&statistics, "anon")),
        processor,
        limit_met: match first(&[("memory", "memory.failcnt")]) {
            Ok(count) => number(count)?,
            Err(_) => field(&first(&[("", "memory.events")])?, "max"),
        },
        throttled: field(&first(&[("cpu", "cpu.stat"), ("", "cpu.stat")])?, "nr_throttled"),
    })
}

/// Kills the program of a Pod, as an exhausted node does. Returns the number of killed processes.
pub(super) fn kill(uid: &str, program: &str) -> Result<usize> {
    let pod = folder("memory", uid).or_else(|| folder("", uid)).with_context(|| format!("no cgroup of {uid}"))?;
    let mut killed = 0;
    for pid in processes(&pod)? {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        if name.trim() == program.get(..NAME_LETTERS).unwrap_or(program) {
            kill_process(Pid::from_raw(pid).context("no process id")?, Signal::KILL)?;
            killed += 1;
        }
    }
    Ok(killed)
}

/// Returns the processes of a cgroup and of its children.
fn processes(folder: &Path) -> Result<Vec<i32>> {
    let text = fs::read_to_string(folder.join("cgroup.procs"))?;
    let mut all: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
    for entry in fs::read_dir(folder)?.flatten().filter(|entry| entry.path().is_dir()) {
        all.extend(processes(&entry.path())?);
    }
    Ok(all)
}

/// Returns the Pod's folder under a controller of version 1, or under the single hierarchy of version 2 (no name).
fn folder(controller: &str, uid: &str) -> Option<PathBuf> {
    let root = Path::new(ROOT).join(controller);
    CLASSES.iter().map(|class| root.join(class).join(format!("pod{uid}"))).find(|path| path.is_dir())
}

/// Returns a number from a file of `name number` lines, or 0 without such a line.
fn field(text: &str, name: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or_default()
}
