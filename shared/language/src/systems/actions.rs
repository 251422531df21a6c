//! The actions of a section of `correct`, and the inputs of their requests.

use drift_api::object::field_paths::FieldPaths;

/// The keys of actions with explicit steps.
pub(crate) const ACTIONS: [&str; 4] = ["create", "update", "delete", "replace"];

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
}

/// The inputs of the requests of one action.
#[derive(Debug, Default)]
pub(crate) struct MadeOf {
    /// The fields under `self`.
    pub(crate) fields: FieldPaths,
    /// True if they include any of the desired state.
    pub(crate) reads_desired: bool,
}

impl MadeOf {
    /// Combines parts, each with its fields and whether it reads the desired state. `None` without parts.
    pub(crate) fn of(parts: impl IntoIterator<Item = (FieldPaths, bool)>) -> Option<Self> {
        parts.into_iter().fold(None, |known, (fields, reads_desired)| {
            let mut known: Self = known.unwrap_or_default();
            known.fields.extend(&fields);
            known.reads_desired |= reads_desired;
            Some(known)
        })
    }
}
