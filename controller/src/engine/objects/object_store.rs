//! All objects of one target: what was last seen of each, what is remembered, and what they are to each other.
//!
//! The one place where the breaker, the limits and single objects meet, so that a decision sees them as of one moment.

use drift_api::mutants::{Mutant, is_planted};
use std::collections::HashMap;
use std::time::Duration;

use drift_api::condition::SecretMarks;
use drift_api::identity::{Claimant, ResourceName, Rights, Uid};
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_language::Target;
use indexmap::IndexMap;

use crate::engine::correction_limits::{LimitUsage, Line, Place, Room};
use crate::engine::decide::decide;
use crate::engine::decide::decision::Decision;
use crate::engine::decide::facts::{ObjectFacts, TargetFacts};
use crate::engine::decide::mass_drift_breaker::{Breaker, Stand, Transition};
use crate::engine::decide::situation::{Situation, Surroundings};
use crate::engine::memory::ObjectMemory;
use crate::engine::objects::claimant::claimant_of;

/// One object as it was last seen.
#[derive(Clone, Debug)]
struct ObjectEntry {
    object: LeanObject,
    facts: ObjectFacts,
    memory: ObjectMemory,
    /// What a correction that is under way claims: the object may name something else by now.
    claiming: Option<ResourceName>,
}

/// A program keeps 100,000 of these. A field that few objects need belongs in a box.
const _: () = assert!(size_of::<ObjectEntry>() <= 512);

/// What an object may do as far as others than the objects of its target decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedFacts {
    /// The poller attests the target.
    pub attested: bool,
    /// What the object may do, as far as the objects of all targets are concerned.
    pub rights: Rights,
    /// Every object is known that has to be before this one claims something or, where it is being deleted, before
    /// something is deleted.
    pub scope_complete: bool,
    /// The secrets of the object that cannot be read back, in their present versions.
    pub secrets: Option<SecretMarks>,
}

/// The objects of one target.
#[derive(Debug)]
pub struct ObjectStore {
    target: TargetFacts,
    known: IndexMap<Uid, ObjectEntry>,
    breaker: Breaker,
    /// How much of the target's limits is used up.
    pub usage: LimitUsage,
    listed: bool,
}

/// What of an object store outlives an edit of its target.
#[derive(Debug, Default)]
pub struct Handover {
    memories: HashMap<Uid, ObjectMemory>,
    breaker: Breaker,
    usage: LimitUsage,
}

impl Handover {
    /// The target is no more, so what it had claimed counts no more either; how much it did lately still does, or to
    /// remove and add a target would undo every delay.
    pub fn forget_claims(&mut self) {
        self.memories.values_mut().for_each(ObjectMemory::forget_status);
    }
}

impl ObjectStore {
    /// An object store that has seen nothing; `handover` is what the object store of the target's former text left.
    #[must_use]
    pub fn new(target: TargetFacts, handover: Handover) -> (Self, HashMap<Uid, ObjectMemory>) {
        let Handover { memories, breaker, usage } = handover;
        (Self { target, known: IndexMap::default(), breaker, usage, listed: false }, memories)
    }

    /// Ends the object store.
    #[must_use]
    pub fn into_handover(self, left: HashMap<Uid, ObjectMemory>) -> Handover {
        let known = self.known.into_iter().map(|(uid, known)| (uid, known.memory));
        let mut memories: HashMap<_, _> = left.into_iter().chain(known).collect();
        // The edit may have mended it.
        memories.values_mut().for_each(|memory| _ = memory.delay.send_anew());
        Handover { memories, breaker: self.breaker, usage: self.usage }
    }

    /// Returns what the templates say of the object. They are evaluated where it differs in a field that they read.
    #[must_use]
    pub fn facts_of(&self, target: &Target, object: &LeanObject) -> ObjectFacts {
        let known = self.known.get(&object.id.uid).filter(|known| known.object.reads_as(object));
        known.map_or_else(|| ObjectFacts::of(target, object), |known| known.facts.clone())
    }

    /// Takes in an object as it is now, unless something newer is known, which it tells.
    pub fn see(
        &mut self,
        mut object: LeanObject,
        mut facts: ObjectFacts,
        memory: Option<ObjectMemory>,
        now: Moment,
    ) -> bool {
        let uid = object.id.uid.clone();
        let is_older = self.known.get(&uid).is_some_and(|known| !object.is_as_new_as(&known.object));
        if is_older && !is_planted(Mutant::OlderObject) {
            return false;
        }
        if object.deleting {
            self.breaker.forget(&uid);
        } else {
            self.breaker.observe(&uid, Stand::of(&object.conditions), now);
        }
        let before = self.known.swap_remove(&uid);
        let claiming = before.as_ref().and_then(|known| known.claiming.clone());
        if let Some(known) = before.as_ref().filter(|known| known.facts.identity == facts.identity) {
            // It takes twice the room otherwise, and the index of identities keeps this one.
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
            self.known.insert(uid, ObjectEntry { object: object.kept(), facts, memory, claiming });
        }
        true
    }

