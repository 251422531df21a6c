//! Which Event, if any, tells people of a verdict that was just written.
//!
//! Events mark transitions only, and installing or editing an object is no incident. This file must not know how
//! an Event is sent.

use drift_model::condition::{Condition, ConditionStatus, ObservedReason};

/// What is announced.
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

/// What to say of the transition from `before` to `after`.
#[must_use]
pub fn announce(before: Option<&Condition>, after: &Condition) -> Option<Announcement> {
    let incident = |condition: &Condition| {
        condition.status == ConditionStatus::True
            && ObservedReason::parse(&condition.reason).is_some_and(ObservedReason::is_incident)
    };
    let was = before.is_some_and(incident);
    match after.status {
        ConditionStatus::True if incident(after) && !was => Some(Announcement::DriftObserved),
        ConditionStatus::False if was => Some(Announcement::DriftCleared),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ObservedReason::*;

    fn condition(reason: ObservedReason) -> Condition {
        Condition {
            kind: String::new(),
            status: reason.status(),
            reason: reason.as_str().to_owned(),
            message: String::new(),
            observed_generation: None,
            last_transition_time: String::new(),
        }
    }

    #[test]
    fn only_incidents_and_their_end_are_announced() {
        for (before, after, expected) in [
            (None, NotCreated, None),
            (Some(NotCreated), InSync, None),
            (Some(InSync), FieldsDiffer, Some(Announcement::DriftObserved)),
            (Some(FieldsDiffer), FieldsDiffer, None),
            (Some(FieldsDiffer), ExternalMissing, None),
            (Some(FieldsDiffer), InSync, Some(Announcement::DriftCleared)),
            (Some(PollTimedOut), FieldsDiffer, Some(Announcement::DriftObserved)),
            (Some(InSync), PollTimedOut, None),
        ] {
            assert_eq!(announce(before.map(condition).as_ref(), &condition(after)), expected, "{before:?} to {after}");
        }
    }
}
