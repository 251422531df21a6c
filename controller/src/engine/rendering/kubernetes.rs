//! Corrections of cluster objects: created, applied or deleted from one manifest, and the meaning of the
//! API server's responses.
//!
//! A name does not identify an owner: another party may have deleted our object and created a new one. So each object
//! that we create carries the uid of the object that it was made for. Without that mark it is neither changed nor
//! deleted, unless the target adopts.

use drift_api::identity::Uid;
use drift_api::names::MADE_FOR_ANNOTATION;
use drift_api::object::LeanObject;
use drift_api::object::cluster_resource::{ClusterResource, ResourceError};
use drift_language::{Existing, KubernetesCorrect, Source, Target};
use drift_systems::RefusalReason;
use jiff::Timestamp;
use serde_json::Value;
use std::sync::Arc;

use crate::engine::corrections::{Action, Correction, Refusal, StepAnswer, StepOutcome};
use crate::engine::rendering::api_refusal::{ApiRefusal, judge_refusal};
use crate::engine::rendering::desired::Aim;
use crate::engine::rendering::plan::{Plan, PlannedStep};
use crate::engine::rendering::requests::{Reply, Request, Requests};
use crate::engine::rendering::unrenderable::Unrenderable;

/// Status code for our own refusals: the one that a server uses if a request conflicts with the existing state.
const CONFLICT: u16 = 409;

/// Cause when another party created the object.
const NOT_MADE_FOR_US: &str =
    "an object of that name is there that was not made for this one; existing: Adopt takes it over";

/// Cause when the object has the mark of another owner.
const MADE_FOR_ANOTHER: &str =
    "an object of that name is there that was made for another one: its annotation driftpoller.dev/made-for says so";

/// Cause when the object to create exists.
const ALREADY_THERE: &str = "an object of that name is there already";

/// Cause when the object to change is gone.
const GONE: &str = "the object of the cluster is gone meanwhile";

/// One correction of a cluster object.
#[derive(Debug)]
pub struct Manifests {
    /// Cluster object to correct.
    pub resource: ClusterResource,
    steps: Vec<ManifestStep>,
    uid: Uid,
    action: Action,
    adopts: bool,
}

/// One step of a correction.
#[derive(Clone, Debug, PartialEq)]
pub enum ManifestStep {
    /// Create the object, which must not exist.
    Create(Value),
    /// Apply the manifest to the object, which must exist.
    Apply(Value),
    /// Delete the object.
    Delete,
}

/// Result of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum ManifestReply {
    /// The step succeeded.
    Done,
    /// The deletion was accepted, and the object's finalizers are running.
    Underway,
    /// The object does not exist.
    Gone,
    /// The object to create exists already.
    AlreadyExists,
    /// Another party created the object.
    NotMadeForUs,
    /// The object has the mark of another owner.
    MadeForAnother,
    /// The API server refused the call, or the result is unknown.
    Refused(ApiRefusal),
}

/// Decision about an object that was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Judged {
    /// Continue with this object in this state.
    Ours {
        /// Uid of the object.
        uid: String,
        /// ResourceVersion of the object.
        resource_version: String,
    },
    /// Leave the object alone, with this result.
    Reply(ManifestReply),
}

impl Manifests {
    /// Creates the unsent steps of a correction.
    ///
    /// # Errors
    /// Fails when a template fails for this object, or the target does not delete.
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
        let aim = Aim::of(target, object, correction, correction.action == Action::Replace)?;
        let variables = aim.variables(&view);
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

