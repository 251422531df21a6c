//! Sends one request and reads its response, within a deadline and a size limit.

pub(super) mod answer;
pub(super) mod failure;
pub(super) mod memory;
pub(super) mod options;
pub(super) mod packed;
pub(super) mod progress;
pub(super) mod recorded;
pub(super) mod reply;
pub(super) mod retry_after;
pub(super) mod sent;
