//! The keys of one map of a document, and what stands at them.

use crate::yaml::{Entry, Node, Position};

/// The fields of a map, whose keys are all known.
pub(crate) struct Fields<'n> {
    entries: &'n [Entry],
    /// What stands at misspelt keys, by the keys that were meant: each mistake is told once, and nothing that follows from it.
    meant: Vec<(String, &'n Node)>,
    place: String,
    at: Position,
}

impl<'n> Fields<'n> {
    pub(crate) fn new(entries: &'n [Entry], place: &str, at: Position) -> Self {
        Self { entries, meant: Vec::new(), place: place.to_owned(), at }
    }

    /// Notes which key was meant by a misspelt one.
    pub(crate) fn mean(&mut self, key: &str, node: &'n Node) {
        self.meant.push((key.to_owned(), node));
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        let written = self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
        written.or_else(|| self.meant.iter().find(|(meant, _)| meant == key).map(|(_, node)| *node))
    }

    /// The path of a key: `read.http.url`.
    pub(crate) fn place(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    /// The path of the map itself.
    pub(crate) fn own_place(&self) -> &str {
        &self.place
    }

    /// The same fields, with paths counted from here.
    pub(crate) fn below(fields: &Self) -> Self {
        Self { entries: fields.entries, meant: fields.meant.clone(), place: String::new(), at: fields.at }
    }

    /// Where the map begins.
    pub(crate) fn at(&self) -> Position {
        self.at
    }

    /// The keys that stand there.
    pub(crate) fn entries(&self) -> &'n [Entry] {
        self.entries
    }
}

/// Takes all values, or nothing if one is wrong. Those behind the wrong one are read as well, so that their problems are noted.
pub(crate) fn all<T, C: FromIterator<T>>(values: impl Iterator<Item = Option<T>>) -> Option<C> {
    let read: Vec<Option<T>> = values.collect();
    read.into_iter().collect()
}
