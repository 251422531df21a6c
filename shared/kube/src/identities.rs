//! The external resources of all targets' objects, shared by the targets' actors.
//!
//! A thin handle: one lock around the index, a mailbox for each actor whose objects' rights another one's object may
//! change, and the scopes in which not everybody is known yet. What an actor has told stays until the actor of the
//! target's next text has read its list, so that an edit of a target gives nobody's resource away.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drift_api::collections::shared_text::SharedText;
use drift_api::identity::{Claimant, IdentityIndex, ResourceName, Rights, ScopeId, Selected, Uid};
use drift_language::{ObjectSelection, Target};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, watch};

use crate::cleanup::{IncompleteScopes, NotedSelections};
use crate::config::Configuration;
use crate::kinds::{KindError, locate_served_kind};

/// How often it is looked whether a kind that cannot be used is gone: others may wait for that, and one request in five
/// seconds is no load.
const LOOK_FOR_KIND: Duration = Duration::from_secs(5);

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
    active: BTreeSet<SharedText>,
    incomplete: IncompleteScopes,
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
        // A kind that was missing may be there now.
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

    /// While the kind of a target is looked up: as long as no served version has it, the target has no objects, and
    /// nobody waits for its list. Never ends.
    pub async fn follow_missing_kind(&self, client: &kube::Client, target: &Target) {
        let ObjectSelection { api_version, kind, .. } = &target.objects;
        loop {
            // A kind that is there is found before this asks.
            tokio::time::sleep(LOOK_FOR_KIND).await;
            let noted = std::iter::once(api_version.as_str());
            let found = locate_served_kind(client, target.objects.group(), kind, noted).await;
            if matches!(found, Err(KindError::Missing { .. })) {
                let name = target.name.as_str().into();
                // What the actor of the former text told is of another kind.
                self.note_listed(&name, &target.document_hash, &HashSet::new());
            }
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
    fn insert(&mut self, selected: &Selected, claimant: Claimant, scope: ScopeId) -> Vec<Selected> {
        match self.incomplete.is_complete(scope) {
            true => self.index.insert(selected, claimant),
            false => self.index.insert_while_incomplete(selected, claimant),
        }
    }

    fn arrange(&mut self, configuration: &Configuration, notes: &crate::cleanup::Selections) {
        self.active = configuration.targets.keys().map(|name| name.as_str().into()).collect();
        let gone: Vec<_> = self.index.targets().difference(&self.active).cloned().collect();
        gone.iter().for_each(|target| self.drop_target(target));
        let is_listed = |target: &Target| self.listed.get(target.name.as_str()) == Some(&target.document_hash);
        let incomplete = match configuration.loaded {
            true => IncompleteScopes::find(notes, configuration.active(), is_listed),
            false => IncompleteScopes::All,
        };
        if incomplete != self.incomplete {
            self.incomplete = incomplete;
            let void = self.index.note_complete(|scope| self.incomplete.is_complete(scope));
            self.tell(void, None);
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
        let concerned = state.insert(&self.selected(uid), claimant, self.scope);
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

    /// The object, of whatever target, that has the resource of that name in the target's scope.
    #[must_use]
    pub fn holder(&self, identity: &str) -> Option<Uid> {
        let resource = ResourceName { scope: self.scope, identity: identity.into() };
        self.identities.state().index.holder(&resource)
    }

    /// Returns true if everybody is known who may have claimed something in the target's scope.
    #[must_use]
    pub fn is_scope_complete(&self) -> bool {
        self.identities.state().incomplete.is_complete(self.scope)
    }

    /// The targets whose objects are not known yet in the target's scope, for people; `None` if it is complete.
    #[must_use]
    pub fn awaited(&self) -> Option<String> {
        self.identities.state().incomplete.awaited(self.scope)
    }

    /// Takes the object in with the claim of what it wants, if it has that at this moment.
    #[must_use]
    pub fn claim(&self, uid: &Uid, claimant: Claimant) -> bool {
        let mut state = self.identities.state();
        let selected = self.selected(uid);
        let has = state.index.rights(uid, &claimant).has;
        if has {
            let owns = claimant.wants.clone();
            let concerned = state.insert(&selected, Claimant { owns, claimed: u32::MAX, ..claimant }, self.scope);
            // It had the resource before, so nobody of its own target gains or loses.
            state.tell(concerned, None);
        }
        has
    }

    /// A correction of the object, as that claimant, begins.
    pub fn hold(&self, uid: &Uid, claimant: Claimant) -> HeldClaim {
        let selected = Selected::correcting(uid);
        let mut state = self.identities.state();
        let concerned = state.insert(&selected, claimant, self.scope);
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
        if !state.active.contains(&self.target) {
            state.drop_target(&self.target);
        }
    }
}

#[cfg(test)]
mod tests;
