//! The grammar of the facts in texts that both programs write and read: `desired 3f2a9c71d04b58e6, seen, correction 7`.
//!
//! A fact is a word, and after a space its text. A list of facts ends a message in brackets, or begins it before a colon.
//! A text is plain, or a JSON string in a list at the beginning. Values that are written so implement [`Facts`].
//!
//! A list in brackets counts only if it is what its value writes. So it has one order, no fact twice, and no default.

use std::fmt::{self, Write as _};

/// Maximum bytes of a message: a page of `kubectl describe` stays readable, and 100,000 of them fit in etcd.
pub const MAX_MESSAGE_BYTES: usize = 1024;

/// Separates the facts of a list.
pub(crate) const SEPARATOR: &str = ", ";

/// A fact of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fact<'t> {
    /// The word that tells it from others.
    pub(crate) word: &'t str,
    /// Its text. Empty for a word alone.
    pub(crate) text: &'t str,
}

impl<'t> Fact<'t> {
    /// Splits a fact after its word.
    pub(crate) fn parse(fact: &'t str) -> Self {
        let (word, text) = fact.split_once(' ').unwrap_or((fact, ""));
        Self { word, text }
    }

    /// Takes the first fact of a list at the beginning of a message. Returns the rest, which begins with a separator or
    /// a colon.
    fn first(message: &'t str) -> Option<(Self, &'t str)> {
        let (word, text) = message.split_once(' ')?;
        let end = if text.starts_with('"') { string_end(text)? } else { text.find([',', ':'])? };
        Some((Self { word, text: &text[..end] }, &text[end..]))
    }
}

/// Returns the length of the JSON string at the beginning of a text.
fn string_end(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    let ends = |byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    };
    text.bytes().skip(1).position(ends).map(|inside| inside + 2)
}

impl fmt::Display for Fact<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { word, text } = self;
        if text.is_empty() { formatter.write_str(word) } else { write!(formatter, "{word} {text}") }
    }
}

/// Values that are written as a list of facts.
pub(crate) trait Facts {
    /// Writes the facts that apply, in their order.
    fn write(&self, list: &mut FactList<'_, '_>) -> fmt::Result;

    /// Takes in a fact that was read. `None` if this version does not know it.
    fn take(&mut self, fact: Fact<'_>) -> Option<()>;
}

/// A list of facts that is being written.
pub(crate) struct FactList<'f, 'b> {
    formatter: &'f mut fmt::Formatter<'b>,
    /// The characters before the next fact.
    before: &'static str,
}

impl<'f, 'b> FactList<'f, 'b> {
    /// Begins a list with this text, which is omitted if no fact follows.
    pub(crate) const fn new(formatter: &'f mut fmt::Formatter<'b>, opening: &'static str) -> Self {
        Self { formatter, before: opening }
    }

    /// Writes a word alone.
    pub(crate) fn word(&mut self, word: &str) -> fmt::Result {
        self.formatter.write_str(std::mem::replace(&mut self.before, SEPARATOR))?;
        self.formatter.write_str(word)
    }

    /// Writes a word alone if it applies.
    pub(crate) fn word_if(&mut self, applies: bool, word: &str) -> fmt::Result {
        if applies { self.word(word) } else { Ok(()) }
    }

    /// Writes a word with its text, unless that is `None`.
    pub(crate) fn fact(&mut self, word: &str, text: Option<impl fmt::Display>) -> fmt::Result {
        let Some(text) = text else { return Ok(()) };
        self.word(word)?;
        write!(self.formatter, " {text}")
    }

    /// Ends the list with this text, unless it is empty. Returns true if it has facts.
    pub(crate) fn end(self, closing: &str) -> Result<bool, fmt::Error> {
        let has_facts = self.before == SEPARATOR;
        if has_facts {
            self.formatter.write_str(closing)?;
        }
        Ok(has_facts)
    }
}

/// A list in brackets; nothing without facts.
pub(crate) struct InBrackets<'v, V>(pub(crate) &'v V);

impl<V: Facts> fmt::Display for InBrackets<'_, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_lists(formatter, &[self.0])
    }
}

/// Writes lists, each in brackets of its own. A list without facts leaves nothing.
pub(crate) fn write_lists(formatter: &mut fmt::Formatter<'_>, lists: &[&dyn Facts]) -> fmt::Result {
    let mut opening = "[";
    for facts in lists {
        let mut list = FactList::new(formatter, opening);
        facts.write(&mut list)?;
        if list.end("]")? {
            opening = " [";
        }
    }
    Ok(())
}

