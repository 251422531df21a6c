//! One object of an overview: its conditions without the parts that only programs read.

use std::borrow::Cow;
use std::time::Duration;

use drift_api::condition::{Condition, ConditionStatus, CorrectionStatus, MAX_MESSAGE_BYTES, Tag};
use drift_api::held_corrections::Hold;
use drift_api::object::ObjectId;
use drift_api::timing::moment::Moment;
use drift_language::Target;
use jiff::Timestamp;

use super::next::Next;
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
    /// The next step by the object and its target.
    pub next: Next,
    /// True if the controller takes that step.
    pub awaits_controller: bool,
    /// The hold by the object and its target, or the closed window that the step waits for.
    pub hold: Option<Hold>,
    /// Further marks, such as paused.
    pub marks: Vec<&'static str>,
    /// The time until the next poll; `None` during a poll, and if none will follow.
    pub next_poll: Option<Duration>,
    /// The number of objects in the answer with the same Unknown verdict, this one included; 1 for any other verdict.
    pub alike: usize,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// An Unknown verdict as far as two objects can share it: reason and text. `None` for an object without a verdict.
pub(super) type Cause<'s> = Option<(Cow<'s, str>, Cow<'s, str>)>;

impl ObjectRow {
    /// Returns the sort key.
    #[must_use]
    pub fn rank(&self) -> Rank {
        rank_of(self.verdict.as_ref().map(|verdict| verdict.status), self.deleting)
    }

    /// Builds the row of an object.
    pub(super) fn new(target: &Target, state: &ObjectState, now: Now) -> Self {
        let shown = state.object();
        let next = Next::of(Some(target), shown);
        let awaits_controller = next.awaits_controller(shown);
        let wall = Timestamp::UNIX_EPOCH.saturating_add(now.wall).unwrap_or(Timestamp::MAX);
        let window = || target.correct.window_hold(shown, wall).filter(|_| awaits_controller);
        let hold = next.held().map(|why| target.hold(shown, why, None, wall)).or_else(window);
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
            next,
            awaits_controller,
            hold,
            marks: marks.into_iter().filter_map(|(holds, mark)| holds.then_some(mark)).collect(),
            next_poll: state.poll_due().map(|due| due - now.moment),
            alike: 1,
        }
    }

    /// The cause of its Unknown.
    pub(super) fn cause(&self) -> Cause<'_> {
        self.verdict.as_ref().map(|verdict| (verdict.reason.as_str().into(), verdict.text.as_str().into()))
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

/// The cause of an object's Unknown.
pub(super) fn cause(state: &ObjectState, now: Moment) -> Cause<'_> {
    verdict_of(state.object()).map(|condition| shown_verdict(condition, state, now).1)
}

/// Returns the status, the reason and the text to show for the verdict that stands on an object. If the present verdict
/// cannot be written, it is Unknown, with the standing one in brackets.
fn shown_verdict<'s>(
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

/// Returns the sort key of an object.
pub(super) fn rank(state: &ObjectState, now: Moment) -> Rank {
    let object = state.object();
    let status = verdict_of(object).map(|condition| shown_verdict(condition, state, now).0);
    rank_of(status, object.deleting)
}

const fn rank_of(status: Option<ConditionStatus>, deleting: bool) -> Rank {
    match status {
        _ if deleting => Rank::Deleting,
        Some(ConditionStatus::True) => Rank::Drifted,
        Some(ConditionStatus::False) => Rank::InSync,
        Some(ConditionStatus::Unknown) | None => Rank::Unknown,
    }
}
