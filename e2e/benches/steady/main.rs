//! Measures the cost of both programs: processor time per read, memory, lateness, latency of a verdict, storms and
//! restarts.
//!
//! "One core for 100,000 objects" is a promise, and this benchmark checks it. It reports figures and judges none,
//! because the load of a shared machine would make a judgement wrong.
//!
//!     cargo bench -p drift-e2e --bench steady
//!     cargo bench -p drift-e2e --bench steady -- --objects 100000 --only steady --interval 60s
//!
//! The programs are those of the release profile or of `E2E_PROGRAMS`. The API server, the external system and this
//! program use the other cores.

mod ceiling;
mod cores;
mod corrections;
mod cost;
mod floor;
mod load;
mod measurements;
mod peers;
mod relist;
mod server;
mod storm;
mod table;
mod watcher;

use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use drift_e2e::progress;
use drift_e2e::world::World;

use cores::Cores;
use load::Load;
use measurements::Bench;
use peers::Peer;
use server::Server;
use table::Table;

/// What to measure.
#[derive(Parser)]
struct Arguments {
    /// Objects, each read by itself.
    #[arg(long, default_value_t = 10_000)]
    objects: usize,
    /// How often each is read where nothing else is said; the other rates are ten times it.
    #[arg(long, default_value = "10s", value_parser = humantime::parse_duration)]
    interval: Duration,
    /// For how many seconds each span is measured.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// These alone.
    #[arg(long, value_enum)]
    only: Vec<Question>,
    /// Be the floor and read from this URL, without a cluster.
    #[arg(long, hide = true)]
    floor_of: Option<String>,
    /// `cargo bench` passes it to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Question {
    /// Memory without a target.
    Idle,
    /// A loop on reqwest without Kubernetes, at both rates. Only by name.
    Floor,
    /// A poller written with controller-runtime, at both rates. Only by name.
    Peer,
    /// At the interval that was named.
    Steady,
    /// At a tenth of it.
    Fast,
    /// Eight targets on the kind.
    Targets,
    /// More than a core can do, given enough objects: each read every second, by eight targets.
    Overload,
    /// One host of a hundred that does not answer.
    Hosts,
    /// Everything drifts at once.
    Storm,
    /// Many drift at once and are corrected.
    Corrections,
    /// A second start.
    Restart,
    /// The conditions are kept in reports.
    Reports,
    /// All objects are listed anew.
    Relist,
}

impl Arguments {
    fn asks(&self, question: Question) -> bool {
        self.only.is_empty() || self.only.contains(&question)
    }
}

async fn measure(world: &World, arguments: &Arguments, cores: Cores) -> Result<()> {
    let (server, window) = (Server::start()?, Duration::from_secs(arguments.seconds));
    let mut bench =
        Bench { world, server, cores, objects: arguments.objects, window, table: Table::default(), ceiling: None };
    if arguments.asks(Question::Idle) {
        bench.idle().await?;
    }
    load::populate(world, &bench.server, arguments.objects).await?;
    let every = Load::every(arguments.interval);
    let fast = Load::every((arguments.interval / 10).max(Duration::from_secs(1)));
    let rate = |load: Load| format!("{:.0}/s", arguments.objects as f64 / load.interval.as_secs_f64());
    if arguments.asks(Question::Steady) {
        bench.steady(&rate(every), Load { corrects: true, ..every }).await?;
    }
    if arguments.asks(Question::Fast) {
        bench.steady(&rate(fast), fast).await?;
    }
    if arguments.asks(Question::Targets) {
        bench.steady(&format!("{}, eight targets", rate(every)), Load { targets: load::TARGETS, ..every }).await?;
    }
    // With few objects it would repeat an earlier measurement.
    if arguments.only.contains(&Question::Overload) {
        let every = Load { targets: load::TARGETS, ..Load::every(Duration::from_secs(1)) };
        bench.steady(&format!("{}, eight targets", rate(every)), every).await?;
    }
    if arguments.asks(Question::Hosts) {
        bench.hung_host(Load { with_hosts: true, ..every }).await?;
    }
    if arguments.asks(Question::Restart) {
        bench.restart(every).await?;
    }
    if arguments.asks(Question::Reports) {
        bench.reports(Load { reports: true, ..every }).await?;
    }
    if arguments.asks(Question::Relist) {
        bench.relist(every).await?;
    }
    if arguments.asks(Question::Corrections) {
        bench.corrections(Load { corrects: true, ..every }).await?;
    }
    if arguments.asks(Question::Storm) {
        bench.storm(every).await?;
    }
    // The last, because the peer leaves its condition on all objects.
    for (question, peer) in [(Question::Floor, Peer::Floor), (Question::Peer, Peer::ControllerRuntime)] {
        // Only by name: they are not our programs, and the peer needs modules of Go.
        if arguments.only.contains(&question) {
            bench.beside(&format!("{peer}, {}", rate(every)), peer, every).await?;
            bench.beside(&format!("{peer}, {}", rate(fast)), peer, fast).await?;
        }
    }
    let how = format!("{} objects, spans of {} s, {}.", arguments.objects, arguments.seconds, cores.told());
    progress::say(format!("written to {}", bench.table.write(&how)?.display()));
    Ok(())
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(url) = &arguments.floor_of {
        return floor::read_for_ever(url, arguments.objects, arguments.interval);
    }
    // Before a second thread exists, so that all later children stay off the measured core.
    let cores = Cores::keep_off_the_last()?;
    let runtime = tokio::runtime::Runtime::new().context("starting the runtime")?;
    runtime.block_on(World::run("steady", async |world| measure(world, &arguments, cores).await))
}
