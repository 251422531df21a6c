//! Numbers with units: Kubernetes quantities, durations, points in time. Each is converted to one exact number.

use jiff::Timestamp;
use jiff::fmt::temporal::Pieces;
use jiff::tz::Offset;
use serde_json::Number;

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
/// A millisecond as a power of ten of seconds.
const MILLISECOND: i32 = -3;
/// The designators of an ISO 8601 duration before its `T`, in order. Years and months have no fixed length.
const DESIGNATORS_OF_DATES: [(char, Option<i64>); 4] =
    [('Y', None), ('M', None), ('W', Some(7 * 86_400)), ('D', Some(86_400))];
/// The designators of an ISO 8601 duration after its `T`, in order.
const DESIGNATORS_OF_TIMES: [(char, Option<i64>); 3] = [('H', Some(3_600)), ('M', Some(60)), ('S', Some(1))];
/// The last Unix time in seconds: 9999-12-31T23:59:59Z, which systems write for "never". Larger numbers are
/// milliseconds: as such it is 11 January 1978.
const LAST_SECONDS: i128 = 253_402_300_799;
/// The last Unix time in milliseconds, in the same second.
const LAST_MILLISECONDS: i128 = 253_402_300_799_999;

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

/// Parses a duration to seconds: in units (`1h30m`), of ISO 8601 (`P1DT2H`), or as a clock shows it (`1.02:00:00`).
pub(crate) fn parse_duration(text: &str) -> Option<Decimal> {
    let (is_negative, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let unsigned = unsigned.trim();
    let seconds = match unsigned.strip_prefix('P') {
        Some(parts) => parse_iso_duration(parts),
        None if unsigned.contains(':') => parse_clock(unsigned),
        None => parse_units(unsigned),
    }?;
    Some(if is_negative { seconds.negated() } else { seconds })
}

/// Parses a duration in units: `1h30m`, `1h 30m`, `1.5h`, `2 days`, or seconds without a unit: `90`, `3.5`.
fn parse_units(text: &str) -> Option<Decimal> {
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let mut rest = text;
    let mut sum = None;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|letter| !is_number(letter)).unwrap_or(rest.len()));
        let number = Decimal::parse(number)?;
        let after = after.trim_start();
        let end = after.find(|letter: char| is_number(letter) || letter.is_whitespace()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        if unit.is_empty() {
            // Without a unit: seconds, and nothing else may follow.
            return (sum.is_none() && after.is_empty()).then_some(number);
        }
        let (_, nanoseconds) = UNITS_OF_TIME.iter().find(|(names, _)| names.contains(&unit))?;
        let part = number.times(Decimal::new(*nanoseconds, NANOSECOND))?;
        sum = Some(sum.map_or(Some(part), |sum: Decimal| sum.plus(part))?);
        rest = after.trim_start();
    }
    sum
}

/// Parses an ISO 8601 duration behind its `P`: `1DT2H`, `T1.5S`, `2W`. A part may have a sign of its own, as PostgreSQL
/// writes it. Years and months are refused, unless there are none of them: `0Y0M1D`.
fn parse_iso_duration(parts: &str) -> Option<Decimal> {
    let (date, time) = parts.split_once('T').map_or((parts, None), |(date, time)| (date, Some(time)));
    if time.unwrap_or(date).is_empty() {
        return None;
    }
    let days = sum_of_designated(date, &DESIGNATORS_OF_DATES)?;
    days.plus(sum_of_designated(time.unwrap_or_default(), &DESIGNATORS_OF_TIMES)?)
}

/// Sums numbers with designators, each at most once and in order.
fn sum_of_designated(text: &str, designators: &[(char, Option<i64>)]) -> Option<Decimal> {
    let mut designators = designators.iter();
    let mut sum = Decimal::new(0, 0);
    let mut rest = text;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|letter: char| letter.is_ascii_alphabetic())?);
        let number = Decimal::parse(&number.replace(',', "."))?;
        let (designator, seconds) = designators.find(|(designator, _)| after.starts_with(*designator))?;
        sum = match seconds {
            Some(seconds) => sum.plus(number.times(Decimal::new((*seconds).into(), 0))?)?,
            None if number.is_zero() => sum,
            None => return None,
        };
        rest = after.strip_prefix(*designator)?;
    }
    Some(sum)
}

/// Parses a duration as a clock shows it, `[days.]hours:minutes:seconds`: `26:00:00` of MySQL, `1.02:00:00` of .NET.
fn parse_clock(text: &str) -> Option<Decimal> {
    let [hours, minutes, seconds]: [&str; 3] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
    let (days, hours) = hours.split_once('.').map_or((None, hours), |(days, hours)| (Some(days), hours));
    let whole = |digits: &str| -> Option<i128> {
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse::<u64>().ok())?.map(i128::from)
    };
    let below_sixty = |digits: &str| whole(digits).filter(|number| digits.len() == 2 && *number < 60);
    let (digits, fraction) = seconds.split_once('.').map_or((seconds, "0"), |parts| parts);
    below_sixty(digits)?;
    whole(fraction)?;
    let days = days.map_or(Some(0), whole)?;
    let hours = whole(hours).filter(|hours| *hours < 24 || days == 0)?;
    let minutes = (days * 24 + hours) * 60 + below_sixty(minutes)?;
    Decimal::new(minutes * 60, 0).plus(Decimal::parse(seconds)?)
}

