//! The heartbeat of the work, for the thread that renews the Lease.
//!
//! Renewals on a separate thread would continue while the work hangs, and no other process could take over. So a task
//! in the runtime of the work sends a heartbeat every second.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::lease::rules::STEP_DOWN_AFTER;
use crate::process::clock;
use drift_api::timing::moment::Moment;

/// Interval of the heartbeat, several times shorter than [`LONGEST_SILENCE`].
const TURN_PERIOD: Duration = Duration::from_secs(1);

/// Time without a heartbeat after which the work counts as hanging, the same as without a renewal.
pub(super) const LONGEST_SILENCE: Duration = STEP_DOWN_AFTER;

/// The times of the last two heartbeats. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Turning(Arc<Mutex<Turns>>);

#[derive(Clone, Copy, Debug)]
struct Turns {
    last: Moment,
    before: Moment,
}

impl Turning {
    /// Creates a heartbeat that begins now.
    pub(super) fn begun() -> Self {
        let now = clock::now();
        Self(Arc::new(Mutex::new(Turns { last: now, before: now })))
    }

    /// Sends a heartbeat every second from the caller's runtime.
    pub async fn keep(self) {
        loop {
            let now = clock::now();
            self.with(|turns| *turns = Turns { last: now, before: turns.last });
            tokio::time::sleep(TURN_PERIOD).await;
        }
    }

    /// Returns the time at which the work counts as hanging without another heartbeat.
    pub(super) fn believed_until(&self) -> Moment {
        self.with(|turns| turns.last) + LONGEST_SILENCE
    }

    /// Returns true if the last two heartbeats were in time. After a silence this is one second after the first
    /// heartbeat. In that second, work that the previous term's end cancels can see the end.
    pub(super) fn is_steady(&self, now: Moment) -> bool {
        !now.is_past(self.with(|turns| turns.before), LONGEST_SILENCE)
    }

    /// A panic elsewhere leaves no half-written state.
    fn with<T>(&self, act: impl FnOnce(&mut Turns) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
