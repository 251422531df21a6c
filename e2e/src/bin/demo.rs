//! `cargo demo`: the whole loop on one machine, in a minute. See [`drift_e2e::demo`].

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use drift_e2e::demo::Act;
use tokio::signal::unix::{SignalKind, signal};

/// Shows drift being seen and healed, with a real Kubernetes API server and a real external system.
///
/// Exits with 0 only if every step truly happened.
#[derive(Debug, Parser)]
#[command(name = "cargo demo", bin_name = "cargo demo --")]
struct Arguments {
    /// What drifts: proxies of toxiproxy, or roles of PostgreSQL.
    #[arg(value_enum, default_value_t)]
    act: Act,
    /// Leave everything running afterwards until Ctrl-C, and print what to try.
    #[arg(long)]
    keep: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        // The story has already reported the error.
        Err(_) => ExitCode::FAILURE,
    }
}

async fn run(arguments: &Arguments) -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let interrupted = async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    drift_e2e::demo::play(arguments.act, arguments.keep, interrupted).await
}
