//! One entry of `.status.conditions`, and its index in the list.
//!
//! The six fields are those of `metav1.Condition`. The index matters because a write tests that our entry is unchanged
//! at that index.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::generation_place::{self, GenerationPlace};
use super::{CorrectedReason, DesiredHash, Message, ObservedReason, ReadinessEntries, TransitionTime};
use crate::collections::shared_text::SharedText;
use crate::names::{self, DRIFT_CORRECTED, DRIFT_OBSERVED};

/// The three values of a condition's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConditionStatus {
    /// The status `"True"`.
    True,
    /// The status `"False"`.
    False,
    /// The status `"Unknown"`.
    Unknown,
}

impl ConditionStatus {
    /// Returns the word in the condition.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }

    /// Parses a status. Any other word is `Unknown`, as in Kubernetes itself.
    #[must_use]
    pub fn parse(word: &str) -> Self {
        match word {
            "True" => Self::True,
            "False" => Self::False,
            _ => Self::Unknown,
        }
    }
}

/// A condition that the programs write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionKind {
    /// The poller's condition.
    Observed,
    /// The controller's condition.
    Corrected,
    /// kstatus: the object has reached its desired state. Written by the poller where a target asks for it, like the
    /// next two.
    Ready,
    /// kstatus: the object is on its way to its desired state.
    Reconciling,
    /// kstatus: the object needs a person.
    Stalled,
}

impl ConditionKind {
    /// The condition's type.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Observed => DRIFT_OBSERVED,
            Self::Corrected => DRIFT_CORRECTED,
            Self::Ready => names::READY,
            Self::Reconciling => names::RECONCILING,
            Self::Stalled => names::STALLED,
        }
    }

    /// Returns the place of the generation in an entry of this type. `of_kind` is the place of the object's kind, and counts
    /// for our own conditions only: other programs read the rest.
    const fn generation_place(self, of_kind: GenerationPlace) -> GenerationPlace {
        match self {
            Self::Observed | Self::Corrected => of_kind,
            Self::Ready | Self::Reconciling | Self::Stalled => GenerationPlace::Field,
        }
    }
}

/// One condition, new or read from an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The condition's type.
    pub kind: ConditionKind,
    /// The condition's status.
    pub status: ConditionStatus,
    /// Its reason, a CamelCase word.
    pub reason: SharedText,
    /// Its message for display. Ours end with a tag, or begin with K and the claim.
    pub message: Message,
    /// The generation of the spec that it refers to. `None` for a kind without generations.
    pub observed_generation: Option<i64>,
    /// The time at which the status last changed.
    pub last_transition_time: TransitionTime,
}

impl Condition {
    /// Reads an entry of that type. A missing or ill-typed field reads as empty, because another writer may
    /// have changed it.
    #[must_use]
    pub fn from_json(kind: ConditionKind, entry: &Value) -> Self {
        Self::read(kind, entry).0
    }

    /// Reads an entry of that type, with the place of its generation. The field counts if it is there.
    fn read(kind: ConditionKind, entry: &Value) -> (Self, GenerationPlace) {
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
        let field = entry.get("observedGeneration").and_then(Value::as_i64);
        let may_be_tagged = field.is_none() && kind.generation_place(GenerationPlace::Tag) == GenerationPlace::Tag;
        let tagged = may_be_tagged.then(|| generation_place::split(text("message"))).flatten();
        let place = if tagged.is_some() { GenerationPlace::Tag } else { GenerationPlace::Field };
        let (message, observed_generation) = match tagged {
            Some((message, generation)) => (message.into(), Some(generation)),
            None => (text("message").into(), field),
        };
        let condition = Self {
            kind,
            status: ConditionStatus::parse(text("status")),
            reason: kept_reason(text("reason")),
            message,
            observed_generation,
            last_transition_time: text("lastTransitionTime").into(),
        };
        (condition, place)
    }

