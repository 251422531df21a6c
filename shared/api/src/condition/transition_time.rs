//! The transition time of a condition, stored as a number.
//!
//! Both programs keep one or two times for every object, and each text would need its own allocation. The written text
//! is exactly the text that was read.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;

/// A `lastTransitionTime`, RFC 3339. Another writer may have left any text, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransitionTime(Written);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Written {
    /// A whole second of UTC, since 1970, in the format of `metav1.Time`.
    Second(i64),
    /// Any other text.
    Other(Box<str>),
}

impl TransitionTime {
    /// Returns true if it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Written::Other(text) if text.is_empty())
    }

    /// Returns true if it is later than another. False if either is not a valid time.
    #[must_use]
    pub fn is_later_than(&self, other: &Self) -> bool {
        matches!((self.timestamp(), other.timestamp()), (Some(time), Some(other)) if time > other)
    }

    /// Returns true if it is more than `margin` after `wall`, a time since 1970. Only a wrong clock writes that.
    #[must_use]
    pub fn is_ahead_of(&self, wall: Duration, margin: Duration) -> bool {
        let latest = i64::try_from((wall + margin).as_secs()).unwrap_or(i64::MAX);
        self.second().is_some_and(|second| second > latest)
    }

    /// Returns seconds since 1970, or `None` if it is not a valid time.
    #[must_use]
    pub fn second(&self) -> Option<i64> {
        self.timestamp().map(Timestamp::as_second)
    }

    fn timestamp(&self) -> Option<Timestamp> {
        match &self.0 {
            Written::Second(second) => Timestamp::from_second(*second).ok(),
            Written::Other(text) => text.parse().ok(),
        }
    }
}

impl Default for TransitionTime {
    fn default() -> Self {
        Self(Written::Other(Box::default()))
    }
}

impl From<&str> for TransitionTime {
    fn from(text: &str) -> Self {
        let time = text.parse::<Timestamp>().ok();
        let second = time.and_then(|time| Timestamp::from_second(time.as_second()).ok());
        let written = second.filter(|second| second.to_string() == text);
        Self(written.map_or_else(|| Written::Other(text.into()), |second| Written::Second(second.as_second())))
    }
}

impl fmt::Display for TransitionTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Written::Second(second) => match Timestamp::from_second(*second) {
                Ok(time) => write!(formatter, "{time}"),
                // It was parsed from a time, so it is valid.
                Err(_) => write!(formatter, "{second}"),
            },
            Written::Other(text) => formatter.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_text_is_written_back_as_it_was() {
        for (text, is_number) in [
            ("2026-01-01T00:00:00Z", true),
            ("1969-12-31T23:59:59Z", true),
            ("2026-01-01T00:00:00.5Z", false),
            ("2026-01-01T00:00:00.000Z", false),
            ("2026-01-01T01:00:00+01:00", false),
            ("2026-01-01 00:00:00Z", false),
            ("2026-01-01t00:00:00z", false),
            ("2026-06-30T23:59:60Z", false),
            ("yesterday", false),
            ("", false),
        ] {
            let time = TransitionTime::from(text);
            assert_eq!((time.to_string().as_str(), matches!(time.0, Written::Second(_))), (text, is_number));
        }
    }

    #[test]
    fn only_times_are_later_than_others() {
        let is_later = |time: &str, other: &str| TransitionTime::from(time).is_later_than(&other.into());
        assert!(is_later("2026-01-01T00:00:01Z", "2026-01-01T00:00:00Z"));
        assert!(is_later("2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00Z"));
        assert!(!is_later("2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00Z"), "the same moment");
        assert!(!is_later("yesterday", "2026-01-01T00:00:00Z") && !is_later("2026-01-01T00:00:00Z", "yesterday"));
    }

    #[test]
    fn only_a_time_beyond_the_margin_is_ahead() {
        let is_ahead =
            |time: &str| TransitionTime::from(time).is_ahead_of(Duration::from_secs(1_000), Duration::from_secs(300));
        assert!(is_ahead("1970-01-01T00:21:41Z") && is_ahead("2099-01-01T00:00:00Z"));
        assert!(!is_ahead("1970-01-01T00:21:40Z") && !is_ahead("tomorrow") && !is_ahead(""));
    }

    proptest! {
        #[test]
        fn any_second_is_kept_as_a_number(second in -62_135_596_800_i64..253_402_300_800) {
            let text = Timestamp::from_second(second).map(|time| time.to_string()).unwrap_or_default();
            let time = TransitionTime::from(text.as_str());
            prop_assert_eq!((time.to_string(), time.second()), (text, Some(second)));
        }
    }
}
