//! `auth.serviceAccountToken`: a token of the program's own ServiceAccount, which the kubelet writes to a file.

use crate::values::names::is_dns_label;
use crate::yaml::{Node, Reader};

/// Reads `{name: …}`, a file of the folder with projected tokens.
pub(crate) fn read_service_account_token(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<String> {
    let fields = reader.fields(node, place, &["name"])?;
    reader.needed(&fields, "name", |reader, node, place| {
        let name = reader.literal(node, place)?;
        if !is_dns_label(name) {
            let message = format!("{place}: `{name}` is no name of a projected token; write the `path` of its volume");
            return reader.refuse(node.at, message);
        }
        Some(name.to_owned())
    })
}
