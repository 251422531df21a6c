//! `connection`: the Secret with the address of the database and the credential.
//!
//! It contains the name of the Secret, not its values.

use crate::secrets::secret_key::read_whole_secret;
use crate::systems::sql::Dialect;
use crate::yaml::{Node, Reader};

/// The database and its credential.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Connection {
    /// The kind of the server.
    pub dialect: Dialect,
    /// The Secret's name, in our own namespace.
    pub secret: String,
}

/// Returns the reader of a connection to a server of this dialect.
pub(crate) fn read_connection(dialect: Dialect) -> impl Fn(&mut Reader<'_>, &Node, &str) -> Option<Connection> {
    move |reader, node, place| {
        let fields = reader.fields(node, place, &["secretRef"])?;
        Some(Connection { dialect, secret: reader.needed(&fields, "secretRef", read_whole_secret)? })
    }
}
