//! All objects of one target and the queue of their wake-ups.
//!
//! Each object's next wake is in one ordered queue, so that a hundred thousand quiet objects cost nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use drift_api::attestation::Exceptions;
use drift_api::collections::fifo::Fifo;
use drift_api::collections::shared_text::UidHasher;
use drift_api::condition::ObservedReason;
use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_api::timing::time_queue::TimeQueue;
use drift_api::unwritten::Unwritten;
use drift_language::Target;
use indexmap::IndexMap;

use crate::engine::judgement::finding::Failure;
use crate::engine::judgement::rendered::{Rendered, appraise};
use crate::engine::judgement::total_loss::OtherObjects;
use crate::engine::object::found_objects::{FoundObjects, Standing};
use crate::engine::object::object_state::{Arrival, BegunPoll, ObjectState};
use crate::engine::object::owed_verdicts::{OwingObjects, UnwrittenObjects};
use crate::engine::poll::request::Prepared;
use crate::engine::schedule::Now;
use crate::engine::schedule::poll_settings::PollSettings;
use crate::engine::schedule::poll_turns::{PollTurn, PollTurns};

/// Maximum time without an event, bookmark or list before a watch counts as dead. The server sends a bookmark about
/// once a minute, and two may be missed.
pub const WATCH_ALIVE_FOR: Duration = Duration::from_secs(130);

/// Objects that one missing resource looks at for a proof of the read. It bounds the time in a mass loss.
const PROVERS_LOOKED_AT: usize = 64;

/// Objects of one target.
#[derive(Debug)]
pub struct ObjectStore {
    target: Arc<Target>,
    settings: Arc<PollSettings>,
    states: IndexMap<Uid, ObjectState, UidHasher>,
    wakes: TimeQueue,
    polls: PollTurns,
    writes: Fifo,
    /// All objects at a start, and few objects later.
    owing: OwingObjects,
    unwritten: UnwrittenObjects,
    /// By the account that reads them. An account that works proves nothing about another.
    found: BTreeMap<String, FoundObjects>,
    /// Index of the object that last proved the read, or was last looked at for that.
    prover: usize,
    listed: bool,
    heard: Option<Moment>,
    /// Reason why no object of the target is polled.
    barred: Option<ObservedReason>,
}

