//! Splits a text into its literal parts and its `${…}` expressions.
//!
//! The end of an expression is found by the rules of CEL's lexer (strings, raw strings, comments, brackets), so that a
//! brace inside a string or a map does not end it.

use crate::cel::evaluation::constants::MAX_TEMPLATE_BYTES;

/// An error of a template and its position in the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// Offset in characters from the beginning of the template.
    pub offset: usize,
    /// The mistake and how to fix it.
    pub message: String,
}

impl TemplateError {
    pub(crate) fn new(offset: usize, message: impl Into<String>) -> Self {
        Self { offset, message: message.into() }
    }

    /// Returns the error of a text with this many more characters in front.
    pub(in crate::cel) fn shifted(self, characters: usize) -> Self {
        Self { offset: self.offset + characters, ..self }
    }
}

/// One part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Literal text, with `$${` already converted to `${`.
    Literal(String),
    /// The source between `${` and `}`.
    Expression {
        /// The source text.
        source: &'a str,
        /// Characters from the beginning of the template to the source.
        offset: usize,
    },
}

/// Returns true if a text contains anything that the scanner acts on.
pub(crate) fn is_template(text: &str) -> bool {
    text.contains("${")
}

/// Shown in place of each `${…}`, and of each value that looks like a credential.
pub(crate) const PLACEHOLDER: &str = "${…}";

/// Returns a text with [`PLACEHOLDER`] for each `${…}`. A text that cannot be split stays unchanged.
pub(crate) fn without_expressions(text: &str) -> String {
    let shown = |piece| match piece {
        Piece::Literal(literal) => literal,
        Piece::Expression { .. } => PLACEHOLDER.to_owned(),
    };
    pieces(text).map_or_else(|_| text.to_owned(), |pieces| pieces.into_iter().map(shown).collect())
}

/// Splits a template. Literals are never empty and never adjacent.
///
/// # Errors
/// Fails if an expression has no end or a brace too much, or the text is too long.
pub(crate) fn pieces(text: &str) -> Result<Vec<Piece<'_>>, TemplateError> {
    if text.len() > MAX_TEMPLATE_BYTES {
        return Err(TemplateError::new(0, format!("a template is at most {MAX_TEMPLATE_BYTES} bytes long")));
    }
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(position) = rest.find('$') {
        literal.push_str(&rest[..position]);
        let tail = &rest[position..];
        if let Some(after) = tail.strip_prefix("$${") {
            literal.push_str("${");
            rest = after;
        } else if let Some(source_on) = tail.strip_prefix("${") {
            let opening = characters_before(text, tail);
            let length = expression_length(source_on).ok_or_else(|| {
                TemplateError::new(opening, "`${` without its closing `}`; write `$${` for the text `${`")
            })?;
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut literal)));
            }
            pieces.push(Piece::Expression { source: &source_on[..length], offset: opening + 2 });
            rest = &source_on[length + 1..];
        } else {
            literal.push('$');
            rest = &tail[1..];
        }
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    match stray_brace(&pieces) {
        Some(offset) => Err(TemplateError::new(
            offset,
            "this `}` behind the expression closes nothing: delete it, or write ${'}'} for the text `}`",
        )),
        None => Ok(pieces),
    }
}

