//! A rendered query.
//!
//! It contains the name of its credential and its server, and the sender knows both. This file uses no templates.

use std::fmt;
use std::sync::Arc;

use drift_api::secrets::labelled_secrets::CredentialError;

use super::Connection;

/// One query and its parameters. `Debug` hides the parameters.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SqlQuery {
    /// The name of the database and the role.
    ///
    /// # Errors
    /// The target lists none for the object's namespace.
    pub connection: Result<Connection, CredentialError>,
    /// The text, with `$1`, `$2` … for the parameters.
    pub text: Arc<str>,
    /// The parameters in PostgreSQL's text format. `None` for NULL.
    pub parameters: Vec<Option<String>>,
}

impl fmt::Debug for SqlQuery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SqlQuery")
            .field("connection", &self.connection)
            .field("text", &self.text)
            .field("parameters", &self.parameters.len())
            .finish()
    }
}
