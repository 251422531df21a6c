//! `correct.windows` and `correct.deletionWindows`: the times at which corrections may begin.

use std::time::Duration;

use cronexpr::{Crontab, MakeTimestamp, parse_crontab};
use drift_api::held_corrections::{Held, Hold};
use drift_api::names::WINDOW_OPEN_UNTIL_ANNOTATION;
use drift_api::object::LeanObject;
use jiff::Timestamp;

use super::Correct;
use crate::section::{Leaf, Section, duration, list, literal, section};
use crate::yaml::{Fields, Reader};

/// Maximum windows in one list. A week has seven nights.
const MAX_WINDOWS: usize = 20;
/// Shortest window. A cron expression counts in minutes.
const SHORTEST: Duration = Duration::from_mins(1);
/// Longest window. A window of a week that opens weekly is always open.
const LONGEST: Duration = Duration::from_hours(7 * 24);
/// The default of `timeZone`.
const UTC: &str = "UTC";
/// Fields of a cron expression.
const CRON_FIELDS: usize = 5;

/// Times at which corrections may begin. Without windows they may always begin.
#[derive(Clone, Debug, Default)]
pub struct Windows(Vec<Window>);

/// A window that opens again and again.
#[derive(Clone, Debug)]
struct Window {
    opens: Crontab,
    duration: Duration,
}

impl Windows {
    /// Returns the time of the next opening; `None` if a window is open now.
    #[must_use]
    pub fn next_opening(&self, now: Timestamp) -> Option<Timestamp> {
        self.0.iter().map(|window| window.first_open(now)).min().filter(|opening| *opening > now)
    }
}

impl Window {
    /// Returns the first opening whose window has not ended at `now`. It is not after `now` if the window is open.
    fn first_open(&self, now: Timestamp) -> Timestamp {
        let after = now.saturating_sub(self.duration).unwrap_or(Timestamp::MIN);
        // The search ends after four years. Then the window counts as closed.
        self.opens.find_next(MakeTimestamp(after)).map_or(Timestamp::MAX, |opening| opening.timestamp())
    }
}

impl Correct {
    /// Returns the time from which the correction, or the deletion, of an object may begin; `None` if it may begin now.
    /// An object can open its windows by annotation.
    #[must_use]
    pub fn outside_window(&self, object: &LeanObject, now: Timestamp) -> Option<Timestamp> {
        if i64::from(object.window_open_until()) > now.as_second() {
            return None;
        }
        let windows = if object.deleting { &self.deletion_windows } else { &self.windows };
        windows.next_opening(now)
    }

    /// The same for people.
    #[must_use]
    pub fn window_hold(&self, object: &LeanObject, now: Timestamp) -> Option<Hold> {
        let until = self.outside_window(object, now)?;
        let (why, what, key) = match object.deleting {
            true => (Held::OutsideDeletionWindow, "deletions", "deletionWindows"),
            false => (Held::OutsideWindow, "corrections", "windows"),
        };
        let opening = until.strftime("%Y-%m-%d %H:%M:%S UTC");
        let own = match object.is_window_unreadable() {
            true => "is no time, so that it opens none; write for example 2026-01-02T03:04:05Z",
            false => "opens one for this object",
        };
        let sentence = format!("{what} begin only in a window of `correct.{key}`");
        let more = format!("the next one opens at {opening}, and the annotation {WINDOW_OPEN_UNTIL_ANNOTATION} {own}");
        Some(Hold { until: Some(until), ..Hold::by(why, &sentence, &more) })
    }
}

/// The windows of one list.
pub(super) fn windows() -> impl Leaf<Value = Windows> {
    list(1..=MAX_WINDOWS, section::<WrittenWindow>(())).map(Windows)
}

/// One window as written.
#[derive(Section)]
#[section(value = Window, check = make_window)]
struct WrittenWindow {
    /// When it opens: minute, hour, day, month, day of week.
    #[key(literal(|cron| parse_cron(cron, UTC).map(|_| cron.to_owned())))]
    cron: String,
    /// How long it is open. 1m to 7 days.
    #[key(duration(SHORTEST..=LONGEST))]
    duration: Duration,
    /// The zone of cron: Europe/Berlin. Default: UTC.
    #[key(literal(parse_zone), default = UTC.to_owned())]
    time_zone: String,
}

