//! The rules of leader election, over plain values.
//!
//! The clocks of two machines differ and can jump, so the times in the record are only for display. A contender
//! measures with its own clock, which includes time in suspend, how long the record has been unchanged. The holder
//! measures the time since the start of its last successful renewal. The holder steps down well before any contender
//! may take the Lease.

use std::collections::BTreeMap;
use std::time::Duration;

use drift_api::timing::moment::Moment;

/// Time without a change of the record before another process takes the Lease. With a contender's interval, a new
/// leader follows a crash within 15 s.
pub const LEASE_DURATION: Duration = Duration::from_secs(12);

/// Interval of renewals: four within the duration, so that one or two lost writes do not matter.
pub const RENEW_PERIOD: Duration = Duration::from_secs(3);

/// Time after the start of the last successful renewal at which the holder steps down: two thirds of the duration. The
/// rest is for its work in progress to end.
pub const STEP_DOWN_AFTER: Duration = Duration::from_secs(8);

/// Maximum accepted duration in a record. A mistyped one must not block all processes for days.
const MAX_DURATION: Duration = Duration::from_secs(120);

/// Maximum time between two reads of a missing Lease that counts as missing throughout. A recreated Lease is assumed to
/// exist for longer before it is removed again. A contender reads that often, even if a call gets no response.
const MOST_BETWEEN_LOOKS: Duration = Duration::from_secs(3);

/// The record of a Lease, as read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The holder. `None` after a release.
    pub holder: Option<String>,
    /// The time for which a renewal counts, in whole seconds.
    pub duration_seconds: Option<i32>,
    /// The holder's wall time at its last renewal. Only compared for equality.
    pub renewed: Option<String>,
    /// The number of transitions.
    pub transitions: i32,
    /// The Lease's `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
}

/// A record, and the time by our own clock since which it is unchanged, or missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseView {
    seen: Option<(Option<LeaseRecord>, Moment)>,
    looked_at: Moment,
    /// True if there ever was a record. A record that disappeared later was deleted, and its holder may still consider
    /// itself the leader.
    was_there: bool,
}

impl LeaseView {
    /// Records a read (`None` for a missing Lease).
    pub fn observe(&mut self, record: Option<LeaseRecord>, now: Moment) {
        let may_have_been_back = record.is_none() && now.is_past(self.looked_at, MOST_BETWEEN_LOOKS);
        if may_have_been_back || self.seen.as_ref().is_none_or(|(seen, _)| *seen != record) {
            self.was_there |= record.is_some();
            self.seen = Some((record, now));
        }
        self.looked_at = now;
    }

    /// Returns the record as last read.
    #[must_use]
    pub fn record(&self) -> Option<&LeaseRecord> {
        self.seen.as_ref().and_then(|(record, _)| record.as_ref())
    }

    /// Returns the time since which the record is unchanged.
    #[must_use]
    pub fn changed_at(&self) -> Option<Moment> {
        self.seen.as_ref().map(|(_, at)| *at)
    }
}

/// The next act on the Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Do nothing: not ours, or renewed recently.
    Wait,
    /// Write ourselves into the record.
    Take,
    /// Renew our own record.
    Renew,
    /// Step down, and end work in progress.
    StepDown,
}

/// Decides the next act of `me`, given the start of its last successful renewal (`None` if it does not hold the Lease).
///
/// A deleted Lease still belongs to its holder, which recreates it. The others wait as long as for an unchanged
/// record. Only a process that never saw it takes it at once: one that starts exactly between a deletion and the
/// holder's next renewal.
#[must_use]
pub fn decide(view: &LeaseView, me: &str, renewed: Option<Moment>, now: Moment) -> Decision {
    let Some((record, changed_at)) = &view.seen else { return Decision::Wait };
    let holder = record.as_ref().map(|record| record.holder.as_deref());
    let stood = now.saturating_since(*changed_at);
    match (renewed, holder) {
        (Some(renewed), _) if !holds(renewed, now) => Decision::StepDown,
        (Some(_), Some(holder)) if holder != Some(me) => Decision::StepDown,
        (Some(renewed), _) if now.is_past(renewed, RENEW_PERIOD) => Decision::Renew,
        (Some(_), _) => Decision::Wait,
        (None, None) if !view.was_there || stood >= LEASE_DURATION => Decision::Take,
        (None, Some(None)) => Decision::Take,
        // Our own write, which we considered lost. No other process can have taken it since.
        (None, Some(Some(holder))) if holder == me => Decision::Take,
        (None, Some(Some(_))) if stood >= duration_of(record.as_ref()) => Decision::Take,
        (None, _) => Decision::Wait,
    }
}

/// Returns true if a renewal that began at `renewed` still counts for its holder.
#[must_use]
pub fn holds(renewed: Moment, now: Moment) -> bool {
    now - renewed < STEP_DOWN_AFTER
}

fn duration_of(record: Option<&LeaseRecord>) -> Duration {
    let seconds = record.and_then(|record| record.duration_seconds).and_then(|seconds| u64::try_from(seconds).ok());
    seconds.map_or(LEASE_DURATION, Duration::from_secs).min(MAX_DURATION)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
