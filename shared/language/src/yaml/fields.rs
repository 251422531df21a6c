//! The keys of one map of a document, and their values.

use crate::yaml::node::{Entry, Node};
use crate::yaml::position::Position;

/// The fields of a map with known keys.
pub(crate) struct Fields<'n> {
    node: &'n Node,
    entries: &'n [Entry],
    /// Values of misspelt keys, by the intended key. Each mistake is reported once, without errors that follow from it.
    meant: Vec<(String, &'n Node)>,
    place: String,
    at: Position,
    heading: Position,
}

impl<'n> Fields<'n> {
    pub(crate) fn new(entries: &'n [Entry], place: &str, node: &'n Node) -> Self {
        let heading = node.key_at.filter(|key_at| key_at.line < node.at.line).unwrap_or(node.at);
        Self { node, entries, meant: Vec::new(), place: place.to_owned(), at: node.at, heading }
    }

    /// Records the intended key of a misspelt one.
    pub(crate) fn mean(&mut self, key: &str, node: &'n Node) {
        self.meant.push((key.to_owned(), node));
    }

    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        let written = self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
        written.or_else(|| self.meant.iter().find(|(meant, _)| meant == key).map(|(_, node)| *node))
    }

    /// Returns the path of a key: `read.http.url`.
    pub(crate) fn place(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    /// Returns the path of the map itself.
    pub(crate) fn own_place(&self) -> &str {
        &self.place
    }

    /// Returns the same fields, with paths relative to this map.
    pub(crate) fn below(fields: &Self) -> Self {
        Self { meant: fields.meant.clone(), place: String::new(), ..*fields }
    }

    /// Returns the map itself.
    pub(crate) fn node(&self) -> &'n Node {
        self.node
    }

    /// Returns the position of the map.
    pub(crate) fn at(&self) -> Position {
        self.at
    }

    /// Returns the position of the map's own key, if that is on a line above.
    pub(crate) fn heading(&self) -> Position {
        self.heading
    }

    /// Returns the keys with their values.
    pub(crate) fn entries(&self) -> &'n [Entry] {
        self.entries
    }
}

/// Collects all values, or `None` if one is invalid. The values after it are read as well, so that their
/// problems are recorded.
pub(crate) fn all<T, C: FromIterator<T>>(values: impl Iterator<Item = Option<T>>) -> Option<C> {
    let read: Vec<Option<T>> = values.collect();
    read.into_iter().collect()
}
