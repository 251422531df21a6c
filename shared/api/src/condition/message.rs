//! The message of a condition, in as little room as what it says allows.
//!
//! Nearly all objects are in sync and say so in the same words, but for the wish and the correction in their tag. Kept are those
//! two; the text is the same letter for letter. This file must not know which condition it belongs to.

use std::borrow::Cow;
use std::fmt;

use super::text::{closed_text, is_fitted};
use super::{ObservedReason, Tag, Wish};

/// What a condition says to people, with what machines read at its end or its beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message(Said);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    /// That the object is in sync, with a tag that says nothing else.
    InSync { wish: Wish, correction: u32 },
    /// Anything else.
    Other(Box<str>),
}

impl Message {
    /// The text as it stands.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Said::InSync { wish, correction } => {
                in_sync(*wish, *correction).append_to(closed_text(ObservedReason::InSync)).into()
            }
            Said::Other(text) => Cow::Borrowed(text),
        }
    }

    /// The tag at its end; `None` where there is none or somebody broke it.
    #[must_use]
    pub fn tag(&self) -> Option<Tag> {
        match &self.0 {
            Said::InSync { wish, correction } => Some(in_sync(*wish, *correction)),
            Said::Other(text) => Tag::find(text),
        }
    }

    /// Whether it is what a text and a tag are written as. This is asked with every poll, so where it is as expected nothing is
    /// made for it.
    #[must_use]
    pub(super) fn says(&self, text: &str, tag: &Tag) -> bool {
        match &self.0 {
            Said::InSync { wish, correction } => {
                text == closed_text(ObservedReason::InSync) && *tag == in_sync(*wish, *correction)
            }
            Said::Other(message) => is_fitted(message, text, tag),
        }
    }
}

fn in_sync(wish: Wish, correction: u32) -> Tag {
    Tag { wish: Some(wish), correction: correction.into(), ..Tag::default() }
}

/// What a message says, where that is no more than that the object is in sync.
fn read_in_sync(text: &str) -> Option<Said> {
    let rest = text.strip_prefix(closed_text(ObservedReason::InSync))?.strip_prefix(' ')?;
    let (before, tag) = Tag::split(rest);
    let tag = tag.filter(|_| before.is_empty() && rest.starts_with('['))?;
    let (wish, correction) = (tag.wish?, u32::try_from(tag.correction).ok()?);
    (tag == in_sync(wish, correction)).then_some(Said::InSync { wish, correction })
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self(read_in_sync(text).unwrap_or_else(|| Said::Other(text.into())))
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self(read_in_sync(&text).unwrap_or_else(|| Said::Other(text.into())))
    }
}

impl fmt::Display for Message {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::condition::MAX_MESSAGE_BYTES;

    const LONGEST: &str = "the external resource is as the spec wishes [wish 3f2a9c71d04b58e6, correction 4294967295]";
    const _: () = assert!(LONGEST.len() < MAX_MESSAGE_BYTES);

    fn is_short(message: &Message) -> bool {
        matches!(message.0, Said::InSync { .. })
    }

    #[test]
    fn only_the_plain_words_of_in_sync_are_short() {
        let in_sync = closed_text(ObservedReason::InSync);
        for (rest, expected) in [
            (" [wish 3f2a9c71d04b58e6]", true),
            (" [wish 3f2a9c71d04b58e6, correction 7]", true),
            (" [wish 3f2a9c71d04b58e6, correction 4294967296]", false),
            (" [wish 3f2a9c71d04b58e6, seen]", false),
            (" [wish 3f2a9c71d04b58e6, unhealed 1]", false),
            (" [wish 3f2a9c71d04b58e6, fields a]", false),
            (" [wish 3F2A9C71D04B58E6]", false),
            (" [correction 7]", false),
            ("  [wish 3f2a9c71d04b58e6]", false),
            (" x [wish 3f2a9c71d04b58e6]", false),
            ("[wish 3f2a9c71d04b58e6]", false),
            ("", false),
        ] {
            let text = format!("{in_sync}{rest}");
            let message = Message::from(text.as_str());
            assert_eq!((is_short(&message), message.to_string()), (expected, text.clone()), "{rest}");
            assert_eq!(message.tag(), Tag::find(&text), "{rest}");
        }
        assert!(is_short(&LONGEST.into()));
    }

    proptest! {
        #[test]
        fn a_message_is_what_it_was_made_of(
            starts in any::<bool>(), rest in "\\PC{0,12}", wish in prop::option::of("[0-9a-f]{16}"), correction in 0..3_u64, seen: bool,
        ) {
            let text = format!("{}{rest}", if starts { closed_text(ObservedReason::InSync) } else { "" });
            let tag = Tag { wish: wish.as_deref().and_then(Wish::parse), correction, seen, ..Tag::default() };
            let whole = tag.append_to(&text);
            let message = Message::from(whole.as_str());
            prop_assert_eq!(&message.text(), &whole);
            prop_assert_eq!(message.tag(), Tag::find(&whole));
            prop_assert_eq!(message.says(&text, &tag), is_fitted(&whole, &text, &tag));
            prop_assert_eq!(message.says(&text, &Tag::default()), is_fitted(&whole, &text, &Tag::default()));
        }
    }
}
