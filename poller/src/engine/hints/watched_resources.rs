//! Index of the objects that read each cluster object, so that a change finds its readers.
//!
//! The index follows the objects: an edited name counts from then on, and a removed object is no longer found. A
//! resource whose controller writes all the time must not cause polls all the time, so each object has turns.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::object::cluster_resource::{ClusterResource, ObjectName};
use drift_api::timing::moment::Moment;
use drift_api::timing::token_bucket::TokenBucket;

/// Burst of polls that changes of its resource cause for one object, one second apart. It shows the first steps of a
/// rollout as they happen.
const TURNS_AT_ONCE: u32 = 6;

/// Refill interval after the burst. A status that is written each second costs six polls a minute, and a relevant
/// change among such writes is detected within this time.
const ONE_MORE_AFTER: Duration = Duration::from_secs(10);

/// Name before namespace: a change of a cluster-scoped object has no namespace, although its reader may have one.
type ResourceName = (String, Option<String>);

/// Resources that the objects of one target read.
#[derive(Debug, Default)]
pub struct WatchedResources {
    readers: BTreeSet<(ResourceName, Uid)>,
    readings: HashMap<Uid, Reading>,
}

#[derive(Debug)]
struct Reading {
    place: ResourceName,
    turns: TokenBucket,
}

impl WatchedResources {
    /// Sets the resource that an object reads; `None` if it is unknown.
    pub fn set(&mut self, uid: &Uid, resource: Option<&ClusterResource>, now: Moment) {
        let place = resource.map(|resource| (resource.name.clone(), resource.namespace.clone()));
        if self.readings.get(uid).map(|reading| &reading.place) == place.as_ref() {
            return;
        }
        self.remove(uid);
        if let Some(place) = place {
            self.readers.insert((place.clone(), uid.clone()));
            let turns = TokenBucket::full(TURNS_AT_ONCE, ONE_MORE_AFTER, now);
            self.readings.insert(uid.clone(), Reading { place, turns });
        }
    }

    /// Removes an object that is gone or no longer selected.
    pub fn remove(&mut self, uid: &Uid) {
        if let Some(Reading { place, .. }) = self.readings.remove(uid) {
            self.readers.remove(&(place, uid.clone()));
        }
    }

    /// Returns the objects that read this resource.
    #[must_use]
    pub fn readers_of(&self, resource: &ObjectName) -> Vec<Uid> {
        let ObjectName { namespace, name } = resource;
        let first = ((name.clone(), namespace.clone()), Uid::from(""));
        let is_read = |(read, within): &ResourceName| read == name && (namespace.is_none() || within == namespace);
        let found = self.readers.range(first..).take_while(|(place, _)| is_read(place));
        found.map(|(_, uid)| uid.clone()).collect()
    }

    /// Takes a turn for the object and returns the time until it.
    pub fn take_turn(&mut self, uid: &Uid, now: Moment) -> Duration {
        let Some(Reading { turns, .. }) = self.readings.get_mut(uid) else { return Duration::ZERO };
        let Err(next) = turns.take(now) else { return Duration::ZERO };
        if next <= now + ONE_MORE_AFTER {
            // Changes until then wait for the turn after it.
            let _ = turns.take(next);
        }
        next - now
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::from_start(Duration::from_secs(seconds))
    }

    fn resource(namespace: Option<&str>, name: &str) -> ClusterResource {
        let namespace = namespace.map(str::to_owned);
        ClusterResource { api_version: "apps/v1".into(), kind: "StatefulSet".into(), namespace, name: name.to_owned() }
    }

    fn named(namespace: Option<&str>, name: &str) -> ObjectName {
        ObjectName { namespace: namespace.map(str::to_owned), name: name.to_owned() }
    }

    #[test]
    fn a_change_finds_who_reads_it() {
        let mut watched = WatchedResources::default();
        let reads = [("u", Some("a"), "db"), ("v", Some("b"), "db"), ("w", Some("a"), "db"), ("x", None, "db2")];
        for (uid, namespace, name) in reads {
            watched.set(&uid.into(), Some(&resource(namespace, name)), at(0));
        }
        let found = |namespace, name| {
            watched.readers_of(&named(namespace, name)).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        let table = [
            (Some("a"), "db", "u w"),
            (Some("b"), "db", "v"),
            (Some("c"), "db", ""),
            (Some("a"), "d", ""),
            // Objects of this kind have no namespace.
            (None, "db", "u w v"),
            (None, "db2", "x"),
        ];
        for (namespace, name, expected) in table {
            assert_eq!(found(namespace, name), expected, "{namespace:?} {name}");
        }
    }

    #[test]
    fn a_resource_that_changes_all_the_time_has_turns() {
        let mut watched = WatchedResources::default();
        let uid = Uid::from("u");
        watched.set(&uid, Some(&resource(None, "db")), at(0));
        let polls = |watched: &mut WatchedResources, seconds: std::ops::Range<u64>| {
            let mut polls = Vec::new();
            for second in seconds {
                // A poll that is already due covers changes until then.
                if polls.last().is_none_or(|last| *last < at(second)) {
                    polls.push(at(second) + watched.take_turn(&uid, at(second)));
                }
            }
            polls.len()
        };
        assert_eq!(polls(&mut watched, 0..600), 66);
        watched.set(&uid, Some(&resource(None, "db")), at(600));
        assert_ne!(watched.take_turn(&uid, at(601)), Duration::ZERO, "an edit of something else gives no new turns");
        assert_eq!(watched.take_turn(&uid, at(900)), Duration::ZERO, "a quiet one has its turns again");
        for _ in 0..100 {
            assert!(watched.take_turn(&uid, at(900)) <= ONE_MORE_AFTER * 2, "what is not used is no debt");
        }
    }

    proptest! {
        #[test]
        fn whatever_happens_the_readers_are_as_found_the_long_way(
            steps in proptest::collection::vec((0..4_u8, proptest::option::of((0..3_u8, 0..3_u8)), any::<bool>()), 1..60),
        ) {
            let (mut watched, mut all) = (WatchedResources::default(), BTreeMap::new());
            for (object, read, leaves) in steps {
                let uid = Uid::from(object.to_string().as_str());
                if leaves {
                    watched.remove(&uid);
                    all.remove(&uid);
                } else {
                    let read = read.map(|(namespace, name)| (namespace.to_string(), name.to_string()));
                    let rendered = read.as_ref().map(|(namespace, name)| resource(Some(namespace), name));
                    watched.set(&uid, rendered.as_ref(), at(0));
                    all.insert(uid, read);
                }
                for (namespace, name) in (0..9).map(|place| ((place / 3).to_string(), (place % 3).to_string())) {
                    let expected: Vec<_> = all.iter().filter(|(_, read)| **read == Some((namespace.clone(), name.clone())))
                        .map(|(uid, _)| uid.clone()).collect();
                    prop_assert_eq!(watched.readers_of(&named(Some(&namespace), &name)), expected);
                }
            }
        }
    }
}
