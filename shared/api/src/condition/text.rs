//! The message of a condition, its maximum size, and the fixed sentences of Unknown verdicts.
//!
//! The sentence of an Unknown contains no number, address or time. Otherwise every failed poll would change the message
//! and cause a write.

use std::fmt::{self, Write as _};

use crate::condition::{ObservedReason, Tag};

/// Maximum bytes of a message: a page of `kubectl describe` stays readable, and 100,000 of them fit in etcd.
pub const MAX_MESSAGE_BYTES: usize = 1024;

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

/// Returns the paths in the sentence of a verdict, each once: `2 fields differ: /a desired 10, observed 5; /b missing "x"`.
#[must_use]
pub fn named_fields(sentence: &str) -> Vec<&str> {
    /// Characters that may follow a path.
    const AFTER: [&str; 9] = [
        " desired ",
        " missing",
        " unexpected ",
        " unexpected",
        " observed ",
        " changed",
        " in another order",
        " (redacted)",
        ";",
    ];
    let Some((_, fields)) = sentence.split_once(" differ: ").or_else(|| sentence.split_once(" differs: ")) else {
        return Vec::new();
    };
    let paths = fields.split("; ").filter(|field| field.starts_with('/'));
    let end = |field: &str| AFTER.iter().filter_map(|word| field.find(word)).min();
    let mut named = Vec::new();
    for path in paths.map(|field| &field[..end(field).unwrap_or(field.len())]) {
        if !named.contains(&path) {
            named.push(path);
        }
    }
    named
}

/// The sentence of a reason whose text does not depend on the object.
#[must_use]
pub const fn closed_text(reason: ObservedReason) -> &'static str {
    match reason {
        ObservedReason::InSync => "the external resource matches the spec",
        ObservedReason::NotCreated => "the external resource does not exist yet",
        ObservedReason::ExternalMissing => "the external resource was in sync and is gone",
        ObservedReason::NotUpdated => "the external resource differs and was never seen in sync at this generation",
        ObservedReason::FieldsDiffer => "the external resource was in sync and differs now",
        ObservedReason::NotYetPolled => "no poll of this object has completed yet",
        ObservedReason::PollTimedOut => "the external system did not answer within the target's timeout",
        ObservedReason::ExternalUnreachable => "no connection to the external system",
        ObservedReason::Unauthorized => "the external system refuses the poller's credential, or asks for one",
        ObservedReason::Forbidden => "the external system does not allow the poller's account this read",
        ObservedReason::CredentialUnusable => "the poller's credential cannot be used",
        ObservedReason::RateLimited => "the external system asks for fewer requests",
        ObservedReason::ExternalError => "the external system answers with an error",
        ObservedReason::ResponseInvalid => "the external system's answer is not what the target describes",
        ObservedReason::Settling => "the external system is still working on an earlier change",
        ObservedReason::AbsenceContradicted => {
            "the read finds nothing, but the external system refused the create as something that exists already (driftCorrected has its code): give the read's credential the right to see it, correct the read's address or filter, change a unique value that another resource has, or, if the code has another meaning, name that in the target"
        }
        ObservedReason::AllMissing => "the read finds none of the external resources that it found before",
        ObservedReason::RuleError => "a template of the target cannot be evaluated for this object",
        ObservedReason::NotAllowed => "a requirement of the target does not hold for this object",
        ObservedReason::Suspended => "the target is suspended",
        ObservedReason::TargetMissing => {
            "no ConfigMap has the target of this object any more, so that it is neither polled nor corrected"
        }
    }
}

/// Fits a text and its tag into [`MAX_MESSAGE_BYTES`]. The text is truncated at a character boundary, the tag never.
#[must_use]
pub(super) fn fit_message(text: &str, tag: &Tag) -> String {
    const ELLIPSIS: &str = "…";
    let whole = tag.append_to(text);
    if whole.len() <= MAX_MESSAGE_BYTES {
        return whole;
    }
    let room = MAX_MESSAGE_BYTES.saturating_sub(whole.len() - text.len() + ELLIPSIS.len());
    let end = (0..=room.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    tag.append_to(&format!("{}{ELLIPSIS}", text.get(..end).unwrap_or_default()))
}

/// Returns true if a message equals the output of [`fit_message`] for a text and a tag. It runs at every poll, so it
/// allocates nothing if the message is as expected.
#[must_use]
pub(super) fn is_fitted(message: &str, text: &str, tag: &Tag) -> bool {
    let ends_with_tag = |rest: &str| match rest.strip_prefix(' ') {
        Some(rest) => *tag != Tag::default() && spells(rest, tag),
        None => *tag == Tag::default() && rest.is_empty(),
    };
    let is_whole = message.len() <= MAX_MESSAGE_BYTES && message.strip_prefix(text).is_some_and(ends_with_tag);
    is_whole || message == fit_message(text, tag)
}

/// Returns true if a text equals the formatted value, without formatting it.
#[must_use]
pub(super) fn spells(text: &str, value: &impl fmt::Display) -> bool {
    let mut rest = Expected(text);
    write!(rest, "{value}").is_ok() && rest.0.is_empty()
}

/// The rest of the expected text. Any other text is an error.
struct Expected<'t>(&'t str);

impl fmt::Write for Expected<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(text).ok_or(fmt::Error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_is_named_once() {
        let text = "3 fields differ: /tags missing \"a\"; /port desired 1, observed 2; /tags unexpected \"b\"";
        assert_eq!(named_fields(text), ["/tags", "/port"]);
    }

    #[test]
    fn closed_texts_hold_no_number() {
        for reason in ObservedReason::ALL {
            assert!(!closed_text(*reason).chars().any(|letter| letter.is_ascii_digit()), "{reason}");
        }
    }

    proptest! {
        #[test]
        fn no_message_is_too_long_and_none_loses_its_tag(text in "\\PC{0,2000}x", correction in 1..u64::MAX) {
            let tag = Tag { correction, ..Tag::default() };
            let message = fit_message(&text, &tag);
            prop_assert!(message.len() <= MAX_MESSAGE_BYTES);
            prop_assert_eq!(Tag::find(&message), Some(tag));
        }

        #[test]
        fn a_message_is_known_without_being_made(
            text in "\\PC{0,12}|\\PC{500,1100}", correction in 0..30_u64, seen: bool, other in 0..30_u64, cut in 0..9_usize,
        ) {
            let tag = Tag { correction, seen, ..Tag::default() };
            let message = fit_message(&text, &tag);
            prop_assert!(is_fitted(&message, &text, &tag));
            let otherwise = fit_message(&text, &Tag { correction: other, ..tag.clone() });
            prop_assert_eq!(is_fitted(&otherwise, &text, &tag), otherwise == message);
            let end = message.char_indices().rev().nth(cut).map_or(0, |(at, _)| at);
            prop_assert!(!is_fitted(&message[..end], &text, &tag) || message.is_empty());
            prop_assert_eq!(is_fitted(&tag.append_to(&text), &text, &tag), tag.append_to(&text) == message);
        }
    }
}
