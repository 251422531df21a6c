//! Who owns which external resource: one object at most, whose claim was seen first or has the younger note.
//!
//! A claim that stands on an object outside of every selection counts for nobody, and comes back with its object: neither
//! program can keep anybody from labelling an object anew. It must not change anything.

use std::collections::BTreeMap;

use drift_model::identity::Uid;
use serde_json::Value;

use crate::api_server::ApiServer;
use crate::ledger::{Ledger, owns};
use crate::targets::owner_of;
use crate::watch::uid_of;

impl Ledger {
    /// The resource that the object owns. What a target that is gone has left on it counts no more, until it is taken off.
    pub(crate) fn counts(&self, object: &Value) -> Option<String> {
        let is_selected = owner_of(object, self.in_force.iter().map(|target| &**target)).is_some();
        owns(object).filter(|_| is_selected)
    }

    /// What must hold of all objects together, whenever.
    pub(crate) fn check_objects(&mut self, api: &ApiServer) {
        self.note_returning(api);
        let mut several = self.owners(api);
        several.values_mut().for_each(|uids| uids.retain(|uid| !self.returning.contains(uid)));
        several.retain(|_, uids| uids.len() > 1);
        for (owned, uids) in several {
            self.violate(format!("{owned} is owned by {uids:?}"));
        }
    }

    /// Who owns what.
    pub(crate) fn owners(&self, api: &ApiServer) -> BTreeMap<String, Vec<Uid>> {
        let mut owners: BTreeMap<String, Vec<Uid>> = BTreeMap::new();
        for (object, owned) in api.objects.values().filter_map(|object| Some((object, self.counts(object)?))) {
            owners.entry(owned).or_default().push(uid_of(object));
        }
        owners
    }

    /// The objects, those first whose claim to the resource counts, then those whose claim stands.
    pub(crate) fn claimants(&self, resource: &str, api: &ApiServer) -> Vec<Uid> {
        let mut objects: Vec<&Value> = api.objects.values().collect();
        let is_resource = |owned: Option<String>| owned.as_deref() == Some(resource);
        objects.sort_by_key(|object| (!is_resource(self.counts(object)), !is_resource(owns(object))));
        objects.into_iter().map(uid_of).collect()
    }

    /// A claim that stands while nobody selects its object counts less than others once it comes back.
    pub(crate) fn note_returning(&mut self, api: &ApiServer) {
        self.returning.retain(|uid| api.objects.values().any(|one| uid_of(one) == *uid && owns(one).is_some()));
        let away = api.objects.values().filter(|object| owns(object).is_some() && self.counts(object).is_none());
        let away: Vec<Uid> = away.map(uid_of).collect();
        self.returning.extend(away);
    }

    /// The controller died. Of two claims that stand by then, the next process cannot tell which came first.
    pub(crate) fn note_death(&mut self, api: &ApiServer) {
        self.died = true;
        self.writing.clear();
        self.note_undecided(api);
    }

    /// The controller does not know everybody since it began. Of two claims that it finds it cannot tell which came first.
    pub(crate) fn note_undecided(&mut self, api: &ApiServer) {
        self.returning.extend(self.owners(api).into_values().filter(|uids| uids.len() > 1).flatten());
    }

    /// The controller has heard of everything, and does nothing that was decided before: a verdict that somebody put back is none
    /// from now on, and a claim that came back counts, unless it came too late.
    pub(crate) fn note_heard(&mut self, api: &ApiServer) {
        self.replayed.extend(self.replaying.drain());
        for uids in self.owners(api).into_values().filter(|uids| uids.len() == 1) {
            uids.iter().for_each(|uid| _ = self.returning.remove(uid));
        }
    }
}
