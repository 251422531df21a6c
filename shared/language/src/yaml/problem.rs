//! Problems of a document, with their positions.

use crate::yaml::position::Position;

/// The location of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentName {
    /// The ConfigMap name.
    pub config_map: String,
    /// Its data key.
    pub key: String,
}

/// One problem of a document: position, mistake, and fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}/{}{}: {message}", document.config_map, document.key, place(*line, *column))]
pub struct Problem {
    /// The affected document.
    pub document: DocumentName,
    /// The line, 1-based. 0 if unknown.
    pub line: usize,
    /// The column, 1-based.
    pub column: usize,
    /// The mistake and how to fix it.
    pub message: String,
}

/// Formats the position for display. Empty if the line is unknown.
fn place(line: usize, column: usize) -> String {
    if line == 0 { String::new() } else { format!(" line {line} column {column}") }
}

impl Problem {
    pub(crate) fn new(document: &DocumentName, at: Position, message: impl Into<String>) -> Self {
        Self { document: document.clone(), line: at.line, column: at.column, message: message.into() }
    }
}
