//! Whose the external resource is, and what that allows.
//!
//! A resource is ours when `driftCorrected` says that the object owns its identity; nothing else counts, least of
//! all that it looks as the spec wishes. This file must not know how a claim is written.

use drift_target::Existing;

use super::outcome::Outcome;

/// What a correction does outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// The external resource is absent.
    Create,
    /// It is there and differs.
    Update,
    /// The object is being deleted.
    Delete,
}

impl Action {
    /// The label of the metric.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// Whether an action is allowed by what is owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// It is.
    Granted {
        /// The claim is to be written first.
        claim_first: bool,
    },
    /// What is there was there before, and the target does not adopt.
    NotOurs,
    /// The object owns another identity than it names now.
    IdentityChanged,
}

/// Judges an action by what the object owns and the identity it names.
#[must_use]
pub fn permit(action: Action, owns: Option<&str>, identity: &str, existing: Existing) -> Permission {
    match (owns, action, existing) {
        (Some(owned), _, _) if owned == identity => Permission::Granted { claim_first: false },
        (Some(_), _, _) => Permission::IdentityChanged,
        (None, Action::Create, _) | (None, Action::Update, Existing::Adopt) => {
            Permission::Granted { claim_first: true }
        }
        (None, Action::Update, Existing::Refuse) | (None, Action::Delete, _) => Permission::NotOurs,
    }
}

/// Whether a claim that was laid for this very correction is taken back: it is certain that nothing of it came about.
#[must_use]
pub const fn is_taken_back(laid_for_this: bool, outcome: &Outcome) -> bool {
    laid_for_this && outcome.changed_nothing()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_before_is_touched_only_by_adoption() {
        use Existing::{Adopt, Refuse};
        let granted = |claim_first| Permission::Granted { claim_first };
        let table = [
            (Action::Create, None, Refuse, granted(true)),
            (Action::Create, None, Adopt, granted(true)),
            (Action::Update, None, Refuse, Permission::NotOurs),
            (Action::Update, None, Adopt, granted(true)),
            (Action::Update, Some("db"), Refuse, granted(false)),
            (Action::Create, Some("db"), Refuse, granted(false)),
            (Action::Delete, Some("db"), Refuse, granted(false)),
            (Action::Delete, None, Adopt, Permission::NotOurs),
            (Action::Update, Some("old"), Adopt, Permission::IdentityChanged),
            (Action::Create, Some("old"), Adopt, Permission::IdentityChanged),
            (Action::Delete, Some("old"), Adopt, Permission::IdentityChanged),
        ];
        for (action, owns, existing, expected) in table {
            assert_eq!(permit(action, owns, "db", existing), expected, "{action:?} {owns:?} {existing:?}");
        }
    }

    #[test]
    fn a_claim_is_taken_back_only_when_it_came_to_nothing() {
        assert!(is_taken_back(true, &Outcome::Refused { status: 409, step: 0 }));
        assert!(!is_taken_back(false, &Outcome::Refused { status: 409, step: 0 }));
        assert!(!is_taken_back(true, &Outcome::Refused { status: 409, step: 1 }));
        assert!(!is_taken_back(true, &Outcome::Applied));
    }
}
