//! The single request that wakes the operator of an object, and the meaning of the API server's response.
//!
//! A patch without changes wakes no operator, because no event is sent. If the patch contains the number of the
//! correction, no change means that an earlier process already sent this nudge and stopped before it recorded it. Without
//! a record, the numbers begin anew, and the object may carry the first one from before the record was lost.

use drift_api::object::LeanObject;
use drift_api::resource_version::ResourceVersion;
use drift_language::{NudgeCorrect, Target, Variables};
use drift_systems::RefusalReason;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::engine::corrections::{Code, Correction, Refusal, StepAnswer, StepOutcome};
use crate::engine::rendering::api_refusal::{ApiRefusal, judge_refusal};
use crate::engine::rendering::desired::Aim;
use crate::engine::rendering::plan::{Plan, PlannedStep};
use crate::engine::rendering::requests::{Reply, Request, Requests};
use crate::engine::rendering::unrenderable::Unrenderable;

/// Status of an accepted patch, with or without changes.
const TAKEN: u16 = 200;

/// Cause when a patch changes nothing.
const NOT_WOKEN: &str = "the object carries this already, so no operator was woken: write ${correction} into a value";

/// Cause when a first patch changes nothing.
const NOT_WOKEN_FIRST: &str = "the object carries this already, from before the record of its corrections was lost: the next one has another number";

/// One nudge of an operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Nudge {
    patch: Value,
    is_numbered: bool,
    /// True if the object has a record of an earlier correction.
    is_recorded: bool,
    /// Version of the object that the nudge was rendered from.
    resource_version: ResourceVersion,
}

/// Response of the API server to a nudge.
#[derive(Clone, Debug, PartialEq)]
pub enum NudgeReply {
    /// The patched object.
    Taken(Box<LeanObject>),
    /// Another object has the name meanwhile.
    OfAnother,
    /// The API server did not apply the patch.
    Refused(ApiRefusal),
}

impl Nudge {
    /// Creates the nudge of a correction.
    ///
    /// # Errors
    /// Fails when a template fails for this object.
    pub fn new(
        target: &Target,
        nudge: &NudgeCorrect,
        object: &LeanObject,
        correction: &Correction,
    ) -> Result<Self, Unrenderable> {
        let aim = Aim::of(target, object, correction, false)?;
        let view = object.view.open();
        let variables = Variables { correction: Some(correction.number), ..aim.variables(&view) };
        let patch = nudge.render(&variables).map_err(Unrenderable::new)?;
        let (is_numbered, resource_version) = (nudge.is_numbered(), object.resource_version.clone());
        let is_recorded = correction.before.correction > 0;
        Ok(Self { patch: with_uid(patch, &object.id.uid), is_numbered, is_recorded, resource_version })
    }

    /// Returns the merge patch. It contains the uid, so that it applies to no other object of that name.
    #[must_use]
    pub const fn patch(&self) -> &Value {
        &self.patch
    }

    /// Returns the plan with its single step.
    #[must_use]
    pub fn plan() -> Plan {
        Plan { steps: vec![PlannedStep::default()], ..Plan::default() }
    }

    /// Returns the meaning of the response.
    #[must_use]
    pub fn judge(&self, reply: &NudgeReply) -> StepOutcome {
        match reply {
            NudgeReply::Taken(object)
                if self.is_numbered && self.is_recorded || object.resource_version != self.resource_version =>
            {
                StepOutcome::Accepted
            }
            NudgeReply::Taken(_) => {
                let because = RefusalReason::own(if self.is_numbered { NOT_WOKEN_FIRST } else { NOT_WOKEN });
                let refusal = Refusal { code: Code::Status(TAKEN), because: Some(because) };
                StepOutcome::Refused { refusal, did_nothing: true }
            }
            NudgeReply::OfAnother | NudgeReply::Refused(ApiRefusal { status: Some(404 | 409), .. }) => {
                StepOutcome::Overtaken
            }
            NudgeReply::Refused(refusal) => judge_refusal(refusal.clone()),
        }
    }
}

impl Requests for Nudge {
    fn plan(&self) -> Plan {
        Self::plan()
    }

    fn render(&mut self, _index: usize) -> Result<Option<Request>, Unrenderable> {
        Ok(Some(Request::Nudge(self.patch.clone())))
    }

