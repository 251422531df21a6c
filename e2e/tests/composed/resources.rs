//! The external resources of one program's objects, shared by its targets.
//!
//! The shell has a lock and mailboxes. Here the state is a value, and affected objects are queried. A scope is complete
//! once every target that has or had it has read its list.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;

use drift_api::identity::{Claimant, IdentityIndex, ObjectRef, Ownership, Rights, ScopeId, Selected, Uid};
use drift_language::Target;

/// The resources of one program's objects. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Resources {
    state: Rc<RefCell<State>>,
}

#[derive(Default)]
struct State {
    index: IdentityIndex,
    concerned: Vec<Selected>,
    /// Objects that each running target accepted before its list was read. `None` afterwards.
    told: BTreeMap<String, Option<HashSet<Uid>>>,
    /// The scopes that each target has or had.
    scopes: BTreeMap<String, BTreeSet<ScopeId>>,
    /// The text of a noted target is lost, so that its objects are not known.
    has_missing: bool,
}

impl State {
    fn incomplete(&self) -> BTreeSet<ScopeId> {
        let is_awaited = |name: &String| self.has_missing || self.told.get(name).is_some_and(Option::is_some);
        let awaited = self.scopes.iter().filter(|(name, _)| is_awaited(name));
        awaited.flat_map(|(_, scopes)| scopes).copied().collect()
    }
}

impl Resources {
    /// Starts another text of the target, whose list is not read yet. Until then the reports of the former text stay.
    pub(crate) fn join(&self, target: &Target) {
        let mut state = self.state.borrow_mut();
        state.told.insert(target.name.clone(), Some(HashSet::new()));
        state.scopes.entry(target.name.clone()).or_default().insert(target.scope.id);
    }

    /// Marks the target's list as read: its objects are those that it accepted.
    pub(crate) fn note_listed(&self, target: &Target) {
        let mut state = self.state.borrow_mut();
        if let Some(kept) = state.told.insert(target.name.clone(), None).flatten() {
            let concerned = state.index.keep_only(&target.name.as_str().into(), &kept);
            state.concerned.extend(concerned);
        }
    }

    /// Sets if the text of a noted target is lost.
    pub(crate) fn note_missing(&self, has_missing: bool) {
        self.state.borrow_mut().has_missing = has_missing;
    }

    /// Returns true if all possible claimants in the scope are known.
    pub(crate) fn is_complete(&self, scope: ScopeId) -> bool {
        !self.incomplete().contains(&scope)
    }

    /// Returns the scopes with claimants that may not be known.
    pub(crate) fn incomplete(&self) -> BTreeSet<ScopeId> {
        self.state.borrow().incomplete()
    }

    /// Accepts the current state of an object. Returns its rights.
    pub(crate) fn insert(&self, target: &Target, uid: &Uid, claimant: Claimant) -> Rights {
        let mut state = self.state.borrow_mut();
        if let Some(Some(told)) = state.told.get_mut(&target.name) {
            told.insert(uid.clone());
        }
        let concerned = state.index.insert(&selected(target, uid), claimant.clone());
        state.concerned.extend(concerned);
        state.index.rights(uid, &claimant)
    }

    /// Drops an object.
    pub(crate) fn remove(&self, target: &Target, uid: &Uid) {
        let mut state = self.state.borrow_mut();
        if let Some(Some(told)) = state.told.get_mut(&target.name) {
            told.remove(uid);
        }
        let concerned = state.index.remove(&selected(target, uid));
        state.concerned.extend(concerned);
    }

    /// Records the start or the end of a correction of the object, as that claimant.
    pub(crate) fn hold(&self, uid: &Uid, claimant: Option<Claimant>) {
        let selected = Selected::correcting(uid);
        let mut state = self.state.borrow_mut();
        let concerned = match claimant {
            Some(claimant) => state.index.insert(&selected, claimant),
            None => state.index.remove(&selected),
        };
        state.concerned.extend(concerned);
    }

    /// Drops the objects of a removed target.
    pub(crate) fn drop_target(&self, name: &str) {
        let mut state = self.state.borrow_mut();
        state.told.remove(name);
        state.scopes.remove(name);
        let concerned = state.index.keep_only(&name.into(), &HashSet::new());
        state.concerned.extend(concerned);
    }

    /// Returns the rights of an object.
    pub(crate) fn rights(&self, uid: &Uid, claimant: &Claimant) -> Rights {
        self.state.borrow().index.rights(uid, claimant)
    }

    /// Returns true if a target sees the object.
    pub(crate) fn sees(&self, object: &ObjectRef) -> bool {
        self.state.borrow().index.sees(object)
    }

    /// Accepts an object with its claim if it has the right at this moment.
    pub(crate) fn claim(&self, target: &Target, uid: &Uid, claimant: Claimant) -> bool {
        let has = matches!(self.rights(uid, &claimant).ownership, Ownership::Free | Ownership::Held);
        if has {
            let owns = claimant.wants.clone();
            self.insert(target, uid, Claimant { owns, may_claim: false, ..claimant });
        }
        has
    }

    /// Returns the target's objects whose rights may have changed.
    pub(crate) fn take_concerned_of(&self, target: &str) -> Vec<Uid> {
        let mut state = self.state.borrow_mut();
        state.concerned.extract_if(.., |it| &*it.target == target).map(|it| it.uid).collect()
    }

    /// Returns the objects whose rights may have changed since the last call.
    pub(crate) fn take_concerned(&self) -> Vec<Selected> {
        std::mem::take(&mut self.state.borrow_mut().concerned)
    }
}

fn selected(target: &Target, uid: &Uid) -> Selected {
    Selected { target: target.name.as_str().into(), uid: uid.clone() }
}
