//! All objects of one target: their last seen state, their memory, and their relations.
//!
//! The breaker, the limits and the objects meet only here, so that a decision sees all of them at the same moment.

use drift_api::condition::{ClaimedName, CorrectedReason, CurrentVerdict, SecretMarks};
use drift_api::held_corrections::BreakerCounts;
use drift_api::identity::{Claimant, ResourceName, Rights, Uid};
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use std::collections::HashMap;
use std::time::Duration;

use drift_language::{RepeatedCreate, Target, TargetState};
use indexmap::IndexMap;

use crate::engine::correction_limits::{LimitUsage, Line, Place, Room};
use crate::engine::decide::decide;
use crate::engine::decide::decision::Decision;
use crate::engine::decide::facts::{ObjectFacts, TargetFacts};
use crate::engine::decide::mass_drift_breaker::{Breaker, Stand, Transition};
use crate::engine::decide::situation::{Situation, Surroundings};
use crate::engine::memory::ObjectMemory;
use crate::engine::objects::claimant::claimant_of;
pub use crate::engine::objects::handover::Handover;
use crate::engine::objects::read_proof::{ReadEvidence, ReadProof};

/// One object as last seen.
#[derive(Clone, Debug)]
struct ObjectEntry {
    object: LeanObject,
    facts: ObjectFacts,
    memory: ObjectMemory,
    /// Resource whose claim is being written. The object may name another resource meanwhile.
    claiming: Option<ResourceName>,
    evidence: ReadEvidence,
}

/// Facts for a decision from outside of the object's target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedFacts {
    /// State of the target by its ConfigMaps.
    pub state: TargetState,
    /// True if the poller attests the verdict.
    pub attested: bool,
    /// Rights of the object, considering the objects of all targets.
    pub rights: Rights,
    /// True if all objects are known that must be known before this one claims something or, for a deletion, before
    /// something is deleted.
    pub scope_complete: bool,
    /// Time at which the target's windows open for the object; `None` if they are open.
    pub window_opens: Option<Moment>,
    /// Current versions of the object's write-only secrets.
    pub secrets: Option<SecretMarks>,
    /// Current versions of all secrets of the object; `None` if they are unknown, or if no approval depends on them.
    pub declared_secrets: Option<SecretMarks>,
    /// True if a create of another object of the target is under way that a poll has to find.
    pub is_creating: bool,
}

/// All objects of one target.
#[derive(Debug)]
pub struct ObjectStore {
    target: TargetFacts,
    known: IndexMap<Uid, ObjectEntry>,
    breaker: Breaker,
    /// Usage of the target's limits.
    pub usage: LimitUsage,
    proof: ReadProof,
    listed: bool,
}

impl ObjectStore {
    /// Creates an object store without objects. `handover` comes from the store of the target's previous version.
    #[must_use]
    pub fn new(target: TargetFacts, handover: Handover) -> (Self, HashMap<Uid, ObjectMemory>) {
        let Handover { memories, breaker, usage } = handover;
        (
            Self { target, known: IndexMap::default(), breaker, usage, proof: ReadProof::default(), listed: false },
            memories,
        )
    }

    /// Ends the object store and returns the part that survives.
    #[must_use]
    pub fn into_handover(self, left: HashMap<Uid, ObjectMemory>) -> Handover {
        let known = self.known.into_iter().map(|(uid, known)| (uid, known.memory));
        let mut memories: HashMap<_, _> = left.into_iter().chain(known).collect();
        // The edit may have supplied a missing input.
        memories.values_mut().for_each(|memory| _ = memory.delay.send_anew());
        Handover { memories, breaker: self.breaker, usage: self.usage }
    }

    /// Returns the results of the templates for the object. They are evaluated again only if a field that they
    /// read has changed.
    #[must_use]
    pub fn facts_of(&self, target: &Target, object: &LeanObject) -> ObjectFacts {
        let known = self.known.get(&object.id.uid).filter(|known| known.object.reads_as(object));
        known.map_or_else(|| ObjectFacts::of(target, object), |known| known.facts.clone())
    }

