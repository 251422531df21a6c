//! Tracks the objects' claims of external resources at the API server, and which objects must not act.
//!
//! It follows each change of the objects and each external write. It must not use the programs' code or change
//! anything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drift_api::condition::CorrectionStatus;
use drift_api::identity::{Holders, ScopeId, Uid};
use drift_api::names::{DRIFT_CORRECTED, FINALIZER};
use drift_language::Target;
use serde_json::Value;

use crate::api_server::ApiServer;
use crate::ledger::{entry, owns};
use crate::targets::{claiming_owner, gives_up, named};
use crate::watch::uid_of;

/// The claims and the refused objects.
#[derive(Default)]
pub(crate) struct Claims {
    /// Number of processed object changes.
    read: usize,
    current: BTreeMap<Uid, Claim>,
    /// Objects whose resource was made by another object while their claim did not count. A claim applies to the name,
    /// not to the maker.
    inherited: BTreeSet<(Uid, String)>,
    /// Objects that reported another owner of their resource, with K at that time.
    refused: BTreeMap<Uid, (String, u64)>,
    /// Scope of the target that wrote the last report of each object. It may be another target than the first that selects
    /// the object, which owns none while its kind is not found, or a former text.
    reported_in: BTreeMap<Uid, ScopeId>,
    /// Objects whose note is being removed by another writer.
    stripped: BTreeSet<Uid>,
    /// True if the controller has known all objects since the start of everything in progress.
    everybody_is_known: bool,
}

/// A claim on an object.
#[derive(Clone)]
struct Claim {
    resource: String,
    is_selected: bool,
    /// A target selects the object, which names the resource and takes part in the claim.
    counts: bool,
    /// The controller knows the current state of the claim.
    is_heard: bool,
    /// The controller has known the claim at some time, regardless of the current selection.
    was_heard: bool,
    /// Another writer removed the note. The controller may not know it yet, or restores it.
    is_stripped: bool,
}

impl Claims {
    /// Processes the changes of objects. An error describes the violation.
    pub(crate) fn note_changes(&mut self, api: &ApiServer, active: &[Arc<Target>]) -> Result<(), String> {
        let read = std::mem::replace(&mut self.read, api.log.len());
        api.log[read..].iter().try_for_each(|(object, gone)| self.note_change(object, *gone, (api, active)))
    }

    fn note_change(
        &mut self,
        object: &Value,
        gone: bool,
        (api, active): (&ApiServer, &[Arc<Target>]),
    ) -> Result<(), String> {
        let uid = uid_of(object);
        let former = self.current.remove(&uid);
        let is_stripped = (self.stripped.remove(&uid) || former.as_ref().is_some_and(|it| it.is_stripped)) && !gone;
        let now = claim_of(object, active).filter(|_| !gone);
        let is_same = |claim: &Claim| {
            let of = |claim: &Claim| (claim.resource.clone(), claim.counts, claim.is_selected);
            former.as_ref().is_some_and(|former| of(former) == of(claim))
        };
        let now = now.map(|claim| Claim {
            is_heard: former.as_ref().is_some_and(|former| former.is_heard) && is_same(&claim),
            was_heard: former
                .as_ref()
                .is_some_and(|former| former.was_heard && !former.is_stripped && former.resource == claim.resource),
            ..claim
        });
        if now.as_ref().map(|claim| &claim.resource) != former.as_ref().map(|claim| &claim.resource) {
            self.inherited.retain(|(other, _)| *other != uid);
        }
        let taken_away = former.filter(|_| is_stripped).map(|claim| Claim { is_stripped, ..claim });
        self.current.extend(now.or(taken_away).map(|claim| (uid.clone(), claim)));
        self.note_refusal(&uid, object, (gone || is_stripped, api, active))
    }

