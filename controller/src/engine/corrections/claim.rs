//! Ownership of an external resource, and the actions that it permits.
//!
//! A resource is ours only if `driftCorrected` records that the object owns its identity in its scope. A resource that
//! matches the spec is not ours for that reason.

use drift_api::condition::Claim;
use drift_api::identity::ResourceName;
pub use drift_language::Action;
use drift_language::Existing;

/// Answer to "does ownership allow this action?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// The action is allowed.
    Granted {
        /// True if the claim must be written first.
        claim_first: bool,
    },
    /// The resource existed before the object, and the target does not adopt.
    NotOurs,
    /// The object owns another resource than it names now, because its identity or the scope of its target was edited.
    IdentityChanged,
}

/// Decides on an action by the object's claim and the resource that it names.
#[must_use]
pub fn permit(action: Action, claim: Option<&Claim>, resource: &ResourceName, existing: Existing) -> Permission {
    match (claim, action, existing) {
        // A nudge changes no external resource, so ownership does not matter.
        (_, Action::Nudge, _) => Permission::Granted { claim_first: false },
        (Some(Claim::Owns(owned)), _, _) if owned.names(resource) => Permission::Granted { claim_first: false },
        (Some(Claim::Owns(_)), _, _) => Permission::IdentityChanged,
        (Some(Claim::Claims(claimed)), Action::Create, _) if claimed.names(resource) => {
            Permission::Granted { claim_first: false }
        }
        (_, Action::Create, _) | (_, Action::Update | Action::Replace, Existing::Adopt) => {
            Permission::Granted { claim_first: true }
        }
        (_, Action::Update | Action::Replace, Existing::Refuse) | (_, Action::Delete, _) => Permission::NotOurs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::{claims, elsewhere, moved, owns, resource};

    #[test]
    fn what_was_there_before_is_touched_only_by_adoption() {
        use Existing::{Adopt, Refuse};
        let granted = |claim_first| Permission::Granted { claim_first };
        let table = [
            (Action::Create, None, Refuse, granted(true)),
            (Action::Create, None, Adopt, granted(true)),
            (Action::Update, None, Refuse, Permission::NotOurs),
            (Action::Update, None, Adopt, granted(true)),
            (Action::Update, owns("db"), Refuse, granted(false)),
            (Action::Create, owns("db"), Refuse, granted(false)),
            (Action::Delete, owns("db"), Refuse, granted(false)),
            (Action::Delete, None, Adopt, Permission::NotOurs),
            (Action::Update, owns("old"), Adopt, Permission::IdentityChanged),
            (Action::Create, owns("old"), Adopt, Permission::IdentityChanged),
            (Action::Delete, owns("old"), Adopt, Permission::IdentityChanged),
            (Action::Update, moved(owns("db")), Adopt, Permission::IdentityChanged),
            (Action::Create, moved(owns("db")), Refuse, Permission::IdentityChanged),
            (Action::Delete, moved(owns("db")), Refuse, Permission::IdentityChanged),
            (Action::Nudge, None, Refuse, granted(false)),
            (Action::Nudge, owns("old"), Refuse, granted(false)),
        ];
        for (action, claim, existing, expected) in table {
            assert_eq!(
                permit(action, claim.as_ref(), &resource("db"), existing),
                expected,
                "{action:?} {claim:?} {existing:?}"
            );
        }
    }

    #[test]
    fn a_create_only_claim_permits_nothing_but_create() {
        use Existing::{Adopt, Refuse};
        let table = [
            (Action::Create, claims("db"), Refuse, Permission::Granted { claim_first: false }),
            (Action::Create, claims("old"), Refuse, Permission::Granted { claim_first: true }),
            (Action::Create, moved(claims("db")), Refuse, Permission::Granted { claim_first: true }),
            (Action::Update, claims("db"), Refuse, Permission::NotOurs),
            (Action::Update, claims("db"), Adopt, Permission::Granted { claim_first: true }),
            (Action::Delete, claims("db"), Refuse, Permission::NotOurs),
            (Action::Delete, claims("db"), Adopt, Permission::NotOurs),
        ];
        for (action, claim, existing, expected) in table {
            let permission = permit(action, claim.as_ref(), &resource("db"), existing);
            assert_eq!(permission, expected, "{action:?} {claim:?} {existing:?}");
        }
    }

    #[test]
    fn a_replacement_is_permitted_as_an_update_is() {
        let elsewhere = || moved(owns("db"));
        for existing in [Existing::Refuse, Existing::Adopt] {
            for claim in [None, owns("db"), owns("old"), elsewhere(), claims("db"), claims("old")] {
                let judge = |action| permit(action, claim.as_ref(), &resource("db"), existing);
                assert_eq!(judge(Action::Replace), judge(Action::Update), "{claim:?} {existing:?}");
            }
        }
    }

    #[test]
    fn a_claim_without_scope_is_of_the_present_one() {
        let claim = Claim::Owns(drift_api::condition::ClaimedName { identity: "db".into(), scope: None });
        for resource in [resource("db"), elsewhere("db")] {
            let permission = permit(Action::Update, Some(&claim), &resource, Existing::Refuse);
            assert_eq!(permission, Permission::Granted { claim_first: false });
        }
    }
}
