//! A rendered query on its way out.
//!
//! It carries no credential, and names no server: whoever sends it knows both. This file knows no templates.

use std::fmt;
use std::sync::Arc;

/// One query and its parameters. `Debug` shows no parameter.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SqlQuery {
    /// With `$1`, `$2` … for the parameters.
    pub text: Arc<str>,
    /// As PostgreSQL reads them; `None` for NULL.
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
