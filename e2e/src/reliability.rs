//! Results of the suite about the handshake between the two programs: one row for each hard sequence.
//!
//! Only tests write `docs/design/reliability.md`. A test adds its row ([`World::shows`](crate::world::World::shows)),
//! and the row is kept only if the test succeeds. `cargo run -p drift-e2e --bin reliability` renders the document from
//! the rows.

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

/// The part of the handshake that a sequence belongs to. Groups are the sections of the document, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Group {
    /// Corrections that change nothing, are rejected, or are undone by another writer.
    Corrections,
    /// Results that come late, out of order, or for an object that changed in the meantime.
    Ordering,
    /// Verdicts that are no longer true.
    Staleness,
    /// Ownership of an external resource.
    Claim,
    /// Deletions, and releases without a deletion.
    Deletion,
    /// Many objects at once.
    Storms,
    /// An external system that is down and has many objects.
    HostOutage,
    /// External systems whose answers cost memory or time.
    HostileServers,
    /// Valid and invalid changes of the configuration.
    Configuration,
    /// Crashes at every point between a read and a write.
    Crashes,
    /// Several replicas of each program, clocks, and cut connections.
    Replicas,
    /// Kinds with an unusual status.
    Kinds,
    /// Notifications of changes: webhooks and watches of cluster resources.
    Hints,
    /// An API server that rejects, forgets, garbles, stalls or lags.
    ApiServer,
    /// Objects of a tenant that could harm others.
    Tenants,
}

impl Group {
    /// Returns the section's title.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Corrections => "Corrections without effect",
            Self::Ordering => "Late and reordered results",
            Self::Staleness => "Outdated verdicts",
            Self::Claim => "Ownership of external resources",
            Self::Deletion => "Deletions and releases",
            Self::Storms => "Many objects at once",
            Self::HostOutage => "Outage of an external system",
            Self::HostileServers => "Hostile servers",
            Self::Configuration => "Changes of targets",
            Self::Crashes => "Crashes",
            Self::Replicas => "Replicas",
            Self::Kinds => "Kinds with an unusual status",
            Self::Hints => "Change notifications",
            Self::ApiServer => "API server failures",
            Self::Tenants => "Tenants",
        }
    }
}

/// A hard sequence that a test has passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// Its section of the document.
    pub group: Group,
    /// The sequence in a few words, unique within its group.
    pub sequence: String,
    /// The fault that the test injects.
    pub injected: String,
    /// The behaviour that held.
    pub held: String,
    /// Measurements of this run, such as `4 writes outside, 9 status writes`. Empty without figures.
    pub figures: String,
}

impl Shown {
    /// Creates a row. `figures` are measurements of this run.
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

/// Stores a row. Replaces the row of an earlier run for the same sequence.
pub fn keep(row: &Shown) -> Result<()> {
    let folder = folder()?;
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let file = folder.join(row.file_name());
    fs::write(&file, serde_json::to_vec_pretty(row)?).with_context(|| format!("writing {}", file.display()))
}

/// Returns all stored rows, sorted by group and sequence.
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

/// Returns the folder of the rows, in the target folder so that `cargo clean` removes it.
fn folder() -> Result<PathBuf> {
    Ok(run_folder::target_folder()?.join("reliability"))
}
