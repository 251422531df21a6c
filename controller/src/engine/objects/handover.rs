//! State of the objects of a target that its next version takes over.

use std::collections::HashMap;

use drift_api::held_corrections::BreakerCounts;
use drift_api::identity::Uid;

use crate::engine::correction_limits::LimitUsage;
use crate::engine::decide::mass_drift_breaker::Breaker;
use crate::engine::memory::ObjectMemory;

/// Part of an object store that survives an edit of its target.
#[derive(Debug, Default)]
pub struct Handover {
    pub(super) memories: HashMap<Uid, ObjectMemory>,
    pub(super) breaker: Breaker,
    pub(super) usage: LimitUsage,
}

impl Handover {
    /// Creates the handover of an earlier process that left the breaker open.
    #[must_use]
    pub fn with_open_breaker(counts: BreakerCounts) -> Self {
        Self { breaker: Breaker::left_open(counts), ..Self::default() }
    }

    /// Returns true if the breaker is open.
    #[must_use]
    pub const fn is_breaker_open(&self) -> bool {
        self.breaker.is_open()
    }

    /// Forgets all claims, because the target was removed or keeps its conditions in reports, which have none. The record
    /// of recent corrections stays, so that removing and adding a target does not reset the delays.
    pub fn forget_claims(&mut self) {
        self.memories.values_mut().for_each(ObjectMemory::forget_status);
    }
}
