//! Translates errors of the YAML library to instructions, at the position of the fix.
//!
//! The library's messages are about productions of a grammar. Authors of targets know keys, quotes and indentation.

use std::borrow::Cow;

use serde_saphyr::granit_parser::ErrorKind;
use serde_saphyr::{Error, ExternalMessageSource, MessageFormatter, UserMessageFormatter};

use crate::yaml::position::Position;

const TAB: &str = "a tab does not indent in YAML: write spaces";
// Templates often contain regular expressions.
const ESCAPE: &str = "YAML knows no such escape in double quotes: write the template in single quotes, and a pattern in \
                      it as r\"\\d\"";
const KEY: &str = "this line is indented otherwise than the keys that it stands beside";
const ITEM: &str = "this line is indented otherwise than the items that it stands beside, or lacks its `- `";
const NO_COLON: &str = "a key is written `key: value`, with a space behind the colon";
const QUOTES: &str = "the quotes of a text above are not closed, or this line of it needs more indentation";
const AFTER_QUOTES: &str = "the text ended with the quotes before this: the quotes of a text above are not closed, or \
                            around a template with double quotes in it stand single ones, and the other way round";
const NO_KEY: &str = "a key cannot stand here: put quotes around a text that has `: ` in it, or indent the line as the keys that it \
                      stands beside";
const COLON: &str = "a colon cannot stand here: a `[`, a `{` or quotes above are not closed";
const COMMENT: &str = "a text does not go on behind a comment: indent this line as the keys that it stands beside";
const ALIAS: &str =
    "no `&name` above gives the value that this `*name` stands for; a text that begins with * needs quotes";
const NO_ITEM: &str = "an item of a list cannot stand here: begin the list on a line of its own";
const FLOW: &str = "a `[` or a `{` above is not closed, or this line of it needs more indentation";
const FLOW_MAP: &str =
    "a `{` is not closed, or a comma is missing before this, or a text with `${…}` or `: ` in it needs quotes";
const FLOW_LIST: &str =
    "a `[` is not closed, or a comma is missing before this, or a text with `${…}` or `: ` in it needs quotes";
const DOCUMENTS: &str = "a key holds one target: give the second a key of its own";

/// Returns the message about the document and its position. The library gave up at `at`.
pub(crate) fn told(error: &Error, document: &str, at: Position) -> (Position, String) {
    if let Some(at) = tab(error, document, at) {
        return (at, TAB.to_owned());
    }
    let words = match error {
        Error::UnknownAnchor { .. } => Some(ALIAS.into()),
        Error::MultipleDocuments { .. } => Some(DOCUMENTS.into()),
        Error::UnsupportedTag { tag, .. } => Some(
            format!("`{tag}` is a tag of YAML, and none is known here; a text that begins with ! needs quotes").into(),
        ),
        _ => kind(error).and_then(words),
    };
    (at, words.unwrap_or_else(|| UserMessageFormatter.format_message(error)).into_owned())
}

/// Returns the kind of a parser error, if the text is not YAML.
fn kind(error: &Error) -> Option<&ErrorKind> {
    match error {
        Error::ExternalMessage { source, .. } => match &**source {
            ExternalMessageSource::Parser(found) => Some(found.kind()),
            _ => None,
        },
        _ => None,
    }
}

/// Finds the tab to remove. The parser fails after it, or some lines before it if a text continues.
fn tab(error: &Error, document: &str, at: Position) -> Option<Position> {
    let indenting = |line: usize| {
        let written = document.lines().nth(line.checked_sub(1)?)?;
        let indentation = &written[..written.len() - written.trim_start().len()];
        Some(Position { line, column: indentation.chars().position(|letter| letter == '\t')? + 1 })
    };
    match kind(error)? {
        ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation => {
            Some(indenting(at.line).unwrap_or(at))
        }
        ErrorKind::TabAtBlockScalarStart | ErrorKind::TabInPlainScalar => {
            let below = at.line..=document.lines().count();
            Some(below.into_iter().find_map(indenting).unwrap_or(at))
        }
        ErrorKind::ExpectedBlockMappingKey => indenting(at.line),
        ErrorKind::CommentInterceptedScalar => indenting(at.line + 1),
        _ => None,
    }
}

fn words(kind: &ErrorKind) -> Option<Cow<'static, str>> {
    let words = match kind {
        ErrorKind::UnknownQuotedScalarEscape => ESCAPE,
        ErrorKind::ExpectedBlockMappingKey => KEY,
        ErrorKind::ExpectedBlockSequenceEntry => ITEM,
        ErrorKind::SimpleKeyExpected => NO_COLON,
        ErrorKind::InvalidQuotedScalarIndent | ErrorKind::UnclosedQuotedScalar => QUOTES,
        ErrorKind::InvalidTrailingSingleQuotedScalar | ErrorKind::InvalidTrailingDoubleQuotedScalar => AFTER_QUOTES,
        ErrorKind::MappingValueNotAllowed => NO_KEY,
        ErrorKind::InvalidColonPlacement => COLON,
        ErrorKind::CommentInterceptedScalar => COMMENT,
        ErrorKind::BlockSequenceEntryNotAllowed => NO_ITEM,
        ErrorKind::InvalidFlowScalarIndent => FLOW,
        ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::FlowMappingValueAdjacentCollection => FLOW_MAP,
        ErrorKind::UnexpectedEofFlowSequence | ErrorKind::ExpectedFlowSequenceSeparator => FLOW_LIST,
        ErrorKind::UnclosedFlowCollection { open } => return Some(format!("this `{open}` is not closed").into()),
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            return Some(format!("this `{open}` is not closed: a `{close}` comes before its end").into());
        }
        _ => return None,
    };
    Some(words.into())
}
