//! The progress of the requests of one correction.

use std::collections::BTreeSet;
use std::sync::Arc;

use drift_api::condition::{NotedSecrets, StatusFields};

use crate::engine::corrections::outcome::Outcome;
use crate::engine::rendering::plan::Plan;

/// Progress of the requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    pub(super) plan: Plan,
    /// Index of the first step that is not done. The number of steps if all are.
    pub(super) reached: usize,
    /// True if the claim was written for this correction.
    pub(super) claimed: bool,
    /// True if the object was not read since a look-up.
    pub(super) looked_up: bool,
    /// True if a write was sent.
    pub(super) wrote: bool,
    /// True if a write outside of the deletion part was accepted.
    pub(super) made: bool,
    /// True if a write was accepted that found the resource at its address.
    pub(super) found: bool,
    /// Index and outcome of the last write, if it was accepted but is not complete. One such item is enough.
    pub(super) underway: Option<(usize, Outcome)>,
    /// Label of the item whose request was rendered last.
    pub(super) item: Option<Arc<str>>,
    /// True if a sent write continues by itself.
    pub(super) is_open: bool,
    /// Secrets that the previous record listed.
    pub(super) noted: NotedSecrets,
    /// Secrets in writes that the external system accepted, or may have received.
    pub(super) sent: BTreeSet<String>,
    /// Parts of the responses to store in the object's status.
    pub(super) stored: StatusFields,
}

impl Progress {
    /// Returns true if nothing was sent yet, and nothing was written to the object.
    pub(super) const fn is_silent(&self) -> bool {
        !self.looked_up && !self.claimed && !self.wrote
    }
}
