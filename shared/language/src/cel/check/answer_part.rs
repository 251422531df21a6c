//! A part of an answer, and the expression that gives it.

use std::fmt::{Display, Formatter, Result};

/// The selection of an item whose index is not known here.
pub(super) const AN_ITEM: &str = "[…]";

/// The body of an answer, an item of a list in it, or a field of one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnswerPart {
    /// The expression of the body or the item: `steps.look.body`, `steps.look.body.items[…]`.
    root: String,
    /// The field's path in it.
    pub(super) path: Vec<String>,
}

impl AnswerPart {
    pub(crate) fn new(root: impl Into<String>) -> Self {
        Self { root: root.into(), path: Vec::new() }
    }

    pub(crate) fn field(mut self, name: &str) -> Self {
        self.path.push(name.to_owned());
        self
    }

    /// Returns an item of the list. The item of a filtered list, whose parts are items already, is such an item too.
    pub(super) fn item(self) -> Self {
        match self.path.is_empty() && self.root.ends_with(AN_ITEM) {
            true => self,
            false => Self::new(format!("{self}{AN_ITEM}")),
        }
    }
}

impl Display for AnswerPart {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        out.write_str(&self.path.iter().fold(self.root.clone(), |value, name| selected(&value, name)))
    }
}

/// Returns the expression of a field: `steps.look.body`, `steps['my-step']`.
pub(super) fn selected(value: &str, name: &str) -> String {
    let is_word = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    match is_word && !name.starts_with(|first: char| first.is_ascii_digit()) {
        true => format!("{value}.{name}"),
        false => format!("{value}['{name}']"),
    }
}
