//! Reads the keys of a map and the items of a list, each by a function that says what should stand there.

use crate::yaml::Node;
use crate::yaml::fields::{Fields, all};
use crate::yaml::reader::Reader;

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
