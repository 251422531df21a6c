//! `require` and `suspendWhen`: rules that an object must meet, and the message if it does not.

use crate::cel::{Expression, Scope};
use crate::section::{Leaf, Section, list, literal, section, text};
use crate::yaml::expression;

/// Maximum `require` entries of one target.
const MAX_REQUIREMENTS: usize = 50;
/// Maximum characters of an `else`, which is part of a condition's message.
const MAX_ELSE_CHARS: usize = 256;

/// One `require` entry.
#[derive(Debug, Section)]
pub struct Requirement {
    /// One ${…} over self that gives true or false.
    #[key(text(expression(Scope::Object)))]
    pub that: Expression,
    /// The message if it is false. At most 256 characters.
    #[key(literal(parse_else), name = "else")]
    pub otherwise: String,
}

/// The list of rules.
pub(crate) fn requirements() -> impl Leaf<Value = Vec<Requirement>> {
    list(1..=MAX_REQUIREMENTS, section::<Requirement>(()))
}

fn parse_else(text: &str) -> Result<String, String> {
    if text.is_empty() || text.chars().count() > MAX_ELSE_CHARS || text.chars().any(char::is_control) {
        return Err(format!("one line of 1 to {MAX_ELSE_CHARS} characters is needed"));
    }
    Ok(text.to_owned())
}
