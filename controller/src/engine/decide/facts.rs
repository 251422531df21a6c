//! The facts about a target and an object that a decision needs.
//!
//! Templates are evaluated only here. The decision sees their results, so it can be tested without a target.

use std::time::Duration;

use drift_api::collections::shared_text::SharedText;
use drift_api::condition::{DesiredHash, StoredIds};
use drift_api::identity::{ResourceName, ScopeId};
use drift_api::object::LeanObject;
use drift_language::{Actions, Correct, CorrectLimits, Existing, Mode, RepeatedCreate, Target};

use crate::engine::rendering::sent_secrets::SentSecrets;

/// The facts that are the same for every object of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetFacts {
    /// Kind of its objects, followed by a dot and the group.
    pub kind: SharedText,
    /// Mode of the target: correct or only observe.
    pub mode: Mode,
    /// Treatment of resources that existed before their object.
    pub existing: Existing,
    /// Time until a read of the external system shows a correction. For an operator, the time until it has
    /// processed an edit.
    pub settle: Duration,
    /// Rates and bounds of corrections.
    pub limits: CorrectLimits,
    /// Actions that have steps.
    pub actions: Actions,
    /// Effect of its create if that is sent again.
    pub repeated_create: RepeatedCreate,
    /// True if the read finds a resource whose creating response was lost.
    pub read_finds_created: bool,
    /// True if Jobs perform the corrections. Jobs continue when this process ends.
    pub by_job: bool,
    /// Fingerprint of the inputs of its requests.
    pub correct_hash: u64,
    /// Fingerprint of the sections that verdicts depend on.
    pub verdict_hash: SharedText,
    /// Secrets that the requests of each action send.
    pub sends: SentSecrets,
    /// Fields of the status that its steps store.
    pub stores: Box<[SharedText]>,
}

impl TargetFacts {
    /// Reads the facts from a target.
    #[must_use]
    pub fn of(target: &Target) -> Self {
        let actions = target.correct.actions();
        let by_job = target.correct.runs_jobs();
        let Correct { mode, existing, settle, limits, .. } = target.correct;
        Self {
            kind: kind_of(target),
            mode,
            existing,
            settle,
            limits,
            actions,
            repeated_create: target.repeated_create(),
            read_finds_created: target.read_finds_created(),
            by_job,
            correct_hash: target.correct_hash,
            verdict_hash: target.verdict_hash.as_str().into(),
            sends: SentSecrets::of(target),
            stores: target.correct.stored().map(SharedText::from).collect(),
        }
    }

    /// Returns true if the target may create or adopt resources.
    #[must_use]
    pub fn claims(&self) -> bool {
        let Actions { create, update, replace, .. } = self.actions;
        self.mode.corrects() && (create || self.existing == Existing::Adopt && (update || replace))
    }

    /// Returns true if the target deletes external resources, and so needs its finalizer on objects that own one.
    #[must_use]
    pub fn deletes(&self) -> bool {
        self.mode.corrects() && self.actions.delete
    }
}

fn kind_of(target: &Target) -> SharedText {
    let (kind, group) = (target.objects.kind.as_str(), target.objects.group());
    if group.is_empty() { kind.into() } else { format!("{kind}.{group}").into() }
}

/// Results of a target's templates for one object; `None` if a template fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectFacts {
    /// Fingerprint of the object's desired state.
    pub desired_hash: Option<DesiredHash>,
    /// Name of its external resource.
    pub identity: Option<SharedText>,
    /// Scope of that name; `None` if the target lists no credential for the object.
    pub scope: Option<ScopeId>,
    /// True if the target is suspended for the object.
    pub suspended: Option<bool>,
    /// True if every requirement is met.
    pub allowed: Option<bool>,
    /// Hashes of the present values of the fields that its steps store.
    pub stored: StoredIds,
}

impl ObjectFacts {
    /// Evaluates the templates for an object.
    #[must_use]
    pub fn of(target: &Target, object: &LeanObject) -> Self {
        let view = &object.view.open();
        Self {
            desired_hash: target.desired_state_of(view).ok().map(|desired| desired.hash),
            identity: target.identity_of(view).ok().map(SharedText::from),
            scope: target.scope_of(object.id.namespace.as_deref()).ok(),
            suspended: target.is_suspended_for(view).ok(),
            allowed: target.unmet_requirement(view).ok().map(|unmet| unmet.is_none()),
            stored: StoredIds::of(target.correct.stored(), view.get("status")),
        }
    }

    /// Returns the external resource that the object names; `None` if its name is unknown.
    #[must_use]
    pub fn named(&self) -> Option<ResourceName> {
        Some(ResourceName { scope: self.scope?, identity: self.identity.clone()? })
    }
}
