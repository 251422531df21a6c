//! Names of headers that may have a credential.

use http::HeaderName;

use crate::systems::http::request::headers::RESERVED_HEADERS;
use crate::yaml::Node;
use crate::yaml::reader::Reader;

pub(super) fn read_auth_header(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<HeaderName> {
    let text = reader.literal(node, place)?;
    match auth_header(text) {
        Ok(name) => Some(name),
        Err(message) => reader.refuse(node.at, format!("{place}: {message}")),
    }
}

/// Parses the name of a header that may have a credential.
pub(super) fn auth_header(text: &str) -> Result<HeaderName, String> {
    match HeaderName::try_from(text) {
        Ok(name) if name == http::header::AUTHORIZATION || !RESERVED_HEADERS.contains(&name.as_str()) => Ok(name),
        Ok(name) => Err(format!("the header `{name}` belongs to the connection")),
        Err(_) => Err(format!("`{text}` is no header name")),
    }
}
