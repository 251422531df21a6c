//! The one place where time is read.
//!
//! Everything else is handed a [`Moment`] or a text, so that a test decides what time it is. [`now`] follows tokio's
//! clock and so stands still in a test with paused time. This file must not know what the time is needed for.

use std::sync::OnceLock;
use std::time::Duration;

use drift_model::moment::Moment;

/// Monotonic time; only differences mean anything.
#[must_use]
pub fn now() -> Moment {
    Moment::from_start(instant().saturating_duration_since(start()))
}

/// The [`Moment`] as an instant of tokio's clock, to sleep until it.
#[must_use]
pub fn instant_of(moment: Moment) -> tokio::time::Instant {
    start() + moment.since_start()
}

/// Wall time as RFC 3339 in UTC with whole seconds: for people and conditions, never for decisions.
#[must_use]
pub fn wall_seconds() -> String {
    wall().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Wall time as RFC 3339 in UTC with microseconds, the form of `metav1.MicroTime`: for people, never for decisions.
#[must_use]
pub fn wall_micros() -> String {
    wall().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// How far the zero lies before the first reading, so that no other thread's reading can lie before the zero.
const HEAD_START: Duration = Duration::from_secs(60);

/// The zero: fixed by the first reading. It is taken from real time, since a test's paused time may have run ahead.
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

/// Wall time since the Unix epoch: for the phases of polls, which only have to be spread.
#[must_use]
pub fn wall_since_epoch() -> Duration {
    Duration::try_from(wall().as_duration()).unwrap_or_default()
}

/// Wall time, for dates that an external system names.
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
    fn wall_time_has_the_form_that_conditions_need() {
        assert!(wall_seconds().parse::<jiff::Timestamp>().is_ok(), "{}", wall_seconds());
        assert_eq!(wall_seconds().len(), "2026-01-01T00:00:00Z".len());
        assert_eq!(wall_micros().len(), "2026-01-01T00:00:00.000000Z".len(), "{}", wall_micros());
    }
}
