//! The version at which an object was read, as the API server returns it.
//!
//! It is a text when it is sent back, and a number when two are compared. Every object has one, and nearly all are
//! 64-bit numbers, which are stored without an allocation.

use std::fmt;

/// An object's `metadata.resourceVersion`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceVersion(Kept);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kept {
    /// The version, if it is the canonical text of this number.
    Number(u64),
    Text(Box<str>),
}

/// A resource version as a number of up to 128 bits, as the API server guarantees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VersionNumber(u128);

impl VersionNumber {
    /// Parses a version. `None` if it is not a number.
    #[must_use]
    pub fn of(version: &str) -> Option<Self> {
        version.parse().ok().map(Self)
    }
}

impl ResourceVersion {
    /// Returns it as a comparable number, or `None` if it is not a number.
    #[must_use]
    pub fn number(&self) -> Option<VersionNumber> {
        match &self.0 {
            Kept::Number(number) => Some(VersionNumber((*number).into())),
            Kept::Text(text) => VersionNumber::of(text),
        }
    }
}

impl From<&str> for ResourceVersion {
    fn from(text: &str) -> Self {
        let number = text.parse().ok().filter(|number: &u64| number.to_string() == text);
        Self(number.map_or_else(|| Kept::Text(text.into()), Kept::Number))
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kept::Number(number) => number.fmt(formatter),
            Kept::Text(text) => text.fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_given_back_letter_for_letter(text in "[0-9+]{0,22}|.{0,8}", other in "[0-9]{1,22}") {
            let version = ResourceVersion::from(&*text);
            prop_assert_eq!(version.to_string(), &*text);
            prop_assert_eq!(version == ResourceVersion::from(&*other), text == other);
            prop_assert_eq!(version.number(), VersionNumber::of(&text));
        }
    }
}
