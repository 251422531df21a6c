//! The name of a kind whatever the version: an object is the same in all of them.
//!
//! It must not know whether the cluster has the kind.

use drift_language::ObjectSelection;

/// A kind of objects, whatever the version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindName {
    /// The API group; empty for the core group.
    pub group: String,
    /// For example `Proxy`.
    pub kind: String,
}

impl KindName {
    /// The kind that an `apiVersion` and a `kind` speak of.
    #[must_use]
    pub fn new(api_version: &str, kind: &str) -> Self {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        Self { group: group.to_owned(), kind: kind.to_owned() }
    }

    /// The kind that a selection speaks of.
    #[must_use]
    pub fn of(selection: &ObjectSelection) -> Self {
        Self { group: selection.group().to_owned(), kind: selection.kind.clone() }
    }

    /// Whether a selection speaks of this kind.
    #[must_use]
    pub fn is_of(&self, selection: &ObjectSelection) -> bool {
        selection.is_of(&self.group, &self.kind)
    }
}
