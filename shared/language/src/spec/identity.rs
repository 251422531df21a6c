//! `identity`: what an object's external resource is called, within the scope of the target.
//!
//! It must not know who owns what.

use crate::cel::{Scope, TextTemplate};
use crate::document::raw::Reader;
use crate::document::yaml::Node;
use crate::spec::checked::Target;

/// Fields that are the same for all objects of a target.
const SHARED_FIELDS: [&str; 2] = ["apiVersion", "kind"];

/// Reads the key.
pub(crate) fn read_identity(reader: &mut Reader<'_>, node: &Node) -> Option<TextTemplate> {
    let text = reader.text(node, "identity")?;
    if text.is_empty() {
        let message = "identity: it is empty; write what tells the objects apart, such as \"${self.metadata.name}\"";
        return reader.refuse(node.at, message);
    }
    let site = reader.site("identity", Scope::Identity);
    reader.compiled(node, &site, TextTemplate::parse(text, &site))
}

impl Target {
    /// Whether a field stands in the identity in which objects may differ.
    #[must_use]
    pub fn has_own_identities(&self) -> bool {
        let is_shared = |path: &[String]| path.first().is_some_and(|first| SHARED_FIELDS.contains(&first.as_str()));
        !self.identity.fields().iter().all(is_shared)
    }
}
