//! The demonstration: the whole loop on one machine, shown on the terminal as it happens.
//!
//! It uses a real API server, a real external system and the shipped manifests. The two programs run as processes with
//! the rights of their ServiceAccounts. It shows only what it observed. A step that misses its deadline fails the
//! demonstration.

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

/// The external system of the demonstration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Act {
    /// Proxies of toxiproxy, over HTTP.
    #[default]
    Proxies,
    /// Roles of a PostgreSQL server.
    Postgres,
}

/// A played act with everything still running.
struct Played<Outside> {
    installation: Installation,
    /// The external system. Dropping it ends the system.
    outside: Outside,
    /// Text for users who explore the running system.
    things_to_try: String,
}

/// Plays an act. With `keep` it stays up until `interrupted` completes.
///
/// # Errors
/// The failed step, the state at that time and the path of the logs.
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
