//! The demonstration: the whole loop on one machine, told on the terminal while it really happens.
//!
//! A real API server and a real external system; the shipped manifests; the two programs as processes of their own,
//! each with its ServiceAccount's token and nothing more. Nothing is shown that was not seen, and a step that does
//! not happen before its deadline fails the demonstration.

mod installation;
mod kubectl_watch;
mod postgres;
mod proxies;
mod terminal;
mod things_to_try;

use anyhow::{Result, bail};

use installation::Installation;
use terminal::Terminal;

use crate::process::run_folder;

/// Which external system is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Act {
    /// Proxies of toxiproxy, over HTTP.
    #[default]
    Proxies,
    /// Roles of a PostgreSQL server.
    Postgres,
}

/// An act that was played, with everything still running.
struct Played<Outside> {
    installation: Installation,
    /// The external system, which ends with it.
    outside: Outside,
    /// For who looks around afterwards.
    things_to_try: String,
}

/// Plays an act; with `keep` it goes on running afterwards until `interrupted` completes.
///
/// # Errors
/// When a step did not happen, with which one, what was seen instead and where the logs lie.
pub async fn play(act: Act, keep: bool, interrupted: impl Future<Output = ()>) -> Result<()> {
    let terminal = Terminal::new();
    let ended = match act {
        Act::Proxies => play_to_its_end(&terminal, proxies::play(&terminal), keep, interrupted).await,
        Act::Postgres => play_to_its_end(&terminal, postgres::play(&terminal), keep, interrupted).await,
    };
    if let Err(error) = &ended {
        terminal.failed(error, run_folder::path()?)?;
    }
    ended
}

async fn play_to_its_end<Outside>(
    terminal: &Terminal,
    act: impl Future<Output = Result<Played<Outside>>>,
    keep: bool,
    interrupted: impl Future<Output = ()>,
) -> Result<()> {
    let mut interrupted = std::pin::pin!(interrupted);
    let played = tokio::select! {
        played = Box::pin(act) => played?,
        () = &mut interrupted => {
            terminal.say("interrupted; everything that was started is being stopped")?;
            bail!("interrupted before the end");
        }
    };
    if keep {
        terminal.note(&played.things_to_try)?;
        interrupted.await;
    }
    terminal.step("Taking everything down")?;
    played.installation.take_down().await?;
    drop(played.outside);
    terminal.say("both programs ended well; nothing is left running")
}
