//! Who has which external resource, as the history showed it: whoever adopted or corrected it last, until it lets go.
//!
//! It follows what stands on the objects, change by change, and the writes to the external system. What the notes say of time counts
//! only for whether a program that has just begun can tell whose turn it was. It must not ask the programs' code, and change nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drift_api::identity::Uid;
use drift_api::names::DRIFT_CORRECTED;
use drift_language::Target;
use serde_json::Value;

use crate::api_server::ApiServer;
use crate::ledger::{entry, owns};
use crate::targets::owner_of;
use crate::watch::uid_of;

/// What objects claimed and did, in the order in which it happened.
#[derive(Default)]
pub(crate) struct Claims {
    /// So many changes of objects are taken in.
    read: usize,
    current: BTreeMap<Uid, Claim>,
    holders: BTreeMap<String, Holder>,
    /// Resources of which nobody could tell who of these has them.
    doubted: BTreeMap<String, BTreeSet<Uid>>,
    /// Objects whose note somebody else takes away just now.
    stripped: BTreeSet<Uid>,
    /// The controller has known everybody since whatever it does was begun: else it updates whatever an object claims.
    everybody_is_known: bool,
}

/// A claim that stands on an object.
struct Claim {
    resource: String,
    /// When the status of its note changed last.
    noted: String,
    /// The target that selects the object. What stands on others counts for nobody until they come back: neither program can keep
    /// anybody from labelling an object anew.
    selected_by: Option<&'static str>,
    /// Somebody else took the note away. The controller may not have heard of it, or puts it back.
    is_stripped: bool,
    /// The object changed, and the controller may not have heard of it: it may know one that a target selects.
    is_unheard: bool,
}

/// Who has a resource.
struct Holder {
    uid: Uid,
    /// No target selected it, or another one does, and the programs may not have heard of it yet: another object may have the resource
    /// since. One that moves from target to target is of neither for a moment (ADR 0042).
    may_be_taken: bool,
    /// The notes of those who had the resource before were older when it was adopted or corrected: who knows nothing but the notes can tell.
    is_evident: bool,
    /// It neither made nor adopted what is there now: another one did that lost it, and a claim is of a name whoever made it.
    is_inherited: bool,
}

impl Claims {
    /// Takes in what happened to objects; the error says what is violated.
    pub(crate) fn note_changes(&mut self, api: &ApiServer, active: &[Arc<Target>]) -> Result<(), String> {
        let read = std::mem::replace(&mut self.read, api.log.len());
        api.log[read..].iter().try_for_each(|(object, gone)| self.note_change(object, *gone, active))
    }

    fn note_change(&mut self, object: &Value, gone: bool, active: &[Arc<Target>]) -> Result<(), String> {
        let uid = uid_of(object);
        let former = self.current.remove(&uid);
        let now = claim_of(object, active).filter(|_| !gone);
        let was_stripped = former.as_ref().is_some_and(|claim| claim.is_stripped);
        let selected_by = former.as_ref().and_then(|claim| claim.selected_by);
        let before = former.as_ref().filter(|_| !was_stripped).map(|claim| claim.resource.clone());
        let resource = now.as_ref().map(|claim| claim.resource.clone());
        let is_stripped = (self.stripped.remove(&uid) || was_stripped) && !gone;
        let taken_away = former.filter(|_| is_stripped).map(|claim| Claim { is_stripped, ..claim });
        self.current.extend(now.or(taken_away).map(|claim| (uid.clone(), claim)));
        if before == resource {
            resource.iter().for_each(|resource| self.note_again(&uid, resource, selected_by));
            return Ok(());
        }
        before.map_or(Ok(()), |before| self.note_end(&uid, &before, gone, object))?;
        resource.map_or(Ok(()), |resource| self.note_claim(&uid, &resource, was_stripped))
    }

