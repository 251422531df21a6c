//! The scopes of identities in which objects may have claimed something that nobody has seen yet.
//!
//! A target may have objects with claims if it stands on the Lease's notes; what it claims is known once it has read its
//! list, and stands in the scope of today or in one of before an edit. One of which nothing is known at the moment, as
//! after a restart with its document broken, keeps its scope incomplete; where its note does not say which that is, all of
//! them. This file must not know what waits for it.

use std::collections::BTreeSet;

use drift_model::identity::ScopeId;
use drift_target::Target;

use crate::cleanup::judgement::{InForce, is_decided};
use crate::cleanup::selections::Selections;

/// The scopes in which not everybody is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IncompleteScopes {
    /// Every scope may be one.
    #[default]
    All,
    /// These.
    These(BTreeSet<ScopeId>),
}

impl IncompleteScopes {
    /// Finds them; `is_listed` says of a target in force whether its list is read.
    #[must_use]
    pub fn find(selections: &Selections, in_force: InForce<'_>, is_listed: impl Fn(&Target) -> bool) -> Self {
        let unlisted = in_force.targets.values().filter(|target| !is_listed(target)).map(|target| target.scope.id);
        let mut incomplete: BTreeSet<_> = unlisted.collect();
        for (noted, config_map) in selections.iter() {
            let target = in_force.targets.get(&noted.target);
            let is_known = target.map_or_else(|| is_decided(in_force, noted, config_map), |target| is_listed(target));
            match noted.identity_scope() {
                _ if is_known => {}
                Some(scope) => _ = incomplete.insert(scope),
                // The note of a target in force without a scope is of its present one.
                None if target.is_some() => {}
                None => return Self::All,
            }
        }
        Self::These(incomplete)
    }

    /// Whether everybody is known who may have claimed something in a scope.
    #[must_use]
    pub fn is_complete(&self, scope: ScopeId) -> bool {
        match self {
            Self::All => false,
            Self::These(incomplete) => !incomplete.contains(&scope),
        }
    }
}
