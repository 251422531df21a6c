//! Parses the messages of the two conditions with the contract's own parsers: the tag and the note.

use drift_api::condition::{Condition, ConditionKind, CorrectionStatus, Tag};
use drift_api::names;
use serde_json::Value;

use super::history::condition;

/// Returns the tag of an object's `driftObserved`, or an empty one.
#[must_use]
pub fn tag(object: &Value) -> Tag {
    let entry = condition(object, names::DRIFT_OBSERVED);
    let read = entry.and_then(|entry| Condition::from_json(ConditionKind::Observed, entry).message.tag());
    read.unwrap_or_default()
}

/// Returns the note of an object's `driftCorrected`, or an empty one.
#[must_use]
pub fn note(object: &Value) -> CorrectionStatus {
    CorrectionStatus::parse(message(object, names::DRIFT_CORRECTED))
}

/// Returns true if the verdict is InSync and describes the state after the last correction. No further write follows.
#[must_use]
pub fn is_verified(object: &Value) -> bool {
    let is_in_sync = condition(object, names::DRIFT_OBSERVED).is_some_and(|entry| entry["reason"] == "InSync");
    let is_applied =
        condition(object, names::DRIFT_CORRECTED).is_some_and(|entry| entry["reason"] == "CorrectionApplied");
    is_in_sync && is_applied && tag(object).correction == note(object).correction
}

/// Returns the message of one of an object's conditions, or an empty text.
#[must_use]
pub fn message<'a>(object: &'a Value, kind: &str) -> &'a str {
    condition(object, kind).and_then(|entry| entry["message"].as_str()).unwrap_or_default()
}
