//! `require` and `suspendWhen`: rules that an object must meet, and the message if it does not.

use crate::cel::{Expression, Scope};
use crate::yaml::{Node, Reader, expression};

/// Maximum `require` entries of one target.
const MAX_REQUIREMENTS: usize = 50;
/// Maximum characters of an `else`, which is part of a condition's message.
const MAX_ELSE_CHARS: usize = 256;

/// One `require` entry.
#[derive(Debug)]
pub struct Requirement {
    /// The rule, which must be true.
    pub that: Expression,
    /// The message if the rule is false.
    pub otherwise: String,
}

/// Reads the list of rules.
pub(crate) fn read_requirements(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Vec<Requirement>> {
    let items = reader.items(node, place, 1..=MAX_REQUIREMENTS)?;
    reader.each(items, place, read_requirement)
}

fn read_requirement(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Requirement> {
    let fields = reader.fields(node, place, &["that", "else"])?;
    let that = reader.needed(&fields, "that", expression(Scope::Object));
    let otherwise = reader.needed(&fields, "else", |reader, node, place| {
        let text = reader.literal(node, place)?;
        if text.is_empty() || text.chars().count() > MAX_ELSE_CHARS || text.chars().any(char::is_control) {
            return reader.refuse(node.at, format!("{place}: one line of 1 to {MAX_ELSE_CHARS} characters is needed"));
        }
        Some(text.to_owned())
    });
    Some(Requirement { that: that?, otherwise: otherwise? })
}
