//! The objects that one target selects, whatever it does with them, as told to all other targets.
//!
//! Whose an object is follows from who selects it, so a target that only looks owns objects too, and the poller counts
//! alike. However its actor ends, even by a panic, nothing of what it saw may stay behind. It must not know objects.

use std::collections::HashSet;
use std::sync::Arc;

use drift_cluster::sightings::Sightings;
use drift_model::identity::Uid;

/// What one target selects; it selects nothing any more once this is dropped.
#[derive(Debug)]
pub(super) struct Selected {
    target: Arc<str>,
    sightings: Sightings,
    uids: HashSet<Uid>,
}

impl Selected {
    /// Nothing yet.
    pub(super) fn new(target: Arc<str>, sightings: Sightings) -> Self {
        Self { target, sightings, uids: HashSet::new() }
    }

    /// The target selects the object.
    pub(super) fn see(&mut self, uid: &Uid) {
        if self.uids.insert(uid.clone()) {
            self.sightings.see(&self.target, uid);
        }
    }

    /// Whether the target selects the object.
    pub(super) fn has(&self, uid: &Uid) -> bool {
        self.uids.contains(uid)
    }

    /// The target selects the object no more.
    pub(super) fn lose(&mut self, uid: &Uid) {
        if self.uids.remove(uid) {
            self.sightings.lose(&self.target, uid);
        }
    }
}

impl Drop for Selected {
    fn drop(&mut self) {
        self.sightings.retire(&self.target, self.uids.iter());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_ends_leaves_no_object_to_itself() {
        let sightings = Sightings::default();
        let (first, second, uid) = (Arc::from("a"), Arc::from("b"), Uid::from("u"));
        let mut selected = Selected::new(Arc::clone(&first), sightings.clone());
        sightings.note_listed(&first);
        selected.see(&uid);
        assert!(sightings.is_anothers(&second, &uid));
        drop(selected);
        assert!(!sightings.is_anothers(&second, &uid));
        assert!(!sightings.is_free(&uid, ["a"].into_iter()), "its list counts no more");
    }
}
