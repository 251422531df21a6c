//! Evidence that a write was sent, for a session that fails or is cancelled.

use std::sync::atomic::{AtomicBool, Ordering};

/// The progress of a write. Before it begins, a failure certainly changed nothing.
#[derive(Debug, Default)]
pub struct WriteProgress {
    begun: AtomicBool,
}

impl WriteProgress {
    /// Returns true if a part of the write may have been sent.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    /// Records that the write is sent now.
    pub(crate) fn begin(&self) {
        self.begun.store(true, Ordering::Relaxed);
    }
}
