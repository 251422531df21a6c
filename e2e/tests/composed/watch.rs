//! One program's watch of the kind. Events may come late, twice, or not until the next list, but never out of order.

use std::collections::{BTreeMap, BTreeSet};

use drift_api::identity::Uid;
use serde_json::Value;

use crate::api_server::ApiServer;

/// An event of a watch.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Seen(Value),
    Gone(Value),
    Listed,
    Alive,
}

/// One program's watch.
#[derive(Default)]
pub(crate) struct Watch {
    next: usize,
    kept: BTreeMap<Uid, Value>,
    pub(crate) listed: bool,
    /// Targets whose lists are not readable for a new text.
    rejected: BTreeSet<&'static str>,
}

impl Watch {
    /// Starts the watch of the next process. Unreadable lists stay unreadable.
    pub(crate) fn begin_anew(&mut self) {
        *self = Self { rejected: std::mem::take(&mut self.rejected), ..Self::default() };
    }

    /// Makes the target's list unreadable for later texts, or readable again.
    pub(crate) fn bar(&mut self, target: &'static str, rejected: bool) {
        if rejected {
            self.rejected.insert(target)
        } else {
            self.rejected.remove(target)
        };
    }

    /// Returns true if the target's list cannot be read.
    pub(crate) fn is_rejected(&self, target: &str) -> bool {
        self.rejected.contains(target)
    }

    /// Returns the objects that the program knows.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Value> {
        self.kept.values()
    }

    /// Returns the next event, or `None` if all are delivered.
    pub(crate) fn next(&mut self, api: &ApiServer) -> Option<Event> {
        if !self.listed {
            return None;
        }
        let (object, gone) = api.log.get(self.next)?;
        self.next += 1;
        let uid = uid_of(object);
        if *gone {
            self.kept.remove(&uid);
            return Some(Event::Gone(object.clone()));
        }
        let older = self.kept.get(&uid).is_some_and(|kept| version(object) < version(kept));
        if !older {
            self.kept.insert(uid, object.clone());
        }
        Some(Event::Seen(object.clone()))
    }

    /// Goes back by this many events, which are delivered again.
    pub(crate) fn go_back(&mut self, events: usize) {
        self.next = self.next.saturating_sub(events);
    }

    /// Reads the list again. Missing objects are deleted, regardless of lost events.
    pub(crate) fn list(&mut self, api: &ApiServer) -> Vec<Event> {
        self.next = api.log.len();
        self.listed = true;
        let listed: BTreeMap<Uid, Value> =
            api.objects.values().map(|object| (uid_of(object), object.clone())).collect();
        let lost = self.kept.iter().filter(|(uid, _)| !listed.contains_key(*uid));
        let gone = lost.map(|(_, object)| Event::Gone(object.clone()));
        let seen = listed.values().map(|object| Event::Seen(object.clone()));
        let events = gone.chain(seen).chain([Event::Listed]).collect();
        self.kept = listed;
        events
    }
}

/// Returns the object's uid.
pub(crate) fn uid_of(object: &Value) -> Uid {
    Uid::from(object["metadata"]["uid"].as_str().unwrap_or_default())
}

fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok()).unwrap_or_default()
}