    /// Checks a report that the resource is free: the object was refused before, and none of the named holders claims
    /// the resource.
    fn note_refusal(
        &mut self,
        uid: &Uid,
        object: &Value,
        (gone, api, active): (bool, &ApiServer, &[Arc<Target>]),
    ) -> Result<(), String> {
        let note = entry(object, DRIFT_CORRECTED).filter(|_| !gone);
        let owner = claiming_owner(object, active);
        let (Some(note), Some(_)) = (note, owner) else {
            self.refused.remove(uid);
            return Ok(());
        };
        let status = CorrectionStatus::parse(note["message"].as_str().unwrap_or_default());
        match note["reason"].as_str().unwrap_or_default() {
            "IdentityTaken" | "IdentityContested" => {
                self.refused.insert(uid.clone(), (status.text, status.correction));
            }
            // If the object was edited in the meantime, the report is about its former resource.
            "IdentityFree" if note["observedGeneration"] == object["metadata"]["generation"] => {
                // Checked once, because the condition stays while other things change.
                let text = self.refused.get_mut(uid).map(|(text, _)| std::mem::take(text)).unwrap_or_default();
                let refusal = Holders::parse(&text).named;
                let resource = self.reported_in.get(uid).and_then(|scope| named(object, *scope));
                let Some(resource) = resource else {
                    return Err(format!("another writer calls a resource free: of {uid}"));
                };
                let is_in_the_way = |claim: &Claim| {
                    let stands = !claim.is_stripped && claim.resource == resource;
                    stands && claim.is_heard && if claim.is_selected { claim.counts } else { claim.was_heard }
                };
                let claims = |object: &&Value| self.current.get(&uid_of(object)).is_some_and(is_in_the_way);
                let others = refusal.iter().filter_map(|holder| api.objects.get(&*holder.name));
                let other = others.filter(|other| uid_of(other) != *uid && !gives_up(other, &resource)).find(claims);
                if let Some(other) = other {
                    return Err(format!("a resource is called free that another object claims: {}", uid_of(other)));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Records a write to the resource for the object, after the correction with that number. An error describes the
    /// violation.
    pub(crate) fn note_write(&mut self, uid: &Uid, resource: &str, after: u64) -> Result<(), String> {
        let is_other = |(other, claim): &(&Uid, &Claim)| *other != uid && claim.resource == resource;
        let mut others = self.current.iter().filter(is_other);
        let counts = |(_, claim): &(&Uid, &Claim)| claim.counts && claim.is_heard && !claim.is_stripped;
        if let Some((other, _)) = others.clone().find(counts).filter(|_| self.everybody_is_known) {
            return Err(format!("a resource is written to that another object claims: {resource} of {other} by {uid}"));
        }
        if self.refused.get(uid).is_some_and(|(_, refused_at)| after <= *refused_at) {
            return Err(format!("an object that was refused acts without a poll: {uid} on {resource}"));
        }
        let inherited: Vec<_> = others.by_ref().map(|(other, _)| (other.clone(), resource.to_owned())).collect();
        self.inherited.extend(inherited);
        Ok(())
    }

    /// Records that other targets are active. For a moment not all objects are known.
    pub(crate) fn note_targets(&mut self, api: &ApiServer, active: &[Arc<Target>]) {
        for object in api.objects.values() {
            if let Some(claim) = self.current.get_mut(&uid_of(object)) {
                let now = claim_of(object, active);
                let counts = now.as_ref().is_some_and(|claim| claim.counts);
                claim.is_heard &= counts == claim.counts;
                (claim.counts, claim.is_selected) = (counts, now.is_some_and(|claim| claim.is_selected));
            }
        }
        self.note_unknown();
    }

    /// Records that a target of this scope writes a report to the object.
    pub(crate) fn note_report(&mut self, uid: &Uid, scope: ScopeId) {
        self.reported_in.insert(uid.clone(), scope);
    }

    /// Records that a program does not know all objects.
    pub(crate) const fn note_unknown(&mut self) {
        self.everybody_is_known = false;
    }

    /// Records that another writer removes the note of the object.
    pub(crate) fn note_strip(&mut self, uid: &Uid) {
        if self.current.contains_key(uid) {
            self.stripped.insert(uid.clone());
        }
        self.refused.remove(uid);
    }

    /// Records the controller's death: removed notes are forgotten.
    pub(crate) fn note_death(&mut self) {
        self.current.retain(|_, claim| !claim.is_stripped);
    }

    /// Records that the object's conditions were cleaned up.
    pub(crate) fn forget(&mut self, uid: &Uid) {
        self.refused.remove(uid);
    }

    /// Records that the controller knows all objects and events, and runs nothing that was decided before.
    pub(crate) fn note_heard(&mut self) {
        self.everybody_is_known = true;
        self.current.values_mut().for_each(|claim| (claim.is_heard, claim.was_heard) = (true, true));
    }

    /// Returns true if the object has the resource but did not make or adopt it.
    pub(crate) fn has_inherited(&self, uid: &Uid, resource: &str) -> bool {
        self.inherited.contains(&(uid.clone(), resource.to_owned()))
    }

    /// Returns the objects: first those with a counting claim to the resource, then those with another claim.
    pub(crate) fn by_claim(&self, resource: &str, api: &ApiServer) -> Vec<Uid> {
        let mut uids: Vec<Uid> = api.objects.values().map(uid_of).collect();
        let claim = |uid: &Uid| self.current.get(uid).filter(|claim| claim.resource == resource);
        uids.sort_by_key(|uid| claim(uid).map_or((true, true), |claim| (false, !claim.counts)));
        uids
    }

    /// Returns the objects with a counting claim to the resource.
    pub(crate) fn claiming(&self, resource: &str) -> impl Iterator<Item = &Uid> {
        let is_claiming = move |claim: &Claim| claim.counts && !claim.is_stripped && claim.resource == resource;
        self.current.iter().filter(move |(_, claim)| is_claiming(claim)).map(|(uid, _)| uid)
    }
}

fn claim_of(object: &Value, active: &[Arc<Target>]) -> Option<Claim> {
    let resource = owns(object)?;
    let owner = claiming_owner(object, active);
    let (is_selected, named) = (owner.is_some(), owner.and_then(|owner| named(object, owner.scope.id)));
    let is_held = object["metadata"]["finalizers"].as_array().is_some_and(|all| all.iter().any(|it| it == FINALIZER));
    let takes_part = object["metadata"]["deletionTimestamp"].is_null() || is_held;
    let counts = takes_part && !gives_up(object, &resource) && named.as_deref() == Some(&*resource);
    Some(Claim { resource, is_selected, counts, is_heard: false, was_heard: false, is_stripped: false })
}