    /// Returns the plan of the steps.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let steps = self.steps.iter().map(|_| PlannedStep::default()).collect();
        let deletion = self.steps.iter().filter(|step| **step == ManifestStep::Delete).count();
        Plan { steps, deletion, ..Plan::default() }
    }

    /// Returns the step of this index.
    #[must_use]
    pub fn step(&self, index: usize) -> Option<&ManifestStep> {
        self.steps.get(index)
    }

    /// Decides if a step may change the existing object; `found` is `None` if there is none.
    #[must_use]
    pub fn judge_found(&self, step: &ManifestStep, found: Option<&Value>) -> Judged {
        let Some(found) = found else { return Judged::Reply(ManifestReply::Gone) };
        let text = |pointer: &str| found.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let mark = found.pointer("/metadata/annotations").and_then(|annotations| annotations.get(MADE_FOR_ANNOTATION));
        let is_ours = mark.and_then(Value::as_str) == Some(&*self.uid);
        if mark.is_some() && !is_ours {
            return Judged::Reply(ManifestReply::MadeForAnother);
        }
        // An adopted object gets the mark with its first manifest, so a deletion recognizes it.
        let may_be_taken_over = self.adopts && matches!(step, ManifestStep::Apply(_));
        if !(is_ours || may_be_taken_over) {
            return Judged::Reply(ManifestReply::NotMadeForUs);
        }
        let (uid, resource_version) = (text("/metadata/uid"), text("/metadata/resourceVersion"));
        Judged::Ours { uid: uid.to_owned(), resource_version: resource_version.to_owned() }
    }

    /// Returns the meaning of a step's result.
    #[must_use]
    pub fn judge(&self, index: usize, reply: &ManifestReply) -> StepOutcome {
        let deletes = self.steps.get(index) == Some(&ManifestStep::Delete);
        let refusal =
            |status: u16, because: &str| Refusal { code: status.into(), because: Some(RefusalReason::own(because)) };
        let refused = |status, because| StepOutcome::Refused { refusal: refusal(status, because), did_nothing: true };
        match reply {
            ManifestReply::Done => StepOutcome::Accepted,
            ManifestReply::Underway => StepOutcome::Underway { retry_after: None },
            ManifestReply::Gone if deletes => StepOutcome::NotThere,
            ManifestReply::Gone => refused(404, GONE),
            ManifestReply::AlreadyExists => StepOutcome::AlreadyExists(refusal(CONFLICT, ALREADY_THERE)),
            // Our object is gone, and a foreign object has its name.
            ManifestReply::NotMadeForUs | ManifestReply::MadeForAnother if self.action == Action::Delete => {
                StepOutcome::LeftBehind
            }
            ManifestReply::NotMadeForUs => refused(CONFLICT, NOT_MADE_FOR_US),
            ManifestReply::MadeForAnother => refused(CONFLICT, MADE_FOR_ANOTHER),
            ManifestReply::Refused(refusal) => judge_refusal(refusal.clone()),
        }
    }
}

impl Requests for Arc<Manifests> {
    fn plan(&self) -> Plan {
        Manifests::plan(self)
    }

    fn render(&mut self, index: usize) -> Result<Option<Request>, Unrenderable> {
        Ok(self.step(index).map(|step| Request::Manifest(self.clone(), step.clone())))
    }

    fn judge(&mut self, index: usize, reply: Reply, _wall: Timestamp) -> StepAnswer {
        let Reply::Manifest(reply) = reply else { return reply.unanswered() };
        StepAnswer::of(Manifests::judge(self, index, &reply))
    }
}

/// Returns a manifest that applies only to an object in this state. It recreates no deleted object and changes no other
/// object of that name.
#[must_use]
pub fn pinned(manifest: &Value, uid: &str, resource_version: &str) -> Value {
    let mut pinned = manifest.clone();
    pinned["metadata"]["uid"] = Value::from(uid);
    pinned["metadata"]["resourceVersion"] = Value::from(resource_version);
    pinned
}

/// Converts a failed call to the result of its step.
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
        ResourceError::LossyVersion(_) => {
            ManifestReply::Refused(ApiRefusal { status: Some(CONFLICT), sentence, retry_after: None })
        }
        _ => ManifestReply::Refused(ApiRefusal { status: None, sentence, retry_after: None }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
