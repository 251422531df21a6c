//! Reads the keys of a map and the items of a list, each with a function for the expected value.

use std::ops::RangeInclusive;

use crate::yaml::fields::{Fields, all};
use crate::yaml::node::Node;
use crate::yaml::reader::Reader;

impl Reader<'_> {
    /// Returns the node of a required key.
    pub(crate) fn required<'n>(&mut self, fields: &Fields<'n>, key: &str) -> Option<&'n Node> {
        let found = fields.get(key);
        if found.is_none() {
            self.refuse::<()>(fields.heading(), format!("{} is missing", fields.place(key)));
        }
        found
    }

    /// Reads a required key.
    pub(crate) fn needed<T>(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        read: impl FnOnce(&mut Self, &Node, &str) -> Option<T>,
    ) -> Option<T> {
        let node = self.required(fields, key)?;
        read(self, node, &fields.place(key))
    }

    /// Reads an optional key. The outer `None` means that it is present and invalid.
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

    /// Reads a key with a default.
    pub(crate) fn or<T>(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        default: T,
        read: impl FnOnce(&mut Self, &Node, &str) -> Option<T>,
    ) -> Option<T> {
        self.optional(fields, key, read).map(|value| value.unwrap_or(default))
    }

    /// Reads every item, with its index in its place.
    pub(crate) fn each<T>(
        &mut self,
        items: &[Node],
        place: &str,
        mut read: impl FnMut(&mut Self, &Node, &str) -> Option<T>,
    ) -> Option<Vec<T>> {
        let items = items.iter().enumerate();
        all(items.map(|(position, item)| read(self, item, &format!("{place}[{position}]"))))
    }

    /// Reads every item of a list with this number of items. All mistakes are recorded, each with its position.
    pub(crate) fn list<T>(
        &mut self,
        node: &Node,
        place: &str,
        length: RangeInclusive<usize>,
        read: impl FnMut(&mut Self, &Node, &str) -> Option<T>,
    ) -> Option<Vec<T>> {
        let items = self.items(node, place, length)?;
        self.each(items, place, read)
    }

    /// Returns the one of these keys that is written. None, or several, are a mistake.
    pub(crate) fn exactly_one<'k, 'n>(&mut self, fields: &Fields<'n>, keys: &[&'k str]) -> Option<(&'k str, &'n Node)> {
        match self.at_most_one(fields, keys)? {
            Some(only) => Some(only),
            None => {
                let message = format!("{}: exactly one of {} is needed", fields.own_place(), keys.join(", "));
                self.refuse(fields.at(), message)
            }
        }
    }

    /// Returns the one of these keys that is written, if any. Several are a mistake.
    pub(crate) fn at_most_one<'k, 'n>(
        &mut self,
        fields: &Fields<'n>,
        keys: &[&'k str],
    ) -> Option<Option<(&'k str, &'n Node)>> {
        let mut written = keys.iter().filter_map(|key| Some((*key, fields.get(key)?)));
        let first = written.next();
        let (Some((first, _)), Some((second, node))) = (first, written.next()) else { return Some(first) };
        let (second, keys) = (fields.place(second), keys.join(", "));
        self.refuse(node.at, format!("{second}: {first} is written too; write only one of {keys}"))
    }
}
