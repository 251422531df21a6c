//! The rules for holding a Lease, over plain values.
//!
//! The clocks of two machines differ and both jump, so the times in the record are for people. A contender measures with its own
//! clock, which goes on while the machine is suspended, how long the record has stood still; the holder measures how long ago it
//! began its last successful renewal. The holder stops believing in itself well before any contender may take the Lease.

use std::collections::BTreeMap;
use std::time::Duration;

use drift_api::timing::moment::Moment;

/// The time that a record must stand still before another takes the Lease. With the poll of a contender it gives a new
/// leader within 15 s after a crash.
pub const LEASE_DURATION: Duration = Duration::from_secs(12);

/// Interval of renewals: four within the duration, so that one or two lost writes do not matter.
pub const RENEW_PERIOD: Duration = Duration::from_secs(3);

/// How long after its last successful renewal began the holder stops believing in itself: two thirds of the duration.
/// The rest is for what it has under way to end.
pub const STEP_DOWN_AFTER: Duration = Duration::from_secs(8);

/// The longest duration in a record that is believed; a mistyped one must not keep everybody out for days.
const MAX_DURATION: Duration = Duration::from_secs(120);

/// The longest between two looks at a Lease that is gone for it to have been gone in between as well: what is written
/// anew stands for longer before somebody can be taken to remove it again. A contender looks that often even where a call
/// gets no answer.
const MOST_BETWEEN_LOOKS: Duration = Duration::from_secs(3);

/// The record of a Lease as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The holder; `None` after a release.
    pub holder: Option<String>,
    /// For how long a renewal counts, whole seconds.
    pub duration_seconds: Option<i32>,
    /// The holder's wall time at its last renewal; only compared for equality.
    pub renewed: Option<String>,
    /// The number of transitions.
    pub transitions: i32,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
}

/// A record and since when, by our own clock, it has stood as it is, or has been gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseView {
    seen: Option<(Option<LeaseRecord>, Moment)>,
    looked_at: Moment,
    /// True if there ever was a record: one that is gone since then was removed by somebody, and its holder may believe.
    was_there: bool,
}

impl LeaseView {
    /// Takes in what was read (`None`: there is no Lease).
    pub fn observe(&mut self, record: Option<LeaseRecord>, now: Moment) {
        let may_have_been_back = record.is_none() && now.is_past(self.looked_at, MOST_BETWEEN_LOOKS);
        if may_have_been_back || self.seen.as_ref().is_none_or(|(seen, _)| *seen != record) {
            self.was_there |= record.is_some();
            self.seen = Some((record, now));
        }
        self.looked_at = now;
    }

    /// The record as it was last read.
    #[must_use]
    pub fn record(&self) -> Option<&LeaseRecord> {
        self.seen.as_ref().and_then(|(record, _)| record.as_ref())
    }

    /// Since when the record has stood as it is.
    #[must_use]
    pub fn changed_at(&self) -> Option<Moment> {
        self.seen.as_ref().map(|(_, at)| *at)
    }
}

/// The next act on the Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing; not ours, or renewed lately.
    Wait,
    /// Write ourselves into it.
    Take,
    /// Write that we still hold it.
    Renew,
    /// Believe no longer that we hold it, and end what is under way.
    StepDown,
}

/// Decides what `me` does about the Lease, given when its last successful renewal began (`None`: it does not hold it).
///
/// A Lease that somebody removes stays its holder's, who writes it anew, and the others wait for as long as for a record
/// that stands still. Only who has never seen it takes it at once: one that begins right between a removal and the
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
        // A write of ours that we had given up for lost: nobody else can have taken it since.
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
