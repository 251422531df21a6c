//! The corrections that the controller holds, as an annotation of its Lease lists them.
//!
//! Only reasons that no reader can see from the object, its target or the poller's Lease. Example:
//!
//! ```json
//! {"targets": {"flags": {"whole": ["BreakerOpen 15/29 20%"], "objects": {"UID": "Delayed until 2026-01-01T00:00:00Z"}, "leftOut": 2}}}
//! ```
//!
//! Readers ignore words that they do not know.

mod applying;
mod breaker_counts;
pub mod held;
mod sentences;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::identity::Uid;
pub use applying::{HeldObject, Hold};
pub use breaker_counts::BreakerCounts;
pub use held::Held;

/// Most bytes of the annotation. The notes of the targets' selections take up to 192 KiB of the 256 KiB that all annotations of a
/// Lease may have together. 16 KiB list some 170 objects.
pub const MOST_BYTES: usize = 16 * 1024;

/// Bytes of an entry's JSON besides its texts: keys, quotes and braces, rounded up.
const FRAME: usize = 64;

/// Separates a reason from the time of the next try.
const UNTIL: &str = " until ";

/// A reason that holds corrections of a whole target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TargetHold {
    /// The target's kind cannot be watched. Nothing of the target is corrected.
    KindUnusable,
    /// No ConfigMap has the target's text any more. Only deletions go on.
    TargetFormer,
    /// Another ConfigMap has another text of the target. Neither is corrected nor deleted by.
    TargetTaken,
    /// The breaker is open. It holds objects that were in sync before they drifted.
    BreakerOpen(BreakerCounts),
    /// The target's limits are used up.
    Limited {
        /// Objects that wait for a free slot.
        waiting: usize,
    },
    /// The controller lacks rights that the target needs. Last, because not each of them holds corrections.
    RightsMissing,
}

impl TargetHold {
    /// The word for tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::KindUnusable => "KindUnusable",
            Self::RightsMissing => "RightsMissing",
            Self::TargetFormer => "TargetFormer",
            Self::TargetTaken => "TargetTaken",
            Self::BreakerOpen(_) => "BreakerOpen",
            Self::Limited { .. } => "Limited",
        }
    }

    /// Parses an entry. Returns `None` for a word or a number that this version does not know.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.split_once(' ') {
            None if text == Self::KindUnusable.as_str() => Self::KindUnusable,
            None if text == Self::RightsMissing.as_str() => Self::RightsMissing,
            None if text == Self::TargetFormer.as_str() => Self::TargetFormer,
            None if text == Self::TargetTaken.as_str() => Self::TargetTaken,
            Some(("BreakerOpen", counts)) => Self::BreakerOpen(BreakerCounts::parse(counts)?),
            Some(("Limited", waiting)) => Self::Limited { waiting: waiting.parse().ok()? },
            _ => return None,
        })
    }
}

impl fmt::Display for TargetHold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())?;
        match self {
            Self::KindUnusable | Self::RightsMissing | Self::TargetFormer | Self::TargetTaken => Ok(()),
            Self::BreakerOpen(counts) => write!(formatter, " {counts}"),
            Self::Limited { waiting } => write!(formatter, " {waiting}"),
        }
    }
}

/// The hold of a single object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectHold {
    /// The reason.
    pub why: Held,
    /// The time of the next try, in whole seconds; `None` if the try does not follow from a time.
    pub until: Option<Timestamp>,
}

impl ObjectHold {
    /// Parses an entry. Returns `None` for a word or a time that this version does not know.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (word, until) = match text.split_once(UNTIL) {
            Some((word, until)) => (word, Some(until.parse().ok()?)),
            None => (text, None),
        };
        let why = *Held::ALL.iter().find(|why| why.is_published() && why.word() == word)?;
        Some(Self { why, until })
    }

    /// Returns true if the time of the next try has passed.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

impl fmt::Display for ObjectHold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.why.word())?;
        self.until.map_or(Ok(()), |until| write!(formatter, "{UNTIL}{}", until.strftime("%Y-%m-%dT%H:%M:%SZ")))
    }
}

