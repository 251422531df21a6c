//! What the two conditions' messages say to the other program: the tag and the note.
//!
//! Tests read them with the contract's own parsers. It knows nothing else of the programs.

use drift_api::condition::{CorrectionStatus, Tag};
use drift_api::names;
use serde_json::Value;

use super::history::condition;

/// The tag of an object's `driftObserved`; empty where there is none.
#[must_use]
pub fn tag(object: &Value) -> Tag {
    Tag::find(message(object, names::DRIFT_OBSERVED)).unwrap_or_default()
}

/// The note of an object's `driftCorrected`; empty where there is none.
#[must_use]
pub fn note(object: &Value) -> CorrectionStatus {
    CorrectionStatus::parse(message(object, names::DRIFT_CORRECTED))
}

/// Returns true if the verdict is InSync and speaks of the state after the last correction: then nothing more is to be written.
#[must_use]
pub fn is_verified(object: &Value) -> bool {
    let is_in_sync = condition(object, names::DRIFT_OBSERVED).is_some_and(|entry| entry["reason"] == "InSync");
    let is_applied =
        condition(object, names::DRIFT_CORRECTED).is_some_and(|entry| entry["reason"] == "CorrectionApplied");
    is_in_sync && is_applied && tag(object).correction == note(object).correction
}

/// The message of one of an object's conditions; empty where there is none.
#[must_use]
pub fn message<'a>(object: &'a Value, kind: &str) -> &'a str {
    condition(object, kind).and_then(|entry| entry["message"].as_str()).unwrap_or_default()
}
