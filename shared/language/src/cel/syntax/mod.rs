//! Parses the source of one expression to a tree, within limits that the parser can handle.

pub(super) mod pieces;
pub(crate) mod tree;

use cel::common::ast::{IdedExpr, SourceInfo};

use crate::cel::evaluation::constants::{MAX_EXPRESSION_BYTES, MAX_EXPRESSION_DEPTH, PARSE_STACK_BYTES};
use crate::cel::functions::ENVIRONMENT;
use crate::cel::syntax::pieces::{TemplateError, bracket_depth};

/// Parses the source between `${` and `}`. Offsets of errors count from its beginning.
///
/// # Errors
/// Fails if it is empty, too long, nested too deep or not CEL.
pub(crate) fn parse_source(source: &str) -> Result<(IdedExpr, SourceInfo), TemplateError> {
    if source.trim().is_empty() {
        return Err(TemplateError::new(0, "the expression is empty"));
    }
    if source.len() > MAX_EXPRESSION_BYTES {
        return Err(TemplateError::new(0, format!("an expression is at most {MAX_EXPRESSION_BYTES} bytes long")));
    }
    if bracket_depth(source) > MAX_EXPRESSION_DEPTH {
        return Err(TemplateError::new(0, format!("brackets nest at most {MAX_EXPRESSION_DEPTH} deep")));
    }
    let parsed = stacker::grow(PARSE_STACK_BYTES, || ENVIRONMENT.parser().parse_with_source_info(source));
    parsed.map_err(|errors| syntax_error(source, &errors))
}

/// Returns the byte offset of a node in the source.
pub(crate) fn start_of(node: u64, source: &SourceInfo) -> usize {
    source.offset_for(node).and_then(|(start, _)| usize::try_from(start).ok()).unwrap_or(0)
}

/// Returns the number of characters in front of a byte offset.
pub(crate) fn characters_before(start: usize, source: &SourceInfo) -> usize {
    source.source.get(..start).map_or(0, |before| before.chars().count())
}

/// Converts the first of cel's syntax errors. The others are mostly its consequences.
fn syntax_error(source: &str, errors: &cel::ParseErrors) -> TemplateError {
    let Some(first) = errors.errors.first() else {
        return TemplateError::new(0, "no CEL expression");
    };
    let line = usize::try_from(first.pos.0.max(1) - 1).unwrap_or(0);
    let column = usize::try_from(first.pos.1.max(1) - 1).unwrap_or(0);
    let before: usize = source.split_inclusive('\n').take(line).map(|line| line.chars().count()).sum();
    let position = (before + column).min(source.chars().count());
    let message = first.msg.trim_start_matches("Syntax error: ");
    if let Some(escape) = unknown_escape(message) {
        let message = format!("no CEL expression: `{escape}` is no escape of a text: write a raw text, r\"{escape}\"");
        return TemplateError::new(position, message);
    }
    TemplateError::new(position, format!("no CEL expression: {}", in_plain_words(message)))
}

/// Returns the backslash and the next character where the lexer failed inside a text.
fn unknown_escape(message: &str) -> Option<&str> {
    let found = message.strip_prefix("token recognition error at: '")?.strip_suffix('\'')?;
    found.rfind('\\').map(|backslash| &found[backslash..])
}

/// Prefixes of the parser's messages about misplaced tokens.
const MISPLACED: [&str; 4] =
    ["mismatched input ", "extraneous input ", "no viable alternative at input ", "token recognition error at: "];

/// Operators of other languages, with the equivalent here.
const HINTS: [(&str, &str); 8] = [
    ("=", "equality is written =="),
    ("|", "`or` is written ||, and a function name(value)"),
    ("&", "`and` is written &&"),
    ("and", "`and` is written &&"),
    ("or", "`or` is written ||"),
    ("if", CHOICE),
    ("$", "within ${…} stands no other ${…}"),
    ("}", "a map has texts for keys: {'name': value}"),
];

const CHOICE: &str = "a choice is written condition ? one : other";

/// Translates one message.
fn in_plain_words(message: &str) -> String {
    // The list of all tokens that would be allowed does not help.
    let message = message.split_once(" expecting ").map_or(message, |(found, _)| found);
    if let Some(found) = MISPLACED.iter().find_map(|begin| message.strip_prefix(begin)) {
        return match found.trim_matches('\'').trim() {
            "<EOF>" => "the expression ends too early".to_owned(),
            "" => "a space cannot stand here".to_owned(),
            word => format!("`{word}` cannot stand here{}", hint(word)),
        };
    }
    if let Some(word) = message.strip_prefix("reserved identifier: ") {
        return format!("`{word}` is a word that CEL keeps for itself{}", hint(word));
    }
    if message.contains("`_?_:_`") {
        return format!("{CHOICE}, and a default .?field.orValue(other)");
    }
    if message.contains("Recursion limit") {
        return "it nests too deep".to_owned();
    }
    // A message about a part that the parser gave up.
    if message.contains("Context") { "the expression is not complete".to_owned() } else { message.to_owned() }
}

fn hint(word: &str) -> String {
    let is_number = word.strip_prefix('.').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    let hint = match HINTS.iter().find(|(written, _)| *written == word) {
        Some((_, hint)) => hint,
        None if is_number => "an item of a list is written list[0]",
        None => return String::new(),
    };
    format!("; {hint}")
}
