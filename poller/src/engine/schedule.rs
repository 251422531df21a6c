//! Schedule of one object's polls.
//!
//! Regular polls have a phase on the wall clock that depends only on the uid. So a restart causes no burst and does not
//! shift them. Prompt polls come between them and keep a distance from each other.

pub mod poll_settings;
pub mod poll_turns;

use std::time::Duration;

use drift_api::timing::moment::Moment;

/// Minimum distance between prompt polls of one object, so that many edits cause one poll a second.
pub const PROMPT_SPACING: Duration = Duration::from_secs(1);

/// Maximum delay of a poll by successive edits, in multiples of `settle`, so that a constantly edited object
/// is still polled.
const EDITS_SETTLE: u32 = 3;

/// Both clocks at one instant: decisions use the moment, phases the wall time.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Time on the monotonic clock.
    pub moment: Moment,
    /// Wall time since the Unix epoch.
    pub wall: Duration,
}

impl Now {
    /// Returns the wall time as RFC 3339 in UTC with seconds, the format of `metav1.Time`.
    #[must_use]
    pub fn date(self) -> String {
        let second = i64::try_from(self.wall.as_secs()).unwrap_or_default();
        jiff::Timestamp::from_second(second).unwrap_or_default().to_string()
    }

    /// Returns the instant `span` later on both clocks.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self { moment: self.moment + span, wall: self.wall.saturating_add(span) }
    }
}

/// Maximum time for the Lease to change hands after a crash, which is the maximum delay of a regular poll.
const TAKEOVER: Duration = Duration::from_secs(15);

/// Ticks per interval. Polls within one tick begin together, because waking a processor costs as much as a poll. A tick
/// is a thousandth of the interval, and at least [`SHORTEST_TICK`].
const TICKS_OF_AN_INTERVAL: u32 = 1_000;
/// Shortest tick, used below an interval of five seconds. At 10,000 reads a second, a poll takes a seventh less
/// processor time than with a tick of 1 ms, and 10 ms gain no more.
const SHORTEST_TICK: Duration = Duration::from_millis(5);
/// Longest tick. Even with a long interval, confirmations and ends of pauses must be on time.
const LONGEST_TICK: Duration = Duration::from_millis(50);

/// Returns the tick of an interval: the maximum delay of a wake-up.
#[must_use]
pub fn tick_of(interval: Duration) -> Duration {
    (interval / TICKS_OF_AN_INTERVAL).clamp(SHORTEST_TICK, LONGEST_TICK)
}

/// Next poll of one object: the earliest of the wanted ones.
#[derive(Clone, Debug)]
pub struct Schedule {
    phase: Phase,
    regular: Moment,
    wanted: Option<Moment>,
    last_prompt: Option<Moment>,
    not_before: Moment,
    /// First edit since the last poll, if edits must settle.
    edited_at: Option<Moment>,
}

impl Schedule {
    /// Creates a schedule whose first regular poll is at the next phase.
    #[must_use]
    pub fn new(phase: Phase, now: Now) -> Self {
        let regular = phase.next(now);
        Self { phase, regular, wanted: None, last_prompt: None, not_before: Moment::START, edited_at: None }
    }

    /// Follows this phase after the next poll. Returns true if it is another one.
    pub fn follow(&mut self, phase: Phase) -> bool {
        std::mem::replace(&mut self.phase, phase) != phase
    }

    /// Returns the time between regular polls.
    #[must_use]
    pub const fn interval(&self) -> Duration {
        self.phase.interval()
    }

    /// Returns true if the last regular poll may have been missed: a new process cannot know if its predecessor was
    /// still polling. With a short interval, the next regular poll is soon enough.
    #[must_use]
    pub fn may_have_been_missed(&self, now: Moment) -> bool {
        let interval = self.phase.interval();
        interval > TAKEOVER && interval.saturating_sub(self.regular - now) <= TAKEOVER
    }

    /// Requests a poll as soon as prompt polls of this object may begin.
    pub fn want_promptly(&mut self, now: Moment) {
        self.want_at(self.last_prompt.map_or(now, |last| now.max(last + PROMPT_SPACING)));
    }

