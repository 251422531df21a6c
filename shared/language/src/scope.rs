//! `scope`: the namespace within which an identity is unique.
//!
//! Targets with the same read use the same external system. So the default scope is the read as written, without parts
//! that depend on the object and without credentials.

use std::sync::Arc;

use crate::read::Read;
use crate::yaml::Node;
use drift_api::identity::ScopeId;

/// Prefix of a scope that is named by its id, as records show it.
const BY_ID: &str = "id ";

/// Maximum characters of a scope's name, the same as of an identity.
const MAX_SCOPE_CHARS: usize = 253;

/// The namespace of identities, over all targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityScope {
    /// Name for display.
    pub name: Arc<str>,
    /// Id for comparisons.
    pub id: ScopeId,
}

impl IdentityScope {
    fn named(name: &str) -> Self {
        Self { name: name.into(), id: ScopeId::of(name) }
    }

    /// Returns the scope within this one of the objects that are read with an account.
    pub(crate) fn of_account(&self, account: &str) -> ScopeId {
        ScopeId::of(&format!("{} {account}", self.id))
    }
}

/// Parses the key. The name is a literal, because a scope is the same for all objects of a target.
pub(crate) fn parse_scope(name: &str) -> Result<IdentityScope, String> {
    let length = name.chars().count();
    if !(1..=MAX_SCOPE_CHARS).contains(&length) || name.chars().any(char::is_control) {
        return Err(format!("one line of 1 to {MAX_SCOPE_CHARS} characters is needed"));
    }
    let id = name.strip_prefix(BY_ID).and_then(ScopeId::parse);
    Ok(id.map_or_else(|| IdentityScope::named(name), |id| IdentityScope { name: name.into(), id }))
}

/// Returns the value of `scope` that keeps the claims in that scope, whatever the read is.
#[must_use]
pub fn scope_by_id(id: ScopeId) -> String {
    format!("{BY_ID}{id}")
}

/// Returns the scope of the read in `spec`. Without a valid read there is no target, and the scope has no name.
pub(crate) fn scope_of_read(read: Option<&Read>, spec: &Node) -> IdentityScope {
    IdentityScope::named(&read.map(|read| read.source.section().scope(spec)).unwrap_or_default())
}