fn make_window(written: WrittenWindow, reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<Window> {
    let WrittenWindow { cron, duration, time_zone } = written;
    match parse_cron(&cron, &time_zone) {
        Ok(opens) => Some(Window { opens, duration }),
        Err(error) => reader.refuse(fields.at(), format!("{}: {error}", fields.place("cron"))),
    }
}

fn parse_zone(zone: &str) -> Result<String, String> {
    match jiff::tz::TimeZone::get(zone) {
        Ok(_) => Ok(zone.to_owned()),
        Err(_) => Err(format!("`{zone}` is no time zone; write for example Europe/Berlin or UTC")),
    }
}

fn parse_cron(cron: &str, zone: &str) -> Result<Crontab, String> {
    let ranges = "is no cron expression: minute 0 to 59, hour 0 to 23, day 1 to 31, month 1 to 12, day of week 0 to 7";
    let example =
        "is no cron expression of five fields; write for example `0 22 * * 1-5`: minute, hour, day, month, day of week";
    if cron.split_whitespace().count() != CRON_FIELDS {
        return Err(format!("`{cron}` {example}"));
    }
    let opens = parse_crontab(&format!("{cron} {zone}")).map_err(|_| format!("`{cron}` {ranges}"))?;
    // Any time serves as a start: a date that exists at all comes within four years.
    opens
        .find_next(MakeTimestamp(Timestamp::UNIX_EPOCH))
        .map_err(|_| format!("`{cron}` names a date that never comes"))?;
    Ok(opens)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_api::object::field_paths::FieldPaths;
    use serde_json::json;

    fn windows(list: &[(&str, &str, u64)]) -> Windows {
        let window = |(cron, zone, hours): &(&str, &str, u64)| Window {
            opens: parse_cron(cron, zone).unwrap(),
            duration: Duration::from_hours(*hours),
        };
        Windows(list.iter().map(window).collect())
    }

    #[test]
    fn an_annotation_opens_a_window_or_is_named_as_unreadable() {
        let text = "{mode: Correct, windows: [{cron: '0 22 * * *', duration: 1h}], http: {}}";
        let text = crate::fixtures::proxies::TEXT.trim_end().to_owned()
            + &format!("\n  correct: {}\n", text.replace("{}", "{update: [{method: PUT, url: 'http://h/x'}]}"));
        let correct = crate::fixtures::target(&text).correct;
        let hold = |until: &str| {
            let annotations = json!({ WINDOW_OPEN_UNTIL_ANNOTATION: until });
            let object = LeanObject::prune(&json!({"metadata": {"annotations": annotations}}), &FieldPaths::default());
            correct.window_hold(&object, "2026-01-02T12:00:00Z".parse().unwrap()).map(|hold| hold.sentence)
        };
        assert_eq!(hold("2026-01-02T12:00:01Z"), None);
        assert_eq!(hold("2999-01-01T00:00:00Z"), None);
        assert!(hold("2026-01-02T11:59:59Z").is_some_and(|said| said.ends_with("opens one for this object")));
        assert!(hold("tomorrow").is_some_and(|said| said.contains("window-open-until is no time")));
    }

    #[test]
    fn a_window_opens_at_its_times_and_lasts() {
        let nights: &[_] = &[("0 22 * * 1-5", "UTC", 6)];
        let berlin: &[_] = &[("30 2 * * *", "Europe/Berlin", 1)];
        let both: &[_] = &[("0 22 * * *", "UTC", 1), ("0 4 * * *", "UTC", 1)];
        for (list, now, expected) in [
            (&[][..], "2026-01-01T00:00:00Z", None),
            // 2026-01-02 is a Friday.
            (nights, "2026-01-02T21:59:59Z", Some("2026-01-02T22:00:00Z")),
            (nights, "2026-01-02T22:00:00Z", None),
            (nights, "2026-01-03T03:59:59Z", None),
            (nights, "2026-01-03T04:00:00Z", Some("2026-01-05T22:00:00Z")),
            (nights, "2026-01-03T23:00:00Z", Some("2026-01-05T22:00:00Z")),
            (both, "2026-01-02T23:00:00Z", Some("2026-01-03T04:00:00Z")),
            (both, "2026-01-02T04:30:00Z", None),
            // Winter time, and summer time from 29 March on: that night has no 02:30.
            (berlin, "2026-03-27T12:00:00Z", Some("2026-03-28T01:30:00Z")),
            (berlin, "2026-03-29T12:00:00Z", Some("2026-03-30T00:30:00Z")),
            (berlin, "2026-03-28T12:00:00Z", Some("2026-03-30T00:30:00Z")),
            // The 13th or a Friday.
            (&[("0 0 13 * 5", "UTC", 1)], "2026-01-03T12:00:00Z", Some("2026-01-09T00:00:00Z")),
            (&[("0 0 13 * 5", "UTC", 1)], "2026-01-09T12:00:00Z", Some("2026-01-13T00:00:00Z")),
            // On 25 October 02:30 comes twice.
            (berlin, "2026-10-24T12:00:00Z", Some("2026-10-25T00:30:00Z")),
            (berlin, "2026-10-25T01:45:00Z", None),
            (berlin, "2026-10-25T02:45:00Z", Some("2026-10-26T01:30:00Z")),
        ] {
            let expected = expected.map(|time| time.parse().unwrap());
            assert_eq!(windows(list).next_opening(now.parse().unwrap()), expected, "{list:?} {now}");
        }
    }

    #[test]
    fn an_expression_without_a_next_time_is_refused() {
        for cron in ["", "0 22 * *", "0 22 * * * UTC", "61 * * * *", "x * * * *", "0 0 30 2 *"] {
            assert!(parse_cron(cron, "UTC").is_err(), "{cron}");
        }
    }

    #[test]
    fn an_annotation_opens_a_window_for_a_time() {
        let (windows, deletion_windows) = (windows(&[("0 22 * * *", "UTC", 1)]), windows(&[("0 4 * * *", "UTC", 1)]));
        let correct = Correct { windows, deletion_windows, ..Correct::default() };
        let now = "2026-01-02T12:00:00Z".parse().unwrap();
        for (until, deleting, expected) in [
            (None, false, Some("2026-01-02T22:00:00Z")),
            (None, true, Some("2026-01-03T04:00:00Z")),
            (Some("2026-01-02T12:00:01Z"), false, None),
            (Some("2026-01-02T12:00:01Z"), true, None),
            (Some("2026-01-02T12:00:00Z"), false, Some("2026-01-02T22:00:00Z")),
            (Some("tomorrow"), false, Some("2026-01-02T22:00:00Z")),
        ] {
            let mut metadata = json!({"name": "web", "annotations": {WINDOW_OPEN_UNTIL_ANNOTATION: until}});
            if deleting {
                metadata["deletionTimestamp"] = json!("2026-01-02T11:00:00Z");
            }
            let object = LeanObject::prune(&json!({"metadata": metadata}), &FieldPaths::default());
            let hold = correct.window_hold(&object, now);
            assert_eq!(
                hold.as_ref().and_then(|hold| hold.until),
                expected.map(|time| time.parse().unwrap()),
                "{until:?}"
            );
        }
    }
}
