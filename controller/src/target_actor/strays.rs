//! Objects that left the selection with our finalizer on them, until it is certain that nobody wants them.
//!
//! A relabelled object leaves one watch before another tells of it. It must not know who selects what.

use std::collections::HashMap;

use drift_model::identity::Uid;
use drift_model::object::ObjectId;

/// Housekeepings that an object is waited for: two are five seconds at least, and a watch tells within one.
const PATIENCE: u8 = 2;

/// The objects, and how long each was waited for.
#[derive(Debug, Default)]
pub(super) struct Strays {
    waiting: HashMap<Uid, (ObjectId, u8)>,
}

impl Strays {
    /// The object left the selection. Whoever writes to it meanwhile does not make it wait anew.
    pub(super) fn add(&mut self, id: ObjectId) {
        self.waiting.entry(id.uid.clone()).or_insert((id, 0));
    }

    /// It came back, is gone, or is let go.
    pub(super) fn remove(&mut self, uid: &Uid) {
        self.waiting.remove(uid);
    }

    /// Another housekeeping has passed. Gives those that were waited for long enough.
    pub(super) fn age(&mut self) -> Vec<ObjectId> {
        let mut ripe = Vec::new();
        for (id, waited) in self.waiting.values_mut() {
            *waited = waited.saturating_add(1);
            if *waited > PATIENCE {
                ripe.push(id.clone());
            }
        }
        ripe
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drift_model::field_paths::FieldPaths;
    use drift_model::object::LeanObject;
    use serde_json::json;

    #[test]
    fn two_housekeepings_pass_before_an_object_is_let_go_and_one_that_came_back_is_not() {
        let mut strays = Strays::default();
        let id = LeanObject::prune(&json!({"metadata": {"name": "orders", "uid": "u-1"}}), &FieldPaths::default()).id;
        strays.add(id.clone());
        assert!(strays.age().is_empty());
        strays.add(id.clone());
        assert!(strays.age().is_empty(), "two housekeepings have not passed");
        assert_eq!(strays.age(), std::slice::from_ref(&id));
        strays.remove(&id.uid);
        assert!(strays.age().is_empty());
    }
}
