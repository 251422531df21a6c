//! One target's access to the shared state of all targets, through the handles that the targets share.

use std::sync::Arc;

use drift_api::timing::moment::Moment;
use drift_language::Target;

use crate::engine::poll::request::Request;
use crate::engine::{Postponed, SharedState};
use crate::run::context::Context;
use crate::run::rate_limit::SharedRate;

/// Handles of one target.
pub(super) struct SharedHandles {
    target: Arc<Target>,
    context: Arc<Context>,
    read_rate: SharedRate,
}

impl SharedHandles {
    pub(super) fn new(target: &Arc<Target>, context: &Arc<Context>) -> Self {
        Self {
            read_rate: SharedRate::per_second(target.read.limits.per_second),
            target: target.clone(),
            context: context.clone(),
        }
    }

    /// Returns the rate of the target's reads, for the pages of a traversal.
    pub(super) fn read_rate(&self) -> SharedRate {
        self.read_rate.clone()
    }
}

impl SharedState for SharedHandles {
    fn postponed(&self, request: &Request, now: Moment) -> Option<Postponed> {
        self.context.outside.postponed(&self.target, request, now)
    }

    fn next_read_at(&self, now: Moment) -> Moment {
        self.read_rate.available_at(now)
    }

    fn take_read(&mut self, now: Moment) {
        // The engine has just checked the rate. If a traversal took the token, one extra read does no harm.
        let _ = self.read_rate.take(now);
    }
}