    /// Takes in the current state of an object. Returns false if a newer one is known.
    pub fn see(
        &mut self,
        mut object: LeanObject,
        mut facts: ObjectFacts,
        memory: Option<ObjectMemory>,
        now: Moment,
    ) -> bool {
        let uid = object.id.uid.clone();
        if self.known.get(&uid).is_some_and(|known| !object.is_as_new_as(&known.object)) {
            return false;
        }
        if object.deleting {
            self.breaker.forget(&uid);
        } else {
            self.breaker.observe(&uid, Stand::of(&object.conditions), now);
        }
        let before = self.known.swap_remove(&uid);
        let asks_for_retry = |known: &ObjectEntry| known.object.retry_requested() != object.retry_requested();
        if object.retry_requested().is_some() && before.as_ref().is_some_and(asks_for_retry) {
            self.breaker.let_pass(&uid);
        }
        let claiming = before.as_ref().and_then(|known| known.claiming.clone());
        let evidenced = before.as_ref().map(|known| known.evidence).unwrap_or_default();
        if let Some(known) = before.as_ref().filter(|known| known.facts.identity == facts.identity) {
            // Shares the text with the known object and with the index of identities, which halves the memory.
            facts.identity.clone_from(&known.facts.identity);
        }
        if let Some(known) = before.as_ref().filter(|known| known.object.view == object.view) {
            object.view.clone_from(&known.object.view);
        }
        let mut memory = before.map(|known| known.memory).or(memory);
        let arrives_late = self.listed && memory.is_none();
        let memory_now = memory.get_or_insert_with(|| ObjectMemory::of(&object, now));
        if arrives_late {
            memory_now.arrive(object.conditions.observed(), now);
        }
        memory_now.observe(&object, facts.desired_hash, self.target.limits.attempts, now);
        if let Some(memory) = memory {
            let current = object.conditions.observed().and_then(CurrentVerdict::read);
            let is_open = self.has_open_create(&object, current.as_ref(), &facts, &memory);
            let evidence = evidenced.after(current.as_ref(), is_open);
            self.proof.replace(evidenced, evidence);
            self.known.insert(uid, ObjectEntry { object: object.kept(), facts, memory, claiming, evidence });
        }
        true
    }

    /// Returns true if the object has a create that a poll has to find. No poll looks for what another name, a suspension
    /// or a requirement keeps from it.
    fn has_open_create(
        &self,
        object: &LeanObject,
        current: Option<&CurrentVerdict>,
        facts: &ObjectFacts,
        memory: &ObjectMemory,
    ) -> bool {
        let is_looked_for = facts.suspended == Some(false) && facts.allowed == Some(true);
        if self.target.repeated_create == RepeatedCreate::Harmless || !is_looked_for {
            return false;
        }
        let record = memory.status_of(object);
        let is_shown = current.is_some_and(|current| current.reason.is_presence());
        // A Job has no record of its create before it succeeds, and a newer version may have another one.
        let may_have_begun = record.reason == Some(CorrectedReason::CorrectionStarted)
            || record.is_interrupted()
            || object.conditions.are_of_newer_version();
        let named = facts.named();
        let owns = |owned: &ClaimedName| named.as_ref().is_none_or(|named| owned.names(named));
        record.owned().is_some_and(owns) && (record.unseen_create(current).is_some() || may_have_begun && !is_shown)
    }

    /// Returns true if a poll shows the resource of an object.
    #[must_use]
    pub const fn is_read_proved(&self) -> bool {
        self.proof.is_proved()
    }

    /// Holds the verdict of an object back if its time is after `wall`, the time since 1970.
    pub fn hold_verdict_ahead(&mut self, uid: &Uid, wall: Duration, now: Moment) {
        if let Some(ObjectEntry { object, memory, .. }) = self.known.get_mut(uid) {
            memory.hold_verdict_ahead(object, wall, now);
        }
    }

    /// Drops an object that is gone.
    pub fn forget(&mut self, uid: &Uid) {
        if let Some(known) = self.known.swap_remove(uid) {
            self.proof.replace(known.evidence, ReadEvidence::default());
        }
        if self.target.mode.corrects() {
            self.breaker.forget(uid);
        }
    }

    /// Records that the first full list is complete. The breaker then forgets objects that are gone.
    pub fn note_listed(&mut self) {
        self.listed = true;
        if self.target.mode.corrects() {
            self.breaker.keep_only(|uid| self.known.contains_key(uid));
        }
    }

    /// Returns true if the first full list is complete.
    #[must_use]
    pub const fn is_listed(&self) -> bool {
        self.listed
    }

    /// Returns the uids of all objects.
    pub fn uids(&self) -> impl Iterator<Item = &Uid> {
        self.known.keys()
    }

    /// Returns an object as last seen.
    #[must_use]
    pub fn object(&self, uid: &Uid) -> Option<&LeanObject> {
        self.known.get(uid).map(|known| &known.object)
    }

