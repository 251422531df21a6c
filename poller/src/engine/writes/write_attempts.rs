//! Writes of one object to the API server: at most one is running, with a delay after failures.
//!
//! An object whose write is refused must neither delay others nor be retried in a tight loop.

use std::time::Duration;

use drift_api::condition::{Condition, StatusFields};
use drift_api::timing::backoff::{Backoff, Series};
use drift_api::timing::moment::Moment;
use drift_api::unwritten::UnwrittenWord;
use serde_json::Value;

use crate::engine::writes::announcement::Announcement;

/// Delay of the next poll after so many lost races that the next write would have to wait.
pub const AFTER_LOST_RACES: Duration = Duration::from_secs(60);

/// Time after which a verdict counts as unwritten if the API server neither takes nor refuses it. A takeover of the API
/// server and a pause that it asks for, 30 s at most, are over by then.
pub const UNWRITTEN_AFTER: Duration = Duration::from_secs(30);

/// A refused write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason for people.
    pub sentence: String,
    /// The reason on the Lease.
    pub word: UnwrittenWord,
}

/// Result of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The condition was written.
    Written,
    /// The object had changed.
    Moved,
    /// The object had changed, and a live read failed: the next write could only use the same old state.
    MovedUnread,
    /// The object is gone.
    Gone,
    /// The API server refused the write.
    Refused(Refusal),
    /// The API server did not respond, so the result is unknown.
    Unavailable,
    /// Nothing was sent, because we do not hold the Lease.
    NotLeading,
}

impl WriteOutcome {
    /// Returns the label of the metric.
    #[must_use]
    pub const fn as_label(&self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Moved | Self::MovedUnread => "moved",
            Self::Gone => "gone",
            Self::Refused(_) => "refused",
            Self::Unavailable => "unavailable",
            Self::NotLeading => "not_leading",
        }
    }
}

/// Content of one write.
#[derive(Debug)]
pub struct Sent {
    /// Condition to write.
    pub condition: Condition,
    /// Status fields to write with it.
    pub fields: StatusFields,
    /// Event to send after the write.
    pub announcement: Option<Announcement>,
}

/// Attempts to write one verdict.
#[derive(Debug, Default)]
pub struct WriteAttempts {
    under_way: Option<Box<Sent>>,
    failures: Option<Box<Failures>>,
}

/// Failed attempts since the last success.
#[derive(Debug)]
struct Failures {
    /// Sent without a response. It may take effect, even later.
    in_doubt: Option<Box<Sent>>,
    lost_races: u32,
    backoff: Backoff,
    /// Backoff of writes with fields: a value that the kind's schema refuses must not block the condition.
    with_fields: Backoff,
    /// Reason of the last refusal of a write without fields.
    refused: Option<UnwrittenWord>,
    /// Time of the first write that the API server neither took nor refused.
    since: Option<Moment>,
    refusal_told: bool,
}

impl Default for Failures {
    fn default() -> Self {
        Self {
            in_doubt: None,
            lost_races: 0,
            backoff: Backoff::new(Series::WRITE_REFUSED),
            with_fields: Backoff::new(Series::WRITE_REFUSED),
            refused: None,
            since: None,
            refusal_told: false,
        }
    }
}

impl Failures {
    const fn gave_up(&self) -> bool {
        self.lost_races > Series::RACE_LOST.at_once
    }

    /// Counts a failure of any kind. An API server with alternating failures also gets growing delays.
    fn back_off(&mut self, series: Series, now: Moment) {
        self.backoff.follow(series);
        self.backoff.fail(now);
    }

    /// Counts a failed attempt.
    fn add(&mut self, outcome: &WriteOutcome, sent: Option<Box<Sent>>, now: Moment) {
        let sends_fields = sent.as_ref().is_some_and(|sent| !sent.fields.is_empty());
        match outcome {
            // A value that the kind's schema refuses does not concern the condition, which is written without it next.
            WriteOutcome::Refused(_) if sends_fields => {}
            WriteOutcome::Refused(refusal) => self.refused = Some(refusal.word),
            _ => _ = self.since.get_or_insert(now),
        }
        match outcome {
            WriteOutcome::Written => {}
            WriteOutcome::Moved | WriteOutcome::Gone => self.lost_races += 1,
            WriteOutcome::Refused(_) if sends_fields => _ = self.with_fields.fail(now),
            WriteOutcome::Refused(_) => self.back_off(Series::WRITE_REFUSED, now),
            WriteOutcome::MovedUnread | WriteOutcome::NotLeading => self.back_off(Series::API_UNAVAILABLE, now),
            WriteOutcome::Unavailable => {
                self.in_doubt = sent;
                self.back_off(Series::API_UNAVAILABLE, now);
            }
        }
    }
}

