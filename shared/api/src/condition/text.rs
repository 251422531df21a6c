//! The message of a condition, and the fixed sentences of Unknown verdicts.
//!
//! The sentence of an Unknown contains no number, address or time. Otherwise every failed poll would change the message
//! and cause a write.

use std::fmt;

use crate::condition::{ObservedReason, Tag};
use crate::facts;

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
        facts::is_fitted(&self.0, text, tag)
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
