//! Confirmation of findings: the number of times that drift, absence or a failed poll must repeat before
//! the verdict changes.
//!
//! One odd response of a list that is still being built, or one failed poll, must not become a verdict. The counter
//! belongs to one desired state and one correction, and restarts when either changes. If an absence would lead to a
//! creation that the system cannot distinguish from the first one, a minimum time must pass as well.

use std::time::Duration;

use drift_api::condition::{ConditionStatus, CurrentVerdict, ObservedReason};
use drift_api::timing::moment::Moment;
use drift_language::Confirm;

use crate::engine::judgement::finding::{Finding, FindingClass};
use crate::engine::judgement::verdict::Basis;

/// Delay of the first confirming poll; each further delay doubles, up to the interval. It is long enough for a short
/// failure to pass, and short enough to confirm a single drift within seconds.
pub const FIRST_CONFIRMATION: Duration = Duration::from_secs(1);

/// Consecutive drift findings that are needed while an object in sync flaps, for example if one of two backends is
/// stale. In sync needs one finding, because a correction acts only on a drift verdict.
pub const NEEDED_TO_FLIP: u32 = 3;

/// Consecutive findings of one class.
#[derive(Debug, Default)]
pub struct Confirmation {
    /// `None` for in sync, which needs no confirmation. Most objects are in sync most of the time.
    run: Option<Box<Run>>,
}

#[derive(Debug)]
struct Run {
    class: FindingClass,
    basis: Basis,
    count: u32,
    since: Moment,
    /// Start of its first poll.
    began: Moment,
}

/// The finding of one poll, and the state before it.
#[derive(Clone, Copy, Debug)]
pub struct NewFinding<'l> {
    /// Finding of the poll.
    pub finding: &'l Finding,
    /// State that the poll began with.
    pub basis: &'l Basis,
    /// Current verdict of the object.
    pub current: Option<&'l CurrentVerdict>,
    /// True if the resource was seen or corrected before.
    pub was_there: bool,
    /// Time for which absence must last, because no poll has found what the last create made.
    pub create_shows_within: Duration,
    /// True if the object's verdict keeps changing.
    pub flaps: bool,
    /// Start of its poll.
    pub began: Moment,
    /// Time of the finding.
    pub at: Moment,
}

/// Result of counting a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// The finding is confirmed.
    Confirmed,
    /// The finding is not confirmed; poll again after this time.
    PollAgainAfter(Duration),
}

impl Confirmation {
    /// Counts a finding and returns if it is confirmed now.
    pub fn count(&mut self, new: &NewFinding<'_>, confirm: &Confirm) -> Belief {
        let (class, basis) = (new.finding.class(), *new.basis);
        let run = self.run.take().filter(|run| run.class == class && run.basis == basis);
        let (before, since, began) = run.map_or((0, new.at, new.began), |run| (run.count, run.since, run.began));
        let count = before.saturating_add(1);
        self.run = (class != FindingClass::InSync).then(|| Box::new(Run { class, basis, count, since, began }));
        let missing_time = needed_time(new, confirm).saturating_sub(new.at.saturating_since(since));
        let backoff = backoff_after(before);
        let needed = if flips(new) { needed(new, confirm).max(NEEDED_TO_FLIP) } else { needed(new, confirm) };
        match count >= needed {
            true if missing_time.is_zero() => Belief::Confirmed,
            true => Belief::PollAgainAfter(backoff.min(missing_time)),
            false => Belief::PollAgainAfter(backoff),
        }
    }

    /// Returns the start of the first of the consecutive polls that were counted last, and the delay before another one.
    #[must_use]
    pub fn last_run(&self) -> Option<(Moment, Duration)> {
        let run = self.run.as_ref()?;
        Some((run.began, backoff_after(run.count.saturating_sub(1))))
    }
}

/// Returns the delay of the next poll after this many consecutive findings and one more.
fn backoff_after(before: u32) -> Duration {
    FIRST_CONFIRMATION.saturating_mul(1_u32.checked_shl(before).unwrap_or(u32::MAX))
}

/// Returns the time for which findings of this class must repeat.
fn needed_time(new: &NewFinding<'_>, confirm: &Confirm) -> Duration {
    let is_known = stands(new, ObservedReason::is_absence);
    match new.finding {
        Finding::Absent if is_known => Duration::ZERO,
        Finding::Absent if new.was_there => confirm.absent_for.max(new.create_shows_within),
        Finding::Absent => new.create_shows_within,
        _ => Duration::ZERO,
    }
}

/// Returns true if the finding changes the verdict of a flapping object from in sync to drifted.
fn flips(new: &NewFinding<'_>) -> bool {
    let is_in_sync = |current: &CurrentVerdict| {
        current.reason.status() == ConditionStatus::False && new.basis.is_spoken_of_by(current)
    };
    let is_drift = matches!(new.finding.class(), FindingClass::Differs | FindingClass::Absent);
    new.flaps && is_drift && new.current.is_some_and(is_in_sync)
}

/// Returns the number of consecutive findings of this class that confirm it.
fn needed(new: &NewFinding<'_>, confirm: &Confirm) -> u32 {
    match new.finding {
        Finding::InSync => 1,
        Finding::Differs(_) if stands(new, |reason| !reason.is_absence()) => 1,
        Finding::Differs(_) => confirm.drift,
        Finding::Absent if stands(new, ObservedReason::is_absence) => 1,
        Finding::Absent => confirm.absent,
        Finding::Failed(failure) if failure.reason.needs_no_read() => 1,
        Finding::Failed(_) => match new.current.map(|current| current.reason.status()) {
            Some(ConditionStatus::False) => confirm.unknown,
            // Drift that cannot be read any more must not be acted on. Without a verdict there is nothing to keep.
            Some(ConditionStatus::True | ConditionStatus::Unknown) | None => 1,
        },
    }
}

