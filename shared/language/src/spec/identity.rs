//! `identity`: the name of an object's external resource, unique within the scope of the target.

use crate::cel::{Scope, TextTemplate};
use crate::yaml::Node;
use crate::yaml::reader::Reader;

/// Reads `identity`, a template.
pub(crate) fn read_identity(reader: &mut Reader<'_>, node: &Node) -> Option<TextTemplate> {
    let text = reader.text(node, "identity")?;
    if text.is_empty() {
        let message = "identity: it is empty; write what tells the objects apart, such as \"${self.metadata.name}\"";
        return reader.refuse(node.at, message);
    }
    let site = reader.site("identity", Scope::Identity);
    reader.compiled(node, &site, TextTemplate::parse(text, &site))
}
