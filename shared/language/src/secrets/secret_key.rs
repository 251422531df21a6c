//! References to Secrets, most of them in our own namespace.

use crate::values::names::{is_data_key, is_dns_subdomain};
use crate::yaml::{Fields, Node, Reader};

/// A reference to one key of a Secret in our own namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SecretKey {
    /// The Secret's name.
    pub name: String,
    /// The data key.
    pub key: String,
}

pub(crate) fn read_secret_key(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<SecretKey> {
    let fields = reader.fields(node, place, &["name", "key"])?;
    let (name, key) = (read_secret_name(reader, &fields), read_data_key(reader, &fields));
    Some(SecretKey { name: name?, key: key? })
}

/// Reads `{name: …}`, a Secret with fixed keys.
pub(crate) fn read_whole_secret(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<String> {
    let fields = reader.fields(node, place, &["name"])?;
    read_secret_name(reader, &fields)
}

pub(crate) fn read_data_key(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<String> {
    let node = reader.required(fields, "key")?;
    let text = reader.literal(node, &fields.place("key"))?;
    if !is_data_key(text) {
        return reader.refuse(node.at, format!("{}: `{text}` is no key of a Secret", fields.place("key")));
    }
    Some(text.to_owned())
}

fn read_secret_name(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<String> {
    let node = reader.required(fields, "name")?;
    let text = reader.literal(node, &fields.place("name"))?;
    if !is_dns_subdomain(text) {
        return reader.refuse(node.at, format!("{}: `{text}` is no name of a Secret", fields.place("name")));
    }
    Some(text.to_owned())
}
