//! The external resources of all targets' objects, shared by the targets' actors.
//!
//! A thin handle: one lock around the index, a mailbox for each actor whose objects' rights another one's object may
//! change, and the scopes in which objects are not known yet. What an actor has told stays until the actor of the
//! target's next text has read its list, so that an edit of a target gives nobody's resource away.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drift_api::collections::shared_text::SharedText;
use drift_api::identity::{Claimant, IdentityIndex, ObjectRef, Ownership, Rights, ScopeId, Selected, Uid};
use drift_api::timing::moment::Moment;
use drift_language::Target;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, watch};

use crate::cleanup::{IncompleteScopes, NotedSelections, Selections};
use crate::config::Configuration;
use crate::process::clock;

/// The time that a target has to read its list before others create and adopt without it. A hundred thousand objects are
/// listed within a minute; a kind that is not served, or a list that is refused, must hold up nobody for good.
const LIST_WITHIN: Duration = Duration::from_secs(300);

/// How often it is looked whether that time is over.
const LOOK_AGAIN: Duration = Duration::from_secs(15);

/// The external resources of one program's objects, for one term of leadership. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Identities {
    state: Arc<Mutex<IdentityState>>,
    listing: Arc<Notify>,
}

#[derive(Debug, Default)]
struct IdentityState {
    index: IdentityIndex,
    mailboxes: HashMap<SharedText, UnboundedSender<Wake>>,
    /// Targets whose list is read, each with the hash of the text that it was read for.
    listed: HashMap<SharedText, String>,
    /// The active targets, each with its text and the time at which it began.
    active: HashMap<SharedText, (String, Moment)>,
    /// The scopes in which nobody claims yet, and those in which nothing is deleted yet.
    incomplete: [IncompleteScopes; 2],
}

/// The objects that an actor must look at again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wake {
    /// This object: another target's object came, changed or went.
    Object(Uid),
    /// Whatever waited for a scope to be complete.
    Scopes,
}

/// An object has what it is corrected for while this lives, also when no target sees it any more.
#[derive(Debug)]
#[must_use = "others may have the resource when this is dropped"]
pub struct HeldClaim {
    identities: Identities,
    selected: Selected,
}

/// One actor's part in it.
#[derive(Debug)]
pub struct Member {
    identities: Identities,
    target: SharedText,
    scope: ScopeId,
    text: String,
    /// What it told of until its list was read.
    told: Option<HashSet<Uid>>,
    wakes: UnboundedReceiver<Wake>,
}

impl Identities {
    /// The part of a target's actor; there is one for each target at a time.
    #[must_use]
    pub fn join(&self, target: &Target) -> Member {
        let name = SharedText::from(target.name.as_str());
        let (mailbox, wakes) = unbounded_channel();
        let mut state = self.state();
        state.mailboxes.insert(name.clone(), mailbox);
        state.listed.remove(&name);
        drop(state);
        self.listing.notify_one();
        Member {
            identities: self.clone(),
            target: name,
            scope: target.scope.id,
            text: target.document_hash.clone(),
            told: Some(HashSet::new()),
            wakes,
        }
    }

    /// Follows which targets are active and which have read their lists, for as long as it is polled.
    pub async fn follow(&self, mut configuration: watch::Receiver<Arc<Configuration>>, notes: NotedSelections) {
        loop {
            let now = configuration.borrow_and_update().clone();
            notes.read(|notes| self.state().arrange(&now, notes));
            tokio::select! {
                changed = configuration.changed() => if changed.is_err() { return },
                () = self.listing.notified() => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
        }
    }

    fn note_listed(&self, target: &SharedText, text: &str, objects: &HashSet<Uid>) {
        let mut state = self.state();
        let concerned = state.index.keep_only(target, objects);
        state.tell(concerned, None);
        if state.listed.insert(target.clone(), text.to_owned()).as_deref() != Some(text) {
            self.listing.notify_one();
        }
    }

    /// A panic elsewhere leaves no half-written index: whoever panics ends the program or its own target.
    fn state(&self) -> MutexGuard<'_, IdentityState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdentityState {
    fn arrange(&mut self, configuration: &Configuration, notes: &Selections) {
        let now = clock::now();
        let mut active = HashMap::new();
        for target in configuration.targets.values() {
            let name = SharedText::from(target.name.as_str());
            let before = self.active.remove(&name).filter(|(text, _)| *text == target.document_hash);
            active.insert(name, before.unwrap_or_else(|| (target.document_hash.clone(), now)));
        }
        self.active = active;
        let gone: Vec<_> = self.index.targets().into_iter().filter(|name| !self.active.contains_key(name)).collect();
        gone.iter().for_each(|target| self.drop_target(target));
        let is_listed = |target: &Target| self.listed.get(target.name.as_str()) == Some(&target.document_hash);
        let is_awaited = |target: &Target| {
            !is_listed(target)
                && self.active.get(target.name.as_str()).is_some_and(|(_, since)| now < *since + LIST_WITHIN)
        };
        let incomplete = match configuration.loaded {
            true => [
                IncompleteScopes::find(&Selections::default(), configuration.active(), |target| !is_awaited(target)),
                IncompleteScopes::find(notes, configuration.active(), is_listed),
            ],
            false => Default::default(),
        };
        if incomplete != self.incomplete {
            self.incomplete = incomplete;
            self.mailboxes.values().for_each(|mailbox| _ = mailbox.send(Wake::Scopes));
        }
    }

    fn drop_target(&mut self, target: &SharedText) {
        self.listed.remove(target);
        let concerned = self.index.keep_only(target, &HashSet::new());
        self.tell(concerned, None);
    }

    /// Tells the actors of other targets; gives the objects of `own`.
    fn tell(&self, concerned: Vec<Selected>, own: Option<&SharedText>) -> Vec<Uid> {
        let mut ours = Vec::new();
        for Selected { target, uid } in concerned {
            if Some(&target) == own {
                ours.push(uid);
            } else if let Some(mailbox) = self.mailboxes.get(&target) {
                // An actor that has ended needs no word.
                let _ = mailbox.send(Wake::Object(uid));
            }
        }
        ours
    }
}

impl Member {
    /// The scope of the target's identities.
    #[must_use]
    pub const fn scope(&self) -> ScopeId {
        self.scope
    }

