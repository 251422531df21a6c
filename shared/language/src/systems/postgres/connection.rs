//! `connection`: the Secret with the address of the database and the credential.
//!
//! It contains the name of the Secret, not its values.

use crate::secrets::secret_key::read_whole_secret;
use crate::yaml::Node;
use crate::yaml::reader::Reader;

/// The database and its credential.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Connection {
    /// The Secret's name, in our own namespace.
    pub secret: String,
}

pub(crate) fn read_connection(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Connection> {
    let fields = reader.fields(node, place, &["secretRef"])?;
    Some(Connection { secret: reader.needed(&fields, "secretRef", read_whole_secret)? })
}
