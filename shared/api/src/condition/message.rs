//! The message of a condition, as it was read.

use std::fmt;

use super::Tag;
use super::text::is_fitted;

/// The message of a condition: text for display, with a machine-readable part at its end or beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message(Box<str>);

impl Message {
    /// Returns the whole text.
    #[must_use]
    pub const fn text(&self) -> &str {
        &self.0
    }

    /// Returns the text without the tag at its end.
    #[must_use]
    pub fn sentence(&self) -> &str {
        Tag::split(&self.0).0
    }

    /// Returns the tag at its end. `None` if there is none or another writer broke it.
    #[must_use]
    pub fn tag(&self) -> Option<Tag> {
        Tag::find(&self.0)
    }

    /// Returns true if it is the formatted form of a text and a tag.
    #[must_use]
    pub(super) fn says(&self, text: &str, tag: &Tag) -> bool {
        is_fitted(&self.0, text, tag)
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
