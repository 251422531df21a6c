//! The facts about an object before a read: its desired state, its identity, and the reasons against a poll.
//!
//! A rejected object gets its Unknown at once and costs no request.

use drift_api::collections::shared_text::SharedText;
use drift_api::condition::{DesiredHash, ObservedReason};
use drift_api::object::kept_fields::MAX_KEPT_BYTES;
use drift_api::object::{LeanObject, Oversize};
use drift_language::{EvaluationError, SUSPENDED_ALONE, Target};
use serde_json::Value;

use crate::engine::judgement::finding::Failure;

/// Message for an object whose read fields are too large to keep.
const OVERSIZED: &str =
    "the fields that the target reads take more than 256 KiB or nest deeper than 64 levels: make the object smaller";
const _: () = assert!(MAX_KEPT_BYTES == 256 * 1024);
/// Message for an object without room for its fields.
const CROWDED: &str = "the memory for objects has no room for the fields of this one: make the objects of its namespace \
     smaller, or raise the poller's memory limit";

/// An object as rendered by its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// Fingerprint of its desired state; `None` if rendering fails.
    pub desired_hash: Option<DesiredHash>,
    /// Name of its external resource; `None` if rendering fails.
    pub identity: Option<SharedText>,
    /// Reason why it is not polled.
    pub rejected: Option<Box<Failure>>,
}

/// Renders and checks an object. Suspension comes first: the requirements of a suspended object do not matter.
#[must_use]
pub fn appraise(target: &Target, object: &LeanObject) -> Rendered {
    if let Some(oversize) = object.oversize {
        let text = match oversize {
            Oversize::Object => OVERSIZED,
            Oversize::Namespace => CROWDED,
        };
        let rejected = Failure { reason: ObservedReason::RuleError, text: text.to_owned() };
        return Rendered { desired_hash: None, identity: None, rejected: Some(Box::new(rejected)) };
    }
    let view = object.view.open();
    let desired_hash = target.desired_state_of(&view).map(|desired| desired.hash);
    let identity = target.identity_of(&view);
    let rejected = find_bar(target, &view)
        .or_else(|| identity.as_ref().err().map(rule_error))
        .or_else(|| desired_hash.as_ref().err().map(rule_error));
    Rendered {
        desired_hash: desired_hash.ok(),
        identity: identity.ok().map(SharedText::from),
        rejected: rejected.map(Box::new),
    }
}

/// Returns the failure for a template that cannot be evaluated. It names the place in the target and the mistake,
/// but no value.
#[must_use]
pub fn rule_error(error: &EvaluationError) -> Failure {
    Failure::with(ObservedReason::RuleError, &error.to_string())
}

fn find_bar(target: &Target, view: &Value) -> Option<Failure> {
    match target.is_suspended_for(view) {
        Ok(true) if target.suspend => return Some(Failure::of(ObservedReason::Suspended)),
        Ok(true) => return Some(Failure { reason: ObservedReason::Suspended, text: SUSPENDED_ALONE.to_owned() }),
        Err(error) => return Some(rule_error(&error)),
        Ok(false) => {}
    }
    match target.unmet_requirement(view) {
        Ok(None) => None,
        Ok(Some(otherwise)) => Some(Failure { reason: ObservedReason::NotAllowed, text: otherwise.to_owned() }),
        Err(error) => Some(rule_error(&error)),
    }
}