    fn judge(&mut self, _index: usize, reply: Reply, _wall: Timestamp) -> StepAnswer {
        let Reply::Nudge(reply) = reply else { return reply.unanswered() };
        let answer = StepAnswer::of(Self::judge(self, &reply));
        let object = if let NudgeReply::Taken(object) = reply { Some(object) } else { None };
        StepAnswer { object, ..answer }
    }
}

fn with_uid(mut patch: Map<String, Value>, uid: &str) -> Value {
    let metadata = patch.entry("metadata").or_insert_with(|| json!({}));
    metadata["uid"] = json!(uid);
    Value::Object(patch)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::engine::corrections::claim::Action;
    use crate::engine::fixtures::{Scene, correction};
    use drift_api::condition::CorrectionStatus;
    use drift_language::Destination;

    fn nudge(correct: &str) -> Result<Nudge, Unrenderable> {
        nudge_of(correct, &correction(Action::Nudge))
    }

    fn nudge_of(correct: &str, correction: &Correction) -> Result<Nudge, Unrenderable> {
        let text = format!(
            r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: t}}
spec:
  objects: {{apiVersion: demo.example/v1, kind: Role}}
  identity: "${{self.metadata.name}}"
  read: {{http: {{url: "https://h.example/x"}}}}
  compare: {{desired: {{login: "${{self.spec.login}}"}}}}
  correct: {{mode: Correct, nudge: {correct}}}
"#
        );
        let target = drift_language::fixtures::target(&text);
        let Some(Destination::Nudge(nudge)) = &target.correct.destination else {
            return Err(Unrenderable::new("no nudge"));
        };
        let mut object = Scene::new().object;
        object.view = drift_api::object::object_view::ObjectView::of(
            &json!({"spec": {"login": true, "text": "a\", \"b\": \"c"}}),
        );
        Nudge::new(&target, nudge, &object, correction)
    }

    #[test]
    fn a_nudge_is_a_merge_patch_with_the_uid() {
        let made = nudge(r#"{annotations: {x.example/at: "${correction} ${self.spec.text}"}}"#).unwrap();
        let annotations = json!({"x.example/at": "8 a\", \"b\": \"c"});
        assert_eq!(*made.patch(), json!({"metadata": {"annotations": annotations, "uid": "u-1"}}));
        let made = nudge(r#"{patch: {metadata: {labels: {a: null}}, operation: {fields: "${differs}"}}}"#).unwrap();
        let expected = json!({"metadata": {"labels": {"a": null}, "uid": "u-1"}, "operation": {"fields": []}});
        assert_eq!(*made.patch(), expected);
        assert!(nudge(r#"{annotations: {a: "${self.spec.none}"}}"#).is_err());
    }

    #[test]
    fn an_object_that_is_another_by_now_is_decided_anew() {
        let made = nudge(r#"{annotations: {a: "${correction}"}}"#).unwrap();
        let refused = |status| {
            NudgeReply::Refused(ApiRefusal { status: Some(status), sentence: "why".to_owned(), retry_after: None })
        };
        for reply in [NudgeReply::OfAnother, refused(404), refused(409)] {
            assert_eq!(made.judge(&reply), StepOutcome::Overtaken, "{reply:?}");
        }
        assert!(matches!(made.judge(&refused(422)), StepOutcome::Refused { .. }));
    }

    #[test]
    fn a_patch_that_changes_nothing_wakes_nobody() {
        let taken = |version: &str| {
            let mut object = Scene::new().object;
            object.resource_version = version.into();
            NudgeReply::Taken(Box::new(object))
        };
        let numbered = nudge(r#"{annotations: {a: "n${correction}"}}"#).unwrap();
        assert_eq!(numbered.judge(&taken("5")), StepOutcome::Accepted, "done by a process that did not note it");
        let first = Correction { number: 1, before: CorrectionStatus::default(), ..correction(Action::Nudge) };
        let first = nudge_of(r#"{annotations: {a: "n${correction}"}}"#, &first).unwrap();
        assert!(matches!(first.judge(&taken("5")), StepOutcome::Refused { did_nothing: true, .. }), "of a lost record");
        assert_eq!(first.judge(&taken("6")), StepOutcome::Accepted);
        let constant = nudge("{annotations: {a: now}}").unwrap();
        assert_eq!(constant.judge(&taken("6")), StepOutcome::Accepted, "its operator had taken it away");
        assert!(matches!(constant.judge(&taken("5")), StepOutcome::Refused { did_nothing: true, .. }));
    }
}
