//! `scope`: within what an identity names one external resource.
//!
//! Targets that read in the same way see the same external system, so without a word of the target the scope is the read as it is
//! written, without what differs from object to object and without credentials.

use std::sync::Arc;

use crate::read::Read;
use crate::yaml::Node;
use crate::yaml::reader::Reader;
use drift_api::identity::ScopeId;

/// Characters of a scope's name: as an identity's.
const MAX_SCOPE_CHARS: usize = 253;

/// Within what an identity is unique, over all targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityScope {
    /// For people.
    pub name: Arc<str>,
    /// For programs.
    pub id: ScopeId,
}

impl IdentityScope {
    fn named(name: &str) -> Self {
        Self { name: name.into(), id: ScopeId::of(name) }
    }
}

/// Reads the key; a name is literal, since a scope is the same for all objects of a target.
pub(crate) fn read_scope(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<IdentityScope> {
    let name = reader.literal(node, place)?;
    let length = name.chars().count();
    if !(1..=MAX_SCOPE_CHARS).contains(&length) || name.chars().any(char::is_control) {
        let message = format!("{place}: one line of 1 to {MAX_SCOPE_CHARS} characters is needed");
        return reader.refuse(node.at, message);
    }
    Some(IdentityScope::named(name))
}

/// The scope of the read that is written in `spec`.
pub(crate) fn scope_of_read(read: &Read, spec: &Node) -> IdentityScope {
    IdentityScope::named(&read.source.section().scope(spec))
}
