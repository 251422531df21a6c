//! One object's writes to the API server: at most one under way, and patience after those that failed.
//!
//! An object whose write is refused must not delay others nor be asked for ever in a tight loop. It must not know
//! what is written.

use std::time::Duration;

use drift_model::condition::Condition;
use drift_model::moment::Moment;

/// Tries against another writer that moves the object in between, before the object is polled anew.
pub const MAX_LOST_RACES: u32 = 5;
/// When the object is polled again after that many lost races.
pub const AFTER_LOST_RACES: Duration = Duration::from_secs(60);
/// Wait after the first refused write; it doubles with each next one.
pub const FIRST_BACKOFF: Duration = Duration::from_secs(1);
/// The longest wait: a right that was granted again takes effect within five minutes.
pub const MAX_BACKOFF: Duration = Duration::from_secs(300);

/// How a write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It stands.
    Written,
    /// The object had moved.
    Moved,
    /// The API server refused it, or did not answer.
    Refused,
}

/// The attempts to write one verdict.
#[derive(Debug, Default)]
pub struct WriteAttempts {
    under_way: Option<Condition>,
    lost_races: u32,
    refusals: u32,
    refusal_told: bool,
    not_before: Moment,
}

impl WriteAttempts {
    /// Whether a write is under way.
    #[must_use]
    pub const fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// No write begins before this.
    #[must_use]
    pub const fn not_before(&self) -> Moment {
        self.not_before
    }

    /// Whether so many races were lost that the object is to be polled anew.
    #[must_use]
    pub const fn gave_up(&self) -> bool {
        self.lost_races >= MAX_LOST_RACES
    }

    /// Whether the last write was refused or not answered.
    #[must_use]
    pub const fn have_failed(&self) -> bool {
        self.refusals > 0
    }

    /// Whether a state of the condition is the one being written.
    #[must_use]
    pub fn explains(&self, condition: Option<&Condition>) -> bool {
        condition.is_some() && self.under_way.as_ref() == condition
    }

    /// A write begins.
    pub fn begin(&mut self, condition: Condition) {
        if self.gave_up() {
            self.lost_races = 0;
        }
        self.under_way = Some(condition);
    }

    /// The write under way ended.
    pub fn finish(&mut self, outcome: &WriteOutcome, now: Moment) {
        self.under_way = None;
        match outcome {
            WriteOutcome::Written => self.settle(),
            WriteOutcome::Moved => self.lost_races += 1,
            WriteOutcome::Refused => {
                let doubled = FIRST_BACKOFF.saturating_mul(1_u32.checked_shl(self.refusals).unwrap_or(u32::MAX));
                self.not_before = now + doubled.min(MAX_BACKOFF);
                self.refusals = self.refusals.saturating_add(1);
            }
        }
    }

    /// Whether a refusal is news: the first since something was written. It counts as told with this.
    pub const fn refusal_is_news(&mut self) -> bool {
        !std::mem::replace(&mut self.refusal_told, true)
    }

    /// What should stand stands.
    pub fn settle(&mut self) {
        *self = Self { under_way: self.under_way.take(), ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_back_off_to_five_minutes() {
        let mut attempts = WriteAttempts::default();
        let mut now = Moment::START;
        let mut waits = Vec::new();
        for _ in 0..11 {
            attempts.finish(&WriteOutcome::Refused, now);
            waits.push((attempts.not_before() - now).as_secs());
            now = attempts.not_before();
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        attempts.finish(&WriteOutcome::Written, now);
        assert_eq!(attempts.not_before(), Moment::START);
    }

    #[test]
    fn a_refusal_is_news_once_until_something_was_written() {
        let mut attempts = WriteAttempts::default();
        let now = Moment::START;
        attempts.finish(&WriteOutcome::Refused, now);
        assert!(attempts.refusal_is_news());
        attempts.finish(&WriteOutcome::Refused, now);
        attempts.finish(&WriteOutcome::Moved, now);
        assert!(!attempts.refusal_is_news());
        attempts.finish(&WriteOutcome::Written, now);
        assert!(attempts.refusal_is_news());
    }

    #[test]
    fn five_lost_races_end_the_attempt() {
        let mut attempts = WriteAttempts::default();
        for _ in 0..MAX_LOST_RACES {
            assert!(!attempts.gave_up());
            attempts.finish(&WriteOutcome::Moved, Moment::START);
        }
        assert!(attempts.gave_up());
    }
}
