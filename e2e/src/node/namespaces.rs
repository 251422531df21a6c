//! The namespaces of one node (mounts, network, processes) and the process that holds them.
//!
//! The whole node runs inside. The holder dies with the test process. The kernel then ends the node's processes,
//! mounts, firewall rules and bridge. Only empty cgroups can stay behind.

use std::ffi::OsStr;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::packages;
use crate::process::{self, Launch, Process};

/// Time limit for the kernel and `unshare` to make the namespaces.
const MADE_WITHIN: Duration = Duration::from_secs(10);

const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Prefix of the folders of nodes. The process id of their creator follows.
const FOLDER: &str = "drift-node-";

/// A network of two addresses between this machine and the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Network {
    number: u8,
    /// The machine's address. Control plane and external systems listen here.
    pub(super) host: Ipv4Addr,
    /// The node's address.
    pub(super) node: Ipv4Addr,
}

impl Network {
    fn numbered(number: u8) -> Self {
        let address = |last| Ipv4Addr::new(10, 89, number, last);
        Self { number, host: address(1), node: address(2) }
    }

    fn link(self) -> String {
        format!("drift{}", self.number)
    }
}

/// The namespaces and the process that holds them.
#[derive(Debug)]
pub(super) struct Namespaces {
    _process: Process,
    child: i32,
    network: Network,
    logs: PathBuf,
    folder: PathBuf,
}

impl Namespaces {
    /// Creates the namespaces and a network into them. Logs go to `logs`.
    pub(super) fn start(logs: &Path) -> Result<Self> {
        forget_old();
        // A short path, because socket paths end at 107 bytes.
        let folder = std::env::temp_dir().join(format!("{FOLDER}{}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let unshare = packages::find("unshare")?;
        let process = Launch::new("holder", unshare)
            .arguments(["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"])
            .arguments(["--propagation", "private", "sleep", "infinity"])
            .with_scratch(&folder)
            .start(logs)?;
        let child = child_of(process.pid())?;
        let network = connect(child)?;
        let logs = logs.to_path_buf();
        let namespaces = Self { _process: process, child, network, logs, folder };
        namespaces.set_up_network()?;
        Ok(namespaces)
    }

    /// Returns the node's network.
    pub(super) fn network(&self) -> Network {
        self.network
    }

    /// Returns the folder with the node's images, Pods and sockets. It is removed with the node.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts a program inside. Its working folder differs, so paths must be absolute.
    pub(super) fn start_inside(&self, name: &str, program: &Path, arguments: &[String]) -> Result<Process> {
        let launch = Launch::new(name, packages::find("nsenter")?).arguments(self.entering());
        launch.argument(program).arguments(arguments).start(&self.logs)
    }

    /// Runs a program inside to its end and returns its output.
    pub(super) fn run_inside<A: AsRef<OsStr>>(&self, program: &str, arguments: &[A]) -> Result<String> {
        let mut command = Command::new(packages::find("nsenter")?);
        command.args(self.entering()).arg(packages::find(program)?).args(arguments);
        output(&mut command)
    }

    fn entering(&self) -> [String; 5] {
        ["-t", &self.child.to_string(), "-m", "-n", "-p"].map(str::to_owned)
    }

    fn set_up_network(&self) -> Result<()> {
        let Network { host, node, .. } = self.network;
        run("ip", &["addr", "add", &format!("{host}/30"), "dev", &self.network.link()])?;
        run("ip", &["link", "set", &self.network.link(), "up"])?;
        for arguments in [
            format!("addr add {node}/30 dev eth0"),
            "link set eth0 up".to_owned(),
            "link set lo up".to_owned(),
            format!("route add default via {host}"),
        ] {
            self.run_inside("ip", &arguments.split(' ').collect::<Vec<_>>())?;
        }
        self.run_inside("sysctl", &["-qw", "net.ipv4.ip_forward=1"]).map(drop)
    }
}

/// Creates a pair of devices between the machine and the node, with an unused name and network.
fn connect(child: i32) -> Result<Network> {
    let mut refusal = None;
    let child = child.to_string();
    // Not from 0, because a listener that outlived its device would still hold the address.
    let first = u8::try_from(std::process::id() % 256)?;
    for number in 0..=u8::MAX {
        let network = Network::numbered(first.wrapping_add(number));
        match run("ip", &["link", "add", &network.link(), "type", "veth", "peer", "name", "eth0", "netns", &child]) {
            Ok(_) => return Ok(network),
            Err(error) => refusal = Some(error),
        }
    }
    refusal.map_or_else(|| bail!("no network"), Err)
}

/// Returns the process id of the child that `unshare` forked into the new namespaces.
fn child_of(parent: i32) -> Result<i32> {
    let began = Instant::now();
    let path = format!("/proc/{parent}/task/{parent}/children");
    while began.elapsed() < MADE_WITHIN {
        let children = std::fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
        if let Some(child) = children.split_whitespace().next() {
            return child.parse().with_context(|| format!("{path} says {children}"));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    bail!("unshare made no process within {} s", MADE_WITHIN.as_secs())
}

/// Removes the folders of nodes whose process died before it could do so.
fn forget_old() {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(FOLDER).and_then(|pid| pid.parse().ok());
        if pid.is_some_and(|pid| !process::is_alive(pid)) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Runs a program on the machine and returns its output.
pub(super) fn run<A: AsRef<OsStr>>(program: &str, arguments: &[A]) -> Result<String> {
    output(Command::new(packages::find(program)?).args(arguments))
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("starting {command:?}"))?;
    let complaints = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}\n{complaints}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
