//! What is wrong with a document, and where.

use crate::yaml::Position;

/// Where a document stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentName {
    /// The ConfigMap.
    pub config_map: String,
    /// Its data key.
    pub key: String,
}

/// One thing wrong with a document: where, what, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}/{}{}: {message}", document.config_map, document.key, place(*line, *column))]
pub struct Problem {
    /// Which document.
    pub document: DocumentName,
    /// 1-based line; 0 where none can be told.
    pub line: usize,
    /// 1-based column.
    pub column: usize,
    /// What is wrong and what to write instead.
    pub message: String,
}

/// Where in the document, for people; nothing where no line can be told.
fn place(line: usize, column: usize) -> String {
    if line == 0 { String::new() } else { format!(" line {line} column {column}") }
}

impl Problem {
    pub(crate) fn new(document: &DocumentName, at: Position, message: impl Into<String>) -> Self {
        Self { document: document.clone(), line: at.line, column: at.column, message: message.into() }
    }
}
