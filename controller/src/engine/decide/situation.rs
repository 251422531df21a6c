//! Inputs of the decision for one object.

use drift_api::approval::ObjectInputs;
use drift_api::condition::{
    CorrectedReason, CorrectionStatus, CurrentVerdict, DifferingFields, NotedSecrets, ObservedReason, SecretMarks,
    StoredIds, UnseenCreate,
};
use drift_api::identity::{ResourceName, Rights};
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;

use drift_language::TargetState;

use crate::engine::correction_limits::Room;
use crate::engine::corrections::{Action, Correction};
use crate::engine::decide::facts::{ObjectFacts, TargetFacts};
use crate::engine::memory::ObjectMemory;

/// Inputs of a decision.
#[derive(Clone, Debug)]
pub struct Situation<'a> {
    /// Object as it was read.
    pub object: &'a LeanObject,
    /// Results of the templates for the object.
    pub facts: &'a ObjectFacts,
    /// Facts about the target.
    pub target: &'a TargetFacts,
    /// Memory of this process about the object.
    pub memory: &'a ObjectMemory,
    /// Current versions of the object's write-only secrets; `None` if they are unknown or if there are none.
    pub secrets: Option<&'a SecretMarks>,
    /// Current versions of all secrets of the object; `None` if they are unknown, or if no approval depends on them.
    pub declared_secrets: Option<&'a SecretMarks>,
    /// Surroundings of the object.
    pub surroundings: Surroundings,
    /// Current time on the monotonic clock.
    pub now: Moment,
}

/// State around one object that its decision depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// True once the target's first full list is read, so that identities and the breaker are complete.
    pub listed: bool,
    /// Rights of the object, considering the objects of all targets.
    pub rights: Rights,
    /// True if all objects are known that must be known before this object claims something or, for a deletion, before
    /// something is deleted.
    pub scope_complete: bool,
    /// State of the target by its ConfigMaps.
    pub state: TargetState,
    /// True if the poller attests the verdict.
    pub attested: bool,
    /// True if the breaker holds the object's incident.
    pub breaker_holds: bool,
    /// Time at which the target's windows open for the object; `None` if they are open.
    pub window_opens: Option<Moment>,
    /// True if the read of the target is proved, or if no other create waits to be found.
    pub may_create: bool,
    /// Room within the target's limits.
    pub room: Room,
}

