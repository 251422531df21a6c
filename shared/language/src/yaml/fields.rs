//! The keys of one map of a document, and what stands at them.
//!
//! This file must not know which keys are known, nor what is said of others.

use crate::yaml::raw::Reader;
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

impl Reader<'_> {
    /// A key that must be there.
    pub(crate) fn required<'n>(&mut self, fields: &Fields<'n>, key: &str) -> Option<&'n Node> {
        let found = fields.get(key);
        if found.is_none() {
            self.refuse::<()>(fields.at(), format!("{} is missing", fields.place(key)));
        }
        found
    }

    /// Reads a key that must be there.
    pub(crate) fn needed<T>(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        read: impl FnOnce(&mut Self, &Node, &str) -> Option<T>,
    ) -> Option<T> {
        let node = self.required(fields, key)?;
        read(self, node, &fields.place(key))
    }

    /// Reads a key that may be left out; `None` only where it is there and wrong.
    pub(crate) fn optional<T>(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        read: impl FnOnce(&mut Self, &Node, &str) -> Option<T>,
    ) -> Option<Option<T>> {
        match fields.get(key) {
            None => Some(None),
            Some(node) => read(self, node, &fields.place(key)).map(Some),
        }
    }

    /// Reads a key that has a default.
    pub(crate) fn or<T>(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        default: T,
        read: impl FnOnce(&mut Self, &Node, &str) -> Option<T>,
    ) -> Option<T> {
        self.optional(fields, key, read).map(|value| value.unwrap_or(default))
    }

    /// Reads every item, with its position in its place.
    pub(crate) fn each<T>(
        &mut self,
        items: &[Node],
        place: &str,
        mut read: impl FnMut(&mut Self, &Node, &str) -> Option<T>,
    ) -> Option<Vec<T>> {
        let items = items.iter().enumerate();
        all(items.map(|(position, item)| read(self, item, &format!("{place}[{position}]"))))
    }
}

/// Takes all values, or nothing if one is wrong. Those behind the wrong one are read as well, so that their problems are noted.
pub(crate) fn all<T, C: FromIterator<T>>(values: impl Iterator<Item = Option<T>>) -> Option<C> {
    let read: Vec<Option<T>> = values.collect();
    read.into_iter().collect()
}
