//! The only place where time is read.
//!
//! Everything else gets a [`Moment`] or a text, so that tests control the time. [`now`] follows tokio's clock, and so
//! does not advance in a test with paused time. It also counts time in suspend, as CLOCK_BOOTTIME does: a Lease expires
//! meanwhile, and a process must notice it on wake-up before its timers do.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use drift_api::timing::moment::Moment;

/// Returns monotonic time that includes time in suspend. Only differences are meaningful.
#[must_use]
pub fn now() -> Moment {
    Moment::from_start(instant().saturating_duration_since(start()) + suspended())
}

/// Converts a [`Moment`] to an instant of tokio's clock, to sleep until it. Timers do not advance in suspend, so a
/// sleep through it ends late by that time.
#[must_use]
pub fn instant_of(moment: Moment) -> tokio::time::Instant {
    start() + moment.since_start().saturating_sub(suspended())
}

/// Returns wall time as RFC 3339 in UTC with whole seconds: for display and conditions, never for decisions.
#[must_use]
pub fn wall_seconds() -> String {
    wall().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Returns wall time as RFC 3339 in UTC with microseconds, the format of `metav1.MicroTime`: for display,
/// never for decisions.
#[must_use]
pub fn wall_micros() -> String {
    wall().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// Distance of the zero before the first reading, so that no other thread can read an earlier time.
const HEAD_START: Duration = Duration::from_secs(60);

/// Returns the zero, set by the first reading. It comes from real time, because a test's paused time may have advanced.
fn start() -> tokio::time::Instant {
    static START: OnceLock<tokio::time::Instant> = OnceLock::new();
    *START.get_or_init(|| {
        let now = real_instant();
        tokio::time::Instant::from_std(now.checked_sub(HEAD_START).unwrap_or(now))
    })
}

#[allow(clippy::disallowed_methods, reason = "this is the place that all others call")]
fn real_instant() -> std::time::Instant {
    std::time::Instant::now()
}

#[allow(clippy::disallowed_methods, reason = "this is the place that all others call")]
fn instant() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// Returns the time that the machine has been suspended since the first reading.
fn suspended() -> Duration {
    static SUSPENSION: Suspension = Suspension::unread();
    SUSPENSION.measure(boottime_lead)
}

/// The unit of suspended time. Two clocks cannot be read at the same instant, and the delay between the readings must
/// not count as suspended time. A tenth of a second does not matter for a Lease.
const SUSPENDED_STEP: Duration = Duration::from_millis(100);

/// Number of readings of the first measurement. Each is too small by the delay within it, and the largest counts.
const FIRST_READINGS: u32 = 8;

/// Suspended time, derived from the lead of CLOCK_BOOTTIME.
struct Suspension {
    lead_at_first: OnceLock<i64>,
    most_steps: AtomicU32,
}

impl Suspension {
    const fn unread() -> Self {
        Self { lead_at_first: OnceLock::new(), most_steps: AtomicU32::new(0) }
    }

    /// Returns suspended time since the first call. It never decreases, because the clock must not go backwards.
    fn measure(&self, read_lead: impl Fn() -> i64) -> Duration {
        let first = || (0..FIRST_READINGS).map(|_| read_lead()).max().unwrap_or_default();
        let grown = i128::from(read_lead()) - i128::from(*self.lead_at_first.get_or_init(first));
        let steps = u128::try_from(grown).unwrap_or_default() / SUSPENDED_STEP.as_nanos();
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        SUSPENDED_STEP * self.most_steps.fetch_max(steps, Ordering::Relaxed).max(steps)
    }
}

/// Returns the lead of CLOCK_BOOTTIME over CLOCK_MONOTONIC in nanoseconds. It only changes by time in suspend.
/// CLOCK_BOOTTIME is read first, so that a delay between the readings makes the lead smaller, never larger.
#[cfg(target_os = "linux")]
fn boottime_lead() -> i64 {
    use rustix::time::{ClockId, Timespec, clock_gettime};
    let nanoseconds = |time: Timespec| time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec);
    let boottime = nanoseconds(clock_gettime(ClockId::Boottime));
    boottime.saturating_sub(nanoseconds(clock_gettime(ClockId::Monotonic)))
}

/// On other systems, suspended time is not counted. The programs are built for Linux, and a development machine holds
/// no important Lease while it sleeps.
#[cfg(not(target_os = "linux"))]
const fn boottime_lead() -> i64 {
    0
}

/// Returns wall time since the Unix epoch: for the phases of polls, which only have to be spread.
#[must_use]
pub fn wall_since_epoch() -> Duration {
    Duration::try_from(wall().as_duration()).unwrap_or_default()
}

/// Returns wall time, for dates from an external system.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "this is the place that all others call")]
pub fn wall() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_clock_follows_paused_time() {
        let before = now();
        tokio::time::sleep(Duration::from_secs(100)).await;
        assert_eq!(now() - before, Duration::from_secs(100));
        assert_eq!(instant_of(now()), instant());
    }

    #[test]
    fn suspended_time_counts_and_slow_readings_do_not() {
        const SECOND: i64 = 1_000_000_000;
        // Time namespaces can shift the start of either clock.
        for lead in [0, 3600 * SECOND, -3600 * SECOND] {
            let suspension = Suspension::unread();
            let readings = [
                (lead, Duration::ZERO),
                (lead + 60, Duration::ZERO),
                (lead - 5 * SECOND, Duration::ZERO),
                (lead + 20 * SECOND, Duration::from_secs(20)),
                (lead + 15 * SECOND, Duration::from_secs(20)),
                (lead + 30 * SECOND - 60, Duration::from_millis(29_900)),
                (i64::MAX, SUSPENDED_STEP * u32::MAX),
            ];
            for (reading, suspended) in readings {
                assert_eq!(suspension.measure(|| reading), suspended, "{reading} after {lead}");
            }
        }
    }

    #[test]
    fn wall_time_has_the_form_that_conditions_need() {
        assert!(wall_seconds().parse::<jiff::Timestamp>().is_ok(), "{}", wall_seconds());
        assert_eq!(wall_seconds().len(), "2026-01-01T00:00:00Z".len());
        assert_eq!(wall_micros().len(), "2026-01-01T00:00:00.000000Z".len(), "{}", wall_micros());
    }
}
