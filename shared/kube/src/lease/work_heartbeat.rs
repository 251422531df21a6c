//! The heartbeat of the work, for the thread that renews the Lease.
//!
//! A Lease that is renewed by a thread of its own would outlive work that hangs, and nobody could take over. So a task beside the
//! work says every second that it had its turn.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::lease::rules::STEP_DOWN_AFTER;
use crate::process::clock;
use drift_api::timing::moment::Moment;

/// Interval of the heartbeat: several within [`LONGEST_SILENCE`].
const TURN_PERIOD: Duration = Duration::from_secs(1);

/// The time that the work may say nothing before it counts as hanging: as long as a holder believes in itself without a renewal.
pub(super) const LONGEST_SILENCE: Duration = STEP_DOWN_AFTER;

/// When the work had its last two turns. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Turning(Arc<Mutex<Turns>>);

#[derive(Clone, Copy, Debug)]
struct Turns {
    last: Moment,
    before: Moment,
}

impl Turning {
    /// Work that turns now.
    pub(super) fn begun() -> Self {
        let now = clock::now();
        Self(Arc::new(Mutex::new(Turns { last: now, before: now })))
    }

    /// Says every second that the runtime of the caller turns.
    pub async fn keep(self) {
        loop {
            let now = clock::now();
            self.with(|turns| *turns = Turns { last: now, before: turns.last });
            tokio::time::sleep(TURN_PERIOD).await;
        }
    }

    /// Returns the time at which the work counts as hanging if it says nothing until then.
    pub(super) fn believed_until(&self) -> Moment {
        self.with(|turns| turns.last) + LONGEST_SILENCE
    }

    /// Returns true if the work turns, and did so at its last turn but one. After a silence that is a second later than its first
    /// turn, in which what the end of the term before cuts off sees that end.
    pub(super) fn is_steady(&self, now: Moment) -> bool {
        !now.is_past(self.with(|turns| turns.before), LONGEST_SILENCE)
    }

    /// A panic elsewhere leaves nothing half written.
    fn with<T>(&self, act: impl FnOnce(&mut Turns) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