impl Situation<'_> {
    /// Returns the effective status of the object, despite changes by other writers. A claim without a scope was made
    /// in the current scope, and the next write names it.
    #[must_use]
    pub fn status(&self) -> CorrectionStatus {
        self.memory.status_of(self.object).in_scope(self.facts.scope)
    }

    /// Returns true if the object names the resource that it owns, or if one of the two is unknown. Work that began for
    /// another resource is not continued.
    #[must_use]
    pub fn may_name_what_it_owns(&self, status: &CorrectionStatus) -> bool {
        let named = status.owned().zip(self.named());
        named.is_none_or(|(owned, named)| owned.names(&named))
    }

    /// Returns the status to write if the set of moved secrets changed since the object recorded it. The poller reads
    /// it there, because only the poller reports differences.
    #[must_use]
    pub fn with_moved_secrets(&self, status: &CorrectionStatus, resource: &ResourceName) -> Option<CorrectionStatus> {
        let is_ours = status.owned().is_some_and(|owned| owned.names(resource));
        let is_known = status.reason.is_some_and(|reason| reason != CorrectedReason::CorrectionStarted);
        let compared = status.secrets.compared(self.secrets.filter(|_| is_ours && is_known)?);
        (compared != status.secrets).then(|| CorrectionStatus { secrets: compared, ..status.clone() })
    }

    /// Returns the last create, if no poll has found what it made.
    #[must_use]
    pub fn unseen_create(&self, status: &CorrectionStatus) -> Option<UnseenCreate> {
        if self.memory.delay.is_in_doubt() {
            // Its number is not used up, so the verdict is from before it.
            return status.unseen;
        }
        status.unseen_create(self.object.conditions.observed().and_then(CurrentVerdict::read).as_ref())
    }

    /// Returns true if a deletion should find the resource: the last verdict found it, or it was created and not seen
    /// yet, or the read lost all resources at once, and no request to delete it was accepted since. A deletion that
    /// already found nothing is only ended by a poll that finds the resource absent. A record that waits for an approval
    /// no longer says so, but has a later correction than the verdict.
    fn expects_resource(&self, status: &CorrectionStatus) -> bool {
        let status = self.memory.lost_status(self.object).unwrap_or(status);
        let current = self.object.conditions.observed().and_then(CurrentVerdict::read);
        let is_unverified = current.as_ref().is_none_or(|current| status.correction > current.tag.correction);
        match status.reason {
            Some(CorrectedReason::DeletionUnclear) => true,
            Some(CorrectedReason::AwaitingApproval) if is_unverified && status.correction > 0 => true,
            _ if self.unseen_create(status).is_some() => true,
            Some(CorrectedReason::CorrectionStarted) if is_unverified => false,
            _ => current
                .is_some_and(|current| current.reason.is_presence() || current.reason == ObservedReason::AllMissing),
        }
    }

    /// Returns the verdict on exactly this spec and the state after the last correction.
    #[must_use]
    pub fn verified(&self, status: &CorrectionStatus) -> Option<ObservedReason> {
        let current = self.object.conditions.observed().and_then(CurrentVerdict::read)?;
        let is_of_spec = current.generation == self.object.generation
            && self.facts.desired_hash.is_some()
            && current.tag.desired_hash == self.facts.desired_hash;
        (is_of_spec && current.tag.correction == status.correction).then_some(current.reason)
    }

    /// Returns true if the action continues one whose end this process did not see.
    fn resumes(&self, action: Action, status: &CorrectionStatus) -> bool {
        (action == Action::Create || self.target.by_job) && status.is_interrupted()
    }

    /// Returns the time at which the windows open for the action; `None` if it may begin. What began for this spec is
    /// continued outside of a window, and a replacement is not left without its create.
    #[must_use]
    pub fn closed_until(&self, action: Action, status: &CorrectionStatus) -> Option<Moment> {
        let is_started = status.reason == Some(CorrectedReason::CorrectionStarted);
        let is_awaited = status.reason == Some(CorrectedReason::AwaitingApproval);
        let began = match action {
            Action::Delete => is_started,
            _ if is_awaited => false,
            _ => is_started || self.resumes(action, status) || self.memory.delay.is_in_doubt(),
        };
        let ends_replacement = action == Action::Create && status.replaced && is_started;
        let continues = ends_replacement || began && status.generation == self.object.generation;
        self.surroundings.window_opens.filter(|_| !continues)
    }

    /// Returns the current versions of the secrets that the action sends, for an approval.
    fn sent_versions(&self, action: Action) -> SecretMarks {
        self.declared_secrets.map(|current| self.target.sends.versions(action, current)).unwrap_or_default()
    }

    /// Returns a correction of the object in its current state.
    #[must_use]
    pub fn correction(&self, action: Action, resource: &ResourceName, status: &CorrectionStatus) -> Correction {
        // Secrets sent to another resource, or to one that is given up, do not count.
        let secrets = if status.owned().is_some() { status.secrets.clone() } else { NotedSecrets::default() };
        let resumes = self.resumes(action, status);
        // What a create makes has other ids. An id without a hash is one that a person wrote.
        let ids = match action {
            Action::Create | Action::Replace => StoredIds::default(),
            Action::Update | Action::Delete | Action::Nudge => status.ids.with_new(&self.facts.stored),
        };
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
            approved_secrets: self.sent_versions(action),
            before: CorrectionStatus { secrets, unseen: self.unseen_create(status), ids, ..status.clone() },
            was_in_doubt: self.memory.delay.is_in_doubt() || resumes,
            resumes,
            by_job: self.target.by_job,
            was_begun: false,
            creating: None,
            looks_first: false,
            looks_again: status.reason == Some(CorrectedReason::DeletionUnclear) && !self.target.read_finds_created,
            expects_resource: action == Action::Delete && self.expects_resource(status),
        };
        let (repeated, found) = (self.target.repeated_create, self.target.read_finds_created);
        let correction = correction.noting_create(repeated, ObjectInputs::of(self.object), found);
        let was_begun = self.memory.delay.left_unseen(&correction.asked_for());
        Correction { was_begun, ..correction }
    }

    /// Returns the external resource that the object names; `None` if its name is unknown.
    #[must_use]
    pub fn named(&self) -> Option<ResourceName> {
        self.facts.named()
    }
}
