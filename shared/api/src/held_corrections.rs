//! The corrections that the controller holds, as an annotation of its Lease lists them.
//!
//! Only reasons that no reader can see from the object, its target or the poller's Lease. Example:
//!
//! ```json
//! {"leftOut": 0, "targets": {"flags": {"leftOut": 2, "objects": {"UID": "Delayed until 2026-01-01T00:00:00Z"},
//!   "whole": ["BreakerOpen 15/29 20%"]}}}
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
use serde::{Deserialize, Serialize, Serializer};

use crate::facts::{self, Fact, FactList};
use crate::identity::Uid;
use crate::lease::{known_entries, known_items};
pub use applying::{HeldObject, Hold};
pub use breaker_counts::BreakerCounts;
pub use held::Held;

/// Most bytes of the annotation. The notes of the targets' selections take up to 192 KiB of the 256 KiB that all annotations of a
/// Lease may have together. 16 KiB list some 170 objects.
pub const MOST_BYTES: usize = 16 * 1024;

/// Bytes of an entry's JSON besides its texts: keys, quotes and braces, rounded up.
const FRAME: usize = 64;

/// A reason that holds corrections of a whole target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
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
        let Fact { word, text: numbers } = Fact::parse(text);
        let hold = match word {
            "KindUnusable" => Self::KindUnusable,
            "RightsMissing" => Self::RightsMissing,
            "TargetFormer" => Self::TargetFormer,
            "TargetTaken" => Self::TargetTaken,
            "BreakerOpen" => Self::BreakerOpen(BreakerCounts::parse(numbers)?),
            "Limited" => Self::Limited { waiting: facts::number(numbers)? },
            _ => return None,
        };
        facts::as_written(text, hold)
    }
}

impl fmt::Display for TargetHold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = FactList::new(formatter, "");
        match self {
            Self::KindUnusable | Self::RightsMissing | Self::TargetFormer | Self::TargetTaken => {
                list.word(self.as_str())
            }
            Self::BreakerOpen(counts) => list.fact(self.as_str(), Some(counts)),
            Self::Limited { waiting } => list.fact(self.as_str(), Some(waiting)),
        }
    }
}

/// The hold of a single object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
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
        let Fact { word, text: time } = Fact::parse(text);
        let until = if time.is_empty() { None } else { Some(time.strip_prefix("until ")?.parse().ok()?) };
        let why = Held::parse(word).filter(|why| why.is_published())?;
        facts::as_written(text, Self { why, until })
    }

    /// Returns true if the time of the next try has passed.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

impl fmt::Display for ObjectHold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let until = self.until.map(|until| until.strftime("until %Y-%m-%dT%H:%M:%SZ"));
        let mut list = FactList::new(formatter, "");
        match until {
            Some(until) => list.fact(self.why.as_str(), Some(until)),
            None => list.word(self.why.as_str()),
        }
    }
}

/// The JSON form of both kinds of holds is their text.
macro_rules! as_text {
    ($hold:ty) => {
        impl From<$hold> for String {
            fn from(hold: $hold) -> Self {
                hold.to_string()
            }
        }

        impl TryFrom<String> for $hold {
            type Error = UnknownHold;

            fn try_from(text: String) -> Result<Self, UnknownHold> {
                Self::parse(&text).ok_or(UnknownHold)
            }
        }
    };
}

as_text!(TargetHold);
as_text!(ObjectHold);

/// A hold that this version does not know.
#[derive(Debug, thiserror::Error)]
#[error("unknown hold")]
pub struct UnknownHold;

/// The holds of one target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TargetHolds {
    /// Number of held objects that are not listed.
    pub left_out: usize,
    /// Single objects.
    #[serde(serialize_with = "as_map", deserialize_with = "known_entries")]
    pub objects: Vec<(Uid, ObjectHold)>,
    /// Reasons for the whole target, the most severe first.
    #[serde(deserialize_with = "known_items")]
    pub whole: BTreeSet<TargetHold>,
}

fn as_map<S: Serializer>(objects: &[(Uid, ObjectHold)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(objects.iter().map(|(uid, hold)| (uid, hold)))
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

    /// The hold of an object. After its time only the cause is left: that lasts until a try succeeds, and a delay ends.
    #[must_use]
    pub fn of_object(&self, uid: &Uid, now: Timestamp) -> Option<ObjectHold> {
        let (_, hold) = self.objects.iter().find(|(held, _)| held == uid)?;
        match hold.is_over(now) {
            true if hold.why == Held::Delayed => None,
            true => Some(ObjectHold { until: None, ..*hold }),
            false => Some(*hold),
        }
    }

    /// Returns the holds with as many objects as take this many bytes.
    fn cut_to(&self, most_bytes: usize) -> Self {
        let mut left = most_bytes;
        let fits = |(uid, hold): &&(Uid, ObjectHold)| {
            // Quotes, colon and comma around each.
            let rest = left.checked_sub(uid.len() + hold.to_string().len() + 6);
            left = rest.unwrap_or_default();
            rest.is_some()
        };
        let mut objects: Vec<_> = self.objects.iter().take_while(fits).cloned().collect();
        let left_out = self.left_out + self.objects.len() - objects.len();
        objects.sort_by(|(uid, _), (other, _)| uid.cmp(other));
        Self { left_out, objects, whole: self.whole.clone() }
    }
}

/// The holds of all targets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HeldCorrections {
    /// Number of targets for which the annotation has no room.
    pub left_out: usize,
    /// By the target's name. A target without holds is missing.
    #[serde(deserialize_with = "known_entries")]
    pub targets: BTreeMap<String, TargetHolds>,
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
        let targets = listed.into_iter().map(|(name, holds)| (name.clone(), holds.cut_to(share))).collect();
        // A list of texts and numbers can always be written.
        serde_json::to_string(&Self { left_out, targets }).unwrap_or_default()
    }

    /// Reads the annotation. A text of another shape holds nothing.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