impl WriteAttempts {
    /// Returns true if a write is running.
    #[must_use]
    pub const fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Returns the time of the next write.
    #[must_use]
    pub fn ready_at(&self) -> Moment {
        self.failures.as_ref().map_or(Moment::START, |failures| failures.backoff.ready_at())
    }

    /// Returns the time of the next write that only changes fields.
    #[must_use]
    pub fn fields_ready_at(&self) -> Moment {
        self.failures
            .as_ref()
            .map_or(Moment::START, |failures| failures.backoff.ready_at().max(failures.with_fields.ready_at()))
    }

    /// Returns true if the last write with fields was refused. Until one succeeds, the condition is
    /// written without them.
    #[must_use]
    pub fn fields_are_refused(&self) -> bool {
        self.failures.as_ref().is_some_and(|failures| failures.with_fields.failures() > 0)
    }

    /// Returns true if so many races were lost that the object must be polled again.
    #[must_use]
    pub fn gave_up(&self) -> bool {
        self.failures.as_ref().is_some_and(|failures| failures.gave_up())
    }

    /// Returns true if the last write was refused or got no response.
    #[must_use]
    pub fn have_failed(&self) -> bool {
        self.failures.as_ref().is_some_and(|failures| failures.backoff.failures() > 0)
    }

    /// Returns true if the API server refused a write since the last success.
    #[must_use]
    pub fn are_refused(&self) -> bool {
        self.failures.as_ref().is_some_and(|failures| failures.refused.is_some())
    }

    /// Returns the reason if the verdict cannot be written: the API server refused it, or did not take it for
    /// [`UNWRITTEN_AFTER`].
    #[must_use]
    pub fn unwritten(&self, now: Moment) -> Option<UnwrittenWord> {
        let failures = self.failures.as_ref()?;
        let is_overdue = self.overdue_at().is_some_and(|overdue| overdue <= now);
        failures.refused.or_else(|| is_overdue.then_some(UnwrittenWord::WriteRefused))
    }

    /// Returns the time at which a verdict that the API server does not take counts as unwritten.
    #[must_use]
    pub fn overdue_at(&self) -> Option<Moment> {
        Some(self.failures.as_ref()?.since? + UNWRITTEN_AFTER)
    }

    /// Returns true if we wrote this state of the condition: in the running write, or in one whose response was lost.
    #[must_use]
    pub fn explains(&self, condition: Option<&Condition>) -> bool {
        condition.is_some_and(|condition| self.sent().any(|sent| sent.condition == *condition))
    }

    /// Returns true if our own write changed an object's fields this way.
    #[must_use]
    pub fn explain_view(&self, before: &Value, after: &Value) -> bool {
        self.sent().any(|sent| !sent.fields.is_empty() && sent.fields.put_on(before) == *after)
    }

    fn sent(&self) -> impl Iterator<Item = &Sent> {
        let in_doubt = self.failures.as_ref().and_then(|failures| failures.in_doubt.as_ref());
        self.under_way.as_ref().into_iter().chain(in_doubt).map(|sent| &**sent)
    }

    /// Records the start of a write.
    pub fn begin(&mut self, sent: Sent) {
        if let Some(failures) = self.failures.as_mut().filter(|failures| failures.gave_up()) {
            failures.lost_races = 0;
        }
        self.under_way = Some(Box::new(sent));
    }

    /// Records the end of the running write. Returns its content if it was written.
    pub fn finish(&mut self, outcome: &WriteOutcome, now: Moment) -> Option<Sent> {
        let sent = self.under_way.take();
        if *outcome != WriteOutcome::Written {
            self.failures.get_or_insert_default().add(outcome, sent, now);
            return None;
        }
        if sent.as_ref().is_some_and(|sent| !sent.fields.is_empty()) || !self.fields_are_refused() {
            self.reset();
        } else if let Some(failures) = &mut self.failures {
            // The condition was written, but its fields are still pending.
            let Failures { with_fields, refusal_told, .. } = std::mem::take(&mut **failures);
            **failures = Failures { with_fields, refusal_told, ..Failures::default() };
        }
        sent.map(|sent| *sent)
    }

    /// Returns true for the first refusal since the last success, and marks it as reported.
    pub fn refusal_is_news(&mut self) -> bool {
        !std::mem::replace(&mut self.failures.get_or_insert_default().refusal_told, true)
    }

    /// Ends the delay after failures: a person asks for the verdict. The next failure is followed by a longer one.
    pub fn end_delay(&mut self) {
        if let Some(failures) = &mut self.failures {
            failures.backoff.end_delay();
        }
    }

