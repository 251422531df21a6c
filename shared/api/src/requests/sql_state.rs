//! PostgreSQL's status code of a statement: five characters, of which the first two are the class.
//!
//! It is the only part of a server's error that is displayed.

use std::fmt;

/// A validated SQLSTATE.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// Parses five digits and capital letters. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let code = <[u8; 5]>::try_from(text.as_bytes()).ok()?;
        code.iter().all(|letter| letter.is_ascii_digit() || letter.is_ascii_uppercase()).then_some(Self(code))
    }

    /// Returns the code.
    #[must_use]
    pub fn code(&self) -> &str {
        // Parsing accepts only ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Returns the class: the first two characters.
    #[must_use]
    pub fn class(&self) -> &str {
        self.code().get(..2).unwrap_or_default()
    }

    /// Returns true if the server rejects the role (class 28), or the role lacks a right (42501).
    #[must_use]
    pub fn is_denial(&self) -> bool {
        matches!((self.class(), self.code()), ("28", _) | (_, "42501"))
    }

    /// Returns true if the server is stopping, starting, or ended this session on request (57P).
    #[must_use]
    pub fn is_shutdown(&self) -> bool {
        self.code().starts_with("57P")
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code())
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_five_digits_and_capitals_are_a_state() {
        assert_eq!(SqlState::parse("42P01").map(|state| state.class().to_owned()).as_deref(), Some("42"));
        assert!(SqlState::parse("57P01").is_some_and(|state| state.is_shutdown()));
        for text in ["", "4270", "427044", "42p01", "42 01", "4270é"] {
            assert_eq!(SqlState::parse(text), None, "{text}");
        }
    }
}
