//! The part of the tag with the names of the fields that differ: `upstream members`, or `*` for all.
//!
//! Corrections that only send differing fields read it.

use std::fmt;

use crate::facts::is_plain;

/// Maximum bytes of names in a tag. More would leave too little of the message for people.
const MAX_BYTES: usize = 200;
/// Every field: too many to name, or a name that cannot be parsed back.
const EVERY: &str = "*";

/// The top-level keys of `desired` that differ, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DifferingFields {
    /// The text as written. `None` if nothing is stated.
    written: Option<Box<str>>,
}

impl DifferingFields {
    /// Creates the set of all fields.
    #[must_use]
    pub fn every() -> Self {
        Self { written: Some(EVERY.into()) }
    }

    /// Creates the set of these fields, or of all fields if a tag cannot name them.
    #[must_use]
    pub fn named<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            return Self::default();
        }
        let bytes: usize = names.iter().map(|name| name.len() + 1).sum();
        if bytes > MAX_BYTES + 1 || !names.iter().all(|name| *name != EVERY && is_plain(name)) {
            return Self::every();
        }
        Self { written: Some(names.join(" ").into()) }
    }

    /// Adds a field to the set.
    pub fn add(&mut self, name: &str) {
        if self.contains(name) {
            return;
        }
        let with_it = self.names().map(|names| Self::named(names.chain([name])));
        *self = with_it.unwrap_or_else(Self::every);
    }

    /// Parses a tag. `None` if this module would not have written it.
    #[must_use]
    pub(super) fn parse(text: &str) -> Option<Self> {
        let fields = if text == EVERY { Self::every() } else { Self::named(text.split(' ')) };
        (fields.written.as_deref() == Some(text)).then_some(fields)
    }

    /// Returns true if this field differs.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.written.as_deref().is_some_and(|written| written == EVERY || written.split(' ').any(|known| known == name))
    }

    /// Returns true if nothing is stated about fields.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.written.is_none()
    }

    /// Returns the names, or `None` if every field may differ.
    #[must_use]
    pub fn names(&self) -> Option<impl Iterator<Item = &str>> {
        let written = self.written.as_deref().unwrap_or_default();
        (written != EVERY).then(|| written.split(' ').filter(|name| !name.is_empty()))
    }
}

impl fmt::Display for DifferingFields {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.written.as_deref().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_named_is_every_field() {
        let long = "x".repeat(MAX_BYTES);
        let table: [(&[&str], &str); 9] = [
            (&[], ""),
            (&["upstream", "members", "upstream"], "members upstream"),
            (&["*"], "*"),
            (&["a", "b c"], "*"),
            (&["a,b"], "*"),
            (&["a]"], "*"),
            (&[""], "*"),
            (&[&long], &long),
            (&[&long, "a"], "*"),
        ];
        for (names, expected) in table {
            assert_eq!(DifferingFields::named(names.iter().copied()).to_string(), expected, "{names:?}");
            let mut one_by_one = DifferingFields::default();
            names.iter().for_each(|name| one_by_one.add(name));
            assert_eq!(one_by_one.to_string(), expected, "{names:?}");
        }
        assert!(DifferingFields::every().contains("anything") && DifferingFields::every().names().is_none());
        let some = DifferingFields::named(["a"]);
        assert!(some.contains("a") && !some.contains("b") && some.names().is_some_and(|names| names.eq(["a"])));
    }

    #[test]
    fn other_texts_are_no_fields() {
        for text in ["", " ", "b a", "a a", "a  b", " a", "a ", "a,b", "* a", &"x".repeat(MAX_BYTES + 1)] {
            assert_eq!(DifferingFields::parse(text), None, "{text}");
        }
    }
}
