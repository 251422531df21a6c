//! The second act: roles and rows of a PostgreSQL server, read by queries and corrected by statements.

mod row;
mod stage;
mod story;

use anyhow::Result;

use super::Played;
use super::terminal::Terminal;
use crate::systems::postgres::Postgres;
use stage::Stage;

/// Plays the second act.
pub(super) async fn play(terminal: &Terminal) -> Result<Played<Postgres>> {
    let mut stage = Stage::build(terminal).await?;
    story::tell(terminal, &mut stage).await?;
    let things_to_try = stage.things_to_try().await?;
    Ok(Played { installation: stage.installation, outside: stage.server, things_to_try })
}
