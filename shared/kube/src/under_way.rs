//! The objects with work in progress, over all targets and parts of a program.
//!
//! There is never concurrent work on one object: not by two targets, by a target's former and present text, or by the
//! clean-up. A value behind one lock.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use drift_api::identity::Uid;

/// The uids with work in progress. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct UnderWay {
    uids: Arc<Mutex<HashSet<Uid>>>,
}

/// Guard of the work on an object, until it is dropped.
#[derive(Debug)]
#[must_use = "the object is free again when this is dropped"]
pub struct Busy {
    under_way: UnderWay,
    uid: Uid,
}

impl UnderWay {
    /// Begins work on an object. `None` while other work on it is in progress.
    #[must_use]
    pub fn begin(&self, uid: &Uid) -> Option<Busy> {
        // A panic elsewhere leaves no half-written set: every change is one insertion or removal.
        let is_free = self.uids.lock().unwrap_or_else(PoisonError::into_inner).insert(uid.clone());
        is_free.then(|| Busy { under_way: self.clone(), uid: uid.clone() })
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.under_way.uids.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_hands_work_on_one_object() {
        let (under_way, uid) = (UnderWay::default(), Uid::from("u"));
        let busy = under_way.begin(&uid);
        assert!(busy.is_some() && under_way.begin(&uid).is_none());
        drop(busy);
        assert!(under_way.begin(&uid).is_some());
    }
}
