//! The actions of a section of `correct`, and what the requests of each are made of.

use drift_api::object::field_paths::FieldPaths;

/// The keys of actions that are written out step by step.
pub(crate) const ACTIONS: [&str; 4] = ["create", "update", "delete", "replace"];

/// Which actions a target has steps for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    /// What is missing can be made.
    pub create: bool,
    /// What differs can be changed.
    pub update: bool,
    /// What is ours can be taken away.
    pub delete: bool,
    /// Another can be put in place of what cannot be changed.
    pub replace: bool,
    /// Whatever has drifted is another operator's to correct, and that is woken.
    pub nudge: bool,
}

/// What the requests of one action are made of.
#[derive(Debug, Default)]
pub(crate) struct MadeOf {
    /// The fields under `self`.
    pub(crate) fields: FieldPaths,
    /// True if any of the desired state is in it.
    pub(crate) reads_desired: bool,
}

impl MadeOf {
    /// Of parts, each by its fields and whether it reads the desired state; `None` without any.
    pub(crate) fn of(parts: impl IntoIterator<Item = (FieldPaths, bool)>) -> Option<Self> {
        parts.into_iter().fold(None, |known, (fields, reads_desired)| {
            let mut known: Self = known.unwrap_or_default();
            known.fields.extend(&fields);
            known.reads_desired |= reads_desired;
            Some(known)
        })
    }
}