/// The holds of one target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetHolds {
    /// Reasons for the whole target, the most severe first.
    pub whole: BTreeSet<TargetHold>,
    /// Single objects.
    pub objects: Vec<(Uid, ObjectHold)>,
    /// Number of held objects that are not listed.
    pub left_out: usize,
}

impl TargetHolds {
    /// Returns true if nothing is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.objects.is_empty() && self.left_out == 0
    }

    /// The counts of the target's open breaker.
    #[must_use]
    pub fn open_breaker(&self) -> Option<BreakerCounts> {
        self.whole.iter().find_map(|hold| match hold {
            TargetHold::BreakerOpen(counts) => Some(*counts),
            _ => None,
        })
    }

    /// The hold of an object, unless its time has passed.
    #[must_use]
    pub fn of_object(&self, uid: &Uid, now: Timestamp) -> Option<ObjectHold> {
        let found = self.objects.iter().find(|(held, _)| held == uid);
        found.map(|(_, hold)| *hold).filter(|hold| !hold.is_over(now))
    }

    fn to_json(&self, most_bytes: usize) -> Value {
        let (mut objects, mut left) = (Map::new(), most_bytes);
        for (uid, hold) in &self.objects {
            let (uid, hold) = (uid.to_string(), hold.to_string());
            // Quotes, colon and comma around each.
            let Some(rest) = left.checked_sub(uid.len() + hold.len() + 6) else { break };
            left = rest;
            objects.insert(uid, Value::String(hold));
        }
        let left_out = self.left_out + self.objects.len() - objects.len();
        json!({"whole": self.whole_words(), "objects": objects, "leftOut": left_out})
    }

    fn whole_words(&self) -> Vec<String> {
        self.whole.iter().map(ToString::to_string).collect()
    }

    fn parse(holds: &Value) -> Self {
        let words = holds.get("whole").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let objects = holds.get("objects").and_then(Value::as_object).into_iter().flatten();
        let hold = |(uid, text): (&String, &Value)| Some((Uid::from(uid.as_str()), ObjectHold::parse(text.as_str()?)?));
        Self {
            whole: words.filter_map(TargetHold::parse).collect(),
            objects: objects.filter_map(hold).collect(),
            left_out: count(holds.get("leftOut")),
        }
    }
}

/// The holds of all targets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldCorrections {
    /// By the target's name. A target without holds is missing.
    pub targets: BTreeMap<String, TargetHolds>,
    /// Number of targets for which the annotation has no room.
    pub left_out: usize,
}

impl HeldCorrections {
    /// The annotation's value, at most [`MOST_BYTES`] long. Targets with an open breaker take their room first, because no
    /// other record tells the next controller of it. Then come the other targets, and single objects share the rest.
    #[must_use]
    pub fn to_annotation(&self) -> String {
        let mut held: Vec<_> = self.targets.iter().filter(|(_, holds)| !holds.is_empty()).collect();
        held.sort_by_key(|(_, holds)| holds.open_breaker().is_none());
        let (mut listed, mut left, mut left_out) = (Vec::new(), MOST_BYTES - FRAME, self.left_out);
        for (name, holds) in held {
            let words: usize = holds.whole.iter().map(|hold| hold.to_string().len() + 3).sum();
            match left.checked_sub(name.len() + words + FRAME) {
                Some(rest) => {
                    left = rest;
                    listed.push((name, holds));
                }
                None => left_out += 1,
            }
        }
        let sharing = listed.iter().filter(|(_, holds)| !holds.objects.is_empty()).count();
        let share = left / sharing.max(1);
        let targets: Map<String, Value> =
            listed.into_iter().map(|(name, holds)| (name.clone(), holds.to_json(share))).collect();
        json!({"targets": targets, "leftOut": left_out}).to_string()
    }

    /// Reads the annotation. A text of another shape holds nothing.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let read: Value = serde_json::from_str(text).unwrap_or_default();
        let targets = read.get("targets").and_then(Value::as_object).into_iter().flatten();
        let targets = targets.map(|(name, holds)| (name.clone(), TargetHolds::parse(holds)));
        Self { targets: targets.collect(), left_out: count(read.get("leftOut")) }
    }
}

fn count(number: Option<&Value>) -> usize {
    number.and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok()).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
