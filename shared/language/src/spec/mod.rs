//! The sections of a target that select its objects, and the settings for each of them.

pub(crate) mod destinations;
pub(crate) mod naming;
pub(crate) mod object_may;
pub(crate) mod objects;
pub(crate) mod polling;
pub(crate) mod requirements;
pub(crate) mod selector;
pub(crate) mod status_fields;
