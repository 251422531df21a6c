//! Up to where collections were heard, for whoever follows them next: a listener that ends and begins anew, as a target's does at an
//! edit, goes on from there and misses nothing.
//!
//! What was heard a moment ago may not have been acted on, so a version counts some time after it was heard, and what came since is
//! heard once more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drift_api::timing::moment::Moment;

/// How long what was heard may wait before somebody acts on it: above the 20 s that a poll waits for its turn at most where its
/// resource changes all the time.
const ACTED_ON_WITHIN: Duration = Duration::from_secs(30);

/// A listener, and the path of a collection that it follows.
type Key = (String, String);

/// The last versions of collections, by listener. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct HeardVersions(Arc<Mutex<HashMap<Key, CollectionVersion>>>);

/// The last versions of one collection.
#[derive(Debug)]
struct CollectionVersion {
    /// All that came up to this version was acted on.
    acted_on: String,
    /// A version that was heard later.
    newer: String,
    /// The time of that version.
    heard_at: Moment,
}

/// The place of one collection of one listener.
#[derive(Clone, Debug)]
pub(crate) struct HeardVersion {
    all: HeardVersions,
    key: Key,
}

impl HeardVersions {
    /// Forgets the listeners that are gone for good.
    pub fn retain(&self, is_kept: impl Fn(&str) -> bool) {
        self.lock().retain(|(listener, _), _| is_kept(listener));
    }

    pub(crate) fn of(&self, listener: &str, path: &str) -> HeardVersion {
        HeardVersion { all: self.clone(), key: (listener.to_owned(), path.to_owned()) }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, CollectionVersion>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeardVersion {
    /// The version to go on from; `None` where nothing was heard.
    pub(crate) fn get(&self) -> Option<String> {
        self.all.lock().get(&self.key).map(|heard| heard.acted_on.clone())
    }

    /// All up to this version was heard now.
    pub(crate) fn note(&self, version: &str, now: Moment) {
        let mut all = self.all.lock();
        let Some(heard) = all.get_mut(&self.key) else {
            let heard = CollectionVersion { acted_on: version.to_owned(), newer: version.to_owned(), heard_at: now };
            all.insert(self.key.clone(), heard);
            return;
        };
        if now.is_past(heard.heard_at, ACTED_ON_WITHIN) {
            heard.acted_on = std::mem::replace(&mut heard.newer, version.to_owned());
            heard.heard_at = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::from_start(Duration::from_secs(seconds))
    }

    #[test]
    fn a_version_counts_once_it_is_acted_on() {
        let heard = HeardVersions::default().of("orders", "/api/v1/configmaps");
        assert_eq!(heard.get(), None);
        // The second, the version heard then, and from where the next one goes on.
        for (second, version, expected) in [
            (0, "1", "1"),
            (10, "2", "1"),
            (40, "3", "1"),
            (50, "4", "1"),
            (80, "5", "3"),
            (81, "6", "3"),
            (200, "7", "5"),
        ] {
            heard.note(version, at(second));
            assert_eq!(heard.get().as_deref(), Some(expected), "at {second} s");
        }
    }

    #[test]
    fn who_is_gone_for_good_is_forgotten() {
        let all = HeardVersions::default();
        let [kept, gone] = ["kept", "gone"].map(|listener| all.of(listener, "/api/v1/configmaps"));
        for heard in [&kept, &gone] {
            heard.note("1", at(0));
        }
        all.retain(|listener| listener == "kept");
        assert_eq!((kept.get().as_deref(), gone.get()), (Some("1"), None));
    }
}
