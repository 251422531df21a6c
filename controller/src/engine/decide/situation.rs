//! Everything that a decision for one object depends on.

use drift_api::condition::{CorrectedReason, CorrectionStatus, DifferingFields, NotedSecrets, SecretMarks};
use drift_api::identity::{ResourceName, Rights};
use drift_api::mutants::{Mutant, is_planted};
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;

use crate::engine::correction_limits::Room;
use crate::engine::corrections::claim::Action;
use crate::engine::corrections::correction::Correction;
use crate::engine::corrections::held::Held;
use crate::engine::decide::facts::{ObjectFacts, TargetFacts};
use crate::engine::memory::ObjectMemory;

/// Everything that a decision depends on.
#[derive(Clone, Debug)]
pub struct Situation<'a> {
    /// The object as it was read.
    pub object: &'a LeanObject,
    /// The results of the templates for the object.
    pub facts: &'a ObjectFacts,
    /// The target.
    pub target: &'a TargetFacts,
    /// The memory of this process about the object.
    pub memory: &'a ObjectMemory,
    /// The secrets of the object that cannot be read back, in their present versions; `None` while that is not known, or where
    /// there are none.
    pub secrets: Option<&'a SecretMarks>,
    /// The surroundings of the object.
    pub surroundings: Surroundings,
    /// Now.
    pub now: Moment,
}

/// The state around one object that its decision depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// The target's first full list is read, so that identities and the breaker are complete.
    pub listed: bool,
    /// What the object may do, as far as the objects of all targets are concerned.
    pub rights: Rights,
    /// Every object is known that has to be, before the object claims something or, where it is being deleted, before
    /// something is deleted.
    pub scope_complete: bool,
    /// The poller attests the target.
    pub attested: bool,
    /// The breaker holds the object's incident.
    pub breaker_holds: bool,
    /// The room within the target's limits.
    pub room: Room,
}

impl Situation<'_> {
    /// What is said of the object, whatever other writers made of it. A claim that does not say its scope was made in the
    /// present one, and says so in whatever is written next.
    #[must_use]
    pub fn status(&self) -> CorrectionStatus {
        self.memory.status_of(self.object).in_scope(self.target.scope)
    }

    /// Returns true if the object names the resource that it owns, or one of both is not known. What was begun for another one nobody goes on with.
    #[must_use]
    pub fn may_name_what_it_owns(&self, status: &CorrectionStatus) -> bool {
        let named = status.owned().zip(self.named());
        named.is_none_or(|(owned, named)| owned.names(&named))
    }

    /// What is to be said where other secrets have moved since they were sent than the object says. The poller takes it from
    /// there: it alone says what differs.
    #[must_use]
    pub fn with_moved_secrets(&self, status: &CorrectionStatus, resource: &ResourceName) -> Option<CorrectionStatus> {
        let is_ours = status.owned().is_some_and(|owned| owned.names(resource));
        let is_known = status.reason.is_some_and(|reason| reason != CorrectedReason::CorrectionStarted);
        let compared = status.secrets.compared(self.secrets.filter(|_| is_ours && is_known)?);
        (compared != status.secrets).then(|| CorrectionStatus { secrets: compared, ..status.clone() })
    }

    /// A correction of the object as it is now.
    #[must_use]
    pub fn correction(&self, action: Action, resource: &ResourceName, status: &CorrectionStatus) -> Correction {
        // What was sent to another resource, or to one that is given up, says nothing.
        let secrets = if status.owned().is_some() { status.secrets.clone() } else { NotedSecrets::default() };
        let goes_on = action == Action::Create || self.target.by_job;
        let resumes = goes_on && status.is_interrupted();
        let correction = Correction {
            action,
            number: status.correction.saturating_add(1),
            resource: resource.clone(),
            claim_first: false,
            put_finalizer: false,
            generation: self.object.generation,
            desired_hash: self.facts.desired_hash,
            fields: DifferingFields::default(),
            correct_hash: self.target.correct_hash,
            sent_versions: 0,
            before: CorrectionStatus { secrets, ..status.clone() },
            was_in_doubt: self.memory.delay.is_in_doubt() || resumes,
            resumes,
            by_job: self.target.by_job,
            was_begun: false,
            may_be_gone: self.memory.may_be_gone,
        };
        let was_begun = self.memory.delay.left_unseen(&correction.asked_for());
        Correction { was_begun, ..correction }
    }

    /// The external resource that the object names, if the target lets anything be done for it at all.
    ///
    /// # Errors
    /// Why nothing may be done.
    pub fn permitted_resource(&self) -> Result<ResourceName, Held> {
        let facts = self.facts;
        match facts.suspended {
            None => return Err(Held::TemplateFails),
            Some(true) if !is_planted(Mutant::SuspendedCorrected) => return Err(Held::Suspended),
            Some(_) => {}
        }
        if self.object.paused && !is_planted(Mutant::PausedCorrected) {
            return Err(Held::Paused);
        }
        match facts.allowed {
            None => Err(Held::TemplateFails),
            Some(false) if !is_planted(Mutant::ForbiddenCorrected) => Err(Held::NotAllowed),
            Some(_) => self.named().ok_or(Held::TemplateFails),
        }
    }

    /// The external resource that the object names; `None` where its name cannot be told.
    #[must_use]
    pub fn named(&self) -> Option<ResourceName> {
        self.facts.identity.clone().map(|identity| self.target.named(identity))
    }
}
