//! Checks the controller's decisions on objects that it has just read.
//!
//! A decision is compared with what the program knew at that time. Later changes do not count against it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use drift_api::condition::CurrentVerdict;
use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_controller::engine::corrections::claim::Action;
use drift_controller::engine::corrections::correction::Correction;
use drift_language::{Destination, Target, TargetState};
use serde_json::Value;

use crate::api_server::ApiServer;
use crate::ledger::owns;
use crate::targets::{gives_up, key_of, named, owner};
use crate::watch::uid_of;

/// Minimum time between two corrections of an object, after the first two.
const PAUSE: Duration = Duration::from_secs(2);
/// Time for which a correction counts towards the pause.
const WINDOW: Duration = Duration::from_secs(600);
/// Interval of attempts on an object whose attempts are exhausted.
const TRIED_EVERY: Duration = Duration::from_secs(3600);

/// A decision on an object after a live read.
pub(crate) struct Decided {
    pub(crate) object: LeanObject,
    /// The correction, or `None` if the finalizer is removed.
    pub(crate) correction: Option<Box<Correction>>,
    /// The finalizer is removed because nothing is left outside.
    pub(crate) says_deleted: bool,
    pub(crate) target: Arc<Target>,
    /// The controller has the poller's attestation of the verdict.
    pub(crate) is_attested: bool,
    /// The poller attests the same text as a whole.
    pub(crate) has_text_of_poller: bool,
    /// The state of the target as the controller knows it.
    pub(crate) state: TargetState,
    /// Every active target has read its list.
    pub(crate) knows_everybody: bool,
    /// The windows of the target are open.
    pub(crate) is_open: bool,
    /// The object was read live before.
    pub(crate) was_read: bool,
    pub(crate) at: Moment,
}

/// A correction that has sent a request.
struct Begun {
    at: Moment,
    retry: Option<String>,
}

/// The controller's knowledge and started corrections, as far as decisions depend on them.
#[derive(Default)]
pub(crate) struct Decisions {
    /// The version of each object that the controller knows.
    heard: BTreeMap<Uid, Value>,
    /// Started corrections by target name and object.
    begun: HashMap<(String, Uid), Vec<Begun>>,
    /// Objects whose external deletion was reported as done.
    deleted: HashSet<Uid>,
    /// Objects that a poll truly found absent, each with the K of that poll.
    absent: HashSet<(Uid, u64)>,
}

impl Decisions {
    /// Records that the controller knows the current version of every object.
    pub(crate) fn note_heard(&mut self, api: &ApiServer) {
        let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
        self.heard = api.objects.values().map(|object| (uid_of(object), version(object))).collect();
    }

    /// Records the first write of a correction that was decided at that time.
    pub(crate) fn note_begun(&mut self, target: &Target, object: &LeanObject, at: Moment) {
        let begun = self.begun.entry((target.name.clone(), object.id.uid.clone())).or_default();
        begun.push(Begun { at, retry: object.retry_requested().map(str::to_owned) });
    }

    /// Records an external deletion that was reported as done.
    pub(crate) fn note_deleted(&mut self, uid: &Uid) {
        self.deleted.insert(uid.clone());
    }

    /// Returns true if the object's external deletion was reported as done.
    pub(crate) fn was_deleted(&self, uid: &Uid) -> bool {
        self.deleted.contains(uid)
    }

    /// Records a poll that truly found the resource absent.
    pub(crate) fn note_absent(&mut self, uid: &Uid, correction: u64) {
        self.absent.insert((uid.clone(), correction));
    }

    /// Records that the target forgets the object.
    pub(crate) fn forget(&mut self, target: &str, uid: &Uid) {
        self.begun.remove(&(target.to_owned(), uid.clone()));
    }

    /// Records the controller's death.
    pub(crate) fn note_death(&mut self) {
        self.begun.clear();
    }

