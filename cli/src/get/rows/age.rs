//! Ages of conditions.

use jiff::Timestamp;

/// The age in kubectl's units: 90s, 12m, 5h, 3d. `None` if the text is no time.
pub(super) fn age(since: &str, now: Timestamp) -> Option<String> {
    let seconds = now.as_second().saturating_sub(since.parse::<Timestamp>().ok()?.as_second()).max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    Some(match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{minutes}m"),
        7_200..172_800 => format!("{hours}h"),
        _ => format!("{days}d"),
    })
}
