//! Checks of a whole target: forbidden combinations, and likely mistakes.

pub(crate) mod addressing;
pub(crate) mod aws_traps;
pub(crate) mod identity_notation;
pub(crate) mod indentation;
pub(crate) mod lookalikes;
pub(crate) mod secret_use;
pub(crate) mod shared_requests;
pub(crate) mod unbounded_grants;
pub(crate) mod unread_ids;