    /// Checks a decision. An error describes the violation.
    pub(crate) fn check(&self, decided: &Decided, api: &ApiServer, active: &[Arc<Target>]) -> Result<(), String> {
        let uid = &decided.object.id.uid;
        let is_governed = match decided.state {
            TargetState::Live => true,
            TargetState::Former => decided.object.deleting,
            TargetState::Taken | TargetState::Missing | TargetState::Forgotten => false,
        };
        if !is_governed {
            return Err(format!("a target acts that no live text governs: on {uid} as {:?}", decided.state));
        }
        let Some(correction) = &decided.correction else {
            let found_absent = (uid.clone(), decided.object.conditions.correction());
            let is_polled = decided.is_attested && self.absent.contains(&found_absent);
            let is_known = !decided.says_deleted || self.deleted.contains(uid) || is_polled;
            return is_known
                .then_some(())
                .ok_or_else(|| format!("a finalizer goes before the resource: that of {uid}"));
        };
        if !decided.was_read {
            return Err(format!("a correction without a live read: of {uid}"));
        }
        if correction.takes_resource() && !decided.knows_everybody {
            return Err(format!("a resource is claimed before every list is read: by {uid}"));
        }
        self.check_pace(decided, correction)?;
        let note = decided.object.conditions.corrected().map(|note| note.reason.to_string());
        let is_begun = note.is_some_and(|reason| reason == "CorrectionStarted");
        if !(decided.is_open || is_begun || correction.resumes || correction.was_in_doubt) {
            return Err(format!("a correction begins outside of its windows: of {uid}"));
        }
        if correction.action != Action::Delete {
            let attested = decided.is_attested.then_some(());
            attested.ok_or_else(|| format!("a correction without the poller's attestation: of {uid}"))?;
            let same = decided.has_text_of_poller.then_some(());
            return same.ok_or_else(|| format!("a target is corrected by another text than the poller's: {uid}"));
        }
        if decided.object.orphan {
            return Err(format!("an orphaned resource is deleted: that of {uid}"));
        }
        let resource = key_of(&correction.resource);
        match self.other_naming((uid, &resource), api, active) {
            Some(other) => {
                Err(format!("a resource is deleted that another object names: {resource} of {uid}, by {other}"))
            }
            None => Ok(()),
        }
    }

    fn check_pace(&self, Decided { object, target, at, .. }: &Decided, correction: &Correction) -> Result<(), String> {
        let uid = &object.id.uid;
        let begun = self.begun.get(&(target.name.clone(), uid.clone())).map(Vec::as_slice).unwrap_or_default();
        let Some(last) = begun.last() else { return Ok(()) };
        let retry = object.retry_requested();
        let is_asked_for = retry.is_some() && retry != last.retry.as_deref();
        let current = object.conditions.observed().and_then(CurrentVerdict::read);
        let unhealed = current.map_or(0, |current| current.tag.unhealed);
        let is_exhausted = correction.action != Action::Delete && unhealed >= target.correct.limits.attempts;
        if is_exhausted && !correction.was_in_doubt {
            let is_due = is_asked_for || at.is_past(last.at, TRIED_EVERY);
            return is_due.then_some(()).ok_or_else(|| format!("exhausted attempts go on: {uid} after {unhealed}"));
        }
        // A person may end a pause once, but not that of a doubt.
        if is_asked_for && !correction.was_in_doubt {
            return Ok(());
        }
        let recent = begun.iter().filter(|begun| !at.is_past(begun.at, WINDOW)).count();
        if recent >= 2 && !at.is_past(last.at, PAUSE) {
            return Err(format!("a third correction begins without a pause: of {uid}"));
        }
        Ok(())
    }

    /// Returns another living object that names the resource, by the controller's knowledge.
    fn other_naming(&self, (uid, resource): (&Uid, &str), api: &ApiServer, active: &[Arc<Target>]) -> Option<Uid> {
        let names = |object: &Value| {
            let is_allowed = object["spec"]["forbidden"] == false || owns(object).as_deref() == Some(resource);
            let owner = owner(object, active.iter().map(|target| &**target));
            // The operator of an object that is only nudged owns its resource, not the object.
            let owner = owner.filter(|owner| !matches!(owner.correct.destination, Some(Destination::Nudge(_))));
            let named = owner.and_then(|owner| named(object, owner.scope.id));
            named.as_deref() == Some(resource) && is_allowed && !gives_up(object, resource)
        };
        let is_heard = |object: &Value| self.heard.get(&uid_of(object)) == Some(&object["metadata"]["resourceVersion"]);
        let living = api.objects.values().filter(|object| object["metadata"]["deletionTimestamp"].is_null());
        let mut naming = living.filter(|object| names(object) && is_heard(object)).map(uid_of);
        naming.find(|other| other != uid)
    }
}