    /// The object claims the resource from now on: nobody else has it.
    fn note_claim(&mut self, uid: &Uid, resource: &str, is_put_back: bool) -> Result<(), String> {
        if let Some(other) = self.holder(resource).filter(|other| *other != uid && !self.may_be_taken(resource)) {
            return Err(format!("a resource is claimed that another object has: {resource} of {other} by {uid}"));
        }
        let contending = contending(&self.current, resource);
        if is_put_back && contending.len() > 1 {
            // Its time says nothing of when the resource was adopted.
            self.holders.remove(resource);
            self.doubted.insert(resource.to_owned(), contending);
        } else {
            self.take(uid, resource, is_put_back);
        }
        Ok(())
    }

    /// The object claims the resource as before, when that target selected it.
    fn note_again(&mut self, uid: &Uid, resource: &str, before: Option<&'static str>) {
        let is_evident = self.is_evident(uid, resource);
        let stays = before.is_some() && self.current[uid].selected_by == before;
        if let Some(holder) = self.holders.get_mut(resource).filter(|holder| holder.uid == *uid) {
            holder.is_evident |= is_evident;
            holder.may_be_taken |= !stays;
        }
    }

    /// The object claims the resource no more.
    fn note_end(&mut self, uid: &Uid, resource: &str, gone: bool, object: &Value) -> Result<(), String> {
        if self.holder(resource) != Some(uid) {
            return Ok(());
        }
        let may_be_taken = self.may_be_taken(resource);
        self.holders.remove(resource);
        let is_refused = entry(object, DRIFT_CORRECTED).is_some_and(|noted| noted["reason"] == "NotOurs");
        if is_refused && !gone && !may_be_taken {
            return Err(format!("{uid} is told that {resource} is not its own, which it has"));
        }
        Ok(())
    }

    /// Something is written to the resource for the object; the error says what is violated.
    pub(crate) fn note_write(&mut self, uid: &Uid, resource: &str) -> Result<(), String> {
        let other = self.holder(resource).filter(|other| *other != uid);
        if let Some(other) = other.filter(|_| self.everybody_is_known && !self.may_be_taken(resource)) {
            return Err(format!("a resource is written to that another object has: {resource} of {other} by {uid}"));
        }
        let claims = self.current.get(uid).is_some_and(|claim| claim.resource == resource && !claim.is_stripped);
        if claims && self.holder(resource) != Some(uid) {
            self.take(uid, resource, true);
        }
        Ok(())
    }

    fn take(&mut self, uid: &Uid, resource: &str, is_inherited: bool) {
        let is_doubted = self.doubted.remove(resource).is_some_and(|uids| uids.contains(uid));
        let holder = Holder {
            uid: uid.clone(),
            may_be_taken: self.current[uid].selected_by.is_none(),
            is_evident: self.is_evident(uid, resource),
            is_inherited: is_inherited || is_doubted,
        };
        self.holders.insert(resource.to_owned(), holder);
    }

    /// Returns true if the note of the object, which claims the resource, is younger than all others that do.
    fn is_evident(&self, uid: &Uid, resource: &str) -> bool {
        let noted = &self.current[uid].noted;
        let mut others = self.current.iter().filter(|(other, claim)| *other != uid && claim.resource == resource);
        others.all(|(_, claim)| claim.noted < *noted)
    }

    /// Other targets are active, and for a moment not everybody is known.
    pub(crate) fn note_targets(&mut self, api: &ApiServer, active: &[Arc<Target>]) {
        for object in api.objects.values() {
            if let Some(claim) = self.current.get_mut(&uid_of(object)) {
                let before = std::mem::replace(&mut claim.selected_by, selected_by(object, active));
                let moves = claim.selected_by.is_none() || claim.selected_by != before;
                let held = self.holders.values_mut().filter(|holder| *holder.uid == *uid_of(object));
                held.for_each(|holder| holder.may_be_taken |= moves);
            }
        }
        self.note_unknown();
    }

    /// A program does not know everybody. Of two claims that it finds, whose notes do not tell, either may count.
    pub(crate) fn note_unknown(&mut self) {
        self.everybody_is_known = false;
        let (current, doubted) = (&self.current, &mut self.doubted);
        self.holders.retain(|resource, holder| {
            let contending = contending(current, resource);
            let stays = holder.is_evident || contending.len() < 2;
            if !stays {
                doubted.insert(resource.clone(), contending);
            }
            stays
        });
    }

