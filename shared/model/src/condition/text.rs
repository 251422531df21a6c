//! The closed sentences of Unknown verdicts, and the size of any message.
//!
//! An Unknown's sentence holds no number, address or time: a message that changes with every failed poll
//! would be a write with every failed poll. This file must not know of values, objects or answers.

use crate::condition::{ObservedReason, Tag};

/// Messages end here, in bytes: a page of `kubectl describe` stays readable, and 100,000 of them fit in etcd.
pub const MAX_MESSAGE_BYTES: usize = 1024;

/// The sentence of a reason whose text does not depend on the object.
#[must_use]
pub const fn closed_text(reason: ObservedReason) -> &'static str {
    match reason {
        ObservedReason::InSync => "the external resource is as the spec wishes",
        ObservedReason::NotCreated => "the external resource does not exist yet",
        ObservedReason::ExternalMissing => "the external resource was in sync and is gone",
        ObservedReason::NotUpdated => "the external resource differs and was never seen in sync at this generation",
        ObservedReason::FieldsDiffer => "the external resource was in sync and differs now",
        ObservedReason::NotYetPolled => "no poll of this object has completed yet",
        ObservedReason::PollTimedOut => "the external system did not answer within the target's timeout",
        ObservedReason::ExternalUnreachable => "no connection to the external system",
        ObservedReason::Unauthorized => {
            "the external system refuses the poller's credential, or the Secret that holds it is missing, not labelled for the poller, or not for this host"
        }
        ObservedReason::RateLimited => "the external system asks for fewer requests",
        ObservedReason::ExternalError => "the external system answers with an error",
        ObservedReason::ResponseInvalid => "the external system's answer is not what the target describes",
        ObservedReason::Settling => "the external system is still working on an earlier change",
        ObservedReason::RuleError => "a template of the target cannot be evaluated for this object",
        ObservedReason::NotAllowed => "a requirement of the target does not hold for this object",
        ObservedReason::IdentityTaken => "another object has the same identity in this scope",
        ObservedReason::Suspended => "the target is suspended for this object",
    }
}

/// A text and its tag within [`MAX_MESSAGE_BYTES`]; the text is cut at a character, the tag never.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    }
}
