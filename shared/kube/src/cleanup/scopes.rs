//! The identity scopes in which objects may have claims that are not known yet.
//!
//! A target may have objects with claims if it is noted on the Lease. Its claims are known after it has read its list.
//! They are in its current scope, or in one from before an edit. A target of unknown state, as after a restart with an
//! invalid document, keeps its scope incomplete. If its note does not contain the scope, all scopes are incomplete.

use std::collections::{BTreeMap, BTreeSet};

use drift_api::identity::ScopeId;
use drift_language::Target;

use crate::cleanup::judgement::is_decided;
use crate::cleanup::selections::Selections;
use crate::config::ActiveTargets;

/// The scopes with unknown claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IncompleteScopes {
    /// Every scope may be incomplete.
    #[default]
    All,
    /// These scopes, each with the targets whose objects are not known.
    These(BTreeMap<ScopeId, BTreeSet<String>>),
}

impl IncompleteScopes {
    /// Finds the incomplete scopes. `is_listed` returns true for an active target with a complete list.
    #[must_use]
    pub fn find(selections: &Selections, active: ActiveTargets<'_>, is_listed: impl Fn(&Target) -> bool) -> Self {
        let mut incomplete = BTreeMap::<ScopeId, BTreeSet<String>>::new();
        for target in active.targets.values().filter(|target| !is_listed(target)) {
            incomplete.entry(target.scope.id).or_default().insert(target.name.clone());
        }
        for (noted, note) in selections.iter() {
            let target = active.targets.get(&noted.target);
            let is_known = target.map_or_else(|| is_decided(active, noted, note), |target| is_listed(target));
            match noted.identity_scope() {
                _ if is_known => {}
                Some(scope) => _ = incomplete.entry(scope).or_default().insert(noted.target.clone()),
                // The note of an active target without a scope refers to its present one.
                None if target.is_some() => {}
                None => return Self::All,
            }
        }
        Self::These(incomplete)
    }

    /// Returns true if all claims in a scope are known.
    #[must_use]
    pub fn is_complete(&self, scope: ScopeId) -> bool {
        match self {
            Self::All => false,
            Self::These(incomplete) => !incomplete.contains_key(&scope),
        }
    }

    /// Returns the targets whose objects are not known yet in a scope, for display. `None` if it is complete.
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
