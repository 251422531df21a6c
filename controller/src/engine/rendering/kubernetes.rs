//! The corrections of an object of the cluster: made, applied or deleted by one manifest, and what the API server's answers mean.
//!
//! A name says nothing of whose an object is: somebody may have deleted ours and made another. So what we make carries the uid of the
//! object that it was made for, and without that it is neither changed nor deleted, unless the target adopts.

use drift_api::identity::Uid;
use drift_api::names::MADE_FOR_ANNOTATION;
use drift_api::object::LeanObject;
use drift_api::object::cluster_resource::{ClusterResource, ResourceError};
use drift_language::cel::Variables;
use drift_language::{Existing, KubernetesCorrect, Source, Target};
use serde_json::Value;

use crate::engine::corrections::claim::Action;
use crate::engine::corrections::correction::Correction;
use crate::engine::corrections::outcome::{Refusal, StepOutcome};
use crate::engine::rendering::api_refusal::{ApiRefusal, judge_refusal};
use crate::engine::rendering::desired::desired_of;
use crate::engine::rendering::plan::{Plan, PlannedStep};
use crate::engine::rendering::unrenderable::Unrenderable;

/// Stands for the status of a refusal that is ours: what a server says where a request does not fit what it has.
const CONFLICT: u16 = 409;

/// Said where the object was made by somebody else.
const NOT_MADE_FOR_US: &str =
    "an object of that name is there that was not made for this one; existing: Adopt takes it over";

/// Said where somebody else's mark is on it.
const MADE_FOR_ANOTHER: &str =
    "an object of that name is there that was made for another one: its annotation driftpoller.dev/made-for says so";

/// Said where there is nothing to change.
const GONE: &str = "the object of the cluster is gone meanwhile";

/// One correction of an object of the cluster.
#[derive(Debug)]
pub struct Manifests {
    /// Which object.
    pub resource: ClusterResource,
    steps: Vec<ManifestStep>,
    uid: Uid,
    action: Action,
    adopts: bool,
}

/// One step of it.
#[derive(Clone, Debug, PartialEq)]
pub enum ManifestStep {
    /// Make the object, which must not exist.
    Create(Value),
    /// Apply the manifest to the object, which must exist.
    Apply(Value),
    /// Delete it.
    Delete,
}

/// What became of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum ManifestReply {
    /// It was done.
    Done,
    /// It was asked for, and the object's finalizers are at work.
    Underway,
    /// There is no such object.
    Gone,
    /// There is one that was made by somebody else.
    NotMadeForUs,
    /// There is one that carries the mark of another object.
    MadeForAnother,
    /// The API server did not do it, or it is not known.
    Refused(ApiRefusal),
}

/// What is to be done about an object that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Judged {
    /// Go on: it is this one, in this state.
    Ours {
        /// Its uid.
        uid: String,
        /// Its resourceVersion.
        resource_version: String,
    },
    /// Leave it alone.
    Reply(ManifestReply),
}

impl Manifests {
    /// The steps of a correction, none of which was sent.
    ///
    /// # Errors
    /// When a template cannot be evaluated for this object, or the target does not delete.
    pub fn new(
        target: &Target,
        kubernetes: &KubernetesCorrect,
        object: &LeanObject,
        correction: &Correction,
    ) -> Result<Self, Unrenderable> {
        let Source::Kubernetes(read) = &target.read.source else {
            return Err(Unrenderable::new("correct.kubernetes needs read.kubernetes"));
        };
        let view = object.view.open();
        let resource = read.render(&view).map_err(Unrenderable::new)?;
        let (desired, differs) = desired_of(target, object, correction, correction.action == Action::Replace)?;
        let variables = Variables {
            desired: desired.as_ref(),
            differs: differs.as_ref(),
            correction: Some(correction.asked_as()),
            ..Variables::of_object(&view)
        };
        let manifest = || kubernetes.render(&resource, &object.id.uid, &variables).map_err(Unrenderable::new);
        let steps = match correction.action {
            Action::Create => vec![ManifestStep::Create(manifest()?)],
            Action::Update => vec![ManifestStep::Apply(manifest()?)],
            Action::Replace => vec![ManifestStep::Delete, ManifestStep::Create(manifest()?)],
            Action::Delete => vec![ManifestStep::Delete],
            Action::Nudge => return Err(Unrenderable::new("correct has no nudge")),
        };
        let adopts = target.correct.existing == Existing::Adopt;
        Ok(Self { resource, steps, uid: object.id.uid.clone(), action: correction.action, adopts })
    }

