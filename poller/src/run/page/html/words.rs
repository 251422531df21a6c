//! Times and names for people.

use std::time::Duration;

use jiff::Timestamp;
use maud::{Markup, html};

/// The longest name that stays on one line.
const LONGEST_NAME: usize = 36;

/// A span of time in the words of people, for example `9 s`, `1 min 42 s`, `12 min`, `5 h 3 min` or `3 d`.
pub(super) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let two = |(large, unit): (u64, &str), (small, small_unit): (u64, &str)| match small {
        0 => format!("{large} {unit}"),
        small => format!("{large} {unit} {small} {small_unit}"),
    };
    match seconds {
        0..60 => format!("{seconds} s"),
        60..600 => two((seconds / 60, "min"), (seconds % 60, "s")),
        600..3_600 => format!("{} min", seconds / 60),
        3_600..36_000 => two((seconds / 3_600, "h"), (seconds % 3_600 / 60, "min")),
        36_000..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A sentence with its backticks as code. A backtick without an end stays as it is.
pub(super) fn prose(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    let is_open = parts.len().is_multiple_of(2);
    html! {
        @for (number, part) in parts.iter().enumerate() {
            @if is_open && number + 1 == parts.len() { "`" (part) }
            @else if number % 2 == 1 { code { (part) } }
            @else { (part) }
        }
    }
}

/// An interval in full, for example `90 s` or `24 h`.
pub(super) fn interval(time: Duration) -> String {
    match time.as_secs() {
        _ if time.subsec_nanos() > 0 => humantime::format_duration(time).to_string(),
        seconds if seconds >= 3_600 && seconds % 3_600 == 0 => format!("{} h", seconds / 3_600),
        seconds if seconds >= 60 && seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

/// A point in time in the given words, with the absolute time as tooltip. A text that is no time stays as it is.
pub(super) fn time(text: &str, now: Timestamp, words: impl FnOnce(Duration) -> String) -> Markup {
    match text.parse::<Timestamp>() {
        Ok(time) => {
            let ago = Duration::try_from(now.duration_since(time)).unwrap_or_default();
            html! { time datetime=(text) title=(text) { (words(ago)) } }
        }
        Err(_) => html! { (text) },
    }
}

/// The age of a point in time, for example `9 s`, with the absolute time as tooltip.
pub(super) fn age(since: &str, now: Timestamp) -> Markup {
    time(since, now, span)
}

/// A name or path that breaks only after a slash, unless a part of it is too long for a line.
pub(super) fn name(text: &str) -> Markup {
    let mut parts = text.split_inclusive('/').peekable();
    html! {
        @while let Some(part) = parts.next() {
            @if part.len() <= LONGEST_NAME { span.word { (part) } } @else { (part) }
            @if parts.peek().is_some() { wbr; }
        }
    }
}

/// A value or a path that breaks after punctuation, so that words in it stay whole.
pub(super) fn value(text: &str) -> Markup {
    html! { @for part in text.split_inclusive(['/', '.', ':', ',', ';', '=', '@', '-', '_']) { (part) @if part.len() > 1 { wbr; } } }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_the_unit_that_people_read() {
        let table = [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (102, "1 min 42 s"),
            (600, "10 min"),
            (3_599, "59 min"),
            (3_660, "1 h 1 min"),
            (7_200, "2 h"),
            (36_060, "10 h"),
            (172_800, "2 d"),
        ];
        for (seconds, expected) in table {
            assert_eq!(span(Duration::from_secs(seconds)), expected);
        }
        for (seconds, expected) in [(0, "0 s"), (30, "30 s"), (90, "90 s"), (120, "2 min"), (86_400, "24 h")] {
            assert_eq!(interval(Duration::from_secs(seconds)), expected);
        }
        assert_eq!(interval(Duration::from_millis(1_500)), "1s 500ms");
    }

    #[test]
    fn backticks_are_code() {
        for (text, expected) in [
            ("run `a b` or `c`", "run <code>a b</code> or <code>c</code>"),
            ("a `<b>", "a `&lt;b&gt;"),
            ("plain", "plain"),
        ] {
            assert_eq!(prose(text).into_string(), expected);
        }
    }

    #[test]
    fn an_age_has_the_absolute_time_as_tooltip() {
        let now = "2026-01-01T00:00:09Z".parse().unwrap();
        let shown = |since| age(since, now).into_string();
        let time = "2026-01-01T00:00:00Z";
        assert_eq!(shown(time), format!("<time datetime=\"{time}\" title=\"{time}\">9 s</time>"));
        assert!(shown("2026-01-02T00:00:00Z").contains(">0 s<"), "another clock may be ahead");
        assert_eq!(shown("<b>"), "&lt;b&gt;");
    }

    #[test]
    fn names_break_after_slashes_only() {
        let (long, short) = ("x".repeat(40), "<span class=\"word\">team-a/</span><wbr>");
        assert_eq!(name("team-a/dark-mode").into_string(), format!("{short}<span class=\"word\">dark-mode</span>"));
        assert_eq!(name(&format!("team-a/{long}")).into_string(), format!("{short}{long}"));
    }
}