    /// Returns the memory of an object for changes.
    pub fn memory(&mut self, uid: &Uid) -> Option<&mut ObjectMemory> {
        self.known.get_mut(uid).map(|known| &mut known.memory)
    }

    /// Returns the memory of an object.
    #[must_use]
    pub fn memory_of(&self, uid: &Uid) -> Option<&ObjectMemory> {
        self.known.get(uid).map(|known| &known.memory)
    }

    /// Returns the object as a claimant. A claim that is being written already counts.
    #[must_use]
    pub fn claimant(&self, uid: &Uid) -> Option<Claimant> {
        let ObjectEntry { object, facts, memory, claiming, .. } = self.known.get(uid)?;
        let mut claimant = claimant_of(&self.target, object, facts, memory);
        if claimant.owns.is_none() && claiming.is_some() {
            (claimant.owns, claimant.may_claim) = (claiming.clone(), false);
        }
        Some(claimant)
    }

    /// Sets if a claim of the named resource is being written.
    pub fn set_claiming(&mut self, uid: &Uid, claiming: bool) {
        if let Some(known) = self.known.get_mut(uid) {
            known.claiming = claiming.then(|| known.facts.named()).flatten();
        }
    }

    /// Decides for an object; `None` if it is unknown.
    #[must_use]
    pub fn decide(&self, uid: &Uid, shared: SharedFacts, now: Moment) -> Option<Decision> {
        let known = self.known.get(uid)?;
        let surroundings = Surroundings {
            listed: self.listed,
            rights: shared.rights,
            scope_complete: shared.scope_complete,
            state: shared.state,
            attested: shared.attested,
            breaker_holds: self.breaker.holds(uid),
            window_opens: shared.window_opens,
            may_create: self.proof.permits(known.evidence, shared.is_creating),
            room: self.room(&Line::of(&known.object, self.target.by_job), now),
        };
        let ObjectEntry { object, facts, memory, .. } = known;
        Some(decide(&Situation {
            object,
            facts,
            target: &self.target,
            memory,
            secrets: shared.secrets.as_ref(),
            declared_secrets: shared.declared_secrets.as_ref(),
            surroundings,
            now,
        }))
    }

    /// Returns true if another object may be created whose create a poll has to find.
    #[must_use]
    pub fn may_create_another(&self, is_creating: bool) -> bool {
        self.proof.permits(ReadEvidence::default(), is_creating)
    }

    /// Records that a correction or deletion of the object begins.
    pub fn begin(&mut self, uid: &Uid, now: Moment) -> Place {
        self.breaker.let_through(uid);
        if let Some(known) = self.known.get_mut(uid) {
            let retry = known.object.retry_requested();
            known.memory.begin(now, retry);
        }
        let line = self.line(uid);
        self.usage.begin(&line, now)
    }

    /// Ends the delays of unsent corrections of these objects, because a Secret changed. Returns the objects
    /// that had one.
    pub fn send_anew(&mut self, concerns: impl Fn(&LeanObject) -> bool) -> Vec<Uid> {
        let concerned = self.known.iter_mut().filter(|(_, known)| concerns(&known.object));
        concerned.filter_map(|(uid, known)| known.memory.delay.send_anew().then(|| uid.clone())).collect()
    }

    /// Returns the line in which an object waits for the limits.
    #[must_use]
    pub fn line(&self, uid: &Uid) -> Line {
        let by_job = self.target.by_job;
        self.object(uid).map_or(Line { namespace: None, deletes: false, by_job }, |object| Line::of(object, by_job))
    }

    /// Returns the room in the limits for one more correction of this line.
    #[must_use]
    pub fn room(&self, line: &Line, now: Moment) -> Room {
        self.usage.room(&self.target.limits, line, now)
    }

    /// Opens or closes the breaker. A target that only observes keeps it as it is, because its objects are not kept.
    pub fn evaluate_breaker(&mut self, now: Moment) -> Option<Transition> {
        if !self.listed || !self.target.mode.corrects() {
            return None;
        }
        self.breaker.evaluate(self.target.limits.max_drifted_percent, now)
    }

    /// The counts of the breaker while it is open.
    #[must_use]
    pub fn breaker_counts(&self) -> Option<BreakerCounts> {
        self.breaker.open_counts()
    }

    /// Returns true if the breaker is open.
    #[must_use]
    pub const fn breaker_is_open(&self) -> bool {
        self.breaker.is_open()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
