//! The actions of a section of `correct`.

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
