//! The note at the head of every `driftCorrected` message: `correction 7, owns "orders-db": updated`.
//!
//! It holds the two facts that a crash must not lose: how many corrections had a definite outcome, and which
//! external resource is ours. This is the one module that writes and reads it.

use std::fmt;

/// What the controller has noted on an object, apart from status and reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// K: corrections with a definite outcome; 0 before the first.
    pub correction: u64,
    /// The identity of the external resource that is ours.
    pub owns: Option<String>,
    /// The sentence for people.
    pub text: String,
}

impl Note {
    /// Reads a message. What is not a note has correction 0, owns nothing, and is all text.
    #[must_use]
    pub fn parse(message: &str) -> Self {
        Self::parse_strictly(message).unwrap_or_else(|| Self { correction: 0, owns: None, text: message.to_owned() })
    }

    fn parse_strictly(message: &str) -> Option<Self> {
        let (correction, rest) = parse_correction(message);
        let (owns, rest) = match rest.strip_prefix("owns ") {
            Some(quoted) => parse_quoted(quoted).map(|(identity, rest)| (Some(identity), rest))?,
            None => (None, rest),
        };
        let text = match (correction, &owns) {
            (0, None) => rest,
            _ => rest.strip_prefix(": ")?,
        };
        Some(Self { correction, owns, text: text.to_owned() })
    }
}

/// The leading `correction K`, if there is one, and what follows it (its comma consumed where `owns` follows).
fn parse_correction(message: &str) -> (u64, &str) {
    let parsed = message.strip_prefix("correction ").and_then(|rest| {
        let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        let (count, rest) = rest.split_at(digits);
        let count = count.parse::<u64>().ok().filter(|count| *count > 0)?;
        Some((count, rest))
    });
    match parsed {
        Some((count, rest)) => match rest.strip_prefix(", ") {
            Some(owner) if owner.starts_with("owns ") => (count, owner),
            _ if rest.starts_with(": ") => (count, rest),
            _ => (0, message),
        },
        None => (0, message),
    }
}

/// A JSON string at the start of `text`, and what follows it.
fn parse_quoted(text: &str) -> Option<(String, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let value = values.next()?.ok()?;
    Some((value, text.get(values.byte_offset()..)?))
}

impl fmt::Display for Note {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::with_capacity(2);
        parts.extend((self.correction > 0).then(|| format!("correction {}", self.correction)));
        parts.extend(self.owns.as_ref().map(|identity| format!("owns {}", serde_json::Value::from(identity.as_str()))));
        if !parts.is_empty() {
            write!(formatter, "{}: ", parts.join(", "))?;
        }
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn note(correction: u64, owns: Option<&str>, text: &str) -> Note {
        Note { correction, owns: owns.map(str::to_owned), text: text.to_owned() }
    }

    #[test]
    fn notes_read_as_documented() {
        let cases = [
            (note(7, Some("a\"b: c"), "updated"), r#"correction 7, owns "a\"b: c": updated"#),
            (note(7, None, "refused"), "correction 7: refused"),
            (note(0, Some("x"), "creating"), r#"owns "x": creating"#),
            (note(0, None, "not ours"), "not ours"),
        ];
        for (note, message) in cases {
            assert_eq!(note.to_string(), message);
            assert_eq!(Note::parse(message), note);
        }
    }

    #[test]
    fn foreign_texts_own_nothing() {
        for message in
            ["", "correction x: y", "correction 7, something", "owns x: y", r#"owns "x" y"#, "correction 0: x"]
        {
            assert_eq!(Note::parse(message), note(0, None, message), "{message}");
        }
    }

    proptest! {
        #[test]
        fn a_note_is_read_back_as_it_was_written(correction in 0..u64::MAX, owns in proptest::option::of("\\PC{0,20}"), text in "[a-z ,:]{0,40}") {
            prop_assume!(!text.starts_with("correction ") && !text.starts_with("owns "));
            let note = Note { correction, owns, text };
            prop_assert_eq!(Note::parse(&note.to_string()), note);
        }

        #[test]
        fn any_text_is_read_without_panic(message in "\\PC*") {
            let _ = Note::parse(&message);
        }
    }
}
