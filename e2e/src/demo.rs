//! The demonstration: the whole loop on one machine, told on the terminal while it really happens.
//!
//! A real API server and a real external system; the shipped manifests; the two programs as processes of their own,
//! each with its ServiceAccount's token and nothing more. Nothing is shown that was not seen, and a step that does
//! not happen before its deadline fails the demonstration.

mod kubectl_watch;
mod stage;
mod story;
mod terminal;

use anyhow::{Result, bail};

use stage::Stage;
use terminal::Terminal;

use crate::run_folder;

/// Plays the demonstration; with `keep` it goes on running afterwards until `interrupted` completes.
///
/// # Errors
/// When a step did not happen, with which one, what was seen instead and where the logs lie.
pub async fn play(keep: bool, interrupted: impl Future<Output = ()>) -> Result<()> {
    let terminal = Terminal::new();
    let mut interrupted = std::pin::pin!(interrupted);
    let told = async {
        let stage = Stage::build(&terminal).await?;
        story::tell(&terminal, &stage).await?;
        anyhow::Ok(stage)
    };
    let told = tokio::select! {
        told = Box::pin(told) => told,
        () = &mut interrupted => {
            terminal.say("interrupted; everything that was started is being stopped")?;
            bail!("interrupted before the end");
        }
    };
    let ended = match told {
        Ok(stage) => end(&terminal, stage, keep, interrupted).await,
        Err(error) => Err(error),
    };
    if let Err(error) = &ended {
        terminal.failed(error, run_folder::path()?)?;
    }
    ended
}

async fn end(terminal: &Terminal, stage: Stage, keep: bool, interrupted: impl Future<Output = ()>) -> Result<()> {
    if keep {
        terminal.note(&stage.things_to_try().await)?;
        interrupted.await;
    }
    terminal.step("Taking everything down")?;
    stage.take_down().await?;
    terminal.say("both programs ended well; nothing is left running")
}