/// Parses an RFC 3339 time to seconds since 1970: any offset, fractions down to nanoseconds. Without an offset it is
/// UTC.
pub(crate) fn parse_timestamp(text: &str) -> Option<Decimal> {
    let time = text.parse::<Timestamp>().ok().or_else(|| parse_without_offset(text))?;
    Some(Decimal::new(time.as_nanosecond(), NANOSECOND))
}

fn parse_without_offset(text: &str) -> Option<Timestamp> {
    let pieces = Pieces::parse(text).ok()?;
    let is_local = pieces.offset().is_none() && pieces.time_zone_annotation().is_none();
    let time = pieces.time().filter(|_| is_local)?;
    Offset::UTC.to_timestamp(pieces.date().to_datetime(time)).ok()
}

/// Returns the seconds since 1970 of a Unix time, which is in seconds up to the year 9999, and above in milliseconds.
pub(crate) fn unix_time(number: &Number) -> Option<Decimal> {
    let number = Decimal::of(number)?;
    let is_within = |last| {
        let last = Decimal::new(last, 0);
        number.order(last).is_le() && number.order(last.negated()).is_ge()
    };
    match (is_within(LAST_SECONDS), is_within(LAST_MILLISECONDS)) {
        (true, _) => Some(number),
        (false, true) => number.times(Decimal::new(1, MILLISECOND)),
        (false, false) => None,
    }
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
            ("7.5h", "27000"),
            ("PT26H", "93600"),
            ("P1DT2H", "93600"),
            ("P1W2D", "777600"),
            ("PT1H30M", "5400"),
            ("PT0.5S", "0.5"),
            ("PT0,5S", "0.5"),
            ("P0Y0M0DT1H0M0S", "3600"),
            ("PT0S", "0"),
            ("-PT1H", "-3600"),
            ("P1DT-2H", "79200"),
            ("1.02:00:00", "93600"),
            ("26:00:00", "93600"),
            ("00:05:00", "300"),
            ("-00:05:00", "-300"),
            ("00:00:01.5000000", "1.5"),
            ("838:59:59", "3020399"),
        ];
        for (text, expected) in table {
            assert_eq!(parse_duration(text), number(expected), "{text}");
        }
        let none = ["", "-", "h", "1x", "1h30", "30 1h", "1 month", "1y", "1h-30m", "1..5h", "1H", "1e3s"];
        let none_of_iso =
            ["P", "PT", "P1", "P1M", "P1Y", "P0.5M", "PT1D", "P1H", "PT1M1H", "PT1H1H", "P1DT", "PT1e3S", "pt1h"];
        let none_of_clocks = [
            "05:00",
            "1:2:3",
            "00:60:00",
            "00:00:60",
            "1.24:00:00",
            "1d 02:00:00",
            "0:0:0:0",
            "00:00:1e1",
            ":00:00",
            "00:00:00.",
        ];
        for text in none.iter().chain(&none_of_iso).chain(&none_of_clocks) {
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
        for text in
            ["2026-01-01T00:00:00", "2026-01-01 00:00:00.000", "2026-01-01 00:00:00+00", "2026-01-01T01:00:00+0100"]
        {
            assert_eq!(parse_timestamp(text), number("1767225600"), "{text}");
        }
        let none = ["", "yesterday", "2026-01-01", "2026-01-01T00:00:00[Europe/Berlin]", "1767225600", "00:00:00"];
        for text in none {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
    }

    #[test]
    fn a_unix_time_is_in_seconds_or_milliseconds() {
        let table = [
            ("1767225600", Some("1767225600")),
            ("1767225600000", Some("1767225600")),
            ("1767225600.5", Some("1767225600.5")),
            ("1767225600500", Some("1767225600.5")),
            ("0", Some("0")),
            ("-1", Some("-1")),
            ("100000000000", Some("100000000000")),
            ("253402300799", Some("253402300799")),
            ("253402300800", Some("253402300.8")),
            ("-253402300800", Some("-253402300.8")),
            ("253402300799999", Some("253402300799.999")),
            ("253402300800000", None),
            ("1767225600000000", None),
        ];
        for (text, expected) in table {
            let unix: Number = text.parse().unwrap();
            assert_eq!(unix_time(&unix), expected.and_then(number), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_them(text in "[-+0-9.,eEinumkKMGTPhsdwyµ: TZYMWDHS]{0,24}") {
            parse_quantity(&text);
            parse_duration(&text);
            parse_timestamp(&text);
        }

        /// Other durations are equal in no notation.
        #[test]
        fn no_notation_changes_a_duration(seconds in 0..1_000_000_u32, other in 0..1_000_000_u32) {
            let notations = |seconds: u32| {
                let [hours, minutes, left] = [seconds / 3_600, seconds / 60 % 60, seconds % 60];
                [
                    format!("{seconds}"),
                    format!("{}ms", u64::from(seconds) * 1_000),
                    format!("{hours}h{minutes}m{left}s"),
                    format!("PT{hours}H{minutes}M{left}S"),
                    format!("P{}DT{}H{minutes}M{left}S", hours / 24, hours % 24),
                    format!("{hours}:{minutes:02}:{left:02}"),
                    format!("{}.{:02}:{minutes:02}:{left:02}.000", hours / 24, hours % 24),
                ]
            };
            let known = |texts: &[String]| texts.iter().map(|text| parse_duration(text)).collect::<Vec<_>>();
            prop_assert_eq!(known(&notations(seconds)), vec![number(&seconds.to_string()); 7]);
            let differs = known(&notations(other)).iter().all(|one| *one != number(&seconds.to_string()));
            prop_assert_eq!(differs, seconds != other);
        }
    }
}
