//! The Event that announces a written verdict, if any.
//!
//! Events mark transitions only. Installing or editing an object is no incident.

use drift_api::condition::{ConditionStatus, ObservedReason};

/// Event to send after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// The external resource was in sync and has drifted.
    DriftObserved,
    /// The external resource was in sync, drifted, and is in sync again.
    DriftCleared,
}

impl Announcement {
    /// Returns the Event's reason.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::DriftObserved => "DriftObserved",
            Self::DriftCleared => "DriftCleared",
        }
    }
}

/// Returns the Event for a verdict. `before` is the last verdict on the object that was not Unknown: an outage in
/// between does not change the external state.
#[must_use]
pub fn announce(before: Option<ObservedReason>, after: ObservedReason) -> Option<Announcement> {
    let was = before.is_some_and(ObservedReason::is_incident);
    match after.status() {
        ConditionStatus::True if after.is_incident() && !was => Some(Announcement::DriftObserved),
        ConditionStatus::False if was => Some(Announcement::DriftCleared),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ObservedReason::*;

    #[test]
    fn only_incidents_and_their_end_are_announced() {
        for (before, after, expected) in [
            (None, NotCreated, None),
            (None, FieldsDiffer, Some(Announcement::DriftObserved)),
            (Some(NotCreated), InSync, None),
            (Some(InSync), FieldsDiffer, Some(Announcement::DriftObserved)),
            (Some(FieldsDiffer), FieldsDiffer, None),
            (Some(FieldsDiffer), ExternalMissing, None),
            (Some(FieldsDiffer), InSync, Some(Announcement::DriftCleared)),
            (Some(FieldsDiffer), PollTimedOut, None),
            (Some(InSync), PollTimedOut, None),
        ] {
            assert_eq!(announce(before, after), expected, "{before:?} to {after}");
        }
    }
}
