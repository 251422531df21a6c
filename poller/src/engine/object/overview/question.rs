//! Queries for objects.

use drift_api::object::ObjectId;

use super::row::Rank;

/// A query for objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The target; `None` for all.
    pub target: Option<String>,
    /// True if the answer lists objects, false if it only counts them.
    pub with_rows: bool,
    /// A part of `namespace/name`; empty for all.
    pub search: String,
    /// The filter by verdict.
    pub shown: Shown,
}

/// A filter by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// Every object, with or without a verdict.
    #[default]
    All,
    /// Status True.
    Drifted,
    /// Status Unknown, or no verdict yet.
    Unknown,
    /// Status False.
    InSync,
}

impl Shown {
    /// Every filter, in the order of the page.
    pub const ALL: [Self; 4] = [Self::All, Self::Drifted, Self::Unknown, Self::InSync];

    /// The word for it in a query.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Drifted => "drifted",
            Self::Unknown => "unknown",
            Self::InSync => "in-sync",
        }
    }

    /// Parses a filter. Any other word means all.
    #[must_use]
    pub fn parse(word: &str) -> Self {
        Self::ALL.into_iter().find(|shown| shown.as_str() == word).unwrap_or_default()
    }

    fn means(self, current: Rank) -> bool {
        match self {
            Self::All => true,
            Self::Drifted => current == Rank::Drifted,
            Self::Unknown => current == Rank::Unknown,
            Self::InSync => current == Rank::InSync,
        }
    }
}

impl Question {
    /// Returns true if the answer lists objects of this target.
    #[must_use]
    pub fn asks_for(&self, target: &str) -> bool {
        self.with_rows && self.target.as_ref().is_none_or(|asked| asked == target)
    }

    /// Returns true if the answer lists this object.
    pub(super) fn means(&self, rank: Rank, id: &ObjectId) -> bool {
        self.shown.means(rank) && id.is_found_by(&self.search)
    }
}