    /// Requests a poll after `wait`, or at the next regular one if that is earlier.
    pub fn want_after(&mut self, wait: Duration, now: Moment) {
        self.want_at(now + wait.min(self.phase.interval()));
    }

    /// Moves the next regular poll to now. Later ones keep their phase.
    pub fn bring_forward(&mut self, now: Moment) {
        self.regular = self.regular.min(now);
    }

    /// Blocks polls until `moment`, so that a correction can settle.
    pub fn hold_until(&mut self, moment: Moment) {
        self.not_before = self.not_before.max(moment);
    }

    /// Blocks polls until an edit has settled, because the object's own operator needs time for it. Successive edits
    /// delay the poll by at most `EDITS_SETTLE` times that. Returns the end of the delay.
    pub fn settle_edit(&mut self, settle: Duration, now: Moment) -> Moment {
        let first = *self.edited_at.get_or_insert(now);
        let settled = (now + settle).min(first + settle.saturating_mul(EDITS_SETTLE));
        self.hold_until(settled);
        settled
    }

    /// Returns true if a poll is wanted before its regular time.
    #[must_use]
    pub const fn is_wanted(&self) -> bool {
        self.wanted.is_some()
    }

    /// Returns the time of the next poll.
    #[must_use]
    pub fn due(&self) -> Moment {
        self.wanted.map_or(self.regular, |wanted| wanted.min(self.regular)).max(self.not_before)
    }

    /// Records that the poll that was due begins now.
    pub fn begin(&mut self, now: Now) {
        if self.wanted.take().is_some_and(|wanted| wanted < self.regular) {
            self.last_prompt = Some(now.moment);
        }
        self.edited_at = None;
        self.regular = self.phase.next(now);
    }

    fn want_at(&mut self, moment: Moment) {
        self.wanted = Some(self.wanted.map_or(moment, |wanted| wanted.min(moment)));
    }
}

/// An interval and the offset of regular polls in it, on the wall clock. In nanoseconds, because each object has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    interval: u64,
    place: u64,
}

impl Phase {
    /// Derives the offset from a name alone.
    #[must_use]
    pub fn of(name: &str, interval: Duration) -> Self {
        let interval = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1);
        let place = u128::from(stable_hash(name)) * 1_000 % u128::from(interval);
        Self { interval, place: u64::try_from(place).unwrap_or_default() }
    }

    const fn interval(self) -> Duration {
        Duration::from_nanos(self.interval)
    }

    /// Returns the next moment at the offset. It is never now, so that no poll follows itself.
    fn next(self, now: Now) -> Moment {
        let period = u128::from(self.interval);
        let into = (now.wall.as_nanos() + period - u128::from(self.place)) % period;
        now.moment + Duration::from_nanos(u64::try_from(period - into).unwrap_or(u64::MAX))
    }
}