/// Returns true if drift of that kind was confirmed before for the same desired state and correction.
fn stands(new: &NewFinding<'_>, is_kind: impl Fn(ObservedReason) -> bool) -> bool {
    new.current.is_some_and(|current| {
        let is_true = current.reason.status() == ConditionStatus::True;
        is_true && is_kind(current.reason) && new.basis.is_verified_by(current)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::judgement::drift::Drift;
    use ObservedReason::*;
    use drift_api::condition::Tag;

    const CONFIRM: Confirm = Confirm { drift: 2, absent: 3, unknown: 3, absent_for: Duration::ZERO };

    fn basis(correction: u64) -> Basis {
        Basis { generation: Some(1), desired_hash: None, correction, moved: 0, contradicted: false, created: false }
    }

    fn current(reason: ObservedReason, correction: u64) -> CurrentVerdict {
        CurrentVerdict { reason, tag: Tag { correction, ..Tag::default() }, generation: Some(1) }
    }

    /// Returns the new finding for an object that never existed outside and does not flap.
    fn look<'l>(finding: &'l Finding, basis: &'l Basis, current: Option<&'l CurrentVerdict>) -> NewFinding<'l> {
        NewFinding {
            finding,
            basis,
            current,
            was_there: false,
            create_shows_within: Duration::ZERO,
            flaps: false,
            began: Moment::START,
            at: Moment::START,
        }
    }

    /// Returns the number of consecutive polls that confirm the finding.
    fn polls(finding: &Finding, current: Option<&CurrentVerdict>) -> usize {
        let mut confirmation = Confirmation::default();
        let basis = basis(5);
        let look = look(finding, &basis, current);
        let believed = |_: &usize| confirmation.count(&look, &CONFIRM) == Belief::Confirmed;
        (1..10).find(believed).unwrap_or(usize::MAX)
    }

    #[test]
    fn absence_after_a_create_lasts_until_it_would_show() {
        let basis = Basis { created: true, ..basis(5) };
        let new = |seconds, current| NewFinding {
            create_shows_within: Duration::from_secs(30),
            at: Moment::from_start(Duration::from_secs(seconds)),
            ..look(&Finding::Absent, &basis, current)
        };
        let mut confirmation = Confirmation::default();
        let believed: Vec<_> = [0, 1, 3, 7, 15, 29]
            .map(|seconds| confirmation.count(&new(seconds, None), &CONFIRM) == Belief::Confirmed)
            .into();
        assert_eq!(believed, [false; 6]);
        assert_eq!(confirmation.count(&new(30, None), &CONFIRM), Belief::Confirmed);
        let known = current(NotCreated, 5);
        assert_eq!(Confirmation::default().count(&new(0, Some(&known)), &CONFIRM), Belief::Confirmed);
    }

    #[test]
    fn each_finding_needs_its_number_of_polls() {
        let (differs, absent, failed) =
            (Finding::Differs(Drift::default()), Finding::Absent, Finding::from(PollTimedOut));
        for (finding, stands, expected) in [
            (&Finding::InSync, Some(current(FieldsDiffer, 5)), 1),
            (&differs, None, 2),
            (&differs, Some(current(InSync, 5)), 2),
            (&differs, Some(current(FieldsDiffer, 5)), 1),
            (&differs, Some(current(FieldsDiffer, 4)), 2),
            (&differs, Some(current(ExternalMissing, 5)), 2),
            (&absent, None, 3),
            (&absent, Some(current(NotCreated, 5)), 1),
            (&absent, Some(current(NotCreated, 4)), 3),
            (&absent, Some(current(NotUpdated, 5)), 3),
            (&failed, None, 1),
            (&failed, Some(current(InSync, 5)), 3),
            (&failed, Some(current(FieldsDiffer, 5)), 1),
            (&failed, Some(current(Unauthorized, 5)), 1),
            (&Finding::from(Suspended), Some(current(InSync, 5)), 1),
        ] {
            assert_eq!(polls(finding, stands.as_ref()), expected, "{finding:?} over {stands:?}");
        }
    }

    #[test]
    fn confirming_polls_come_after_one_two_four_seconds() {
        let mut confirmation = Confirmation::default();
        let confirm = Confirm { absent: 5, ..CONFIRM };
        let basis = basis(0);
        let look = look(&Finding::Absent, &basis, None);
        let waits: Vec<_> = (0..5).map(|_| confirmation.count(&look, &confirm)).collect();
        let after = |seconds| Belief::PollAgainAfter(Duration::from_secs(seconds));
        assert_eq!(waits, [after(1), after(2), after(4), after(8), Belief::Confirmed]);
    }

    #[test]
    fn another_finding_or_another_correction_starts_the_count_anew() {
        let mut confirmation = Confirmation::default();
        let mut count =
            |finding: &Finding, correction| confirmation.count(&look(finding, &basis(correction), None), &CONFIRM);
        let again = Belief::PollAgainAfter(FIRST_CONFIRMATION);
        assert_eq!(count(&Finding::Absent, 0), again);
        assert_eq!(count(&Finding::InSync, 0), Belief::Confirmed);
        assert_eq!(count(&Finding::Absent, 0), again);
        assert_eq!(count(&Finding::Absent, 1), again);
    }
}