    /// Somebody else takes the note of the object away.
    pub(crate) fn note_strip(&mut self, uid: &Uid) {
        if self.current.contains_key(uid) {
            self.stripped.insert(uid.clone());
        }
    }

    /// The controller died: what was taken away is known to nobody.
    pub(crate) fn note_death(&mut self) {
        self.current.retain(|_, claim| !claim.is_stripped);
    }

    /// The controller knows everybody, and has heard of everything; nothing is under way that was decided before. Who left is away, and
    /// whoever has come back since has what nobody else claims.
    pub(crate) fn note_heard(&mut self) {
        self.everybody_is_known = true;
        self.current.values_mut().for_each(|claim| claim.is_unheard = false);
        let left = self.holders.iter().filter(|(_, holder)| holder.may_be_taken).map(|(resource, _)| resource.clone());
        for resource in left.collect::<Vec<_>>() {
            let claiming: Vec<Uid> = claiming(&self.current, &resource).cloned().collect();
            match &*claiming {
                // The one that left has it until another one takes it.
                [] => {}
                [only] if self.holder(&resource) == Some(only) => {
                    self.holders.get_mut(&resource).into_iter().for_each(|holder| holder.may_be_taken = false);
                }
                [only] => self.take(only, &resource, true),
                _ => drop(self.holders.remove(&resource)),
            }
        }
    }

    /// Who has the resource; `None` where nobody claimed it, or nobody can tell.
    pub(crate) fn holder(&self, resource: &str) -> Option<&Uid> {
        self.holders.get(resource).map(|holder| &holder.uid)
    }

    /// Returns true if the object has the resource without having made or adopted it.
    pub(crate) fn has_inherited(&self, uid: &Uid, resource: &str) -> bool {
        self.holders.get(resource).is_some_and(|holder| holder.is_inherited && holder.uid == *uid)
    }

    fn may_be_taken(&self, resource: &str) -> bool {
        self.holders.get(resource).is_none_or(|holder| holder.may_be_taken)
    }

    /// The objects, those first whose claim to the resource counts, then those whose claim stands.
    pub(crate) fn by_claim(&self, resource: &str, api: &ApiServer) -> Vec<Uid> {
        let mut uids: Vec<Uid> = api.objects.values().map(uid_of).collect();
        let claim = |uid: &Uid| self.current.get(uid).filter(|claim| claim.resource == resource);
        uids.sort_by_key(|uid| claim(uid).map_or((true, true), |claim| (false, claim.selected_by.is_none())));
        uids
    }

    /// The selected objects that claim the resource.
    pub(crate) fn claiming(&self, resource: &str) -> impl Iterator<Item = &Uid> {
        claiming(&self.current, resource)
    }
}

/// The selected objects that claim the resource.
fn claiming<'a>(current: &'a BTreeMap<Uid, Claim>, resource: &str) -> impl Iterator<Item = &'a Uid> {
    let is_claiming =
        move |claim: &Claim| claim.selected_by.is_some() && !claim.is_stripped && claim.resource == resource;
    current.iter().filter(move |(_, claim)| is_claiming(claim)).map(|(uid, _)| uid)
}

/// The selected objects that claim the resource, as far as the programs may know.
fn contending(current: &BTreeMap<Uid, Claim>, resource: &str) -> BTreeSet<Uid> {
    let may_be_selected = |claim: &Claim| claim.selected_by.is_some() || claim.is_unheard;
    let contending = |claim: &Claim| may_be_selected(claim) && claim.resource == resource;
    current.iter().filter(|(_, claim)| contending(claim)).map(|(uid, _)| uid.clone()).collect()
}

fn claim_of(object: &Value, active: &[Arc<Target>]) -> Option<Claim> {
    let resource = owns(object)?;
    let noted = entry(object, DRIFT_CORRECTED)?["lastTransitionTime"].as_str()?.to_owned();
    Some(Claim { resource, noted, selected_by: selected_by(object, active), is_stripped: false, is_unheard: true })
}

fn selected_by(object: &Value, active: &[Arc<Target>]) -> Option<&'static str> {
    owner_of(object, active.iter().map(|target| &**target))
}