impl ObjectStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new(target: Arc<Target>) -> Self {
        Self {
            settings: Arc::new(PollSettings::of(&target)),
            target,
            states: IndexMap::default(),
            wakes: TimeQueue::default(),
            polls: PollTurns::default(),
            writes: Fifo::default(),
            owing: OwingObjects::default(),
            unwritten: UnwrittenObjects::default(),
            found: BTreeMap::new(),
            prover: 0,
            listed: false,
            heard: None,
            barred: None,
        }
    }

    /// Takes in an object from the watch, a read or a write, unless a newer state is known.
    pub fn see(&mut self, object: LeanObject, now: Now) {
        let uid = object.id.uid.clone();
        let known = self.states.get(&uid).map(ObjectState::object);
        let Some(object) = object.newer_than(known) else { return };
        let rendered = self.appraise(&object);
        match self.states.get_mut(&uid) {
            Some(state) => state.see(object, rendered, now.moment),
            None => {
                let arrival = if self.listed { Arrival::Later } else { Arrival::Listed };
                let state = ObjectState::new(object, rendered, self.settings.clone(), arrival, now);
                self.states.insert(uid.clone(), state);
            }
        }
        self.rearrange(&uid, now.moment);
    }

    /// Drops an object that is gone or no longer selected.
    pub fn forget(&mut self, uid: &Uid) {
        if let Some(state) = self.states.swap_remove(uid) {
            self.owing.set(&state.object().id, None);
            self.unwritten.set(uid, None);
            count(&mut self.found, &self.target, &state, (state.counted(), Standing::Uncounted));
        }
        self.polls.remove(uid);
        self.writes.leave(uid);
        self.wakes.set(uid, None);
    }

    /// Records that the first list is complete.
    pub fn note_listed(&mut self, now: Moment) {
        self.listed = true;
        self.heard = Some(now);
    }

    /// Records that all watches were alive at `since` or later.
    pub fn note_alive(&mut self, since: Moment) {
        self.heard = self.heard.max(Some(since));
    }

    /// Returns the exceptions if the target can be attested: the list is complete, the watches are alive, and no object
    /// is True because of another writer. A few objects that came later, that another writer changed, or whose verdict
    /// cannot be renewed are exceptions and block only themselves. `None` if the target is not attested.
    #[must_use]
    pub fn attested_except(&self, now: Moment) -> Option<Exceptions> {
        let alive = self.heard.is_some_and(|heard| now - heard <= WATCH_ALIVE_FOR);
        if !(self.listed && alive) {
            return None;
        }
        self.owing.exceptions(|uid| self.states.get(uid).is_some_and(|state| state.is_waited_for(now)))
    }

    /// Returns namespaces that are excepted as a whole, because too many verdicts in them cannot be renewed.
    #[must_use]
    pub fn crowded_namespaces(&self) -> BTreeSet<String> {
        self.owing.crowded()
    }

    /// Returns the verdicts that cannot be written; `None` without one.
    #[must_use]
    pub fn unwritten(&self) -> Option<Unwritten> {
        self.unwritten.summary()
    }

    /// Returns the other objects than this one whose resource was found before.
    #[must_use]
    pub fn others(&self, uid: &Uid) -> OtherObjects {
        let Some(state) = self.states.get(uid) else { return OtherObjects::default() };
        self.found.get(account_of(&self.target, state)).map(|found| found.without(state.counted())).unwrap_or_default()
    }

    /// Records that a poll that began at `began` found the resource of this object. If it is the only one of its account
    /// that is known to be there, the read works again, and missing resources are polled promptly.
    pub fn note_found(&mut self, uid: &Uid, began: Moment, now: Moment) {
        let Some(state) = self.states.get(uid) else { return };
        let account = account_of(&self.target, state);
        let is_news = match self.found.get_mut(account) {
            Some(found) => found.note_found(began),
            None => self.found.entry(account.to_owned()).or_default().note_found(began),
        };
        if !is_news {
            return;
        }
        let is_waiting = |state: &ObjectState| state.is_missing() && account_of(&self.target, state) == account;
        let missing: Vec<Uid> =
            self.states.iter().filter(|(_, state)| is_waiting(state)).map(|(uid, _)| uid.clone()).collect();
        missing.iter().for_each(|uid| _ = self.update(uid, now, |state| state.prove_read(now)));
    }

    /// Requests a poll of another object whose resource may be there, to learn if the read works. Looks at
    /// `PROVERS_LOOKED_AT` objects: in a mass loss most are missing, and the regular polls find one that is not.
    pub fn ask_for_proof(&mut self, of: &Uid, now: Moment) {
        let count = self.states.len();
        let Some(account) = self.states.get(of).map(|state| account_of(&self.target, state).to_owned()) else { return };
        for step in 0..count.min(PROVERS_LOOKED_AT) {
            let index = (self.prover + step) % count;
            let Some((uid, state)) = self.states.get_index(index) else { continue };
            let is_of_account = account_of(&self.target, state) == account;
            if uid == of || !is_of_account || !matches!(state.counted(), Standing::Present | Standing::Unpolled) {
                continue;
            }
            self.prover = index;
            if !state.is_polled_soon(now) {
                let uid = uid.clone();
                self.update(&uid, now, |state| state.prove_read(now));
            }
            return;
        }
        self.prover = self.prover.wrapping_add(PROVERS_LOOKED_AT) % count.max(1);
    }

    /// Returns the state of an object.
    #[must_use]
    pub fn state(&self, uid: &Uid) -> Option<&ObjectState> {
        self.states.get(uid)
    }

    /// Returns the states of all objects.
    pub fn states(&self) -> impl Iterator<Item = &ObjectState> {
        self.states.values()
    }

    /// Changes one object and schedules its next wake.
    pub fn update<R>(&mut self, uid: &Uid, now: Moment, change: impl FnOnce(&mut ObjectState) -> R) -> Option<R> {
        let result = self.states.get_mut(uid).map(change);
        self.rearrange(uid, now);
        result
    }

    /// Returns the next object that is due. It is returned again only after another change.
    pub fn pop_awake(&mut self, now: Moment) -> Option<Uid> {
        self.wakes.pop_due(now)
    }

    /// Returns the time of the next wake; in the past if one is due.
    #[must_use]
    pub fn next_wake(&self) -> Option<Moment> {
        self.wakes.next_at()
    }

    /// Changes an object that woke up or whose turn to write has come, queues its poll if that is due, and schedules its
    /// next wake.
    pub fn attend<R>(&mut self, uid: &Uid, now: Moment, change: impl FnOnce(&mut ObjectState) -> R) -> Option<R> {
        let result = self.states.get_mut(uid).map(change);
        if self.is_due(uid, now) {
            self.queue_poll(uid);
        }
        self.rearrange(uid, now);
        result
    }

    /// Returns true if only a poll of another object can decide about the absence that the last poll of this one found.
    #[must_use]
    pub fn lacks_proof(&self, uid: &Uid) -> bool {
        let others = self.others(uid);
        self.states.get(uid).is_some_and(|state| state.lacks_proof(others))
    }

    /// Queues an object whose poll is due for the read limits.
    pub fn queue_poll(&mut self, uid: &Uid) {
        if self.states.get(uid).is_some_and(|state| state.wants_prompt_poll()) {
            self.polls.add_prompt(uid);
        } else {
            self.polls.add_regular(uid);
        }
    }

    /// Returns true if polls wait for the read limits.
    #[must_use]
    pub fn has_waiting_polls(&self) -> bool {
        !self.polls.is_empty()
    }

    /// Returns the next object to poll. An object whose poll was postponed while it waited, for example until a
    /// correction settles, returns when it is due.
    pub fn next_poll(&mut self, now: Moment) -> Option<PollTurn> {
        while let Some(turn) = self.polls.call_next() {
            if self.is_due(&turn.uid, now) {
                return Some(turn);
            }
            self.rearrange(&turn.uid, now);
        }
        None
    }

    /// Takes the turn of an object that waits, if its poll is due.
    pub fn take_poll(&mut self, uid: &Uid, now: Moment) -> Option<PollTurn> {
        if self.is_due(uid, now) { self.polls.take(uid) } else { None }
    }

    fn is_due(&self, uid: &Uid, now: Moment) -> bool {
        self.states.get(uid).and_then(|state| state.poll_due()).is_some_and(|due| due <= now)
    }

    /// Returns the rendered request of the object's next poll.
    pub fn prepare(&mut self, uid: &Uid) -> Option<Arc<Prepared>> {
        Some(self.states.get_mut(uid)?.prepare(&self.target))
    }

    /// Begins the poll of an object whose turn it is.
    pub fn begin_poll(&mut self, turn: &PollTurn, now: Now) -> Option<BegunPoll> {
        self.polls.note_used(turn);
        self.update(&turn.uid, now.moment, |state| state.begin_poll(now))
    }

    /// Queues an object for a write.
    pub fn queue_write(&mut self, uid: &Uid, now: Moment) {
        self.writes.join(uid);
        self.rearrange(uid, now);
    }

    /// Returns the next object to write.
    pub fn next_write(&mut self) -> Option<Uid> {
        self.writes.call_next()
    }

    /// Renders and checks an object, unless the fields that its target reads are unchanged.
    fn appraise(&self, object: &LeanObject) -> Rendered {
        let known = self.states.get(&object.id.uid).filter(|state| state.object().reads_as(object));
        known.map_or_else(|| self.appraise_anew(object), |state| state.rendered().clone())
    }

    fn appraise_anew(&self, object: &LeanObject) -> Rendered {
        let rendered = appraise(&self.target, object);
        match self.barred {
            Some(reason) => Rendered { rejected: Some(Box::new(Failure::of(reason))), ..rendered },
            None => rendered,
        }
    }

    /// Ends the polls of every object with this reason, or begins them again.
    pub fn bar(&mut self, reason: Option<ObservedReason>, now: Moment) {
        if self.barred == reason {
            return;
        }
        self.barred = reason;
        for uid in self.states.keys().cloned().collect::<Vec<_>>() {
            let Some(object) = self.states.get(&uid).map(|state| state.object().clone()) else { continue };
            let rendered = self.appraise_anew(&object);
            self.update(&uid, now, |state| state.see(object, rendered, now));
        }
    }

    fn rearrange(&mut self, uid: &Uid, now: Moment) {
        let Some(state) = self.states.get_mut(uid) else { return self.wakes.set(uid, None) };
        let write = state.next_write(now).filter(|_| !self.writes.has(uid));
        let standings = state.count_standing();
        count(&mut self.found, &self.target, state, standings);
        self.owing.set(&state.object().id, state.owes_verdict(now));
        self.unwritten.set(&state.object().id.uid, state.unwritten(now));
        // An object in the regular line wakes once more to move to the prompt line.
        let in_line = self.polls.has_prompt(uid) || (self.polls.has_regular(uid) && !state.wants_prompt_poll());
        let poll = state.poll_due().filter(|_| !in_line);
        let wake = [poll, state.silence_due(), write, state.overdue_at(now)].into_iter().flatten().min();
        self.wakes.set(uid, wake);
    }
}

fn account_of<'t>(target: &'t Target, state: &ObjectState) -> &'t str {
    target.account_of(state.object().id.namespace.as_deref())
}

/// Changes the standing of an object among those of its account.
fn count(
    found: &mut BTreeMap<String, FoundObjects>,
    target: &Target,
    state: &ObjectState,
    (before, after): (Standing, Standing),
) {
    if before != after {
        found.entry(account_of(target, state).to_owned()).or_default().change(before, after);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
