//! The objects that are worked on, over all targets and parts of a program.
//!
//! No two hands work on one object: not two targets, nor a target's former and present text, nor the clean-up. A value
//! behind one lock.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use drift_api::identity::Uid;

/// The uids under way. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct UnderWay {
    uids: Arc<Mutex<HashSet<Uid>>>,
}

/// The object is worked on while this lives.
#[derive(Debug)]
#[must_use = "the object is free again when this is dropped"]
pub struct Busy {
    under_way: UnderWay,
    uid: Uid,
}

impl UnderWay {
    /// Begins work on an object; `None` while somebody else is at it.
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