/// Hashes with FNV-1a and a final mix. The result is the same in every build and process, and evenly distributed even
/// for uids that differ in one digit.
fn stable_hash(text: &str) -> u64 {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INTERVAL: Duration = Duration::from_secs(30);

    fn at(milliseconds: u64) -> Now {
        let span = Duration::from_millis(milliseconds);
        Now { moment: Moment::from_start(span), wall: Duration::from_secs(1_700_000_000) + span }
    }

    #[test]
    fn what_is_due_within_a_tick_wakes_together() {
        let tick = |seconds| tick_of(Duration::from_secs(seconds));
        assert_eq!([1, 10, 60, 86_400].map(|interval| tick(interval).as_millis()), [5, 10, 50, 50]);
        let wakes = (1..=10_000).map(|number| at(number).moment.rounded_up(tick(10)));
        assert!(wakes.clone().zip(1..).all(|(wake, number)| wake >= at(number).moment));
        assert_eq!(wakes.collect::<std::collections::BTreeSet<_>>().len(), 1_000);
        assert_eq!(Moment::START.rounded_up(tick(10)), Moment::START);
    }

    #[test]
    fn prompt_polls_coalesce_and_keep_their_distance() {
        let mut schedule = Schedule::new(Phase::of("uid", INTERVAL), at(0));
        schedule.regular = at(30_000).moment;
        schedule.want_promptly(at(10).moment);
        schedule.want_promptly(at(20).moment);
        assert_eq!(schedule.due(), at(10).moment);
        schedule.begin(at(25));
        schedule.regular = at(30_000).moment;
        assert_eq!(schedule.due(), at(30_000).moment, "both wants were one poll");
        schedule.want_promptly(at(30).moment);
        assert_eq!(schedule.due(), at(1_025).moment);
    }

    #[test]
    fn a_regular_poll_brought_forward_shifts_no_phase() {
        let mut schedule = Schedule::new(Phase::of("uid", INTERVAL), at(0));
        let phase = schedule.due();
        schedule.bring_forward(at(10).moment);
        assert_eq!((schedule.due(), schedule.is_wanted()), (at(10).moment, false));
        schedule.begin(at(20));
        assert_eq!(schedule.due(), phase);
    }

    #[test]
    fn only_what_fell_into_a_takeover_is_prompt() {
        let began = at(1_000_000);
        let schedules = (0..3000).map(|number| Schedule::new(Phase::of(&format!("uid-{number}"), INTERVAL), began));
        let missed: Vec<_> = schedules.filter(|schedule| schedule.may_have_been_missed(began.moment)).collect();
        assert!((1350..1650).contains(&missed.len()), "half of the interval is takeover: {}", missed.len());
        assert!(missed.iter().all(|schedule| schedule.due() - began.moment >= INTERVAL - TAKEOVER));
        let quick = Schedule::new(Phase::of("uid", Duration::from_secs(15)), began);
        assert!(!quick.may_have_been_missed(began.moment));
    }

    #[test]
    fn endless_edits_put_no_poll_off_for_ever() {
        let settle = Duration::from_secs(30);
        let mut schedule = Schedule::new(Phase::of("uid", INTERVAL), at(0));
        schedule.want_promptly(at(0).moment);
        for second in (0..300).step_by(20) {
            schedule.settle_edit(settle, at(second * 1_000).moment);
        }
        assert_eq!(schedule.due(), at(90_000).moment);
        schedule.begin(at(300_000));
        assert_eq!(schedule.settle_edit(settle, at(310_000).moment), at(340_000).moment, "the next edit settles anew");
    }

    #[test]
    fn a_correction_settles_before_any_poll() {
        let mut schedule = Schedule::new(Phase::of("uid", INTERVAL), at(0));
        schedule.want_promptly(at(0).moment);
        schedule.hold_until(at(5_000).moment);
        assert_eq!(schedule.due(), at(5_000).moment);
    }

    #[test]
    fn a_thousand_objects_spread_over_the_interval() {
        let mut tenths = [0; 10];
        for number in 0..1_000 {
            let due = Schedule::new(Phase::of(&format!("5b1f0c1e-0000-4000-8000-{number:012}"), INTERVAL), at(0)).due();
            tenths[(due.since_start().as_millis() * 10 / 30_001) as usize] += 1;
        }
        assert!(tenths.iter().all(|count| (60..140).contains(count)), "{tenths:?}");
    }

    proptest! {
        #[test]
        fn a_restart_does_not_shift_the_phase(uid in "[a-f0-9]{8}", start in 0..100_000u64, restart in 0..100_000u64) {
            let wall_of = |now: Now| now.wall + (Schedule::new(Phase::of(&uid, INTERVAL), now).due() - now.moment);
            let (first, second) = (wall_of(at(start)), wall_of(at(restart)));
            prop_assert_eq!(first.as_nanos() % INTERVAL.as_nanos(), second.as_nanos() % INTERVAL.as_nanos());
        }

        #[test]
        fn regular_polls_are_one_interval_apart(uid in "[a-f0-9]{8}", late in 0..5_000u64) {
            let mut schedule = Schedule::new(Phase::of(&uid, INTERVAL), at(0));
            let first = schedule.due();
            let begun = at(u64::try_from(first.since_start().as_millis()).unwrap_or(0) + 1 + late);
            schedule.begin(begun);
            prop_assert_eq!(schedule.due() - first, INTERVAL);
        }
    }
}
