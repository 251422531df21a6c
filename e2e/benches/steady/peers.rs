//! Measures programs to compare with, which read the same resources at the same rates.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use drift_e2e::process::{Launch, run_folder};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::condition;
use kube::api::ListParams;

use crate::load::{self, Load};
use crate::measurements::{Bench, QUIET};

/// The condition of the poller in `benches/controller-runtime`.
const DRIFTED: &str = "Drifted";

/// A program to compare with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Peer {
    /// [`crate::floor`], as a process of this program.
    Floor,
    /// The poller in `benches/controller-runtime`.
    ControllerRuntime,
}

impl Peer {
    /// Returns true if it writes conditions.
    const fn judges(self) -> bool {
        matches!(self, Self::ControllerRuntime)
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Floor => "the floor",
            Self::ControllerRuntime => "controller-runtime",
        })
    }
}

impl Bench<'_> {
    /// Measures the reads of a peer, and one verdict if it writes them.
    pub(crate) async fn beside(&mut self, what: &str, peer: Peer, load: Load) -> Result<()> {
        let mut process = self.launch(peer, load)?.start(self.world.folder())?;
        self.cores.put_on_the_last(process.pid())?;
        self.all_are_read(load, || process.obituary()).await?;
        if peer.judges() {
            self.all_are_judged().await?;
        }
        tokio::time::sleep(load.interval.min(QUIET)).await;
        self.reads(what, load, process.pid()).await?;
        if peer.judges() {
            self.one_verdict(what, load, DRIFTED).await?;
        }
        process.ensure_running()?;
        process.stop().await.map(drop)
    }

    /// Waits until every object has the peer's condition.
    async fn all_are_judged(&self) -> Result<()> {
        let all = format!("{} objects with {DRIFTED}", self.objects);
        wait::until(all, load::first_pass(self.objects), async || {
            let objects = self.world.proxies().list(&ListParams::default()).await?;
            let judged = objects.iter().filter(|object| condition(&object.data, DRIFTED).is_some()).count();
            Ok(if judged >= self.objects { Seen::Met(()) } else { Seen::Instead(judged.to_string()) })
        })
        .await
    }

    fn launch(&self, peer: Peer, load: Load) -> Result<Launch> {
        let interval = format!("{}ms", load.interval.as_millis());
        Ok(match peer {
            Peer::Floor => Launch::new("floor", std::env::current_exe()?)
                .arguments(["--floor-of", &self.server.url(), "--interval", &interval])
                .arguments(["--objects", &self.objects.to_string()]),
            Peer::ControllerRuntime => Launch::new("controller-runtime", built()?)
                // The poller's account may only write what the poller writes.
                .variable("KUBECONFIG", self.world.control_plane().admin_kubeconfig())
                // One core, although Go may start before it is pinned.
                .variable("GOMAXPROCS", "1")
                .variable("AT_ONCE", load::AT_ONCE.to_string())
                .variable("GROUP", self.world.group())
                .variable("NAMESPACE", self.world.objects_namespace())
                .variable("URL", self.server.url())
                .variable("INTERVAL", interval),
        })
    }
}

/// Builds the poller in `benches/controller-runtime` with Go. Returns its path.
fn built() -> Result<PathBuf> {
    let program = run_folder::profile_folder()?.join("controller-runtime");
    Launch::new("build-controller-runtime", "go")
        .arguments(["build", "-trimpath", "-o"])
        .argument(&program)
        .argument(".")
        .with_whole_environment()
        .variable("CGO_ENABLED", "0")
        .variable("GOWORK", "off")
        .in_folder(Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/controller-runtime"))
        .run_speaking("building the poller on controller-runtime with Go", run_folder::path()?)?;
    Ok(program)
}