    /// Takes an object in as it is now; gives the target's other objects whose right to act may have changed.
    pub fn insert(&mut self, uid: &Uid, claimant: Claimant) -> Vec<Uid> {
        if let Some(told) = &mut self.told {
            told.insert(uid.clone());
        }
        let mut state = self.identities.state();
        let concerned = state.index.insert(&self.selected(uid), claimant);
        state.tell(concerned, Some(&self.target))
    }

    /// Drops an object; gives the target's other objects whose right to act may have changed.
    pub fn remove(&mut self, uid: &Uid) -> Vec<Uid> {
        if let Some(told) = &mut self.told {
            told.remove(uid);
        }
        let mut state = self.identities.state();
        let concerned = state.index.remove(&self.selected(uid));
        state.tell(concerned, Some(&self.target))
    }

    /// Returns the rights of the object as that claimant.
    #[must_use]
    pub fn rights(&self, uid: &Uid, claimant: &Claimant) -> Rights {
        self.identities.state().index.rights(uid, claimant)
    }

    /// Returns true if a target sees the object, so that what it claims is known.
    #[must_use]
    pub fn sees(&self, object: &ObjectRef) -> bool {
        self.identities.state().index.sees(object)
    }

    /// Returns true if every object is known that has to be, in the target's scope: for a claim those of all active
    /// targets, for a deletion also those of targets that stand on the Lease's notes alone.
    #[must_use]
    pub fn is_scope_complete(&self, deletes: bool) -> bool {
        self.identities.state().incomplete[usize::from(deletes)].is_complete(self.scope)
    }

    /// The targets whose objects are not known yet in the target's scope, for people; `None` if it is complete.
    #[must_use]
    pub fn awaited(&self, deletes: bool) -> Option<String> {
        self.identities.state().incomplete[usize::from(deletes)].awaited(self.scope)
    }

    /// Takes the object in with the claim of what it wants, if it has that at this moment.
    #[must_use]
    pub fn claim(&self, uid: &Uid, claimant: Claimant) -> bool {
        let mut state = self.identities.state();
        let ownership = state.index.rights(uid, &claimant).ownership;
        let has = matches!(ownership, Ownership::Free | Ownership::Held);
        if has {
            let owns = claimant.wants.clone();
            let concerned = state.index.insert(&self.selected(uid), Claimant { owns, may_claim: false, ..claimant });
            // It had the resource before, so nobody of its own target gains or loses.
            state.tell(concerned, None);
        }
        has
    }

    /// A correction of the object, as that claimant, begins.
    pub fn hold(&self, uid: &Uid, claimant: Claimant) -> HeldClaim {
        let selected = Selected::correcting(uid);
        let mut state = self.identities.state();
        let concerned = state.index.insert(&selected, claimant);
        state.tell(concerned, None);
        HeldClaim { identities: self.identities.clone(), selected }
    }

    /// The target's list is read: its objects are those that this actor took in.
    pub fn note_listed(&mut self) {
        if let Some(told) = self.told.take() {
            self.identities.note_listed(&self.target, &self.text, &told);
        }
    }

    /// Waits for the next wake.
    pub async fn next_wake(&mut self) -> Wake {
        match self.wakes.recv().await {
            Some(wake) => wake,
            // Another actor of the target took the mailbox: this one is to end.
            None => std::future::pending().await,
        }
    }

    fn selected(&self, uid: &Uid) -> Selected {
        Selected { target: self.target.clone(), uid: uid.clone() }
    }
}

impl Drop for HeldClaim {
    fn drop(&mut self) {
        let mut state = self.identities.state();
        let concerned = state.index.remove(&self.selected);
        state.tell(concerned, None);
    }
}

impl Drop for Member {
    /// Withdraws the target's list, which the next actor reads again. A target that is not active any more leaves the index.
    fn drop(&mut self) {
        let mut state = self.identities.state();
        if state.listed.remove(&self.target).is_some() {
            self.identities.listing.notify_one();
        }
        if !state.active.contains_key(&self.target) {
            state.drop_target(&self.target);
        }
    }
}

#[cfg(test)]
mod tests;