/// Returns the position of a `}` right behind an expression that closes no `{` in front of it, as in `${self.spec.ttl}}`.
/// The text would contain it.
fn stray_brace(pieces: &[Piece<'_>]) -> Option<usize> {
    let (mut open, mut end) = (0_usize, None);
    for piece in pieces {
        match piece {
            Piece::Expression { source, offset } => end = Some(offset + source.chars().count() + 1),
            Piece::Literal(literal) => {
                if let Some(end) = end.take().filter(|_| open == 0 && literal.starts_with('}')) {
                    return Some(end);
                }
                for character in literal.chars() {
                    match character {
                        '{' => open += 1,
                        '}' => open = open.saturating_sub(1),
                        _ => {}
                    }
                }
            }
        }
    }
    None
}

/// Returns the source of a text that is one `${…}`, and the number of characters in front of it.
///
/// # Errors
/// Fails if there is anything else.
pub(in crate::cel) fn one_expression(text: &str) -> Result<(&str, usize), TemplateError> {
    match pieces(text)?.as_slice() {
        [Piece::Expression { source, offset }] => Ok((source, *offset)),
        _ => Err(TemplateError::new(0, "write one \"${…}\" and nothing around it")),
    }
}

/// Number of characters of `text` in front of its suffix `tail`.
fn characters_before(text: &str, tail: &str) -> usize {
    text[..text.len() - tail.len()].chars().count()
}

/// Nesting depth of the brackets of an expression. Brackets inside strings and comments do not count.
pub(in crate::cel) fn bracket_depth(source: &str) -> usize {
    scan(source).1
}

/// Number of bytes up to the brace that closes the expression.
fn expression_length(source: &str) -> Option<usize> {
    scan(source).0
}

/// Returns the end of the expression, if there is one, and the deepest nesting up to there.
fn scan(source: &str) -> (Option<usize>, usize) {
    let mut deepest = 0;
    (scan_noting(source, &mut deepest), deepest)
}

fn scan_noting(source: &str, deepest: &mut usize) -> Option<usize> {
    let bytes = source.as_bytes();
    let mut depth = 0_usize;
    let mut position = 0;
    while let Some(&byte) = bytes.get(position) {
        match byte {
            b'\'' | b'"' => position += string_length(&bytes[position..], is_raw(&bytes[..position]))?,
            b'/' if bytes.get(position + 1) == Some(&b'/') => {
                position += bytes[position..].iter().position(|&byte| byte == b'\n')?;
            }
            b'}' if depth == 0 => return Some(position),
            b'{' | b'[' | b'(' => {
                depth += 1;
                *deepest = depth.max(*deepest);
                position += 1;
            }
            b'}' | b']' | b')' => {
                depth = depth.saturating_sub(1);
                position += 1;
            }
            _ => position += 1,
        }
    }
    None
}

/// Returns true if the quote that follows `before` begins a raw string: `r'…'`, `br'…'`, `rb'…'`.
fn is_raw(before: &[u8]) -> bool {
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    let prefix: Vec<u8> = before.iter().rev().take_while(is_word).map(u8::to_ascii_lowercase).collect();
    matches!(prefix.as_slice(), b"r" | b"rb" | b"br")
}

/// Length in bytes of the string literal at the beginning of `bytes`, including quotes.
fn string_length(bytes: &[u8], raw: bool) -> Option<usize> {
    let quote = bytes[0];
    let triple = [quote; 3];
    let closing: &[u8] = if bytes.starts_with(&triple) { &triple } else { &triple[..1] };
    let mut position = closing.len();
    loop {
        let rest = bytes.get(position..)?;
        match rest.first()? {
            b'\\' if !raw => position += 2,
            b'\n' if closing.len() == 1 => return None,
            _ if rest.starts_with(closing) => return Some(position + closing.len()),
            _ => position += 1,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn literal(text: &str) -> Piece<'static> {
        Piece::Literal(text.to_owned())
    }

    fn expression(source: &str, offset: usize) -> Piece<'_> {
        Piece::Expression { source, offset }
    }

    #[test]
    fn texts_are_split_where_cel_ends() {
        let table = [
            ("", vec![]),
            ("plain $ and $5 text", vec![literal("plain $ and $5 text")]),
            ("${a}", vec![expression("a", 2)]),
            ("x${a}y${b}", vec![literal("x"), expression("a", 3), literal("y"), expression("b", 8)]),
            ("$${a}", vec![literal("${a}")]),
            ("$$${a}", vec![literal("$${a}")]),
            ("é${a}", vec![literal("é"), expression("a", 3)]),
            ("${{'a': {'b': 1}}}", vec![expression("{'a': {'b': 1}}", 2)]),
            ("${'}'}", vec![expression("'}'", 2)]),
            (r#"${"\"}" + r'\'}"#, vec![expression(r#""\"}" + r'\'"#, 2)]),
            (r"${'''a'}''' }", vec![expression(r"'''a'}''' ", 2)]),
            ("${a // }\n}", vec![expression("a // }\n", 2)]),
            ("${for['}']}", vec![expression("for['}']", 2)]),
        ];
        for (text, expected) in table {
            assert_eq!(pieces(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn an_expression_without_end_is_refused_where_it_begins() {
        for text in ["é ${a", "é ${'a}", "é ${{a}", "é ${a // }", "é ${'a\n'}", r"é ${'a\'}"] {
            assert_eq!(pieces(text).unwrap_err().offset, 2, "{text}");
        }
        assert!(pieces(&"x".repeat(MAX_TEMPLATE_BYTES + 1)).is_err());
    }

    #[test]
    fn a_brace_that_closes_nothing_is_refused() {
        for (text, offset) in [("${a}}", 4), ("é${a}}", 5), ("{${a}}${b}} x", 10), ("${a}${b}}", 8)] {
            assert_eq!(pieces(text).unwrap_err().offset, offset, "{text}");
        }
        for text in ["{${a}}", "{\"a\": {\"b\": ${a}}}", "$${${a}}", "${a} }", "${'}'}", "}${a}"] {
            assert!(pieces(text).is_ok(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_scanner(text in r#"[a${}'"\\\n/r(\[é ]{0,40}"#) {
            if let Ok(pieces) = pieces(&text) {
                for piece in pieces {
                    if let Piece::Expression { source, offset } = piece {
                        let found: String = text.chars().skip(offset).take(source.chars().count()).collect();
                        prop_assert_eq!(found, source);
                    }
                }
            }
        }

        #[test]
        fn texts_without_dollar_are_themselves(text in "[^$]{1,40}") {
            prop_assert_eq!(pieces(&text).unwrap(), vec![Piece::Literal(text.clone())]);
        }
    }
}
