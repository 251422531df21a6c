//! The facts about a target and an object that a decision needs, evaluated from their templates.
//!
//! Templates are evaluated once, here; the decision sees only their results, so it can be tested without any target.

use std::time::Duration;

use drift_api::collections::shared_text::SharedText;
use drift_api::condition::DesiredHash;
use drift_api::identity::{ResourceName, ScopeId};
use drift_api::object::LeanObject;
use drift_language::{Actions, Correct, CorrectLimits, Existing, Mode, Target};

/// The facts about a target that are the same for every object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetFacts {
    /// The kind of its objects, with its group after a dot.
    pub kind: SharedText,
    /// Whether the target corrects or only observes.
    pub mode: Mode,
    /// The treatment of resources that existed before their object.
    pub existing: Existing,
    /// The time that the external system needs until a read shows a correction; an operator, until it has taken in an edit.
    pub settle: Duration,
    /// Rates and bounds.
    pub limits: CorrectLimits,
    /// The actions that have steps.
    pub actions: Actions,
    /// True if Jobs do them, which go on when this process ends.
    pub by_job: bool,
    /// The fingerprint of what its requests are made of.
    pub correct_hash: u64,
    /// The scope of its identities.
    pub scope: ScopeId,
}

impl TargetFacts {
    /// Reads a target.
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
            by_job,
            correct_hash: target.correct_hash,
            scope: target.scope.id,
        }
    }

    /// The external resource of that identity.
    #[must_use]
    pub const fn named(&self, identity: SharedText) -> ResourceName {
        ResourceName { scope: self.scope, identity }
    }

    /// Returns true if the target may create or adopt resources.
    #[must_use]
    pub fn claims(&self) -> bool {
        let Actions { create, update, replace, .. } = self.actions;
        self.mode == Mode::Correct && (create || self.existing == Existing::Adopt && (update || replace))
    }

    /// Returns true if the target deletes outside, and so needs its finalizer on what it owns.
    #[must_use]
    pub fn deletes(&self) -> bool {
        self.mode == Mode::Correct && self.actions.delete
    }
}

fn kind_of(target: &Target) -> SharedText {
    let (kind, group) = (target.objects.kind.as_str(), target.objects.group());
    if group.is_empty() { kind.into() } else { format!("{kind}.{group}").into() }
}

/// The results of a target's templates for one object. `None` where a template fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectFacts {
    /// The fingerprint of what the object wants.
    pub desired_hash: Option<DesiredHash>,
    /// The name of its external resource.
    pub identity: Option<SharedText>,
    /// Whether the target is suspended for it.
    pub suspended: Option<bool>,
    /// Whether every requirement holds.
    pub allowed: Option<bool>,
}

impl ObjectFacts {
    /// Evaluates the templates for an object.
    #[must_use]
    pub fn of(target: &Target, object: &LeanObject) -> Self {
        let view = &object.view.open();
        Self {
            desired_hash: target.desired_state_of(view).ok().map(|desired| desired.hash),
            identity: target.identity_of(view).ok().map(SharedText::from),
            suspended: target.is_suspended_for(view).ok(),
            allowed: target.unmet_requirement(view).ok().map(|unmet| unmet.is_none()),
        }
    }
}
