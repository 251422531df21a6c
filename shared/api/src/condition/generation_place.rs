//! The place of the generation in a stored condition: its own field, or the brackets at the end of its message where the
//! kind's schema has no such field.
//!
//! In memory a condition has its generation in its field, so only reading and writing an entry know the place.

use std::borrow::Cow;
use std::fmt;

use crate::condition::PollRequest;
use crate::facts::{self, Fact, FactList, Facts, InBrackets, SEPARATOR};

/// The word before the generation.
const WORD: &str = "generation";

/// The bytes that the generation takes at most in a message: `, generation 9223372036854775807`.
pub const MAX_GENERATION_BYTES: usize = 32;

/// The place of the generation in a stored condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GenerationPlace {
    /// `observedGeneration`.
    #[default]
    Field,
    /// The brackets at the end of the message: `[desired 3f2a9c71d04b58e6, generation 3]`.
    Tag,
}

impl GenerationPlace {
    /// Returns the message as it is stored.
    pub(super) fn stored_message(self, message: &str, generation: Option<i64>) -> Cow<'_, str> {
        match generation.filter(|_| self == Self::Tag) {
            Some(generation) => insert(message, generation).into(),
            None => message.into(),
        }
    }
}

/// Splits a stored message from its generation. `None` if it has none that the programs wrote.
pub(super) fn split(stored: &str) -> Option<(String, i64)> {
    let (text, brackets) = facts::at_end(stored)?;
    let (before, fact) =
        brackets.strip_suffix(']')?.rsplit_once(SEPARATOR).unwrap_or(("", &brackets[1..brackets.len() - 1]));
    let fact = Fact::parse(fact);
    let generation = facts::number(fact.text).filter(|_| fact.word == WORD)?;
    let message = if before.is_empty() { text.to_owned() } else { format!("{text} {before}]") };
    (insert(&message, generation) == stored).then_some((message, generation))
}

/// Adds the generation to the list at the end of a message, or as a list of its own. An answered request is alone in its
/// list.
fn insert(message: &str, generation: i64) -> String {
    let is_list = |brackets: &str| brackets.ends_with(']') && facts::read(None::<PollRequest>, brackets).is_none();
    match facts::at_end(message).filter(|(_, brackets)| is_list(brackets)) {
        Some(_) => format!(
            "{}{SEPARATOR}{}]",
            &message[..message.len() - 1],
            Fact { word: WORD, text: &generation.to_string() }
        ),
        None => facts::append(message, &InBrackets(&Alone(generation))),
    }
}

/// A generation that has its own brackets.
struct Alone(i64);

impl Facts for Alone {
    fn write(&self, list: &mut FactList<'_, '_>) -> fmt::Result {
        list.fact(WORD, Some(self.0))
    }

    fn take(&mut self, fact: Fact<'_>) -> Option<()> {
        self.0 = facts::number(fact.text).filter(|_| fact.word == WORD)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::Tag;
    use proptest::prelude::*;

    #[test]
    fn a_generation_is_the_last_fact_of_a_message() {
        for (message, stored) in [
            ("text [desired 3f2a9c71d04b58e6]", "text [desired 3f2a9c71d04b58e6, generation 3]"),
            ("text [polled T] [correction 7]", "text [polled T] [correction 7, generation 3]"),
            ("text [polled T]", "text [polled T] [generation 3]"),
            ("text", "text [generation 3]"),
            ("", " [generation 3]"),
            ("correction 1: nudged", "correction 1: nudged [generation 3]"),
            ("422: no [generation 5]", "422: no [generation 5, generation 3]"),
        ] {
            assert_eq!(GenerationPlace::Tag.stored_message(message, Some(3)), stored);
            assert_eq!(split(stored), Some((message.to_owned(), 3)), "{stored}");
            assert_eq!(GenerationPlace::Tag.stored_message(message, None), message);
            assert_eq!(GenerationPlace::Field.stored_message(message, Some(3)), message);
        }
        let longest = insert("text [seen]", i64::MAX).len() - "text [seen]".len();
        assert_eq!(longest, MAX_GENERATION_BYTES);
    }

    #[test]
    fn texts_of_others_have_no_generation() {
        for stored in [
            "",
            "text",
            "[generation 3]",
            "text [generation]",
            "text [generation x]",
            "text [generation 03]",
            "text [generation -3]",
            "text [generation 3] more",
            "text [seen] [generation 3]",
            "text [polled T, generation 3]",
            "text [generation 3, seen]",
        ] {
            assert_eq!(split(stored), None, "{stored}");
        }
    }

    proptest! {
        #[test]
        fn a_stored_message_reads_as_it_was(text in "[a-z \\[\\],0-9]{0,40}", correction in 0_u64..3, generation in 0..i64::MAX) {
            let message = Tag { correction, ..Tag::default() }.append_to(&text);
            let stored = GenerationPlace::Tag.stored_message(&message, Some(generation));
            prop_assert_eq!(split(&stored), Some((message.clone(), generation)));
        }
    }
}
