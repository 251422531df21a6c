//! The external resources of all targets' objects, shared by the targets' actors.
//!
//! A thin wrapper: one lock around the index, a mailbox for each actor, whose objects' rights can change through other
//! actors' objects, and the scopes whose objects are not all known. The reports of an actor stay until the actor of the
//! target's next version has read its list, so that an edit of a target does not release its resources.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drift_api::collections::shared_text::SharedText;
use drift_api::identity::{Claimant, IdentityIndex, ObjectRef, Ownership, Rights, ScopeId, Selected, Uid};
use drift_api::timing::moment::Moment;
use drift_language::Target;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, watch};

use crate::cleanup::{IncompleteScopes, KnownTargets, NotedSelections, Selections};
use crate::config::Configuration;
use crate::process::clock;

/// Deadline of a target's list, after which others create and adopt without it. A hundred thousand objects are listed
/// within a minute. A kind that is not served, or a list that is refused, must not block others permanently.
const LIST_WITHIN: Duration = Duration::from_secs(300);

/// Interval of checks of that deadline.
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
    /// Targets with a complete list, each with the hash of the text that it was read for.
    listed: HashMap<SharedText, String>,
    /// The active targets, each with its text and start time.
    active: HashMap<SharedText, (String, Moment)>,
    /// The incomplete scopes for claims, and those for deletions.
    incomplete: [IncompleteScopes; 2],
}

/// The objects that an actor must check again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wake {
    /// This object, because another target's object appeared, changed or disappeared.
    Object(Uid),
    /// All objects that waited for a complete scope.
    Scopes,
}

/// Keeps the resource of a running correction for its object, even if no target selects it any more.
#[derive(Debug)]
#[must_use = "others may have the resource when this is dropped"]
pub struct HeldClaim {
    identities: Identities,
    selected: Selected,
}

/// The membership of one actor.
#[derive(Debug)]
pub struct Member {
    identities: Identities,
    target: SharedText,
    scope: ScopeId,
    text: String,
    /// The objects that it reported before its list was complete.
    told: Option<HashSet<Uid>>,
    wakes: UnboundedReceiver<Wake>,
}

impl Identities {
    /// Creates the membership of a target's actor. There is one for each target at a time.
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

    /// Follows the active targets and their complete lists until the future is dropped.
    pub async fn follow(&self, mut configuration: watch::Receiver<Arc<Configuration>>, notes: NotedSelections) {
        loop {
            let now = configuration.borrow_and_update().clone();
            notes.read(|notes| self.arrange(&now, notes, clock::now()));
            tokio::select! {
                changed = configuration.changed() => if changed.is_err() { return },
                () = self.listing.notified() => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
        }
    }

    /// Accepts the active targets and the noted ones, and finds the scopes whose objects are not all known.
    pub fn arrange(&self, configuration: &Configuration, notes: &Selections, now: Moment) {
        self.state().arrange(configuration, notes, now);
    }

    fn note_listed(&self, target: &SharedText, text: &str, objects: &HashSet<Uid>) {
        let mut state = self.state();
        let concerned = state.index.keep_only(target, objects);
        state.tell(concerned, None);
        if state.listed.insert(target.clone(), text.to_owned()).as_deref() != Some(text) {
            self.listing.notify_one();
        }
    }

    /// A panic elsewhere leaves no half-written index: it ends the program or its own target.
    fn state(&self) -> MutexGuard<'_, IdentityState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdentityState {
    fn arrange(&mut self, configuration: &Configuration, notes: &Selections, now: Moment) {
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
        let incomplete = [
            KnownTargets::new(&Selections::default(), configuration).incomplete_scopes(|target| !is_awaited(target)),
            KnownTargets::new(notes, configuration).incomplete_scopes(is_listed),
        ];
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

    /// Notifies the actors of other targets. Returns the objects of `own`.
    fn tell(&self, concerned: Vec<Selected>, own: Option<&SharedText>) -> Vec<Uid> {
        let mut ours = Vec::new();
        for Selected { target, uid } in concerned {
            if Some(&target) == own {
                ours.push(uid);
            } else if let Some(mailbox) = self.mailboxes.get(&target) {
                // An actor that has ended needs no notification.
                let _ = mailbox.send(Wake::Object(uid));
            }
        }
        ours
    }
}

impl Member {
    /// Returns the scope of the target's identities.
    #[must_use]
    pub const fn scope(&self) -> ScopeId {
        self.scope
    }

    /// Adds or updates an object. Returns the target's other objects whose right to act may have changed.
    pub fn insert(&mut self, uid: &Uid, claimant: Claimant) -> Vec<Uid> {
        if let Some(told) = &mut self.told {
            told.insert(uid.clone());
        }
        let mut state = self.identities.state();
        let concerned = state.index.insert(&self.selected(uid), claimant);
        state.tell(concerned, Some(&self.target))
    }

    /// Removes an object. Returns the target's other objects whose right to act may have changed.
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

    /// Returns true if a target selects the object, so that its claim is known.
    #[must_use]
    pub fn sees(&self, object: &ObjectRef) -> bool {
        self.identities.state().index.sees(object)
    }

    /// Returns true if all required objects in the target's scope are known: for a claim those of all active targets,
    /// for a deletion also those of targets that are only noted on the Lease.
    #[must_use]
    pub fn is_scope_complete(&self, deletes: bool) -> bool {
        self.identities.state().incomplete[usize::from(deletes)].is_complete(self.scope)
    }

    /// Returns the targets whose objects are not known yet in the target's scope, for display. `None` if
    /// it is complete.
    #[must_use]
    pub fn awaited(&self, deletes: bool) -> Option<String> {
        self.identities.state().incomplete[usize::from(deletes)].awaited(self.scope)
    }

    /// Updates the object with a claim on its named resource, if it has the right to it now.
    #[must_use]
    pub fn claim(&self, uid: &Uid, claimant: Claimant) -> bool {
        let mut state = self.identities.state();
        let ownership = state.index.rights(uid, &claimant).ownership;
        let has = matches!(ownership, Ownership::Free | Ownership::Held);
        if has {
            let owns = claimant.wants.clone();
            let concerned = state.index.insert(&self.selected(uid), Claimant { owns, may_claim: false, ..claimant });
            // It had the resource before, so the rights of its own target's objects do not change.
            state.tell(concerned, None);
        }
        has
    }

    /// Starts a correction of the object, as that claimant.
    pub fn hold(&self, uid: &Uid, claimant: Claimant) -> HeldClaim {
        let selected = Selected::correcting(uid);
        let mut state = self.identities.state();
        let concerned = state.index.insert(&selected, claimant);
        state.tell(concerned, None);
        HeldClaim { identities: self.identities.clone(), selected }
    }

    /// Marks the target's list as complete: its objects are those that this actor reported.
    pub fn note_listed(&mut self) {
        if let Some(told) = self.told.take() {
            self.identities.note_listed(&self.target, &self.text, &told);
        }
    }

    /// Waits for the next wake.
    pub async fn next_wake(&mut self) -> Wake {
        match self.wakes.recv().await {
            Some(wake) => wake,
            // Another actor of the target took over the mailbox, so this one must end.
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
    /// Withdraws the target's list, which the next actor reads again. A target that is no longer active
    /// leaves the index.
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
