//! Mode Approve: each correction waits until a person approves exactly it.
//!
//! The approval is the hash of the correction in an annotation. The live read before the external write sees the
//! annotation again, so a withdrawn approval stops the correction.

use drift_api::condition::DesiredHash;
use drift_api::object::LeanObject;
use drift_language::Mode;
use serde_json::json;

use crate::engine::corrections::claim::Action;
use crate::engine::corrections::correction::Correction;
use crate::engine::corrections::held::Held;
use crate::engine::decide::decision::Decision;
use crate::engine::decide::situation::Situation;

/// Returns the decision that replaces a correction without approval; `None` if it may begin.
pub(super) fn without_approval(situation: &Situation<'_>, correction: &Correction) -> Option<Decision> {
    let Situation { object, target, .. } = situation;
    let hash = approval_hash(correction, object);
    if target.mode != Mode::Approve || object.approved() == Some(&hash) {
        return None;
    }
    let status = correction.before.awaiting_approval(&what(correction), &hash, object.generation);
    let stands = status.stands(object.conditions.corrected());
    Some(if stands { Decision::Nothing(Held::AwaitingApproval) } else { Decision::WriteStatus(status) })
}

/// Returns the hash that approves this correction and no other one.
///
/// The retry of a correction in doubt has the number, and so the hash, of its first try. A deletion has no number: it
/// is repeated until the resource is gone. It needs no verdict, so the hash does not contain one. Values that the
/// verdict does not show are not in the hash either, because a reader of the condition could guess them.
fn approval_hash(correction: &Correction, object: &LeanObject) -> String {
    let is_deletion = correction.action == Action::Delete;
    let verdict = object.conditions.observed().filter(|_| !is_deletion);
    let content = json!({
        "uid": object.id.uid.to_string(),
        "action": correction.action.as_str(),
        "number": if is_deletion { 0 } else { correction.asked_as() },
        "scope": correction.resource.scope.to_string(),
        "identity": &*correction.resource.identity,
        "generation": correction.generation,
        "desired": correction.desired_hash.map(|desired| desired.to_string()),
        "observed": verdict.map(|verdict| json!([verdict.reason, verdict.message.sentence()])),
        "fields": correction.fields.to_string(),
        "correct": correction.correct_hash.to_string(),
    });
    DesiredHash::of(&content).to_string()
}

/// Returns the action and its fields, for people.
fn what(correction: &Correction) -> String {
    let verb = correction.action.as_str();
    let names = correction.fields.names().map(|names| names.collect::<Vec<_>>().join(", "));
    names.filter(|names| !names.is_empty()).map_or_else(|| verb.to_owned(), |names| format!("{verb} of {names}"))
}
