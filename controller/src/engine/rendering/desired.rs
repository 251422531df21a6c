//! Desired state and differing fields as the steps of a correction see them.

use drift_api::condition::DifferingFields;
use drift_api::object::LeanObject;
use drift_language::{Target, Variables};
use serde_json::Value;

use crate::engine::corrections::{Action, Correction};
use crate::engine::rendering::unrenderable::Unrenderable;

/// Variables of the steps of one correction.
pub(super) struct Aim {
    desired: Option<Value>,
    differs: Option<Value>,
    number: u64,
}

impl Aim {
    pub(super) fn of(
        target: &Target,
        object: &LeanObject,
        correction: &Correction,
        is_anew: bool,
    ) -> Result<Self, Unrenderable> {
        let (desired, differs) = desired_of(target, object, correction, is_anew)?;
        Ok(Self { desired, differs, number: correction.asked_as() })
    }

    pub(super) fn variables<'v>(&'v self, object: &'v Value) -> Variables<'v> {
        let (desired, differs) = (self.desired.as_ref(), self.differs.as_ref());
        Variables { desired, differs, correction: Some(self.number), ..Variables::of_object(object) }
    }
}

/// Returns the desired state and its differing keys for the steps.
pub(in crate::engine) fn desired_of(
    target: &Target,
    object: &LeanObject,
    correction: &Correction,
    is_anew: bool,
) -> Result<(Option<Value>, Option<Value>), Unrenderable> {
    let desired = match target.desired_state_of(&object.view.open()) {
        Ok(desired) => Some(desired.value),
        // A deletion needs no desired state, so it fails only if a step reads it.
        Err(_) if correction.action == Action::Delete => None,
        Err(error) => return Err(Unrenderable::new(error)),
    };
    // A recreated resource needs every field, regardless of the verdict on the previous one.
    let anew = DifferingFields::every();
    let differs = match &desired {
        Some(Value::Object(fields)) => {
            Some(target.differing_keys(if is_anew { &anew } else { &correction.fields }, fields))
        }
        _ if target.uses_differs() && correction.action != Action::Delete => {
            return Err(Unrenderable::new("desired is no map, so it has no keys that could be in `differs`"));
        }
        _ => None,
    };
    Ok((desired, differs))
}
