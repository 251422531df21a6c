//! Durations and sizes in human-readable notation: `30s`, `1MiB`.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::yaml::node::{Content, Node};
use crate::yaml::reader::Reader;

/// Reads a duration within bounds.
pub(crate) fn duration(
    reader: &mut Reader<'_>,
    node: &Node,
    place: &str,
    bounds: RangeInclusive<Duration>,
) -> Option<Duration> {
    if let Content::Number(number) = &node.content {
        return reader.refuse(node.at, format!("{place}: {number} has no unit; write for example {number}s"));
    }
    let text = reader.literal(node, place)?;
    let Ok(duration) = humantime::parse_duration(text) else {
        return reader.refuse(node.at, format!("{place}: `{text}` is no duration; write for example 30s, 5m or 1h30m"));
    };
    if !bounds.contains(&duration) {
        let (least, most) = (humantime::format_duration(*bounds.start()), humantime::format_duration(*bounds.end()));
        return reader.refuse(node.at, format!("{place}: {text} is out of bounds: {least} to {most}"));
    }
    Some(duration)
}

/// Reads a size in bytes within bounds.
pub(crate) fn size(reader: &mut Reader<'_>, node: &Node, place: &str, bounds: RangeInclusive<usize>) -> Option<usize> {
    let written = match &node.content {
        Content::Number(number) => number.to_string(),
        _ => reader.literal(node, place)?.to_owned(),
    };
    match bytes(&written) {
        None => reader.refuse(node.at, format!("{place}: `{written}` is no size; write for example 512KiB or 1MiB")),
        Some(size) if !bounds.contains(&size) => {
            let (least, most) = (bounds.start() / KIB, bounds.end() / MIB);
            reader.refuse(node.at, format!("{place}: {written} is out of bounds: {least}KiB to {most}MiB"))
        }
        size => size,
    }
}

/// Number of bytes in a KiB.
pub(crate) const KIB: usize = 1024;
/// Number of bytes in a MiB.
pub(crate) const MIB: usize = 1024 * KIB;

fn bytes(written: &str) -> Option<usize> {
    let digits = written.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = match &written[digits.len()..] {
        "" | "B" => 1,
        "KiB" | "Ki" => KIB,
        "MiB" | "Mi" => MIB,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units() {
        let table = [
            ("1", Some(1)),
            ("2KiB", Some(2048)),
            ("1MiB", Some(MIB)),
            ("1Mi", Some(MIB)),
            ("1MB", None),
            ("", None),
            ("KiB", None),
            ("1.5MiB", None),
        ];
        for (written, expected) in table {
            assert_eq!(bytes(written), expected, "{written}");
        }
    }
}
