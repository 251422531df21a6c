//! What the two conditions' messages say to the other program: the tag and the note.
//!
//! Tests read them with the contract's own parsers. It knows nothing else of the programs.

use drift_shared::condition::{Note, Tag};
use drift_shared::names;
use serde_json::Value;

use super::history::condition;

/// The tag of an object's `driftObserved`; empty where there is none.
#[must_use]
pub fn tag(object: &Value) -> Tag {
    Tag::find(message(object, names::DRIFT_OBSERVED)).unwrap_or_default()
}

/// The note of an object's `driftCorrected`; empty where there is none.
#[must_use]
pub fn note(object: &Value) -> Note {
    Note::parse(message(object, names::DRIFT_CORRECTED))
}

fn message<'a>(object: &'a Value, kind: &str) -> &'a str {
    condition(object, kind).and_then(|entry| entry["message"].as_str()).unwrap_or_default()
}
