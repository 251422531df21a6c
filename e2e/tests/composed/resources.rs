//! The external resources of one program's objects, as its targets share them.
//!
//! What the shell keeps behind a lock and tells by mailboxes is a value here, and whom a change concerns is asked for.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use drift_model::identity::{Claimant, IdentityIndex, Rights, Selected, Uid};
use drift_target::Target;

/// The resources of one program's objects. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Resources {
    index: Rc<RefCell<IdentityIndex>>,
    concerned: Rc<RefCell<Vec<Selected>>>,
}

impl Resources {
    /// Takes an object in as it is now; gives what it may do.
    pub(crate) fn insert(&self, target: &Target, uid: &Uid, claimant: Claimant) -> Rights {
        let concerned = self.index.borrow_mut().insert(&selected(target, uid), claimant.clone());
        self.concerned.borrow_mut().extend(concerned);
        self.rights(uid, &claimant)
    }

    /// Drops an object.
    pub(crate) fn remove(&self, target: &Target, uid: &Uid) {
        let concerned = self.index.borrow_mut().remove(&selected(target, uid));
        self.concerned.borrow_mut().extend(concerned);
    }

    /// Drops what a target saw.
    pub(crate) fn drop_target(&self, name: &str) {
        let concerned = self.index.borrow_mut().keep_only(&name.into(), &HashSet::new());
        self.concerned.borrow_mut().extend(concerned);
    }

    /// What an object may do.
    pub(crate) fn rights(&self, uid: &Uid, claimant: &Claimant) -> Rights {
        self.index.borrow().rights(uid, claimant)
    }

    /// Whose rights may have changed since this was asked last.
    pub(crate) fn take_concerned(&self) -> Vec<Selected> {
        self.concerned.take()
    }
}

fn selected(target: &Target, uid: &Uid) -> Selected {
    Selected { target: target.name.as_str().into(), uid: uid.clone() }
}
