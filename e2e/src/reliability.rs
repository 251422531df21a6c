//! What the suite has shown about the handshake between the two programs: one row for each hard sequence.
//!
//! It exists so that `docs/design/reliability.md` is written by the tests and by nobody else: a behaviour hands its row in
//! ([`World::shows`](crate::world::World::shows)), the row is kept only when the behaviour ended well, and
//! `cargo run -p drift-e2e --bin reliability` makes the document of the rows that lie there.
//!
//! It knows nothing of how a sequence is played.

mod faults;
mod hostile;
mod matrix;
mod narrow;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

pub use faults::{FAULTS, Fault};
pub use hostile::HOSTILE;
pub use matrix::render;
pub use narrow::{NARROW, Narrow};

use crate::process::run_folder;

/// Which part of the handshake a sequence belongs to; the sections of the document, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Group {
    /// Corrections that change nothing, are refused, or are undone by somebody else.
    Corrections,
    /// Results that come late, in another order, or onto an object that changed meanwhile.
    Ordering,
    /// Words that were true once.
    Staleness,
    /// Whose an external resource is.
    Claim,
    /// Deletions, and letting go without deleting.
    Deletion,
    /// Many objects at once.
    Storms,
    /// An external system that is down with many objects on it.
    HostOutage,
    /// Changes of the configuration, good and bad.
    Configuration,
    /// Death at every point between a read and a write.
    Crashes,
    /// More than one of each program, clocks, and cut connections.
    Replicas,
    /// Kinds whose status is unlike the usual.
    Kinds,
    /// What somebody outside says of changes.
    Hints,
    /// An API server that refuses, forgets, garbles, stalls or lags.
    ApiServer,
    /// Objects of a tenant that would harm others.
    Tenants,
}

impl Group {
    /// The section's title.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Corrections => "Ineffective and refused corrections",
            Self::Ordering => "Late and reordered results",
            Self::Staleness => "Nothing rests on a stale word",
            Self::Claim => "Claim",
            Self::Deletion => "Deletes and releases",
            Self::Storms => "Storms",
            Self::HostOutage => "Host outage",
            Self::Configuration => "Configuration",
            Self::Crashes => "Crashes",
            Self::Replicas => "Replicas",
            Self::Kinds => "Kinds as they are",
            Self::Hints => "Hints from outside",
            Self::ApiServer => "An API server that struggles",
            Self::Tenants => "Tenants",
        }
    }
}

/// One hard sequence that was played and held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The section.
    pub group: Group,
    /// The sequence, in a few words; unique within its group.
    pub sequence: String,
    /// What the test did to the world.
    pub injected: String,
    /// What held.
    pub held: String,
    /// What was measured in this run, such as `4 writes outside, 9 status writes`; empty where there is no figure.
    pub figures: String,
}

impl Shown {
    /// A row; `figures` are what this very run measured.
    #[must_use]
    pub fn new(group: Group, sequence: &str, injected: &str, held: &str, figures: impl Into<String>) -> Self {
        let [sequence, injected, held] = [sequence, injected, held].map(str::to_owned);
        Self { group, sequence, injected, held, figures: figures.into() }
    }

    fn file_name(&self) -> String {
        let letters = format!("{:?}-{}", self.group, self.sequence).to_lowercase();
        let letters = letters.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
        letters.collect::<String>() + ".json"
    }
}

/// Keeps a row, in place of what an earlier run left for the same sequence.
///
/// # Errors
/// When the folder cannot be written.
pub fn keep(row: &Shown) -> Result<()> {
    let folder = folder()?;
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let file = folder.join(row.file_name());
    fs::write(&file, serde_json::to_vec_pretty(row)?).with_context(|| format!("writing {}", file.display()))
}

/// All rows that lie there, sorted by group and sequence.
///
/// # Errors
/// When one cannot be read.
pub fn kept() -> Result<Vec<Shown>> {
    let folder = folder()?;
    let entries =
        fs::read_dir(&folder).with_context(|| format!("no row in {}: run `cargo test` first", folder.display()))?;
    let mut rows = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let text = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        let row: Shown = serde_json::from_slice(&text).with_context(|| format!("parsing {}", path.display()))?;
        rows.push(row);
    }
    rows.sort_by(|one, other| (one.group, &one.sequence).cmp(&(other.group, &other.sequence)));
    Ok(rows)
}

/// Beside the runs' logs, so that `cargo clean` takes it along.
fn folder() -> Result<PathBuf> {
    Ok(run_folder::target_folder()?.join("reliability"))
}
