//! The last received versions of collections, for the next listener. A listener that restarts, as a target's does after
//! an edit, resumes from there and misses nothing.
//!
//! Recent events may not have been processed yet. So a version counts only some time after it was received, and later
//! events are received again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drift_api::timing::moment::Moment;

/// Maximum time until a received event is processed: above the 20 s that a poll waits for its turn at most if its
/// resource changes continuously.
const ACTED_ON_WITHIN: Duration = Duration::from_secs(30);

/// The listener name, and the path of a followed collection.
type Key = (String, String);

/// The last versions of collections, by listener. Clones share the state.
#[derive(Clone, Debug, Default)]
pub struct HeardVersions(Arc<Mutex<HashMap<Key, CollectionVersion>>>);

/// The last versions of one collection.
#[derive(Debug)]
struct CollectionVersion {
    /// All events up to this version were processed.
    acted_on: String,
    /// A version that was received later.
    newer: String,
    /// The time of that version.
    heard_at: Moment,
}

/// The entry of one collection of one listener.
#[derive(Clone, Debug)]
pub(crate) struct HeardVersion {
    all: HeardVersions,
    key: Key,
}

impl HeardVersions {
    /// Removes listeners that are permanently gone.
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
    /// Returns the version to resume from. `None` without an earlier one.
    pub(crate) fn get(&self) -> Option<String> {
        self.all.lock().get(&self.key).map(|heard| heard.acted_on.clone())
    }

    /// Records that everything up to this version was received now.
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
        // The second, the version received then, and the version to resume from.
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
