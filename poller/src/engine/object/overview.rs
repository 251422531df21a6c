//! The overview of one target for people: counts of verdicts, and the requested objects, the worst first.
//!
//! Everything here comes from the conditions as they are known and from what is due; nothing is judged anew. It must not
//! know how it is shown, nor who asks.

#[cfg(test)]
mod tests;

use std::time::Duration;

use drift_api::collections::first::first;
use drift_api::condition::{Condition, ConditionStatus, CorrectionStatus, MAX_MESSAGE_BYTES, Tag};
use drift_api::object::ObjectId;
use drift_api::timing::moment::Moment;

use crate::engine::object::deletion::verdict_of;
use crate::engine::object::object_state::ObjectState;

/// Most objects in one answer, and on the page: more than anybody reads. With their messages they take half a megabyte at most.
pub const MOST_ROWS: usize = 200;

/// A query for objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Of one target alone; of all without.
    pub target: Option<String>,
    /// True if they are to be shown, and not only counted.
    pub with_rows: bool,
    /// Stands somewhere in `namespace/name`; empty for all.
    pub search: String,
    /// By their verdict.
    pub shown: Shown,
}

/// A filter by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// Any, and none.
    #[default]
    All,
    /// True.
    Drifted,
    /// Unknown, or no verdict at all.
    Unknown,
}

/// The verdicts of one target's objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetOverview {
    /// Objects of which each of these is said.
    pub counts: VerdictCounts,
    /// The delay of the poll that has waited the longest.
    pub lateness: Duration,
    /// The number of objects that the question means.
    pub matching: usize,
    /// The first of them, at most [`MOST_ROWS`].
    pub rows: Vec<ObjectRow>,
}

/// Objects by their verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerdictCounts {
    /// False.
    pub in_sync: usize,
    /// True.
    pub drifted: usize,
    /// Unknown, or no verdict at all.
    pub unknown: usize,
    /// Being deleted, so that there is no verdict.
    pub deleting: usize,
}

/// The conditions of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRow {
    /// `namespace/name`.
    pub object: String,
    /// The verdict; `None` before the first, and of what is being deleted.
    pub verdict: Option<RowCondition>,
    /// True if it is being deleted.
    pub deleting: bool,
    /// The correction record; `None` if there is none.
    pub correction: Option<RowCondition>,
    /// Further marks, such as paused.
    pub marks: Vec<&'static str>,
    /// The time until the next poll; `None` during a poll, and if none will follow.
    pub next_poll: Option<Duration>,
}

/// A condition without what only the programs read in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowCondition {
    /// Its status.
    pub status: ConditionStatus,
    /// Its reason.
    pub reason: String,
    /// Its text.
    pub text: String,
    /// The time of the last change of the status, RFC 3339.
    pub since: String,
}

impl ObjectRow {
    /// Returns the sort key: the worst first.
    #[must_use]
    pub fn rank(&self) -> Rank {
        rank_of(self.verdict.as_ref().map(|verdict| verdict.status), self.deleting)
    }
}

impl Shown {
    /// The word for it in a query.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Drifted => "drifted",
            Self::Unknown => "unknown",
        }
    }

    /// Parses a filter. Any other word means all.
    #[must_use]
    pub fn parse(word: &str) -> Self {
        [Self::Drifted, Self::Unknown].into_iter().find(|shown| shown.as_str() == word).unwrap_or_default()
    }

    fn means(self, current: Rank) -> bool {
        match self {
            Self::All => true,
            Self::Drifted => current == Rank::Drifted,
            Self::Unknown => current == Rank::Unknown,
        }
    }
}

/// The worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// It drifted.
    Drifted,
    /// Nobody can tell, or nobody did yet.
    Unknown,
    /// It is being deleted, and there is no verdict on it.
    Deleting,
    /// Nothing is to be done.
    InSync,
}

fn rank(state: &ObjectState) -> Rank {
    let object = state.object();
    rank_of(verdict_of(object).map(|condition| condition.status), object.deleting)
}

const fn rank_of(status: Option<ConditionStatus>, deleting: bool) -> Rank {
    match status {
        _ if deleting => Rank::Deleting,
        Some(ConditionStatus::True) => Rank::Drifted,
        Some(ConditionStatus::False) => Rank::InSync,
        Some(ConditionStatus::Unknown) | None => Rank::Unknown,
    }
}

impl Question {
    /// Returns true if objects of this target are to be shown.
    #[must_use]
    pub fn asks_for(&self, target: &str) -> bool {
        self.with_rows && self.target.as_ref().is_none_or(|asked| asked == target)
    }

    fn means(&self, rank: Rank, id: &ObjectId) -> bool {
        self.shown.means(rank) && id.is_found_by(&self.search)
    }
}

/// How the objects of the target of that name stand, and those that are asked for. It takes time in proportion to the
/// objects, and room for those that are shown.
#[must_use]
pub fn overview<'a>(
    target: &str,
    states: impl Iterator<Item = &'a ObjectState>,
    question: &Question,
    now: Moment,
) -> TargetOverview {
    let mut found = TargetOverview::default();
    let mut meant = Vec::new();
    let has_rows = question.asks_for(target);
    for state in states {
        let rank = rank(state);
        *match rank {
            Rank::Drifted => &mut found.counts.drifted,
            Rank::Unknown => &mut found.counts.unknown,
            Rank::Deleting => &mut found.counts.deleting,
            Rank::InSync => &mut found.counts.in_sync,
        } += 1;
        found.lateness = found.lateness.max(state.poll_due().map_or(Duration::ZERO, |due| now - due));
        if has_rows && question.means(rank, &state.object().id) {
            meant.push((rank, state));
        }
    }
    found.matching = meant.len();
    let order = |one: &(Rank, &ObjectState), other: &(Rank, &ObjectState)| place(one).cmp(&place(other));
    found.rows = first(meant, MOST_ROWS, order).into_iter().map(|(_, state)| row(state, now)).collect();
    found
}

/// Returns the sort key: the worst first, then by name.
fn place<'t>((rank, state): &(Rank, &'t ObjectState)) -> (Rank, &'t ObjectId) {
    (*rank, &state.object().id)
}

fn row(state: &ObjectState, now: Moment) -> ObjectRow {
    let shown = state.object();
    let marks = [(shown.paused, "paused"), (shown.deleting, "deleting"), (state.is_flapping(now), "flapping")];
    ObjectRow {
        object: shown.id.to_string(),
        deleting: shown.deleting,
        verdict: verdict_of(shown).map(|condition| {
            let (text, _) = Tag::split(condition.message.text());
            row_condition(condition, text)
        }),
        correction: shown.conditions.corrected().map(|condition| {
            let text = CorrectionStatus::parse(condition.message.text()).text;
            row_condition(condition, &text)
        }),
        marks: marks.into_iter().filter_map(|(holds, mark)| holds.then_some(mark)).collect(),
        next_poll: state.poll_due().map(|due| due - now),
    }
}

fn row_condition(condition: &Condition, text: &str) -> RowCondition {
    RowCondition {
        status: condition.status,
        reason: condition.reason.to_string(),
        // Ours is no longer; another writer's may be.
        text: text.chars().take(MAX_MESSAGE_BYTES).collect(),
        since: condition.last_transition_time.to_string(),
    }
}
