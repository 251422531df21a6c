//! What the requests of an action are made of: fields of the object, and the desired state.
//!
//! It must not know what follows from that, nor how they are sent.

use drift_api::object::field_paths::FieldPaths;

/// What the requests of one action are made of.
#[derive(Debug, Default)]
pub(crate) struct MadeOf {
    /// The fields under `self`.
    pub(crate) fields: FieldPaths,
    /// Whether any of the desired state is in it.
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
