//! Queries for objects.

use std::sync::Arc;

use drift_api::object::ObjectId;
use drift_language::{Target, kind_and_group};

use super::group::GroupKey;
use super::holds::LeaseHolds;
use super::row::Rank;

/// The objects on one page of a list. With their messages they take at most a quarter of a megabyte.
pub const OBJECTS_PER_PAGE: usize = 100;
/// The groups on one page. With their examples they take at most a third of a megabyte.
pub const GROUPS_PER_PAGE: usize = 40;
/// The pages of a list over all targets. Each target gives all objects up to the end of the page, so that more pages
/// would take more memory. A list of one target has no such limit.
pub const MOST_PAGES: usize = 5;

/// A query for objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The target; `None` for all.
    pub target: Option<String>,
    /// The only object.
    pub object: Option<ObjectAddress>,
    /// True if the answer has groups or objects, false if it only counts them.
    pub with_rows: bool,
    /// A part of `namespace/name`; empty for all.
    pub search: String,
    /// The filter by verdict.
    pub shown: Shown,
    /// The filter by a word: a hold, a mark, or the cause of an unwritten verdict.
    pub held: Option<String>,
    /// The filter by the id of a group.
    pub group: Option<String>,
    /// The order of a list; `None` if no order is asked for.
    pub sort: Option<Sort>,
    /// True for a list of single objects without a filter that asks for one.
    pub single: bool,
    /// The number of the page, from 0.
    pub page: usize,
    /// The holds by the Leases of both programs.
    pub holds: Arc<LeaseHolds>,
}

/// The name of one object in a link: `KIND.GROUP/NAMESPACE/NAME`, without the namespace for cluster-scoped kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectAddress {
    /// Kind and group, as [`kind_and_group`] writes them.
    pub kind: String,
    /// Namespace and name, as an [`ObjectId`] is written.
    pub name: String,
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
    /// Objects that are being deleted.
    Deleting,
}

/// An order of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The worst verdict first.
    #[default]
    Trouble,
    /// The verdict that has stood the longest first.
    Age,
    /// By namespace and name.
    Name,
    /// By target.
    Target,
}

impl Shown {
    /// Every filter, in the order of the page.
    pub const ALL: [Self; 5] = [Self::All, Self::Drifted, Self::Unknown, Self::InSync, Self::Deleting];

    /// The word for it in a query.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Drifted => "drifted",
            Self::Unknown => "unknown",
            Self::InSync => "in-sync",
            Self::Deleting => "deleting",
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
            Self::Deleting => current == Rank::Deleting,
        }
    }
}

impl Sort {
    /// Every order, in the order of the page.
    pub const ALL: [Self; 4] = [Self::Trouble, Self::Age, Self::Name, Self::Target];

    /// The word for it in a query.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trouble => "trouble",
            Self::Age => "age",
            Self::Name => "name",
            Self::Target => "target",
        }
    }

    /// Parses an order. `None` for any other word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sort| sort.as_str() == word)
    }
}

impl ObjectAddress {
    /// Parses an address. `None` without a kind or a name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once('/').filter(|(kind, name)| !kind.is_empty() && !name.is_empty())?;
        Some(Self { kind: kind.to_owned(), name: name.to_owned() })
    }
}

impl std::fmt::Display for ObjectAddress {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.kind, self.name)
    }
}

impl Question {
    /// Returns true if the answer has single objects in place of groups.
    #[must_use]
    pub fn lists_objects(&self) -> bool {
        let is_filtered = !self.search.is_empty() || self.held.is_some() || self.group.is_some();
        is_filtered || self.single || self.sort.is_some() || self.object.is_some()
    }

    /// The order of a list. A group and a filter by a word have objects of equal trouble, so the oldest comes first.
    #[must_use]
    pub fn order(&self) -> Sort {
        let is_uniform = self.held.is_some() || self.group.is_some();
        self.sort.unwrap_or(if is_uniform { Sort::Age } else { Sort::Trouble })
    }

    /// Returns true if the answer has objects or groups of this target.
    #[must_use]
    pub(super) fn asks_for(&self, target: &Target) -> bool {
        let kind = || kind_and_group(&target.objects.kind, &target.objects.api_version);
        let is_kind = self.object.as_ref().is_none_or(|object| object.kind.eq_ignore_ascii_case(&kind()));
        self.with_rows && is_kind && self.target.as_ref().is_none_or(|asked| *asked == target.name)
    }

    /// Returns true if the answer has this group, or objects of it.
    pub(super) fn means_group(&self, target: &str, key: &GroupKey) -> bool {
        let is_held = || self.held.as_ref().is_none_or(|word| key.words().any(|known| known == word));
        let is_group = || self.group.as_ref().is_none_or(|id| key.id(target) == *id);
        self.shown.means(key.rank) && is_held() && is_group()
    }

    /// Returns true if the answer has this object of a group that is meant.
    pub(super) fn means_object(&self, id: &ObjectId) -> bool {
        let is_asked = self.object.as_ref().is_none_or(|object| id.to_string() == object.name);
        is_asked && id.is_found_by(&self.search)
    }

    /// Returns the objects that a list skips. A list of one target begins with the page, one of all targets is cut later.
    pub(super) const fn skipped(&self) -> usize {
        if self.target.is_some() { self.page.saturating_mul(OBJECTS_PER_PAGE) } else { 0 }
    }

    /// Returns the most objects that one target gives.
    pub(super) fn most_objects(&self) -> usize {
        let pages = if self.target.is_some() { 1 } else { self.page.min(MOST_PAGES - 1) + 1 };
        pages * OBJECTS_PER_PAGE
    }
}
