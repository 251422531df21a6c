//! Sets of HTTP statuses as a target writes them: `[200-299, 404]`.
//!
//! Statuses that say nothing about a resource are not allowed in a set.

use std::ops::RangeInclusive;

use crate::section::{Leaf, any, list};
use crate::yaml::{Content, Node, Reader};

/// Maximum entries of `accept`.
const MAX_ACCEPT: usize = 32;
/// Statuses that say nothing about the resource. They are judged before any rule.
const NEVER_ACCEPTED: &[u16] = &[401, 403, 407, 408, 425, 429];

/// A set of HTTP statuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusSet(pub Vec<RangeInclusive<u16>>);

impl StatusSet {
    /// Returns true if the set contains the status.
    #[must_use]
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }

    /// Returns the union of both sets.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let further = other.0.iter().filter(|range| !self.0.contains(range));
        Self(self.0.iter().chain(further).cloned().collect())
    }

    /// The statuses 200 to 299.
    pub(crate) fn success() -> Self {
        Self(vec![200..=299])
    }
}

/// Statuses whose responses are about the resource, and further ones.
pub(crate) fn statuses(further: &'static [u16]) -> impl Leaf<Value = StatusSet> {
    let one = any(|reader: &mut Reader<'_>, node: &Node, place: &str| read_statuses(reader, node, place, further));
    list(1..=MAX_ACCEPT, one).map(StatusSet)
}

/// "Not modified": a step of a correction has nothing to do.
pub(crate) const NOT_MODIFIED: &[u16] = &[304];

/// Reads a status or a range: `200-299`.
fn read_statuses(reader: &mut Reader<'_>, node: &Node, place: &str, further: &[u16]) -> Option<RangeInclusive<u16>> {
    let range = match &node.content {
        Content::Number(number) => {
            number.as_u64().and_then(|status| u16::try_from(status).ok()).map(|status| status..=status)
        }
        Content::Text(text) => text
            .split_once('-')
            .and_then(|(first, last)| Some(first.trim().parse::<u16>().ok()?..=last.trim().parse::<u16>().ok()?)),
        _ => None,
    };
    let Some(range) = range.filter(|range| range.start() <= range.end()) else {
        return reader.refuse(node.at, format!("{place}: write statuses, for example [200, 404] or [200-299]"));
    };
    let never = NEVER_ACCEPTED.iter().copied().find(|status| range.contains(status));
    if let Some(status) = never {
        let message = format!("{place}: {status} cannot be accepted: it says nothing about the resource");
        return reader.refuse(node.at, message);
    }
    let speaks = |status: u16| matches!(status, 200..=299 | 400..=499) || further.contains(&status);
    if !(*range.start()..=*range.end()).all(speaks) {
        let further: String = further.iter().map(|status| format!(", {status}")).collect();
        let message =
            format!("{place}: only 2xx{further} and 4xx can be accepted: the others say nothing about the resource");
        return reader.refuse(node.at, message);
    }
    Some(range)
}
