//! One entry of `.status.conditions`, and where it stands in the list.
//!
//! The six fields are those of `metav1.Condition`. The place matters because a write tests that our entry
//! is still where it was read. This file must not know what any condition means.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{CorrectedReason, ObservedReason};
use crate::names::{DRIFT_CORRECTED, DRIFT_OBSERVED};

/// The three values of a condition's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConditionStatus {
    /// `"True"`.
    True,
    /// `"False"`.
    False,
    /// `"Unknown"`.
    Unknown,
}

impl ConditionStatus {
    /// The word as it stands in the condition.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }

    /// The status of that word; any other word is `Unknown`, as Kubernetes itself reads it.
    #[must_use]
    pub fn parse(word: &str) -> Self {
        match word {
            "True" => Self::True,
            "False" => Self::False,
            _ => Self::Unknown,
        }
    }
}

/// One condition, ours or as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The condition's type.
    pub kind: &'static str,
    /// Its status.
    pub status: ConditionStatus,
    /// Its reason, a CamelCase word.
    pub reason: Cow<'static, str>,
    /// Its message, for people; ours end with a tag or begin with K and the claim.
    pub message: Box<str>,
    /// The generation of the spec it speaks of; `None` for a kind without generations.
    pub observed_generation: Option<i64>,
    /// When the status last changed, RFC 3339.
    pub last_transition_time: Box<str>,
}

impl Condition {
    /// Reads an entry of that type; a missing or ill-typed field reads as empty, since another writer may have left it so.
    #[must_use]
    pub fn from_json(kind: &'static str, entry: &Value) -> Self {
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
        Self {
            kind,
            status: ConditionStatus::parse(text("status")),
            reason: kept_word(text("reason")),
            message: text("message").into(),
            observed_generation: entry.get("observedGeneration").and_then(Value::as_i64),
            last_transition_time: text("lastTransitionTime").into(),
        }
    }

    /// The entry as it is written.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut entry = Map::new();
        entry.insert("type".to_owned(), self.kind.into());
        entry.insert("status".to_owned(), self.status.as_str().into());
        entry.insert("reason".to_owned(), self.reason.clone().into());
        entry.insert("message".to_owned(), (*self.message).into());
        if let Some(generation) = self.observed_generation {
            entry.insert("observedGeneration".to_owned(), generation.into());
        }
        entry.insert("lastTransitionTime".to_owned(), (*self.last_transition_time).into());
        Value::Object(entry)
    }

    /// The transition time of a condition with this status that is written over `standing` at `now` (RFC 3339). It moves
    /// only with the status, and never backwards where the clock does.
    #[must_use]
    pub fn transition_time(standing: Option<&Self>, status: ConditionStatus, now: &str) -> Box<str> {
        let standing = standing.filter(|standing| !standing.last_transition_time.is_empty());
        let kept =
            standing.filter(|standing| standing.status == status || is_later(&standing.last_transition_time, now));
        kept.map_or_else(|| now.into(), |standing| standing.last_transition_time.clone())
    }

    /// Whether writing `self` over `other` would change nothing that anybody reads (times aside).
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.status == other.status
            && self.reason == other.reason
            && self.message == other.message
            && self.observed_generation == other.observed_generation
    }
}

/// A word as it is kept: ours take no memory of their own, and they stand on every object.
fn kept_word(word: &str) -> Cow<'static, str> {
    let observed = ObservedReason::ALL.iter().map(|reason| reason.as_str());
    let corrected = CorrectedReason::ALL.iter().map(|reason| reason.as_str());
    let mut ours = observed.chain(corrected);
    ours.find(|ours| *ours == word).map_or_else(|| Cow::Owned(word.to_owned()), Cow::Borrowed)
}

/// Whether a time of a condition is later than another; what is no time is not.
#[must_use]
pub fn is_later(time: &str, other: &str) -> bool {
    matches!((time.parse::<Timestamp>(), other.parse::<Timestamp>()), (Ok(time), Ok(other)) if time > other)
}

/// What a note has in it that says of a secret that it moved.
const MOVED: &str = ", moved ";

/// A condition and its index in the list it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Index in `.status.conditions`.
    pub index: usize,
    /// The entry.
    pub condition: Condition,
}

/// What `.status.conditions` held when the object was read, as far as the two programs care.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Whether the object has a `.status` at all.
    pub status_exists: bool,
    /// How many entries `.status.conditions` has; `None` where it is no list.
    pub length: Option<usize>,
    /// The poller's entry.
    pub observed: Option<Placed>,
    /// The controller's entry. Boxed: of most objects there is none, and there are very many objects.
    pub corrected: Option<Box<Placed>>,
}

impl Conditions {
    /// Finds both programs' entries in an object's `.status`.
    #[must_use]
    pub fn from_status(status: Option<&Value>) -> Self {
        let list = status.and_then(|status| status.get("conditions")).and_then(Value::as_array);
        let find = |kind| {
            let is_it = |entry: &Value| entry.get("type").and_then(Value::as_str) == Some(kind);
            let index = list?.iter().position(is_it)?;
            list?.get(index).map(|entry| Placed { index, condition: Condition::from_json(kind, entry) })
        };
        Self {
            status_exists: status.is_some_and(Value::is_object),
            length: list.map(Vec::len),
            observed: find(DRIFT_OBSERVED),
            corrected: find(DRIFT_CORRECTED).map(Box::new),
        }
    }

    /// The poller's condition.
    #[must_use]
    pub fn observed(&self) -> Option<&Condition> {
        self.observed.as_ref().map(|placed| &placed.condition)
    }

    /// The controller's condition.
    #[must_use]
    pub fn corrected(&self) -> Option<&Condition> {
        self.corrected.as_ref().map(|placed| &placed.condition)
    }

    /// What the controller says of the object, with the larger K of both conditions; without reason where no condition of
    /// ours stands.
    #[must_use]
    pub fn correction_status(&self) -> super::CorrectionStatus {
        let standing = self.corrected().and_then(super::CorrectionStatus::read).unwrap_or_default();
        super::CorrectionStatus { correction: self.correction(), ..standing }
    }

    /// When the status of the controller's note changed last, seconds since 1970; 0 where there is none, or its time cannot be read.
    #[must_use]
    pub fn noted_at(&self) -> u32 {
        let time = self.corrected().and_then(|noted| noted.last_transition_time.parse::<Timestamp>().ok());
        time.and_then(|time| u32::try_from(time.as_second()).ok()).unwrap_or_default()
    }

    /// The names of the secrets that moved since the controller sent them.
    #[must_use]
    pub fn moved_secrets(&self) -> Vec<String> {
        // Most notes say nothing of secrets, and this is asked of every object at every poll.
        let noted = self.corrected().filter(|condition| condition.message.contains(MOVED));
        let secrets = noted.and_then(super::CorrectionStatus::read).unwrap_or_default().secrets;
        secrets.moved().map(str::to_owned).collect()
    }

    /// K: how many corrections of the object had a definite outcome, by the larger of what both conditions say.
    #[must_use]
    pub fn correction(&self) -> u64 {
        let counted =
            self.corrected().map_or(0, |condition| super::CorrectionStatus::parse(&condition.message).correction);
        let tagged = self.observed().and_then(|condition| super::Tag::find(&condition.message));
        counted.max(tagged.map_or(0, |tag| tag.correction))
    }
}
