//! Objects that two targets select: the first target by name has them, the others skip them.
//!
//! Overlap that can be proved is refused when the documents load; what is left shows only in the objects. Who has an
//! object can change while the program runs, so what is skipped is kept and looked at again. This file must not know
//! what is done with an object.

use std::collections::HashMap;
use std::sync::Arc;

use drift_cluster::sightings::Sightings;
use drift_model::identity::Uid;
use drift_model::object::{LeanObject, ObjectId};

/// The overlap of one target with the others.
#[derive(Debug)]
pub struct Overlap {
    target: Arc<str>,
    sightings: Sightings,
    skipped: HashMap<Uid, LeanObject>,
    seen: std::collections::HashSet<Uid>,
}

/// Whose an object is.
#[derive(Debug)]
pub enum Admission {
    /// This target's.
    Ours(Box<LeanObject>),
    /// Another target's.
    Anothers {
        /// Which object.
        object: ObjectId,
        /// Whether it was not known before.
        is_news: bool,
    },
}

impl Overlap {
    /// Of the target of that name.
    #[must_use]
    pub fn new(target: &str, sightings: Sightings) -> Self {
        Self { target: target.into(), sightings, skipped: HashMap::new(), seen: std::collections::HashSet::new() }
    }

    /// Takes in an object that this target selects.
    pub fn admit(&mut self, object: LeanObject) -> Admission {
        let uid = object.id.uid.clone();
        if self.seen.insert(uid.clone()) {
            self.sightings.see(&self.target, &uid);
        }
        if !self.sightings.is_anothers(&self.target, &uid) {
            self.skipped.remove(&uid);
            return Admission::Ours(Box::new(object));
        }
        let id = object.id.clone();
        let is_news = self.skipped.insert(uid, object).is_none();
        Admission::Anothers { object: id, is_news }
    }

    /// Whether this target has selected the object.
    #[must_use]
    pub fn has_seen(&self, uid: &Uid) -> bool {
        self.seen.contains(uid)
    }

    /// This target selects the object no more.
    pub fn lose(&mut self, uid: &Uid) {
        self.skipped.remove(uid);
        if self.seen.remove(uid) {
            self.sightings.lose(&self.target, uid);
        }
    }

    /// Objects that changed hands since they were taken in: `tracked` ones that are another's now, skipped ones that
    /// are ours.
    pub fn find_moved<'a>(&'a self, tracked: impl Iterator<Item = &'a LeanObject>) -> impl Iterator<Item = LeanObject> {
        let is_anothers = |object: &LeanObject| self.sightings.is_anothers(&self.target, &object.id.uid);
        let lost = tracked.filter(move |object| is_anothers(object));
        lost.chain(self.skipped.values().filter(move |object| !is_anothers(object))).cloned()
    }

    /// How many objects are another target's.
    #[must_use]
    pub fn skipped(&self) -> usize {
        self.skipped.len()
    }
}

impl Drop for Overlap {
    fn drop(&mut self) {
        self.sightings.retire(&self.target, self.seen.iter());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drift_model::field_paths::FieldPaths;
    use serde_json::json;

    fn object() -> LeanObject {
        LeanObject::prune(&json!({"metadata": {"uid": "u", "name": "n"}}), &FieldPaths::default())
    }

    #[test]
    fn the_first_by_name_has_an_object_and_the_next_gets_it_when_the_first_goes() {
        let sightings = Sightings::default();
        let (mut first, mut second) = (Overlap::new("a", sightings.clone()), Overlap::new("b", sightings));
        assert!(matches!(second.admit(object()), Admission::Ours(_)), "nobody else selects it yet");
        assert!(matches!(first.admit(object()), Admission::Ours(_)));
        assert_eq!(second.find_moved([object()].iter()).count(), 1, "it changed hands");
        assert!(matches!(second.admit(object()), Admission::Anothers { is_news: true, .. }));
        assert!(matches!(second.admit(object()), Admission::Anothers { is_news: false, .. }));
        assert_eq!((second.skipped(), second.find_moved(std::iter::empty()).count()), (1, 0));
        drop(first);
        assert_eq!(second.find_moved(std::iter::empty()).count(), 1, "it changed hands again");
        assert!(matches!(second.admit(object()), Admission::Ours(_)));
        assert_eq!(second.skipped(), 0);
    }
}
