//! Warnings about documents that are valid and probably mean something else.

pub(crate) mod addressing;
pub(crate) mod field_place;
pub(crate) mod indentation;
pub(crate) mod lookalikes;
pub(crate) mod shape_hints;
pub(crate) mod shared_requests;
pub(crate) mod unbounded_grants;
pub(crate) mod unmarked_expressions;