    /// Returns the message as it is stored by a kind with this place of the generation.
    #[must_use]
    pub fn stored_message(&self, place: GenerationPlace) -> Cow<'_, str> {
        self.kind.generation_place(place).stored_message(self.message.text(), self.observed_generation)
    }

    /// Converts to the JSON of the entry of a kind whose conditions have the field `observedGeneration`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.stored_in(GenerationPlace::Field)
    }

    /// Converts to the JSON of the entry of a kind with this place of the generation.
    #[must_use]
    pub fn stored_in(&self, place: GenerationPlace) -> Value {
        let mut entry = Map::new();
        entry.insert("type".to_owned(), self.kind.as_str().into());
        entry.insert("status".to_owned(), self.status.as_str().into());
        entry.insert("reason".to_owned(), self.reason.as_str().into());
        entry.insert("message".to_owned(), self.stored_message(place).into());
        let is_field = self.kind.generation_place(place) == GenerationPlace::Field;
        if let Some(generation) = self.observed_generation.filter(|_| is_field) {
            entry.insert("observedGeneration".to_owned(), generation.into());
        }
        entry.insert("lastTransitionTime".to_owned(), self.last_transition_time.to_string().into());
        Value::Object(entry)
    }

    /// Returns the transition time of a condition with this status that is written over `current` at `now` (RFC 3339).
    /// It changes only with the status, and never goes back, even if the clock does.
    #[must_use]
    pub fn transition_time(current: Option<&Self>, status: ConditionStatus, now: &str) -> TransitionTime {
        let now = TransitionTime::from(now);
        let current = current.filter(|current| !current.last_transition_time.is_empty());
        let is_kept = |current: &&Self| current.status == status || current.last_transition_time.is_later_than(&now);
        current.filter(is_kept).map(|current| current.last_transition_time.clone()).unwrap_or(now)
    }

    /// Returns true if writing `self` over `other` would change nothing relevant (except times).
    #[must_use]
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.status == other.status
            && self.reason == other.reason
            && self.message == other.message
            && self.observed_generation == other.observed_generation
    }
}

/// Our own reasons, shared because every object has one.
static OUR_REASONS: LazyLock<Vec<SharedText>> = LazyLock::new(|| {
    let observed = ObservedReason::ALL.iter().map(|reason| reason.as_str());
    observed.chain(CorrectedReason::ALL.iter().map(|reason| reason.as_str())).map(SharedText::from).collect()
});

fn kept_reason(word: &str) -> SharedText {
    OUR_REASONS.iter().find(|ours| *ours == word).cloned().unwrap_or_else(|| word.into())
}

/// Marks changed secrets in the record.
const MOVED: &str = ", moved ";
/// Marks a refused create in the record.
const EXISTS: &str = "exists ";
/// Marks a replacement in the record.
const REPLACED: &str = ", replaced";
/// Part of every record with a create, which follows its scope.
const CREATE: &str = ", creat";

/// A condition and its index in its list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Index in `.status.conditions`.
    pub index: u32,
    /// The condition itself.
    pub condition: Condition,
    /// The place of its generation in the entry that was read.
    pub generation_place: GenerationPlace,
}

impl Placed {
    /// Returns a condition with its generation in its field, at this index.
    #[must_use]
    pub const fn new(index: u32, condition: Condition) -> Self {
        Self { index, condition, generation_place: GenerationPlace::Field }
    }

    /// Returns the message of the entry as it was read.
    #[must_use]
    pub fn stored_message(&self) -> Cow<'_, str> {
        self.condition.stored_message(self.generation_place)
    }
}

/// The length of `.status.conditions`, regardless of its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConditionsList {
    /// The object has no `.status`.
    #[default]
    NoStatus,
    /// The status has no conditions list.
    None,
    /// A list with this number of entries.
    Of(u32),
}

/// The conditions of both programs on an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The list of all conditions.
    pub list: ConditionsList,
    /// The place of the generation in the entries of the kind.
    pub generation_place: GenerationPlace,
    /// The poller's entry.
    pub observed: Option<Placed>,
    /// The controller's entry. Boxed: most objects have none, and there are very many objects.
    pub corrected: Option<Box<Placed>>,
    /// The entries of `ready: true`. Boxed for the same reason.
    pub readiness: Option<Box<ReadinessEntries>>,
}

impl Conditions {
    /// Finds both programs' entries in an object's `.status`.
    #[must_use]
    pub fn from_status(status: Option<&Value>) -> Self {
        let list = status.and_then(|status| status.get("conditions")).and_then(Value::as_array);
        let find = |kind: ConditionKind| {
            let is_it = |entry: &Value| entry.get("type").and_then(Value::as_str) == Some(kind.as_str());
            let (index, entry) = (0..).zip(list?).find(|(_, entry)| is_it(entry))?;
            let (condition, generation_place) = Condition::read(kind, entry);
            Some(Placed { index, condition, generation_place })
        };
        Self {
            list: match list {
                Some(list) => ConditionsList::Of(u32::try_from(list.len()).unwrap_or(u32::MAX)),
                None if status.is_some_and(Value::is_object) => ConditionsList::None,
                None => ConditionsList::NoStatus,
            },
            generation_place: GenerationPlace::Field,
            observed: find(ConditionKind::Observed),
            corrected: find(ConditionKind::Corrected).map(Box::new),
            readiness: ReadinessEntries::of(
                ReadinessEntries::KINDS.into_iter().filter_map(find).collect(),
                status.and_then(|status| status.get(names::OBSERVED_GENERATION)).and_then(Value::as_i64),
            ),
        }
    }

