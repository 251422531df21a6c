//! The actions of a section of `correct`, and their steps.

use drift_api::condition::ObservedReason;

/// Action of a correction on the external resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Creates an absent resource.
    Create,
    /// Updates an existing resource that differs.
    Update,
    /// Deletes and recreates a resource that differs in an immutable field.
    Replace,
    /// Deletes the resource of an object that is being deleted.
    Delete,
    /// Wakes the operator that owns the object, which then corrects the missing or differing resource.
    Nudge,
}

impl Action {
    /// All actions.
    pub const ALL: [Self; 5] = [Self::Create, Self::Update, Self::Replace, Self::Delete, Self::Nudge];

    /// Returns the word for people and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Nudge => "nudge",
        }
    }
}

/// The actions that have steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    /// A missing resource can be created.
    pub create: bool,
    /// A drifted resource can be updated.
    pub update: bool,
    /// Our own resource can be deleted.
    pub delete: bool,
    /// A resource that cannot be changed can be replaced.
    pub replace: bool,
    /// Drift is corrected by another operator, which is woken.
    pub nudge: bool,
}

impl Actions {
    /// No action.
    pub const NONE: Self = Self { create: false, update: false, delete: false, replace: false, nudge: false };

    /// Returns true if the action has steps.
    #[must_use]
    pub const fn has(self, action: Action) -> bool {
        match action {
            Action::Create => self.create,
            Action::Update => self.update,
            Action::Replace => self.replace,
            Action::Delete => self.delete,
            Action::Nudge => self.nudge,
        }
    }

    /// Returns the action against the drift of a verdict, which may ask for a replacement.
    #[must_use]
    pub const fn against(self, drift: ObservedReason, replace: bool) -> Action {
        match drift {
            _ if self.nudge => Action::Nudge,
            reason if reason.is_absence() => Action::Create,
            _ if replace => Action::Replace,
            _ => Action::Update,
        }
    }
}

/// The steps of one action in order: first those that delete the resource, then those that create or change it.
#[derive(Debug)]
pub struct ActionSteps<'t, S> {
    deletion: &'t [S],
    rest: &'t [S],
}

impl<'t, S> ActionSteps<'t, S> {
    /// Returns the steps of an action, given those that are written for each. A replacement without own steps is the
    /// deletion followed by the creation.
    pub(crate) const fn of(action: Action, [create, update, delete, replace]: [&'t [S]; 4]) -> Self {
        let (deletion, rest): (&[S], &[S]) = match action {
            Action::Create => (&[], create),
            Action::Update => (&[], update),
            Action::Delete => (delete, &[]),
            Action::Replace if replace.is_empty() => (delete, create),
            Action::Replace => (&[], replace),
            Action::Nudge => (&[], &[]),
        };
        Self { deletion, rest }
    }

    /// Returns no steps.
    #[must_use]
    pub const fn none() -> Self {
        Self { deletion: &[], rest: &[] }
    }

    /// Returns true without steps.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.deletion.is_empty() && self.rest.is_empty()
    }

    /// Returns the leading steps that delete the resource.
    #[must_use]
    pub const fn deletion(self) -> &'t [S] {
        self.deletion
    }

    /// Returns the steps after them.
    #[must_use]
    pub const fn rest(self) -> &'t [S] {
        self.rest
    }

    /// Returns all steps in order.
    pub fn iter(self) -> impl Iterator<Item = &'t S> {
        self.deletion.iter().chain(self.rest)
    }
}

impl<S> Clone for ActionSteps<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for ActionSteps<'_, S> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_without_own_steps_makes_anew() {
        let steps = |action, replace: &'static [&'static str]| {
            let steps = ActionSteps::of(action, [&["create"], &["update"], &["find", "delete"], replace]);
            (steps.deletion().len(), steps.iter().copied().collect::<Vec<_>>().join(" "))
        };
        for (action, replace, expected) in [
            (Action::Create, &[][..], (0, "create")),
            (Action::Update, &[], (0, "update")),
            (Action::Delete, &["replace"], (2, "find delete")),
            (Action::Replace, &[], (2, "find delete create")),
            (Action::Replace, &["replace"], (0, "replace")),
            (Action::Nudge, &["replace"], (0, "")),
        ] {
            assert_eq!(steps(action, replace), (expected.0, expected.1.to_owned()), "{action:?}");
        }
    }

    #[test]
    fn the_verdict_names_the_action() {
        let (all, nudging) = (Actions::default(), Actions { nudge: true, ..Actions::NONE });
        for (reason, replace, expected) in [
            (ObservedReason::NotCreated, false, Action::Create),
            (ObservedReason::ExternalMissing, true, Action::Create),
            (ObservedReason::NotUpdated, false, Action::Update),
            (ObservedReason::FieldsDiffer, true, Action::Replace),
        ] {
            assert_eq!(all.against(reason, replace), expected, "{reason}");
            assert_eq!(nudging.against(reason, replace), Action::Nudge, "{reason}");
        }
        for action in Action::ALL {
            assert_eq!(nudging.has(action), action == Action::Nudge);
        }
    }
}
