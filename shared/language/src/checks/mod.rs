//! Checks of a whole target: what it must not do, and what it probably does not mean.

pub(crate) mod addressing;
pub(crate) mod field_place;
pub(crate) mod indentation;
pub(crate) mod lookalikes;
pub(crate) mod secret_use;
pub(crate) mod shared_requests;
pub(crate) mod unbounded_grants;