    /// Returns them for a kind with this place of the generation.
    #[must_use]
    pub fn with_generation_in(self, generation_place: GenerationPlace) -> Self {
        Self { generation_place, ..self }
    }

    /// Returns them without the entries of `ready: true`, unless the target keeps them or the verdict says that they are
    /// ours.
    #[must_use]
    pub fn with_readiness(self, keeps: bool) -> Self {
        let is_ours = || self.observed().and_then(|condition| condition.message.tag()).is_some_and(|tag| tag.ready);
        let readiness = if self.readiness.is_some() && (keeps || is_ours()) { self.readiness.clone() } else { None };
        Self { readiness, ..self }
    }

    /// Returns the entry of this kind.
    #[must_use]
    pub fn placed(&self, kind: ConditionKind) -> Option<&Placed> {
        match kind {
            ConditionKind::Observed => self.observed.as_ref(),
            ConditionKind::Corrected => self.corrected.as_deref(),
            _ => self.readiness.iter().flat_map(|entries| &entries.placed).find(|placed| placed.condition.kind == kind),
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

    /// Returns true if a newer version of one of the programs wrote a condition, in words that this version does not know.
    /// A program that would overwrite it could lose a claim or a doubt.
    #[must_use]
    pub fn are_of_newer_version(&self) -> bool {
        self.corrected().is_some_and(super::CorrectionStatus::is_of_newer_version)
            || self.observed().is_some_and(super::CurrentVerdict::is_of_newer_version)
    }

    /// Returns the controller's record, with the larger K of both conditions. Without reason if our
    /// condition is absent.
    #[must_use]
    pub fn correction_status(&self) -> super::CorrectionStatus {
        let current = self.corrected().and_then(super::CorrectionStatus::read).unwrap_or_default();
        super::CorrectionStatus { correction: self.correction(), ..current }
    }

    /// Returns the reason in the controller's record if another object blocks this one from its external resource.
    #[must_use]
    pub fn held_by_another(&self) -> Option<CorrectedReason> {
        let reason = CorrectedReason::parse(&self.corrected()?.reason)?;
        reason.is_held_by_another().then_some(reason)
    }

    /// Returns the names of the secrets that changed since the controller sent them.
    #[must_use]
    pub fn moved_secrets(&self) -> Vec<String> {
        // Most records mention no secrets, and this runs for every object at every poll.
        let noted = self.corrected().filter(|condition| condition.message.text().contains(MOVED));
        let secrets = noted.and_then(super::CorrectionStatus::read).unwrap_or_default().secrets;
        secrets.moved().map(str::to_owned).collect()
    }

    /// Returns true if the controller's record says that the external system refused to create this desired state at
    /// this generation because the resource exists already.
    #[must_use]
    pub fn contradict_absence(&self, generation: Option<i64>, desired_hash: Option<DesiredHash>) -> bool {
        // Like changed secrets, this is rare.
        let noted = self.corrected().filter(|condition| condition.message.text().contains(EXISTS));
        let record = noted.and_then(super::CorrectionStatus::read);
        record.is_some_and(|record| record.contradicts_absence(generation, desired_hash))
    }

    /// Returns true if the controller's record has a create that a poll has to find.
    #[must_use]
    pub fn has_unseen_create(&self) -> bool {
        let noted = self.corrected().filter(|condition| condition.message.text().contains(CREATE));
        noted.and_then(super::CorrectionStatus::read).is_some_and(|record| record.unseen.is_some())
    }

    /// Returns true if the controller's record says that the resource was deleted for a replacement, and no poll has
    /// confirmed the new one yet.
    #[must_use]
    pub fn has_replaced(&self) -> bool {
        let noted = self.corrected().filter(|condition| condition.message.text().contains(REPLACED));
        noted.and_then(super::CorrectionStatus::read).is_some_and(|record| record.replaced)
    }

    /// K: the number of the object's corrections after which a poll must look, the larger of both conditions.
    #[must_use]
    pub fn correction(&self) -> u64 {
        let counted =
            self.corrected().map_or(0, |condition| super::CorrectionStatus::parse(condition.message.text()).correction);
        let tagged = self.observed().and_then(|condition| condition.message.tag());
        counted.max(tagged.map_or(0, |tag| tag.correction))
    }
}
