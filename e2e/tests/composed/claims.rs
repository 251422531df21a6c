//! Which object claims which external resource, as it stands at the API server, and whom that forbids to act.
//!
//! It follows what stands on the objects, change by change, and the writes to the external system. It must not ask the
//! programs' code, and change nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drift_api::condition::CorrectionStatus;
use drift_api::identity::{Holders, Uid};
use drift_api::names::{DRIFT_CORRECTED, FINALIZER, GIVE_UP_ANNOTATION};
use drift_language::Target;
use serde_json::Value;

use crate::api_server::ApiServer;
use crate::ledger::{entry, owns};
use crate::targets::owner_of;
use crate::watch::uid_of;

/// The claims, and who was refused.
#[derive(Default)]
pub(crate) struct Claims {
    /// So many changes of objects are taken in.
    read: usize,
    current: BTreeMap<Uid, Claim>,
    /// Objects whose resource another one made while their claim did not count: a claim is of a name, whoever made it.
    inherited: BTreeSet<(Uid, String)>,
    /// Objects that said that another one has their resource, with K at that time.
    refused: BTreeMap<Uid, (String, u64)>,
    /// Objects whose note somebody else takes away just now.
    stripped: BTreeSet<Uid>,
    /// The controller has known everybody since whatever it does was begun.
    everybody_is_known: bool,
}

/// A claim that stands on an object.
#[derive(Clone)]
struct Claim {
    resource: String,
    is_selected: bool,
    /// A target selects the object, which names the resource and takes part in it.
    counts: bool,
    /// The controller has heard of it as it is.
    is_heard: bool,
    /// The controller has heard of it since it was made, whoever selects the object by now.
    was_heard: bool,
    /// Somebody else took the note away. The controller may not have heard of it, or puts it back.
    is_stripped: bool,
}

impl Claims {
    /// Takes in what happened to objects; the error says what is violated.
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
            former.as_ref().is_some_and(|former| former.resource == claim.resource && former.counts == claim.counts)
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
        self.note_refusal(&uid, object, (gone || is_stripped, api))
    }

    /// Whoever is told that the resource is free was refused, and none of those that it named claims the resource.
    fn note_refusal(&mut self, uid: &Uid, object: &Value, (gone, api): (bool, &ApiServer)) -> Result<(), String> {
        let note = entry(object, DRIFT_CORRECTED).filter(|_| !gone);
        let (Some(note), Some(resource)) = (note, object["spec"]["resource"].as_str()) else {
            self.refused.remove(uid);
            return Ok(());
        };
        let status = CorrectionStatus::parse(note["message"].as_str().unwrap_or_default());
        match note["reason"].as_str().unwrap_or_default() {
            "IdentityTaken" | "IdentityContested" => {
                self.refused.insert(uid.clone(), (status.text, status.correction));
            }
            // Of an object that was edited meanwhile it speaks of what that named before.
            "IdentityFree" if note["observedGeneration"] == object["metadata"]["generation"] => {
                // Asked once: the condition stays while other things change.
                let text = self.refused.get_mut(uid).map(|(text, _)| std::mem::take(text)).unwrap_or_default();
                let refusal = Holders::parse(&text).named;
                let is_in_the_way = |claim: &Claim| {
                    let stands = !claim.is_stripped && claim.resource == resource;
                    stands && if claim.is_selected { claim.counts && claim.is_heard } else { claim.was_heard }
                };
                let claims = |object: &&Value| self.current.get(&uid_of(object)).is_some_and(is_in_the_way);
                let gives_up = |object: &&Value| object["metadata"]["annotations"][GIVE_UP_ANNOTATION] == resource;
                let others = refusal.iter().filter_map(|holder| api.objects.get(&*holder.name));
                let other = others.filter(|other| uid_of(other) != *uid && !gives_up(other)).find(claims);
                if let Some(other) = other {
                    return Err(format!("a resource is called free that another object claims: {}", uid_of(other)));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Something is written to the resource for the object, after the correction of that number; the error says what is
    /// violated.
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

    /// Other targets are active, and for a moment not everybody is known.
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

    /// A program does not know everybody.
    pub(crate) const fn note_unknown(&mut self) {
        self.everybody_is_known = false;
    }

    /// Somebody else takes the note of the object away.
    pub(crate) fn note_strip(&mut self, uid: &Uid) {
        if self.current.contains_key(uid) {
            self.stripped.insert(uid.clone());
        }
        self.refused.remove(uid);
    }

    /// The controller died: what was taken away is known to nobody.
    pub(crate) fn note_death(&mut self) {
        self.current.retain(|_, claim| !claim.is_stripped);
    }

    /// The conditions of the object were cleaned up.
    pub(crate) fn forget(&mut self, uid: &Uid) {
        self.refused.remove(uid);
    }

    /// The controller knows everybody, and has heard of everything; nothing is under way that was decided before.
    pub(crate) fn note_heard(&mut self) {
        self.everybody_is_known = true;
        self.current.values_mut().for_each(|claim| (claim.is_heard, claim.was_heard) = (true, true));
    }

    /// Returns true if the object has the resource without having made or adopted it.
    pub(crate) fn has_inherited(&self, uid: &Uid, resource: &str) -> bool {
        self.inherited.contains(&(uid.clone(), resource.to_owned()))
    }

    /// The objects, those first whose claim to the resource counts, then those whose claim stands.
    pub(crate) fn by_claim(&self, resource: &str, api: &ApiServer) -> Vec<Uid> {
        let mut uids: Vec<Uid> = api.objects.values().map(uid_of).collect();
        let claim = |uid: &Uid| self.current.get(uid).filter(|claim| claim.resource == resource);
        uids.sort_by_key(|uid| claim(uid).map_or((true, true), |claim| (false, !claim.counts)));
        uids
    }

    /// The objects whose claim to the resource counts.
    pub(crate) fn claiming(&self, resource: &str) -> impl Iterator<Item = &Uid> {
        let is_claiming = move |claim: &Claim| claim.counts && !claim.is_stripped && claim.resource == resource;
        self.current.iter().filter(move |(_, claim)| is_claiming(claim)).map(|(uid, _)| uid)
    }
}

fn claim_of(object: &Value, active: &[Arc<Target>]) -> Option<Claim> {
    let resource = owns(object)?;
    let is_selected = owner_of(object, active.iter().map(|target| &**target)).is_some();
    let gives_up = object["metadata"]["annotations"][GIVE_UP_ANNOTATION] == resource;
    let is_held = object["metadata"]["finalizers"].as_array().is_some_and(|all| all.iter().any(|it| it == FINALIZER));
    let takes_part = object["metadata"]["deletionTimestamp"].is_null() || is_held;
    let counts = is_selected && takes_part && !gives_up && object["spec"]["resource"] == resource;
    Some(Claim { resource, is_selected, counts, is_heard: false, was_heard: false, is_stripped: false })
}