    /// Returns the steps.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let steps = self.steps.iter().map(|_| PlannedStep::default()).collect();
        let deletion = self.steps.iter().filter(|step| **step == ManifestStep::Delete).count();
        Plan { steps, deletion, ..Plan::default() }
    }

    /// The step of this index.
    #[must_use]
    pub fn step(&self, index: usize) -> Option<&ManifestStep> {
        self.steps.get(index)
    }

    /// Whether a step may touch the object that stands there; `None` where none does.
    #[must_use]
    pub fn judge_found(&self, step: &ManifestStep, found: Option<&Value>) -> Judged {
        let Some(found) = found else { return Judged::Reply(ManifestReply::Gone) };
        let text = |pointer: &str| found.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let mark = found.pointer("/metadata/annotations").and_then(|annotations| annotations.get(MADE_FOR_ANNOTATION));
        let is_ours = mark.and_then(Value::as_str) == Some(&*self.uid);
        if mark.is_some() && !is_ours {
            return Judged::Reply(ManifestReply::MadeForAnother);
        }
        // What is adopted gets the mark with its first manifest, so a deletion knows it by that.
        let may_be_taken_over = self.adopts && matches!(step, ManifestStep::Apply(_));
        if !(is_ours || may_be_taken_over) {
            return Judged::Reply(ManifestReply::NotMadeForUs);
        }
        let (uid, resource_version) = (text("/metadata/uid"), text("/metadata/resourceVersion"));
        Judged::Ours { uid: uid.to_owned(), resource_version: resource_version.to_owned() }
    }

    /// What the reply to a step means.
    #[must_use]
    pub fn judge(&self, index: usize, reply: &ManifestReply) -> StepOutcome {
        let deletes = self.steps.get(index) == Some(&ManifestStep::Delete);
        let refused = |status: u16, because: &str| StepOutcome::Refused {
            refusal: Refusal { code: status.into(), because: Some(because.to_owned()) },
            did_nothing: true,
        };
        match reply {
            ManifestReply::Done => StepOutcome::Accepted,
            ManifestReply::Underway => StepOutcome::Underway { retry_after: None },
            ManifestReply::Gone if deletes => StepOutcome::NotThere,
            ManifestReply::Gone => refused(404, GONE),
            // Ours is gone, and somebody else's has its name.
            ManifestReply::NotMadeForUs | ManifestReply::MadeForAnother if self.action == Action::Delete => {
                StepOutcome::LeftBehind
            }
            ManifestReply::NotMadeForUs => refused(CONFLICT, NOT_MADE_FOR_US),
            ManifestReply::MadeForAnother => refused(CONFLICT, MADE_FOR_ANOTHER),
            ManifestReply::Refused(refusal) => judge_refusal(refusal.clone()),
        }
    }
}

/// A manifest that lands only on an object in this state: it makes none anew that was deleted, and touches no other of its name.
#[must_use]
pub fn pinned(manifest: &Value, uid: &str, resource_version: &str) -> Value {
    let mut pinned = manifest.clone();
    pinned["metadata"]["uid"] = Value::from(uid);
    pinned["metadata"]["resourceVersion"] = Value::from(resource_version);
    pinned
}

/// What became of a step whose call failed.
#[must_use]
pub fn reply_of(error: &ResourceError) -> ManifestReply {
    let sentence = error.to_string();
    match error {
        ResourceError::Refused { status: 0, retry_after, .. } => {
            ManifestReply::Refused(ApiRefusal { status: None, sentence, retry_after: *retry_after })
        }
        ResourceError::Refused { status, sentence, retry_after } => {
            let said = sentence.strip_prefix(&status.to_string()).map_or(sentence.as_str(), str::trim_start).to_owned();
            ManifestReply::Refused(ApiRefusal { status: Some(*status), sentence: said, retry_after: *retry_after })
        }
        _ => ManifestReply::Refused(ApiRefusal { status: None, sentence, retry_after: None }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
