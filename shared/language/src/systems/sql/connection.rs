//! `connection`: the Secret with the address of the database and the credential.
//!
//! It contains the name of the Secret, not its values.

use crate::secrets::secret_key::whole_secret;
use crate::section::{Leaf, Section, section};
use crate::systems::by_namespace::{ByNamespace, by_namespace};
use crate::systems::sql::Dialect;
use crate::yaml::{Fields, Reader};

/// The database and its credential.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Connection {
    /// The kind of the server.
    pub dialect: Dialect,
    /// The Secret's name, in our own namespace.
    pub secret: String,
}

/// The section as written.
#[derive(Section)]
#[section(context = Dialect, value = Connection, check = make)]
struct WrittenConnection {
    /// A Secret in the programs' namespace. Keys: uri, or host, user, password, … .
    #[key(whole_secret())]
    secret_ref: String,
}

fn make(written: WrittenConnection, _: &mut Reader<'_>, _: &Fields<'_>, dialect: Dialect) -> Option<Connection> {
    Some(Connection { dialect, secret: written.secret_ref })
}

/// A connection to a server of this dialect.
pub(crate) fn connection(dialect: Dialect) -> impl Leaf<Value = Connection> {
    section::<WrittenConnection>(dialect)
}

/// A connection, or one for each namespace.
pub(crate) fn connections(dialect: Dialect) -> impl Leaf<Value = ByNamespace<Connection>> {
    by_namespace(connection(dialect), &[&[]])
}
