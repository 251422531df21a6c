//! A rendered query.
//!
//! It contains no credential and no server: the sender knows both. This file uses no templates.

use std::fmt;
use std::sync::Arc;

/// One query and its parameters. `Debug` hides the parameters.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SqlQuery {
    /// The text, with `$1`, `$2` … for the parameters.
    pub text: Arc<str>,
    /// The parameters in PostgreSQL's text format. `None` for NULL.
    pub parameters: Vec<Option<String>>,
}

impl fmt::Debug for SqlQuery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SqlQuery")
            .field("text", &self.text)
            .field("parameters", &self.parameters.len())
            .finish()
    }
}