    /// Holds the verdict of an object where its time lies in the future of `wall`, the time since 1970.
    pub fn hold_verdict_ahead(&mut self, uid: &Uid, wall: Duration, now: Moment) {
        if let Some(ObjectEntry { object, memory, .. }) = self.known.get_mut(uid) {
            memory.hold_verdict_ahead(object, wall, now);
        }
    }

    /// Drops an object that is gone.
    pub fn forget(&mut self, uid: &Uid) {
        self.known.swap_remove(uid);
        self.breaker.forget(uid);
    }

    /// The first full list is read; what the breaker remembers of objects that are gone since counts no more.
    pub fn note_listed(&mut self) {
        self.listed = true;
        self.breaker.keep_only(|uid| self.known.contains_key(uid));
    }

    /// Returns true if the first full list is read.
    #[must_use]
    pub const fn is_listed(&self) -> bool {
        self.listed
    }

    /// Every object.
    pub fn uids(&self) -> impl Iterator<Item = &Uid> {
        self.known.keys()
    }

    /// An object as it was last seen.
    #[must_use]
    pub fn object(&self, uid: &Uid) -> Option<&LeanObject> {
        self.known.get(uid).map(|known| &known.object)
    }

    /// The memory of an object, to be changed.
    pub fn memory(&mut self, uid: &Uid) -> Option<&mut ObjectMemory> {
        self.known.get_mut(uid).map(|known| &mut known.memory)
    }

    /// The memory of an object.
    #[must_use]
    pub fn memory_of(&self, uid: &Uid) -> Option<&ObjectMemory> {
        self.known.get(uid).map(|known| &known.memory)
    }

    /// What delays nothing any more takes no room any more, also of an object to which nothing happens.
    pub fn give_room_back(&mut self, now: Moment) {
        self.known.values_mut().for_each(|known| known.memory.give_room_back(now));
    }

    /// What the object says of external resources. A claim that is being written counts already.
    #[must_use]
    pub fn claimant(&self, uid: &Uid) -> Option<Claimant> {
        let ObjectEntry { object, facts, memory, claiming } = self.known.get(uid)?;
        let mut claimant = claimant_of(&self.target, object, facts, memory);
        if claimant.owns.is_none() && claiming.is_some() {
            (claimant.owns, claimant.may_claim) = (claiming.clone(), false);
        }
        Some(claimant)
    }

    /// A claim of what the object names now is on its way to the API server, or has arrived there or not.
    pub fn set_claiming(&mut self, uid: &Uid, claiming: bool) {
        if let Some(known) = self.known.get_mut(uid) {
            let named = || known.facts.identity.clone().map(|identity| self.target.named(identity));
            known.claiming = claiming.then(named).flatten();
        }
    }

    /// Decides for an object; `None` where it is not known.
    #[must_use]
    pub fn decide(&self, uid: &Uid, shared: SharedFacts, now: Moment) -> Option<Decision> {
        let known = self.known.get(uid)?;
        let surroundings = Surroundings {
            listed: self.listed,
            rights: shared.rights,
            scope_complete: shared.scope_complete,
            attested: shared.attested,
            breaker_holds: self.breaker.holds(uid),
            room: self.room(&Line::of(&known.object, self.target.by_job), now),
        };
        let ObjectEntry { object, facts, memory, .. } = known;
        Some(decide(&Situation {
            object,
            facts,
            target: &self.target,
            memory,
            secrets: shared.secrets.as_ref(),
            surroundings,
            now,
        }))
    }

    /// A correction or deletion of the object begins.
    pub fn begin(&mut self, uid: &Uid, now: Moment) -> Place {
        self.breaker.let_through(uid);
        if let Some(known) = self.known.get_mut(uid) {
            let retry = known.object.retry_requested();
            known.memory.begin(now, retry);
        }
        let line = self.line(uid);
        self.usage.begin(&line, now)
    }

    /// A Secret of these objects changed: what could not be sent is tried again at once. Gives those that waited for that.
    pub fn send_anew(&mut self, concerns: impl Fn(&LeanObject) -> bool) -> Vec<Uid> {
        let concerned = self.known.iter_mut().filter(|(_, known)| concerns(&known.object));
        concerned.filter_map(|(uid, known)| known.memory.delay.send_anew().then(|| uid.clone())).collect()
    }

    /// The line in which an object waits for the limits.
    #[must_use]
    pub fn line(&self, uid: &Uid) -> Line {
        let by_job = self.target.by_job;
        self.object(uid).map_or(Line { namespace: None, deletes: false, by_job }, |object| Line::of(object, by_job))
    }

    /// Whether the limits allow one more of this line.
    #[must_use]
    pub fn room(&self, line: &Line, now: Moment) -> Room {
        self.usage.room(&self.target.limits, line, now)
    }

    /// Opens or closes the breaker.
    pub fn evaluate_breaker(&mut self, now: Moment) -> Option<Transition> {
        if !self.listed {
            return None;
        }
        self.breaker.evaluate(self.target.limits.max_drifted_percent, now)
    }

    /// A person edited the limits: what stands now may pass.
    pub fn let_pass(&mut self) -> Option<Transition> {
        self.breaker.let_pass()
    }

    /// The objects that drifted and the objects with a verdict while the breaker is open.
    #[must_use]
    pub fn breaker_counts(&self) -> Option<(usize, usize)> {
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
