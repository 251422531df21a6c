//! Numbers with units: Kubernetes quantities, durations, points in time. Each is converted to one exact number.

use jiff::Timestamp;

use crate::values::decimal::Decimal;

/// Suffixes of Kubernetes quantities with powers of two.
const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
/// Suffixes of Kubernetes quantities with powers of ten.
const DECIMAL: [(&str, i32); 9] =
    [("n", -9), ("u", -6), ("m", -3), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
/// Nanoseconds of time units. Months and years have no fixed length.
const UNITS_OF_TIME: [(&[&str], i128); 8] = [
    (&["ns", "nsec"], 1),
    (&["us", "µs", "μs", "usec"], 1_000),
    (&["ms", "msec"], 1_000_000),
    (&["s", "sec", "secs", "second", "seconds"], 1_000_000_000),
    (&["m", "min", "mins", "minute", "minutes"], 60 * 1_000_000_000),
    (&["h", "hr", "hrs", "hour", "hours"], 3_600 * 1_000_000_000),
    (&["d", "day", "days"], 86_400 * 1_000_000_000),
    (&["w", "week", "weeks"], 7 * 86_400 * 1_000_000_000),
];
/// A nanosecond as a power of ten of seconds.
const NANOSECOND: i32 = -9;

/// Parses a Kubernetes quantity: `500m`, `1Gi`, `1.5`, `1e3`.
pub(crate) fn parse_quantity(text: &str) -> Option<Decimal> {
    if let Some((mantissa, power)) = BINARY.iter().find_map(|(suffix, power)| Some((text.strip_suffix(suffix)?, power)))
    {
        return plain(mantissa)?.times(Decimal::new(1 << power, 0));
    }
    match DECIMAL.iter().find_map(|(suffix, power)| Some((text.strip_suffix(suffix)?, power))) {
        Some((mantissa, power)) => plain(mantissa)?.times(Decimal::new(1, *power)),
        None => Decimal::parse(text),
    }
}

/// Parses a number without an exponent, because a suffix replaces it.
fn plain(text: &str) -> Option<Decimal> {
    (!text.contains(['e', 'E'])).then(|| Decimal::parse(text))?
}

/// Parses a duration to seconds: `1h30m`, `1h 30m`, `1.5h`, `-300ms`, `2 days`, or seconds without a unit: `90`, `3.5`.
pub(crate) fn parse_duration(text: &str) -> Option<Decimal> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let mut rest = unsigned.trim();
    let mut sum = None;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|letter| !is_number(letter)).unwrap_or(rest.len()));
        let number = Decimal::parse(number)?;
        let after = after.trim_start();
        let end = after.find(|letter: char| is_number(letter) || letter.is_whitespace()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        if unit.is_empty() {
            // Without a unit: seconds, and nothing else may follow.
            return (sum.is_none() && after.is_empty()).then(|| if negative { number.negated() } else { number });
        }
        let (_, nanoseconds) = UNITS_OF_TIME.iter().find(|(names, _)| names.contains(&unit))?;
        let part = number.times(Decimal::new(*nanoseconds, NANOSECOND))?;
        sum = Some(sum.map_or(Some(part), |sum: Decimal| sum.plus(part))?);
        rest = after.trim_start();
    }
    sum.map(|sum| if negative { sum.negated() } else { sum })
}

/// Parses an RFC 3339 time to seconds since 1970: any offset, fractions down to nanoseconds.
pub(crate) fn parse_timestamp(text: &str) -> Option<Decimal> {
    let time: Timestamp = text.parse().ok()?;
    Some(Decimal::new(time.as_nanosecond(), NANOSECOND))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(text: &str) -> Option<Decimal> {
        Some(Decimal::parse(text).unwrap())
    }

    #[test]
    fn quantities_are_those_of_kubernetes() {
        let table = [
            ("1Gi", "1073741824"),
            ("500m", "0.5"),
            ("0.5", "0.5"),
            ("1.5Gi", "1610612736"),
            ("1G", "1000000000"),
            ("1E", "1000000000000000000"),
            ("1Ei", "1152921504606846976"),
            ("1e3", "1000"),
            ("1E3", "1000"),
            ("12e-1", "1.2"),
            ("100n", "0.0000001"),
            ("1u", "0.000001"),
            ("-1k", "-1000"),
            ("+1k", "1000"),
            (".5Ki", "512"),
            ("1M", "1000000"),
            ("9223372036854775807", "9223372036854775807"),
        ];
        for (text, expected) in table {
            assert_eq!(parse_quantity(text), number(expected), "{text}");
        }
        for text in ["", "Gi", "m", "1gi", "1 Gi", "1K", "1GB", "1e3Ki", "1e3m", "one", "1Gi ", "Ei"] {
            assert_eq!(parse_quantity(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_those_of_go_and_of_people() {
        let table = [
            ("1h30m", "5400"),
            ("1h 30m", "5400"),
            ("90m", "5400"),
            ("1.5h", "5400"),
            ("5400", "5400"),
            ("5400s", "5400"),
            ("5400.000s", "5400"),
            ("3.5", "3.5"),
            ("300ms", "0.3"),
            ("1us", "0.000001"),
            ("1µs", "0.000001"),
            ("1μs", "0.000001"),
            ("-1h", "-3600"),
            ("0", "0"),
            ("0s", "0"),
            ("2 days 3 hours", "183600"),
            ("1week", "604800"),
        ];
        for (text, expected) in table {
            assert_eq!(parse_duration(text), number(expected), "{text}");
        }
        for text in ["", "-", "h", "1x", "1h30", "30 1h", "1 month", "1y", "1h-30m", "1..5h", "PT1H", "1H", "1e3s"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_points_whatever_the_offset() {
        let same = ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2025-12-31T19:00:00.000-05:00"];
        for text in same {
            assert_eq!(parse_timestamp(text), number("1767225600"), "{text}");
        }
        assert_eq!(parse_timestamp("2026-01-01T00:00:00.123456789Z"), number("1767225600.123456789"));
        for text in ["", "yesterday", "2026-01-01", "2026-01-01T00:00:00", "1767225600"] {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_them(text in "[-+0-9.eEinumkKMGTPhsdwyµ: TZ]{0,24}") {
            parse_quantity(&text);
            parse_duration(&text);
            parse_timestamp(&text);
        }

        #[test]
        fn no_unit_changes_a_duration(seconds in 0..1_000_000_000_u32) {
            let split = format!("{}h{}m{}s", seconds / 3600, seconds / 60 % 60, seconds % 60);
            prop_assert_eq!(parse_duration(&split), parse_duration(&seconds.to_string()));
        }
    }
}
