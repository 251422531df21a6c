//! The first act: proxies of toxiproxy, read and corrected over HTTP.

mod stage;
mod story;

use anyhow::Result;

use super::Played;
use super::terminal::Terminal;
use crate::systems::toxiproxy::Toxiproxy;
use stage::Stage;

/// Plays the first act.
pub(super) async fn play(terminal: &Terminal) -> Result<Played<Toxiproxy>> {
    let stage = Stage::build(terminal).await?;
    story::tell(terminal, &stage).await?;
    let things_to_try = stage.things_to_try().await?;
    Ok(Played { installation: stage.installation, outside: stage.toxiproxy, things_to_try })
}
