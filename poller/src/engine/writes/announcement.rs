//! The Event that announces a written verdict, if any.
//!
//! Events mark transitions only, and installing or editing an object is no incident.

use drift_api::condition::{ConditionStatus, ObservedReason};

/// The Event to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// The external resource was in sync and is not any more.
    DriftObserved,
    /// It was drifted, after having been in sync, and is in sync again.
    DriftCleared,
}

impl Announcement {
    /// The Event's reason.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::DriftObserved => "DriftObserved",
            Self::DriftCleared => "DriftCleared",
        }
    }
}

/// What to say of a verdict, after `before`, the last one on the object that was not Unknown: an outage between two
/// verdicts changes nothing of what happened outside.
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
