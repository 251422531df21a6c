//! Rows of `get --watch`: which change of an object is worth another line.

use std::collections::{BTreeMap, BTreeSet};

use super::rows::Row;
use super::wanted::Wanted;

/// The number of the collection that an object was heard of in, and the object's uid.
pub(crate) type RowKey = (usize, String);

/// The rows as they were printed last.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    wanted: Wanted,
    told: BTreeMap<RowKey, Row>,
    /// Of collections that are listed again, what was not found yet.
    unfound: BTreeMap<usize, BTreeSet<String>>,
}

impl Followed {
    /// Starts without a printed row.
    #[must_use]
    pub(crate) fn new(wanted: Wanted) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// A list of this collection begins.
    pub(crate) fn began(&mut self, collection: usize) {
        let known = self.told.keys().filter(|(of, _)| *of == collection).map(|(_, uid)| uid.clone());
        self.unfound.insert(collection, known.collect());
    }

    /// An object is so now; its row, where that is worth a line: it is wanted, or it was until now, and it says something else.
    pub(crate) fn seen(&mut self, (collection, uid): RowKey, row: Row) -> Option<Row> {
        if let Some(unfound) = self.unfound.get_mut(&collection) {
            unfound.remove(&uid);
        }
        let before = self.told.insert((collection, uid), row.clone());
        let was_wanted = before.as_ref().is_some_and(|before| self.wanted.wants(before));
        let is_new = before.as_ref() != Some(&row);
        (is_new && (was_wanted || self.wanted.wants(&row))).then_some(row)
    }

    /// The holds were read again; the row of an object, where that is worth a line.
    pub(crate) fn held_again(&mut self, place: &RowKey, row: Row) -> Option<Row> {
        let told = self.told.get_mut(place)?;
        let is_news = *told != row && (self.wanted.wants(told) || self.wanted.wants(&row));
        *told = row.clone();
        is_news.then_some(row)
    }

    /// An object is gone, or selected no more; its last row where that was wanted.
    pub(crate) fn left(&mut self, place: &RowKey) -> Option<Row> {
        let row = self.told.remove(place).filter(|row| self.wanted.wants(row))?;
        Some(Row { gone: true, ..row })
    }

    /// The list is whole: the rows of what it lacks.
    pub(crate) fn ended(&mut self, collection: usize) -> Vec<Row> {
        let gone = self.unfound.remove(&collection).unwrap_or_default();
        gone.into_iter().filter_map(|uid| self.left(&(collection, uid))).collect()
    }

    /// Everything that is known.
    #[must_use]
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.told.values().cloned().collect()
    }
}
