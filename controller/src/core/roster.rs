//! All objects of one target: what was last seen of each, what is remembered, and what they are to each other.
//!
//! The one place where identities, the breaker, the limits and single objects meet, so that a decision sees them as
//! of one moment. This file must not know how objects are watched or what becomes of a decision.

use std::collections::HashMap;

use drift_model::identity::{Claimant, IdentityIndex, Uid};
use drift_model::moment::Moment;
use drift_model::object::LeanObject;

use super::breaker::{Breaker, Stand, Transition};
use super::decide::decide;
use super::decision::Decision;
use super::facts::{ObjectFacts, TargetFacts};
use super::limits::{Pace, Place, Room};
use super::memory::ObjectMemory;
use super::situation::{Situation, Surroundings};

/// One object as it was last seen.
#[derive(Clone, Debug)]
struct Known {
    object: LeanObject,
    facts: ObjectFacts,
    memory: ObjectMemory,
}

/// What goes on outside of the target's own objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Around {
    /// The poller vouches for the target.
    pub vouched: bool,
}

/// The objects of one target.
#[derive(Debug)]
pub struct Roster {
    target: TargetFacts,
    known: HashMap<Uid, Known>,
    identities: IdentityIndex,
    breaker: Breaker,
    /// How much of the target's limits is used up.
    pub pace: Pace,
    listed: bool,
}

/// What of a roster outlives an edit of its target.
#[derive(Debug, Default)]
pub struct Heritage {
    memories: HashMap<Uid, ObjectMemory>,
    breaker: Breaker,
    pace: Pace,
}

impl Heritage {
    /// The target is no more, so what it had claimed counts no more either; how much it did lately still does, or to
    /// remove and add a target would undo every delay.
    pub fn forget_claims(&mut self) {
        self.memories.values_mut().for_each(ObjectMemory::forget_status);
    }
}

impl Roster {
    /// A roster that has seen nothing; `heritage` is what the roster of the target's former text left.
    #[must_use]
    pub fn new(target: TargetFacts, heritage: Heritage) -> (Self, HashMap<Uid, ObjectMemory>) {
        let Heritage { memories, breaker, pace } = heritage;
        let identities = IdentityIndex::default();
        (Self { target, known: HashMap::new(), identities, breaker, pace, listed: false }, memories)
    }

    /// Ends the roster.
    #[must_use]
    pub fn into_heritage(self, left: HashMap<Uid, ObjectMemory>) -> Heritage {
        let known = self.known.into_iter().map(|(uid, known)| (uid, known.memory));
        Heritage { memories: left.into_iter().chain(known).collect(), breaker: self.breaker, pace: self.pace }
    }

    /// Takes in an object as it is now, unless something newer is known. Gives every object to decide anew.
    pub fn see(
        &mut self,
        object: LeanObject,
        facts: ObjectFacts,
        memory: Option<ObjectMemory>,
        now: Moment,
    ) -> Vec<Uid> {
        let uid = object.id.uid.clone();
        if self.known.get(&uid).is_some_and(|known| !object.is_as_new_as(&known.object)) {
            return Vec::new();
        }
        if object.deleting {
            self.breaker.forget(&uid);
        } else {
            self.breaker.observe(&uid, Stand::of(&object.conditions), now);
        }
        let mut memory = self.known.remove(&uid).map(|known| known.memory).or(memory);
        let arrives_late = self.listed && memory.is_none();
        let memory_now = memory.get_or_insert_with(|| ObjectMemory::of(&object, now));
        if arrives_late {
            memory_now.arrive(object.conditions.observed(), now);
        }
        memory_now.observe(&object, facts.wish, self.target.limits.attempts, now);
        let mut due = self.identities.insert(&uid, claimant(&object, &facts, memory_now));
        if let Some(memory) = memory {
            self.known.insert(uid.clone(), Known { object, facts, memory });
        }
        due.push(uid);
        due
    }

    /// Drops an object that is gone. Gives every object to decide anew.
    pub fn forget(&mut self, uid: &Uid) -> Vec<Uid> {
        self.known.remove(uid);
        self.breaker.forget(uid);
        self.identities.remove(uid)
    }

    /// The first full list is read; what the breaker remembers of objects that are gone since counts no more.
    pub fn note_listed(&mut self) {
        self.listed = true;
        self.breaker.keep_only(|uid| self.known.contains_key(uid));
    }

    /// Whether the first full list is read.
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

    /// Decides for an object; `None` where it is not known.
    #[must_use]
    pub fn decide(&self, uid: &Uid, around: Around, now: Moment) -> Option<Decision> {
        let known = self.known.get(uid)?;
        let claimant = claimant(&known.object, &known.facts, &known.memory);
        let identity_shared =
            claimant.wants.as_deref().is_some_and(|identity| self.identities.is_shared(uid, identity));
        let surroundings = Surroundings {
            listed: self.listed,
            has_identity: self.identities.has(uid, &claimant),
            identity_shared,
            vouched: around.vouched,
            breaker_holds: self.breaker.holds(uid),
            room: self.room(now),
        };
        let Known { object, facts, memory } = known;
        Some(decide(&Situation { object, facts, target: &self.target, memory, surroundings, now }))
    }

    /// A correction or deletion of the object begins.
    pub fn begin(&mut self, uid: &Uid, now: Moment) -> Place {
        self.breaker.let_through(uid);
        if let Some(known) = self.known.get_mut(uid) {
            let retry = known.object.retry_requested.as_deref();
            known.memory.begin(now, retry);
        }
        self.pace.begin(now)
    }

    /// Whether the limits allow one more.
    #[must_use]
    pub fn room(&self, now: Moment) -> Room {
        self.pace.room(&self.target.limits, now)
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

    /// Whether the breaker is open.
    #[must_use]
    pub const fn breaker_is_open(&self) -> bool {
        self.breaker.is_open()
    }
}

/// What the object says of identities; a claim that another writer took from it still stands in our memory.
fn claimant(object: &LeanObject, facts: &ObjectFacts, memory: &ObjectMemory) -> Claimant {
    Claimant {
        wants: facts.identity.clone(),
        owns: memory.status_of(object).owns().map(str::to_owned),
        created: object.created.clone(),
        deleting: object.deleting,
    }
}

#[cfg(test)]
mod tests;