    /// Resets the attempts after the verdict was written.
    pub fn reset(&mut self) {
        self.failures = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> WriteOutcome {
        WriteOutcome::Refused(Refusal { sentence: "no".to_owned(), word: UnwrittenWord::RightsMissing })
    }

    #[test]
    fn what_is_refused_or_unanswered_backs_off() {
        for outcome in [refused(), WriteOutcome::Unavailable, WriteOutcome::NotLeading] {
            let mut attempts = WriteAttempts::default();
            attempts.finish(&outcome, Moment::START);
            assert_eq!(attempts.ready_at(), Moment::START + Series::WRITE_REFUSED.first, "{outcome:?}");
            attempts.finish(&WriteOutcome::Written, Moment::START);
            assert_eq!(attempts.ready_at(), Moment::START);
        }
    }

    #[test]
    fn a_request_ends_the_delay_and_keeps_the_failures() {
        let mut attempts = WriteAttempts::default();
        attempts.end_delay();
        for _ in 0..3 {
            attempts.finish(&refused(), Moment::START);
        }
        attempts.end_delay();
        assert_eq!(attempts.ready_at(), Moment::START);
        assert!(attempts.are_refused() && attempts.have_failed(), "the verdict is still not written");
        attempts.finish(&refused(), Moment::START);
        assert_eq!(attempts.ready_at(), Moment::START + Series::WRITE_REFUSED.delay(4));
    }

    #[test]
    fn an_api_server_that_is_back_is_soon_written_to() {
        for (outcome, longest) in [
            (refused(), Series::WRITE_REFUSED.longest),
            (WriteOutcome::Unavailable, Duration::from_secs(30)),
            (WriteOutcome::MovedUnread, Duration::from_secs(30)),
            (WriteOutcome::NotLeading, Duration::from_secs(30)),
        ] {
            let mut attempts = WriteAttempts::default();
            for _ in 0..20 {
                attempts.finish(&outcome, Moment::START);
            }
            assert_eq!(attempts.ready_at(), Moment::START + longest, "{outcome:?}");
        }
    }

    #[test]
    fn failures_of_changing_sorts_back_off_together() {
        let mut attempts = WriteAttempts::default();
        let outcomes = [refused(), WriteOutcome::Unavailable].into_iter().cycle();
        let delays = outcomes.take(8).map(|outcome| {
            attempts.finish(&outcome, Moment::START);
            (attempts.ready_at() - Moment::START).as_secs()
        });
        assert_eq!(delays.collect::<Vec<_>>(), [1, 2, 4, 8, 16, 30, 64, 30]);
    }

    #[test]
    fn a_refusal_is_news_once_until_something_was_written() {
        let mut attempts = WriteAttempts::default();
        let now = Moment::START;
        attempts.finish(&refused(), now);
        assert!(attempts.refusal_is_news());
        attempts.finish(&refused(), now);
        attempts.finish(&WriteOutcome::Moved, now);
        assert!(!attempts.refusal_is_news());
        attempts.finish(&WriteOutcome::Written, now);
        assert!(attempts.refusal_is_news());
    }

    #[test]
    fn a_verdict_is_unwritten_once_refused_or_overdue() {
        let (start, fields) = (Moment::START, StatusFields::from_iter([("id", Value::from(1))]));
        let sent = |fields| {
            let condition = Condition::from_json(drift_api::condition::ConditionKind::Observed, &Value::Null);
            Sent { condition, fields, announcement: None }
        };
        for (outcome, at_once) in [
            (refused(), Some(UnwrittenWord::RightsMissing)),
            (WriteOutcome::Unavailable, None),
            (WriteOutcome::Moved, None),
            (WriteOutcome::NotLeading, None),
        ] {
            let mut attempts = WriteAttempts::default();
            attempts.begin(sent(StatusFields::NONE));
            attempts.finish(&outcome, start);
            assert_eq!(attempts.unwritten(start), at_once, "{outcome:?}");
            attempts.begin(sent(StatusFields::NONE));
            attempts.finish(&WriteOutcome::Unavailable, start + UNWRITTEN_AFTER);
            assert_eq!(attempts.unwritten(start + UNWRITTEN_AFTER), at_once.or(Some(UnwrittenWord::WriteRefused)));
            attempts.begin(sent(StatusFields::NONE));
            attempts.finish(&WriteOutcome::Written, start + UNWRITTEN_AFTER);
            assert_eq!(attempts.unwritten(start + UNWRITTEN_AFTER * 2), None);
        }
        let mut attempts = WriteAttempts::default();
        attempts.begin(sent(fields));
        attempts.finish(&refused(), start);
        assert_eq!(attempts.unwritten(start + UNWRITTEN_AFTER), None, "the condition was not tried alone yet");
    }

    #[test]
    fn five_lost_races_end_the_attempt() {
        let mut attempts = WriteAttempts::default();
        for _ in 0..5 {
            assert!(!attempts.gave_up());
            attempts.finish(&WriteOutcome::Moved, Moment::START);
        }
        assert!(attempts.gave_up());
    }
}