/// Reads a list in brackets into a value. `None` if it is not what the value then writes.
pub(crate) fn read<V: Facts>(mut value: V, brackets: &str) -> Option<V> {
    in_brackets(brackets)?.try_for_each(|fact| value.take(fact))?;
    as_written(brackets, InBrackets(&value)).is_some().then_some(value)
}

/// Reads the list in brackets at the end of a text into a value, and returns the text before it.
pub(crate) fn split<V: Facts>(text: &str, value: V) -> Option<(&str, V)> {
    let (text, brackets) = at_end(text)?;
    Some((text, read(value, brackets)?))
}

/// Splits a text from the brackets at its end.
pub(crate) fn at_end(text: &str) -> Option<(&str, &str)> {
    let (text, brackets) = text.split_at(text.rfind(" [")?);
    Some((text, &brackets[1..]))
}

/// Returns the facts of a list in brackets.
pub(crate) fn in_brackets(brackets: &str) -> Option<impl Iterator<Item = Fact<'_>>> {
    Some(brackets.strip_prefix('[')?.strip_suffix(']')?.split(SEPARATOR).map(Fact::parse))
}

/// Reads the list at the beginning of a message into a value, up to the first fact that the value does not know. Returns
/// the rest of the message.
pub(crate) fn read_head<'m>(value: &mut impl Facts, message: &'m str) -> &'m str {
    let (mut rest, mut next) = (message, Some(message));
    while let Some((fact, after)) = next.and_then(Fact::first) {
        if value.take(fact).is_none() {
            break;
        }
        (rest, next) = (after, after.strip_prefix(SEPARATOR));
    }
    rest
}

/// Returns true if a name can be one of several in the text of a fact. Others are written as something else: a
/// fingerprint, or `*` for all.
pub(crate) fn is_plain(name: &str) -> bool {
    let is_separator = |letter: char| letter.is_whitespace() || letter.is_control() || "[],".contains(letter);
    !name.is_empty() && !name.contains(is_separator)
}

/// Returns the names of a fact's text. `None` if one is empty.
pub(crate) fn names(text: &str) -> Option<impl Iterator<Item = &str>> {
    let names = text.split(' ');
    names.clone().all(|name| !name.is_empty()).then_some(names)
}

/// Splits a name from its mark: `password@9f31c2d4`.
pub(crate) fn marked(text: &str) -> Option<(&str, &str)> {
    text.split_once('@').filter(|(name, _)| !name.is_empty())
}

/// Returns names as the text of a fact; `None` without a name.
pub(crate) fn joined<N: fmt::Display>(names: impl Iterator<Item = N>) -> Option<String> {
    let names: Vec<String> = names.map(|name| name.to_string()).collect();
    (!names.is_empty()).then(|| names.join(" "))
}

/// Parses a number without a sign.
pub(crate) fn number<N: std::str::FromStr>(digits: &str) -> Option<N> {
    digits.parse().ok().filter(|_| digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Returns a value if it is written as this text.
pub(crate) fn as_written<V: fmt::Display>(text: &str, value: V) -> Option<V> {
    spells(text, &value).then_some(value)
}

/// Returns a text with facts after it.
pub(crate) fn append(text: &str, facts: &impl fmt::Display) -> String {
    let facts = facts.to_string();
    if facts.is_empty() { text.to_owned() } else { format!("{text} {facts}") }
}

/// Fits a text and its facts into [`MAX_MESSAGE_BYTES`]. The text is truncated at a character boundary, the facts never.
pub(crate) fn fit(text: &str, facts: &impl fmt::Display) -> String {
    const ELLIPSIS: &str = "…";
    let whole = append(text, facts);
    if whole.len() <= MAX_MESSAGE_BYTES {
        return whole;
    }
    let room = MAX_MESSAGE_BYTES.saturating_sub(whole.len() - text.len() + ELLIPSIS.len());
    append(&format!("{}{ELLIPSIS}", &text[..text.floor_char_boundary(room)]), facts)
}

/// Returns true if a message equals the output of [`fit`] for a text and facts. It runs at every poll, so it allocates
/// nothing if the message is as expected.
pub(crate) fn is_fitted(message: &str, text: &str, facts: &impl fmt::Display) -> bool {
    let ends_with_facts = |rest: &str| match rest.strip_prefix(' ') {
        Some(rest) => !rest.is_empty() && spells(rest, facts),
        None => rest.is_empty() && spells("", facts),
    };
    let is_whole = message.len() <= MAX_MESSAGE_BYTES && message.strip_prefix(text).is_some_and(ends_with_facts);
    is_whole || message == fit(text, facts)
}

/// Returns true if a text equals the formatted value, without formatting it.
fn spells(text: &str, value: &impl fmt::Display) -> bool {
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
#[allow(clippy::unwrap_used)]
mod tests;
