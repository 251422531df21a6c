//! Detects verdicts that change more often than normal drift: another writer undoes corrections, or the external system
//! comes and goes.
//!
//! Flapping is reported once, and further changes need more confirmations before they are written.

use std::time::Duration;

use drift_api::{ConditionStatus, Moment, TokenBucket};

use crate::engine::judgement::finding::FindingClass;

/// Burst of status changes that is normal: three drifts, each healed.
pub const HONEST_CHANGES: u32 = 6;
/// One change in this time is normal after the burst, so flapping ends after six minutes without changes.
pub const HONEST_PACE: Duration = Duration::from_secs(60);

/// Status changes of one object.
#[derive(Debug, Default)]
pub struct Flapping {
    /// `None` is a full bucket, which is the normal case.
    changes: Option<Box<TokenBucket>>,
    last: Option<ConditionStatus>,
    state: FlapState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FlapState {
    #[default]
    Calm,
    Untold,
    Told,
}

impl Flapping {
    /// Takes in the confirmed status.
    pub fn note(&mut self, status: ConditionStatus, now: Moment) {
        if !self.lasts(now) {
            self.state = FlapState::Calm;
        }
        self.changes.take_if(|changes| changes.is_full(now));
        let changed = self.last.replace(status).is_some_and(|last| last != status);
        if changed && self.take_change(now).is_err() && self.state == FlapState::Calm {
            self.state = FlapState::Untold;
        }
    }

    /// Takes in an unconfirmed finding, because the written status of a flapping object calms down long before
    /// the object does.
    pub fn note_finding(&mut self, class: FindingClass, now: Moment) {
        match class {
            FindingClass::InSync => self.note(ConditionStatus::False, now),
            FindingClass::Differs | FindingClass::Absent => self.note(ConditionStatus::True, now),
            FindingClass::Failed => {}
        }
    }

    /// Forgets the last status, because the next one is about another desired state and counts as no change.
    pub const fn begin_anew(&mut self) {
        self.last = None;
    }

    /// Returns true while the object flaps: it had too many changes, and the quiet time since was too short.
    #[must_use]
    pub fn lasts(&self, now: Moment) -> bool {
        self.state != FlapState::Calm && self.changes.as_ref().is_some_and(|changes| !changes.is_full(now))
    }

    fn take_change(&mut self, now: Moment) -> Result<(), Moment> {
        let full = || Box::new(TokenBucket::full(HONEST_CHANGES, HONEST_PACE, now));
        self.changes.get_or_insert_with(full).take(now)
    }

    /// Returns true if the flapping was not reported yet, and marks it as reported.
    pub fn is_news(&mut self) -> bool {
        let is_news = self.state == FlapState::Untold;
        if is_news {
            self.state = FlapState::Told;
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ConditionStatus::{False, True};

    fn at(seconds: u64) -> Moment {
        Moment::from_start(Duration::from_secs(seconds))
    }

    /// Makes `count` changes at this pace, and returns how many were news.
    fn changes(flapping: &mut Flapping, (begin, every): (u64, u64), count: u64) -> usize {
        let statuses = [False, True].into_iter().cycle();
        let moments = (0..=count).map(|step| at(begin + step * every));
        moments
            .zip(statuses)
            .filter(|(moment, status)| {
                flapping.note(*status, *moment);
                flapping.is_news()
            })
            .count()
    }

    #[test]
    fn the_fourth_healed_drift_in_a_minute_is_flapping() {
        let mut flapping = Flapping::default();
        assert_eq!(changes(&mut flapping, (0, 5), 6), 0);
        assert!(!flapping.lasts(at(30)));
        flapping.note(True, at(31));
        assert!(flapping.lasts(at(31)) && flapping.is_news() && !flapping.is_news());
        assert_eq!(changes(&mut flapping, (32, 5), 20), 0, "told twice");
        assert!(flapping.lasts(at(140)));
    }

    #[test]
    fn a_change_a_minute_is_no_flapping() {
        assert_eq!(changes(&mut Flapping::default(), (0, 60), 500), 0);
    }

    #[test]
    fn rest_ends_it_and_the_next_time_is_told_again() {
        let mut flapping = Flapping::default();
        assert_eq!(changes(&mut flapping, (0, 1), 10), 1);
        assert!(flapping.lasts(at(200)));
        assert!(!flapping.lasts(at(10 + 6 * 60)), "six minutes of rest");
        assert_eq!(changes(&mut flapping, (1000, 1), 10), 1);
    }

    #[test]
    fn edits_are_no_flapping() {
        let mut flapping = Flapping::default();
        for step in 0..50 {
            flapping.begin_anew();
            flapping.note(True, at(step));
            flapping.begin_anew();
            flapping.note(False, at(step));
        }
        assert!(!flapping.lasts(at(50)));
    }

    #[test]
    fn the_same_status_is_no_change() {
        let mut flapping = Flapping::default();
        (0..100).for_each(|step| flapping.note(True, at(step)));
        assert!(!flapping.lasts(at(100)) && !flapping.is_news());
    }
}
