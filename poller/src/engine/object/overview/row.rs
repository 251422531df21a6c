//! One object of an overview: its conditions without the parts that only programs read.

use std::borrow::Cow;
use std::time::Duration;

use drift_api::condition::{Condition, ConditionStatus, CorrectionStatus, MAX_MESSAGE_BYTES, Tag};
use drift_api::held_corrections::Hold;
use drift_api::object::ObjectId;
use drift_api::object::report::report_name;
use drift_api::timing::moment::Moment;
use drift_language::Target;

use crate::engine::object::deletion::verdict_of;
use crate::engine::object::object_state::ObjectState;
use crate::engine::schedule::Now;

/// The conditions of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRow {
    /// The object.
    pub id: ObjectId,
    /// The verdict; `None` before the first, and while the object is being deleted.
    pub verdict: Option<RowCondition>,
    /// True if it is being deleted.
    pub deleting: bool,
    /// The correction record; `None` if there is none.
    pub correction: Option<RowCondition>,
    /// The reasons why it is not corrected, or its deletion does not proceed.
    pub holds: Vec<Hold>,
    /// The name of the DriftReport with its conditions; `None` if they are on the object, or there is no report.
    pub report: Option<String>,
    /// Further marks, such as paused.
    pub marks: Vec<&'static str>,
    /// The time until the next poll; `None` during a poll, and if none will follow.
    pub next_poll: Option<Duration>,
}

/// A condition without its machine-readable parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowCondition {
    /// Its status.
    pub status: ConditionStatus,
    /// Its reason.
    pub reason: String,
    /// Its text.
    pub text: String,
    /// The time of the last change of the status, RFC 3339.
    pub since: String,
}

/// Sort key of objects: the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rank {
    /// It drifted.
    Drifted,
    /// Its verdict is Unknown, or there is none yet.
    Unknown,
    /// It is being deleted and has no verdict.
    Deleting,
    /// It is in sync.
    InSync,
}

impl Rank {
    /// Returns the word in JSON and in queries.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Drifted => "drifted",
            Self::Unknown => "unknown",
            Self::Deleting => "deleting",
            Self::InSync => "in-sync",
        }
    }
}

impl ObjectRow {
    /// Returns the sort key.
    #[must_use]
    pub fn rank(&self) -> Rank {
        rank_of(self.verdict.as_ref().map(|verdict| verdict.status), self.deleting)
    }

    /// Builds the row of an object with its holds.
    pub(super) fn new(target: &Target, state: &ObjectState, holds: Vec<Hold>, now: Now) -> Self {
        let shown = state.object();
        let objects = &target.objects;
        let report = shown.report.as_ref().and_then(|report| report.about(&shown.id.uid));
        let marks =
            [(shown.paused, "paused"), (shown.deleting, "deleting"), (state.is_flapping(now.moment), "flapping")];
        Self {
            id: shown.id.clone(),
            deleting: shown.deleting,
            verdict: verdict_of(shown).map(|condition| {
                let (status, (reason, text)) = shown_verdict(condition, state, now.moment);
                RowCondition { status, ..RowCondition::new(condition, &text) }.with_reason(&reason)
            }),
            correction: shown.conditions.corrected().map(|condition| {
                let text = CorrectionStatus::parse(condition.message.text()).text;
                RowCondition::new(condition, &text)
            }),
            holds,
            report: report.map(|_| report_name(objects.group(), &objects.kind, &shown.id.name)),
            marks: marks.into_iter().filter_map(|(holds, mark)| holds.then_some(mark)).collect(),
            next_poll: state.poll_due().map(|due| due - now.moment),
        }
    }
}

impl RowCondition {
    fn new(condition: &Condition, text: &str) -> Self {
        Self {
            status: condition.status,
            reason: condition.reason.to_string(),
            text: shortened(text).to_owned(),
            since: condition.last_transition_time.to_string(),
        }
    }

    fn with_reason(self, reason: &str) -> Self {
        Self { reason: reason.to_owned(), ..self }
    }
}

/// Returns the status, the reason and the text to show for the verdict that stands on an object. If the present verdict
/// cannot be written, it is Unknown, with the standing one in brackets.
pub(super) fn shown_verdict<'s>(
    condition: &'s Condition,
    state: &ObjectState,
    now: Moment,
) -> (ConditionStatus, (Cow<'s, str>, Cow<'s, str>)) {
    let (text, _) = Tag::split(condition.message.text());
    let (reason, text) = (&*condition.reason, shortened(text));
    match state.unwritten(now) {
        None => (condition.status, (reason.into(), text.into())),
        Some(word) => {
            let text = format!("{}; what stands on the object: {text}", word.sentence());
            (ConditionStatus::Unknown, (format!("{word} ({reason})").into(), text.into()))
        }
    }
}

/// Our own messages are never longer than this. Those of another writer may be.
fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_MESSAGE_BYTES)]
}

/// Returns the sort key of an object with this status.
pub(super) const fn rank_of(status: Option<ConditionStatus>, deleting: bool) -> Rank {
    match status {
        _ if deleting => Rank::Deleting,
        Some(ConditionStatus::True) => Rank::Drifted,
        Some(ConditionStatus::False) => Rank::InSync,
        Some(ConditionStatus::Unknown) | None => Rank::Unknown,
    }
}
