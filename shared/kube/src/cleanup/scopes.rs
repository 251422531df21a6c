//! The scopes of identities in which objects may have claimed something that nobody has seen yet.
//!
//! A target may have objects with claims if it stands on the Lease's notes; what it claims is known once it has read its list, and
//! stands in the scope of today or in one of before an edit. One of which nothing is known at the moment, as after a restart with its
//! document broken, keeps its scope incomplete; where its note does not say which that is, all of them.

use std::collections::{BTreeMap, BTreeSet};

use drift_api::identity::ScopeId;
use drift_language::Target;

use crate::cleanup::judgement::is_decided;
use crate::cleanup::selections::Selections;
use crate::config::ActiveTargets;

/// The scopes in which not everybody is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IncompleteScopes {
    /// Every scope may be one.
    #[default]
    All,
    /// These, each with the targets whose objects are not known.
    These(BTreeMap<ScopeId, BTreeSet<String>>),
}

impl IncompleteScopes {
    /// Finds them; `is_listed` says of an active target whether its list is read.
    #[must_use]
    pub fn find(selections: &Selections, active: ActiveTargets<'_>, is_listed: impl Fn(&Target) -> bool) -> Self {
        let mut incomplete = BTreeMap::<ScopeId, BTreeSet<String>>::new();
        for target in active.targets.values().filter(|target| !is_listed(target)) {
            incomplete.entry(target.scope.id).or_default().insert(target.name.clone());
        }
        for (noted, config_map) in selections.iter() {
            let target = active.targets.get(&noted.target);
            let is_known = target.map_or_else(|| is_decided(active, noted, config_map), |target| is_listed(target));
            match noted.identity_scope() {
                _ if is_known => {}
                Some(scope) => _ = incomplete.entry(scope).or_default().insert(noted.target.clone()),
                // The note of an active target without a scope is of its present one.
                None if target.is_some() => {}
                None => return Self::All,
            }
        }
        Self::These(incomplete)
    }

    /// Returns true if everybody is known who may have claimed something in a scope.
    #[must_use]
    pub fn is_complete(&self, scope: ScopeId) -> bool {
        match self {
            Self::All => false,
            Self::These(incomplete) => !incomplete.contains_key(&scope),
        }
    }

    /// The targets whose objects are not known yet in a scope, for people; `None` if it is complete.
    #[must_use]
    pub fn awaited(&self, scope: ScopeId) -> Option<String> {
        match self {
            Self::All => Some("targets of which nothing is known".to_owned()),
            Self::These(incomplete) => {
                let names: Vec<&str> = incomplete.get(&scope)?.iter().map(String::as_str).collect();
                Some(format!("target {}", names.join(", ")))
            }
        }
    }
}
