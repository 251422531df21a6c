//! The version at which an object was read, as the API server gives it.
//!
//! It is a text to those who give it back, and a number where two are compared. There are as many as objects, and nearly all are
//! numbers of 64 bits: such a one is kept in no other memory.

use std::fmt;

/// A `metadata.resourceVersion`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceVersion(Kept);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kept {
    /// The text that this number is written as.
    Number(u64),
    Text(Box<str>),
}

/// A resource version as the number that the API server promises it is, of up to 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VersionNumber(u128);

impl VersionNumber {
    /// The number of that version; `None` where it is none.
    #[must_use]
    pub fn of(version: &str) -> Option<Self> {
        version.parse().ok().map(Self)
    }
}

impl ResourceVersion {
    /// It as a number that can be compared; `None` where it is none.
    #[must_use]
    pub fn number(&self) -> Option<VersionNumber> {
        match &self.0 {
            Kept::Number(number) => Some(VersionNumber((*number).into())),
            Kept::Text(text) => VersionNumber::of(text),
        }
    }

    /// It as a number of 64 bits; `None` where it is none, or not written as one.
    #[must_use]
    pub const fn short_number(&self) -> Option<u64> {
        match self.0 {
            Kept::Number(number) => Some(number),
            Kept::Text(_) => None,
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

    #[test]
    fn only_a_plain_number_is_kept_as_one() {
        let short = |text: &str| ResourceVersion::from(text).short_number();
        assert_eq!([short("0"), short("18446744073709551615")], [Some(0), Some(u64::MAX)]);
        for text in ["", "007", "+5", "18446744073709551616", "a"] {
            assert_eq!(short(text), None, "{text}");
        }
    }
}
