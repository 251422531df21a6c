//! Why objects cannot be corrected, as it was told last: a cause is told once for an object, until another takes its place.
//!
//! What cannot be sent is tried again and again until somebody mends it, so the log would say the same each half a minute. What
//! stands on the object says no more than the kind of the cause, and may be of an earlier failure. This file must not know what is
//! told, nor where.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drift_api::identity::Uid;

/// The causes that were told last, by object. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct ToldCauses(Arc<Mutex<HashMap<Uid, u64>>>);

impl ToldCauses {
    /// Whether this cause is another than the one that was told last; from now on it is that one.
    #[must_use]
    pub fn is_news(&self, object: &Uid, cause: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        cause.hash(&mut hasher);
        let cause = hasher.finish();
        self.lock().insert(object.clone(), cause) != Some(cause)
    }

    /// The object could be corrected, or is gone: whatever comes next is told.
    pub fn forget(&self, object: &Uid) {
        self.lock().remove(object);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uid, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_is_told_once() {
        let (told, [one, other]) = (ToldCauses::default(), ["a", "b"].map(Uid::from));
        assert!(told.is_news(&one, "no Secret x") && !told.is_news(&one, "no Secret x"));
        assert!(told.is_news(&other, "no Secret x"), "each object has its own");
        assert!(told.is_news(&one, "Secret x has no key y"), "what was mended in part is another cause");
        assert!(told.is_news(&one, "no Secret x"));
        told.forget(&one);
        assert!(told.is_news(&one, "no Secret x"), "it was corrected meanwhile");
        assert!(!told.is_news(&other, "no Secret x"));
    }
}
