//! The reason of a refused write: the server's own sentence, made safe to show.
//!
//! A server may repeat all that it received, also in its encodings. So each reason is cleaned of the secrets that were
//! sent and of fields with the name of a secret, and it is one short line that no reader can take for a part of ours.

mod sentence;

use std::fmt;

use drift_api::printable::is_printable;
use drift_api::secrets::secret_lines::without_credentials;
use drift_api::secrets::secret_texts::{REDACTED, holds_key, holds_token, without_userinfo};
use drift_language::SecretValues;
use serde_json::Value;

/// Maximum characters of a reason: two lines of a terminal. The message of a condition and the note of an Event have
/// 1,024 bytes, also for the rest of the record.
pub const MAX_REASON_CHARS: usize = 200;

/// Bytes of a text that are searched for secrets. Sentences are shorter, and a search must not take long.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Characters of a line in which fields are looked for: those that are shown, and some of what is masked before them.
const MAX_LINE_CHARS: usize = 4 * MAX_REASON_CHARS;

/// The words of a server about a failure, as they came. No output shows them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ServerText(Box<str>);

impl From<&str> for ServerText {
    fn from(text: &str) -> Self {
        Self(text[..text.floor_char_boundary(MAX_TEXT_BYTES)].into())
    }
}

impl ServerText {
    /// Returns the sentence in the body of a refusal, empty if it has none.
    pub(crate) fn of_error(body: &[u8]) -> Self {
        sentence::of_error(body).map(|sentence| Self::from(&*sentence)).unwrap_or_default()
    }
}

impl fmt::Debug for ServerText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ServerText")
    }
}

/// The reason of a refused write, safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalReason(Box<str>);

impl RefusalReason {
    /// Returns a reason in our own words.
    #[must_use]
    pub fn own(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the sentence in the body of an HTTP response. `None` if it has none.
    ///
    /// A response with a status below 400 is usually the resource itself, so only its errors are looked at.
    #[must_use]
    pub fn of_body(status: u16, body: &[u8], secrets: &SecretValues) -> Option<Self> {
        let sentence = match status {
            400.. => sentence::of_error(body),
            _ => sentence::of_answer(body),
        };
        Self::of_text(&sentence?, secrets)
    }

    /// Returns the first line of what a database or a directory says. `None` if it says nothing.
    #[must_use]
    pub fn of_server(ServerText(text): &ServerText, secrets: &SecretValues) -> Option<Self> {
        Self::of_text(sentence::first_line(text)?, secrets)
    }

    /// Returns a text of a response, cleaned. `None` if nothing of it can be shown.
    #[must_use]
    pub fn of_text(text: &str, secrets: &SecretValues) -> Option<Self> {
        let text = secrets.without(&text[..text.floor_char_boundary(MAX_TEXT_BYTES)], REDACTED);
        let line = one_line(&text);
        let start = clipped(&line, MAX_LINE_CHARS);
        let shown = clipped(&without_userinfo(&without_credentials(&start)), MAX_REASON_CHARS);
        // The line has lost what a reader does not see, which may have kept the parts of a secret apart.
        let repeats = secrets.occur_in(&Value::from(&*text)) || secrets.occur_in(&Value::from(&*line));
        let is_telling = repeats || secrets.pieces_occur_in(&shown) || holds_key(&line) || holds_token(&line);
        let shown = if is_telling { REDACTED } else { &shown };
        // The end of a condition's tag is a bracket, and a claim ends with one.
        let end = if shown.ends_with(']') { "." } else { "" };
        (!shown.is_empty()).then(|| Self(format!("{shown}{end}").into()))
    }

    /// Returns the text.
    #[must_use]
    pub const fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Returns one line of at most this many printable characters.
#[must_use]
pub fn short_line(text: &str, max: usize) -> String {
    clipped(&one_line(text), max)
}

/// Returns one line of printable characters.
fn one_line(text: &str) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || !is_printable(letter));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns at most this many characters of a line. An ellipsis takes the place of the rest.
fn clipped(line: &str, max: usize) -> String {
    match line.char_indices().nth(max) {
        None => line.to_owned(),
        Some(_) => line.chars().take(max - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
