//! The overview of one target for people: counts of verdicts, and the requested objects, the worst first.
//!
//! Everything here comes from the known conditions and from the schedule. No object is judged anew.

mod field_change;
mod natural_order;
mod next;
mod question;
mod row;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::Duration;

use drift_api::collections::first::first;
use drift_api::timing::moment::Moment;
use drift_language::Target;

pub use field_change::{FieldChange, FieldChanges};
pub use natural_order::compare as compare_names;
pub use next::Next;
pub use question::{Question, Shown};
pub use row::{ObjectRow, Rank, RowCondition};

use crate::engine::object::object_state::ObjectState;
use crate::engine::schedule::Now;
use row::{Cause, cause, rank};

/// The most objects in one answer, and on the page. More cannot be read. With their messages they take at most half a megabyte.
pub const MOST_ROWS: usize = 200;

/// The verdicts of one target's objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetOverview {
    /// The counts of all objects of the target.
    pub counts: VerdictCounts,
    /// The delay of the poll that has waited the longest.
    pub lateness: Duration,
    /// The number of objects that match the question.
    pub matching: usize,
    /// The first of them, at most [`MOST_ROWS`].
    pub rows: Vec<ObjectRow>,
}

/// Objects by their verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerdictCounts {
    /// Status False.
    pub in_sync: usize,
    /// Status True.
    pub drifted: usize,
    /// Status Unknown, or no verdict yet.
    pub unknown: usize,
    /// Objects that are being deleted and so have no verdict.
    pub deleting: usize,
}

impl std::ops::Add for VerdictCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            in_sync: self.in_sync + other.in_sync,
            drifted: self.drifted + other.drifted,
            unknown: self.unknown + other.unknown,
            deleting: self.deleting + other.deleting,
        }
    }
}

/// Returns the overview of a target. Time is proportional to its objects, memory to the rows.
#[must_use]
pub fn overview<'a>(
    target: &Target,
    states: impl Iterator<Item = &'a ObjectState>,
    question: &Question,
    now: Now,
) -> TargetOverview {
    let mut found = TargetOverview::default();
    let mut meant = Vec::new();
    let has_rows = question.asks_for(&target.name);
    for state in states {
        let rank = rank(state, now.moment);
        *match rank {
            Rank::Drifted => &mut found.counts.drifted,
            Rank::Unknown => &mut found.counts.unknown,
            Rank::Deleting => &mut found.counts.deleting,
            Rank::InSync => &mut found.counts.in_sync,
        } += 1;
        found.lateness = found.lateness.max(state.poll_due().map_or(Duration::ZERO, |due| now.moment - due));
        if has_rows && question.means(rank, &state.object().id) {
            meant.push((rank, state));
        }
    }
    found.matching = meant.len();
    let order = |(rank, state): &(Rank, &ObjectState), (other_rank, other): &(Rank, &ObjectState)| {
        let by_name = || natural_order::compare_objects(&state.object().id, &other.object().id);
        rank.cmp(other_rank).then_with(by_name)
    };
    let unknown: Vec<_> = meant.iter().filter(|(rank, _)| *rank == Rank::Unknown).map(|(_, state)| *state).collect();
    let rows = first(meant, MOST_ROWS, order);
    found.rows = rows.into_iter().map(|(_, state)| ObjectRow::new(target, state, now)).collect();
    count_alike(&mut found.rows, &unknown, now.moment);
    found
}

/// Counts for each Unknown row the objects with the same cause, those without a row included.
fn count_alike(rows: &mut [ObjectRow], unknown: &[&ObjectState], now: Moment) {
    let of_rows = rows.iter().filter(|row| row.rank() == Rank::Unknown).map(|row| (row.cause(), 0));
    let mut counts: HashMap<Cause<'_>, usize> = of_rows.collect();
    for state in unknown {
        if let Some(count) = counts.get_mut(&cause(state, now)) {
            *count += 1;
        }
    }
    let count = |row: &ObjectRow| counts.get(&row.cause()).copied().filter(|_| row.rank() == Rank::Unknown);
    let alike: Vec<usize> = rows.iter().map(|row| count(row).unwrap_or(1)).collect();
    rows.iter_mut().zip(alike).for_each(|(row, alike)| row.alike = alike);
}
