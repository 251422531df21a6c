//! Deletions of one target's objects that our finalizer blocks: their number and the age of the oldest.
//!
//! If an external system keeps refusing a deletion, the object stays for ever. No verdict shows this, because objects
//! that are being deleted are not polled.

use std::collections::HashMap;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::object::LeanObject;

/// Objects that are being deleted and have our finalizer.
#[derive(Debug, Default)]
pub struct Deletions {
    /// Request time of each deletion in seconds since 1970, later by the time that it waited for its windows since this
    /// program sees it.
    requested: HashMap<Uid, u32>,
}

impl Deletions {
    /// Takes in the current state of an object.
    pub fn see(&mut self, object: &LeanObject) {
        if object.deleting && object.has_finalizer() {
            self.requested.entry(object.id.uid.clone()).or_insert_with(|| object.deletion_requested());
        } else {
            self.forget(&object.id.uid);
        }
    }

    /// Takes in that a deletion waited for its window for this long: that is no fault, so its age does not grow. One whose
    /// time could not be parsed keeps no age.
    pub fn wait_for_window(&mut self, uid: &Uid, waited: Duration) {
        if let Some(requested) = self.requested.get_mut(uid).filter(|requested| **requested > 0) {
            *requested = requested.saturating_add(u32::try_from(waited.as_secs()).unwrap_or(u32::MAX));
        }
    }

    /// Drops an object that is gone or no longer selected.
    pub fn forget(&mut self, uid: &Uid) {
        self.requested.remove(uid);
    }

    /// Returns the number of blocked deletions.
    #[must_use]
    pub fn count(&self) -> usize {
        self.requested.len()
    }

    /// Returns the age of the oldest deletion that does not wait for a window at this wall time since 1970. It is zero
    /// without any deletion, or if the API server's clock is ahead. A deletion whose time could not be parsed has no age.
    #[must_use]
    pub fn oldest_age(&self, now: Duration, waits: impl Fn(&Uid) -> bool) -> Duration {
        let open = self.requested.iter().filter(|(uid, requested)| **requested > 0 && !waits(uid));
        let oldest = open.map(|(_, requested)| requested).min();
        oldest.map_or(Duration::ZERO, |requested| now.saturating_sub(Duration::from_secs(u64::from(*requested))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drift_api::names::FINALIZER;
    use drift_api::object::field_paths::FieldPaths;
    use serde_json::{Value, json};

    fn object(uid: &str, deleted: &Value, finalizer: &str) -> LeanObject {
        let metadata = json!({"name": uid, "uid": uid, "deletionTimestamp": deleted, "finalizers": [finalizer]});
        LeanObject::prune(&json!({ "metadata": metadata }), &FieldPaths::default())
    }

    /// No deletion waits for a window.
    fn open(_: &Uid) -> bool {
        false
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_oldest_deletion_that_our_finalizer_keeps_counts() {
        let mut deletions = Deletions::default();
        assert_eq!((deletions.count(), deletions.oldest_age(at(500), open)), (0, at(0)));
        deletions.see(&object("young", &json!("1970-01-01T00:05:00Z"), FINALIZER));
        deletions.see(&object("old", &json!("1970-01-01T00:01:40Z"), FINALIZER));
        deletions.see(&object("lives", &Value::Null, FINALIZER));
        deletions.see(&object("another's", &json!("1970-01-01T00:00:01Z"), "example.com/other"));
        assert_eq!((deletions.count(), deletions.oldest_age(at(500), open)), (2, at(400)));
        // Our finalizer is removed, and a foreign one remains.
        deletions.see(&object("old", &json!("1970-01-01T00:01:40Z"), "example.com/other"));
        assert_eq!((deletions.count(), deletions.oldest_age(at(500), open)), (1, at(200)));
        assert_eq!(deletions.oldest_age(at(200), open), at(0), "asked for by a clock that is ahead");
        deletions.forget(&"young".into());
        assert_eq!((deletions.count(), deletions.oldest_age(at(500), open)), (0, at(0)));
    }

    #[test]
    fn a_closed_window_does_not_age_a_deletion() {
        let mut deletions = Deletions::default();
        let old = object("old", &json!("1970-01-01T00:01:40Z"), FINALIZER);
        deletions.see(&old);
        deletions.wait_for_window(&"old".into(), at(300));
        let waits = |uid: &Uid| &**uid == "old";
        assert_eq!(deletions.oldest_age(at(450), waits), at(0), "it waits");
        deletions.see(&old);
        assert_eq!(deletions.oldest_age(at(500), open), at(100), "the window is open");
        deletions.wait_for_window(&"old".into(), at(50));
        assert_eq!(deletions.oldest_age(at(600), open), at(150), "the time in both windows counts");
        deletions.see(&object("unread", &json!("yesterday"), FINALIZER));
        for uid in ["unread", "unknown"] {
            deletions.wait_for_window(&uid.into(), at(450));
        }
        assert_eq!((deletions.count(), deletions.oldest_age(at(600), open)), (2, at(150)));
    }

    #[test]
    fn a_deletion_without_readable_time_counts_and_has_no_age() {
        let mut deletions = Deletions::default();
        deletions.see(&object("u", &json!("yesterday"), FINALIZER));
        assert_eq!((deletions.count(), deletions.oldest_age(at(500), open)), (1, at(0)));
    }
}
