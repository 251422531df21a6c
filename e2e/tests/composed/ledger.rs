//! Invariants that are checked at each write.
//!
//! It records facts that neither program can see: the knowledge of each poll, the sent requests, and the meaning of
//! each key. It keeps the first violation. It must not change anything.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use drift_api::condition::{
    Condition, ConditionStatus, CorrectionStatus, CurrentVerdict, DesiredHash, ObservedReason, PollRequest,
};
use drift_api::identity::Uid;
use drift_api::names::{DRIFT_CORRECTED, DRIFT_OBSERVED};
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_api::timing::moment::Moment;
use drift_controller::engine::corrections::claim::Action;
use drift_controller::engine::corrections::correction::Correction;
use drift_language::{HttpRequest, Target};
use drift_poller::engine::judgement::verdict::Basis;
use http::Method;
use serde_json::Value;

use crate::api_server::ApiServer;
use crate::approvals::Approvals;
use crate::claims::Claims;
use crate::creates::Creates;
use crate::decisions::{Decided, Decisions};
use crate::job_acting::Asked;
use crate::job_ledger::JobLedger;
use crate::outside::Outside;
use crate::poller::kept;
use crate::replacements;
use crate::targets::{KEYLESS, claiming_owner, key_claimed, key_of, named};
use crate::watch::uid_of;

/// Record of the actual events.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) violation: Option<String>,
    /// The targets as the controller knows them.
    active: Vec<Arc<Target>>,
    /// Object, desired state and K for which a poll truly saw drift (true) or none (false).
    seen: HashSet<(Uid, Option<DesiredHash>, u64, bool)>,
    /// Requests for a poll.
    asked: HashSet<(Uid, PollRequest)>,
    /// Those after which the object was polled.
    polled: HashSet<(Uid, PollRequest)>,
    /// The request sent with each idempotency key, and true if its outcome was definite.
    keys: HashMap<String, (String, bool)>,
    /// Objects whose last verdict is from another writer, and for which no poll has seen drift since.
    pub(crate) replayed: HashSet<Uid>,
    /// Such objects before the controller knows about it. To the controller the restored verdict may still be the
    /// newest.
    pub(crate) replaying: HashSet<Uid>,
    /// Objects that lost a condition to another writer.
    pub(crate) stripped: HashSet<Uid>,
    /// A controller died, so its decisions may be repeated.
    pub(crate) died: bool,
    /// Objects that left a target's selection, or whose target was edited while a task was in progress. The program
    /// forgets them.
    pub(crate) left: HashSet<Uid>,
    pub(crate) claims: Claims,
    /// Objects that existed when a target was removed.
    pub(crate) target_gone: HashSet<Uid>,
    /// Objects that are writing to a resource, from the first request of a correction to the end of its last.
    pub(crate) writing: HashMap<Uid, String>,
    corrections: HashMap<Uid, u64>,
    pub(crate) jobs: JobLedger,
    pub(crate) decisions: Decisions,
    pub(crate) creates: Creates,
    pub(crate) approvals: Approvals,
    /// Number of writes to objects by both programs.
    pub(crate) writes: usize,
}

impl Ledger {
    pub(crate) fn violate(&mut self, what: impl Into<String>) {
        self.violation.get_or_insert(what.into());
    }

    pub(crate) fn ensure(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.violate(what());
        }
    }

    /// Processes the changes of objects since the last call.
    pub(crate) fn note_changes(&mut self, api: &ApiServer) {
        if let Err(what) = self.claims.note_changes(api, &self.active) {
            self.violate(what);
        }
    }

    /// Records the controller's new targets.
    pub(crate) fn note_targets(&mut self, active: Vec<Arc<Target>>, api: &ApiServer) {
        self.note_changes(api);
        self.active = active;
        self.claims.note_targets(api, &self.active);
    }

    /// Records the controller's death.
    pub(crate) fn note_death(&mut self, api: &ApiServer) {
        self.died = true;
        self.decisions.note_death();
        self.writing.clear();
        self.note_changes(api);
        self.claims.note_death();
    }

    /// Records the controller's decisions on read objects.
    pub(crate) fn note_decisions(&mut self, decided: impl IntoIterator<Item = Decided>, api: &ApiServer) {
        for decided in decided {
            if let Err(what) = self.decisions.check(&decided, api, &self.active) {
                self.violate(what);
            }
        }
    }

    /// Records that the controller knows all events and runs nothing that was decided before. Restored verdicts no
    /// longer count.
    pub(crate) fn note_heard(&mut self, api: &ApiServer) {
        self.note_changes(api);
        self.replayed.extend(self.replaying.drain());
        self.claims.note_heard();
    }

    /// Records a true response to a poll. If it matches a replayed verdict, the poller has nothing to write.
    pub(crate) fn note_read(&mut self, uid: &Uid, basis: &Basis, differs: bool) {
        if differs {
            self.note_true_word(uid);
            self.jobs.note_drift(uid);
        }
        self.seen.insert((uid.clone(), basis.desired_hash, basis.correction, differs));
    }

    /// Records a request for a poll.
    pub(crate) fn note_asked(&mut self, uid: Uid, request: &str) {
        self.asked.insert((uid, PollRequest::of(request)));
    }

    /// Records a poll, with or without a response. It answers all earlier requests.
    pub(crate) fn note_poll(&mut self, uid: &Uid) {
        self.polled.extend(self.asked.iter().filter(|(asked, _)| asked == uid).cloned());
    }

    fn note_true_word(&mut self, uid: &Uid) {
        self.replayed.remove(uid);
        self.replaying.remove(uid);
    }

    /// Records a write attempt of the poller.
    pub(crate) fn note_verdict(
        &mut self,
        before: &LeanObject,
        condition: &Condition,
        current: Option<&Value>,
        api: &ApiServer,
    ) {
        let Some((old, new)) = self.landed(before, current, api, DRIFT_OBSERVED) else { return };
        self.note_true_word(&before.id.uid);
        let tag = condition.message.tag().unwrap_or_default();
        let evidence = |drifted| (before.id.uid.clone(), tag.desired_hash, tag.correction, drifted);
        let known = match condition.status {
            ConditionStatus::True => self.seen.contains(&evidence(true)),
            ConditionStatus::False => self.seen.contains(&evidence(false)),
            ConditionStatus::Unknown => true,
        };
        self.ensure(known, || {
            format!("a verdict says what no poll has seen: {} {}", condition.reason, condition.message)
        });
        let answered = LeanObject::prune(&old, &FieldPaths::default());
        let answered = answered.conditions.observed().and_then(|condition| condition.message.tag()?.polled);
        let is_barred = |reason: ObservedReason| reason.needs_no_read() && reason != ObservedReason::NotYetPolled;
        let needs_no_poll = ObservedReason::parse(&condition.reason).is_some_and(is_barred);
        let is_polled = |asked: PollRequest| self.polled.contains(&(before.id.uid.clone(), asked));
        let is_answer = tag.polled == answered || needs_no_poll || tag.polled.is_none_or(is_polled);
        self.ensure(is_answer, || format!("a request is answered without a poll: of {}", before.id.uid));
        let generation = old["metadata"]["generation"].as_i64();
        // No write of a report can test the generation of its object.
        self.ensure(before.report.is_some() || generation == condition.observed_generation, || {
            format!("a verdict lands on another generation: {generation:?} and {:?}", condition.observed_generation)
        });
        let time = |object: &Value| entry(object, DRIFT_OBSERVED).map(|entry| entry["lastTransitionTime"].clone());
        let goes_back = time(&old).is_some_and(|old| old.as_str() > time(&new).as_ref().and_then(Value::as_str));
        self.ensure(!goes_back, || "lastTransitionTime goes backwards".to_owned());
    }

    /// Records a status write attempt of the controller.
    pub(crate) fn note_status(
        &mut self,
        object: &LeanObject,
        current: Option<&Value>,
        target: &Target,
        api: &ApiServer,
    ) {
        let uid = &object.id.uid;
        let Some((old, new)) = self.landed(object, current, api, DRIFT_CORRECTED) else { return };
        self.claims.note_report(uid, target.scope.id);
        let moved = owns(&old).zip(owns(&new)).filter(|(old, new)| old != new);
        self.ensure(moved.is_none(), || format!("a claim moves to another resource: that of {uid}, {moved:?}"));
        if object.report.is_some() {
            // A lost report is written anew, and nothing depends on its number.
            let owned = owns(&new);
            return self.ensure(owned.is_none(), || format!("a report has a claim: that of {uid}, {owned:?}"));
        }
        let message = |object: &Value| entry(object, DRIFT_CORRECTED).map(|entry| entry["message"].clone());
        let Some(message) = message(&new) else { return };
        let correction = CorrectionStatus::parse(message.as_str().unwrap_or_default()).correction;
        let most = self.corrections.get(uid).copied().unwrap_or_default();
        let excused = self.stripped.contains(uid);
        self.ensure(correction >= most || excused, || {
            format!("the correction number falls: from {most} to {correction}")
        });
        self.corrections.insert(uid.clone(), correction.max(most));
    }

    /// Records a finalizer write attempt of the controller. Nothing else may change.
    pub(crate) fn note_finalizer(&mut self, uid: &Uid, current: Option<&Value>, api: &ApiServer) {
        let Some(old) = current else { return };
        let new = old["metadata"]["name"].as_str().and_then(|name| api.objects.get(name));
        let Some(new) = new.filter(|new| new["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"])
        else {
            self.writes += usize::from(new.is_none());
            return;
        };
        self.writes += 1;
        self.check_uid(uid, old);
        let rest = |object: &Value| {
            let mut rest = object.clone();
            if let Some(metadata) = rest["metadata"].as_object_mut() {
                metadata.remove("finalizers");
                metadata.remove("resourceVersion");
            }
            rest
        };
        self.ensure(rest(old) == rest(new), || "a write of the finalizer changes something else".to_owned());
    }

    /// Checks that a write hits its object and not a later one with the same name.
    fn check_uid(&mut self, meant: &Uid, hit: &Value) {
        let hit = crate::watch::uid_of(hit);
        self.ensure(hit == *meant, || format!("a write for {meant} lands on {hit}"));
    }

    /// Returns the change of a successful write for an object, or for its report. Only the program's own entry may change.
    fn landed(
        &mut self,
        object: &LeanObject,
        current: Option<&Value>,
        api: &ApiServer,
        own: &str,
    ) -> Option<(Value, Value)> {
        let uid = &object.id.uid;
        let new = kept(object, api)?;
        let old = current.cloned().or_else(|| object.report.is_some().then_some(Value::Null))?;
        if old["metadata"]["resourceVersion"] == new["metadata"]["resourceVersion"] {
            return None;
        }
        self.writes += 1;
        if object.report.is_some() {
            self.ensure(new["object"]["uid"] == **uid, || format!("a report of {uid} lands on another"));
            if old["object"]["uid"] != **uid {
                return Some((Value::Null, new.clone()));
            }
        } else {
            self.check_uid(uid, &old);
        }
        let others_same = without(&old, own) == without(new, own);
        self.ensure(others_same, || format!("a write of {own} changes something else"));
        Some((old, new.clone()))
    }

    /// Records a request that is sent for the object, in its state at the decision.
    pub(crate) fn note_request(&mut self, sent: &Sent<'_>, outside: &Outside, api: &ApiServer) {
        let Sent { asked, request, key, resource, .. } = *sent;
        let Asked { object, correction, .. } = asked;
        let uid = &object.id.uid;
        let body =
            format!("{} {} {:?}", request.method, request.url, request.body.as_deref().map(String::from_utf8_lossy));
        let before = self.keys.get(key).cloned();
        if let Some((sent_before, definite)) = before {
            self.ensure(sent_before == body, || {
                format!("one key is sent with two requests: {key} with {sent_before} and with {body}")
            });
            // If another writer removes a note just before its target is removed, it is not restored, and its number is
            // lost.
            let is_lost = self.stripped.contains(uid) && self.target_gone.contains(uid);
            let is_left = correction.action == Action::Delete && self.left.contains(uid);
            // An accepted create that no poll finds is repeated with its key, so that a server with keys makes no second.
            let is_unseen = correction.before.unseen.is_some_and(|unseen| unseen.accepted);
            let forgotten = self.died || is_left || is_lost || is_unseen;
            self.ensure(!definite || forgotten, || format!("a key is sent again after a definite outcome: {key}"));
        }
        self.keys.entry(key.to_owned()).or_insert((body, false));
        self.check_create(sent, outside, api);
        if let Err(what) = replacements::check(sent, outside, api)
            && !self.lacks_its_note(uid)
        {
            self.violate(what);
        }
        self.check_correction(asked, resource, outside, api);
    }

    /// Checks that a create makes no second resource. An object without its note is excused, because the note has the
    /// earlier create.
    fn check_create(&mut self, sent: &Sent<'_>, outside: &Outside, api: &ApiServer) {
        let Sent { asked, request, resource, at, .. } = *sent;
        let uid = &asked.object.id.uid;
        if asked.text.edition != KEYLESS || request.method != Method::POST {
            return;
        }
        let is_excused = self.lacks_its_note(uid);
        let beside =
            self.creates.open_beside(uid, &asked.target.name, &self.looked_for(&asked.target.name, api)).cloned();
        self.ensure(beside.is_none(), || {
            format!("a create begins before the read has found another one: of {uid} beside {beside:?}")
        });
        let may_follow = self.creates.may_follow((uid, resource), asked.object.retry_requested(), at);
        // A replacement believes a system that has accepted its deletion.
        let is_misled = asked.correction.action == Action::Replace && outside.ignores_deletions();
        let is_second = outside.has_create_of(uid, resource) && !is_misled;
        self.creates.note(sent, is_second);
        self.ensure(is_excused || may_follow || !is_second, || {
            format!("a second resource is made: {resource} for {uid}")
        });
    }

    /// Returns true if the programs may have lost the note of the object.
    fn lacks_its_note(&self, uid: &Uid) -> bool {
        [&self.stripped, &self.left, &self.target_gone].iter().any(|excused| excused.contains(uid))
    }

    /// Returns the resources that the target polls for its objects. An object without its note is excused.
    fn looked_for(&self, target: &str, api: &ApiServer) -> HashMap<Uid, String> {
        let named = |object: &Value| {
            let owner = claiming_owner(object, &self.active)?;
            let is_owned = owner.name == target && object["spec"]["forbidden"] == false;
            Some((uid_of(object), named(object, owner.scope.id)?)).filter(|_| is_owned)
        };
        let objects = api.objects.values().filter_map(named);
        objects.filter(|(uid, _)| !self.lacks_its_note(uid)).collect()
    }

    /// Records a create that took effect late. It must not follow the end of an object whose deletion was reported as
    /// done.
    pub(crate) fn note_landed(&mut self, (uid, resource): (&Uid, &str), api: &ApiServer) {
        let is_gone = !api.objects.values().any(|object| crate::watch::uid_of(object) == *uid);
        self.ensure(!(is_gone && self.decisions.was_deleted(uid)), || {
            format!("a create takes effect after the deletion: of {resource} for {uid}")
        });
    }

    /// Records a Job that is created for the object, in its state at the decision.
    pub(crate) fn note_job(&mut self, name: &str, asked: Asked<'_>, outside: &Outside, api: &ApiServer) {
        let Asked { object, correction, .. } = asked;
        let uid = &object.id.uid;
        // A deletion is not announced, so a new process after a death starts it again.
        let deletes_again = correction.action == Action::Delete && (self.died || self.left.contains(uid));
        let excused = deletes_again || self.stripped.contains(uid);
        if let Err(what) = self.jobs.note_begun(name, uid, correction.asked_for(), (excused, correction.resumes)) {
            self.violate(what);
        }
        let mut jobs = api.jobs.all().into_iter();
        let other = jobs.find(|other| other.name != name && other.is_owned_by(uid) && other.is_running());
        self.ensure(other.is_none(), || format!("{name} is begun beside {other:?}"));
        self.check_correction(asked, &key_of(&correction.resource), outside, api);
    }

    /// Checks that the object may be corrected, in its state at the decision.
    fn check_correction(&mut self, asked: Asked<'_>, resource: &str, outside: &Outside, api: &ApiServer) {
        let Asked { object, correction, text, .. } = asked;
        let uid = &object.id.uid;
        asked.decided_at.into_iter().for_each(|at| self.decisions.note_begun(asked.target, object, at));
        let is_forbidden = object.view.open()["spec"]["forbidden"] == true;
        self.ensure(!is_forbidden, || "an object is corrected that the target does not allow".to_owned());
        self.ensure(text.correct && !text.suspended, || {
            "a target that only looks, or is suspended, corrects".to_owned()
        });
        if text.approves
            && let Err(what) = self.approvals.check(object, correction, !self.lacks_its_note(uid))
        {
            self.violate(what);
        }
        self.ensure(!object.paused, || "a paused object is corrected".to_owned());
        self.ensure(!object.gives_up(&correction.resource.identity), || {
            "a resource is written to for an object that gives it up".to_owned()
        });
        self.ensure(resource == key_of(&correction.resource), || {
            format!("a request is for another resource than its correction: for {resource} of {uid}")
        });
        self.note_changes(api);
        if let Err(what) = self.claims.note_write(uid, resource, correction.number.saturating_sub(1)) {
            self.violate(what);
        }
        let made_by = outside.resources.get(resource).map(|resource| resource.made_by.clone());
        let is_others = made_by.as_ref().is_some_and(|made_by| made_by.as_ref() != Some(uid))
            && !self.claims.has_inherited(uid, resource);
        let beside = self.writing.iter().find(|(other, written)| *other != uid && *written == resource);
        let beside = beside.map(|(other, _)| other.clone());
        self.ensure(beside.is_none(), || format!("{uid} writes to {resource} while {beside:?} does"));
        self.writing.insert(uid.clone(), resource.to_owned());
        match correction.action {
            // The composed worlds have no operator to wake.
            Action::Nudge => self.ensure(false, || "a nudge was sent outside".to_owned()),
            Action::Delete => {
                self.ensure(object.deleting, || "a living object's resource is deleted".to_owned());
                self.ensure(!is_others || (text.adopt && made_by == Some(None)), || {
                    format!("{uid} deletes {resource}, which is not its own")
                });
            }
            Action::Create | Action::Update | Action::Replace => {
                self.ensure(!object.deleting, || "a deleting object is corrected".to_owned());
                self.ensure(object.has_finalizer() || !text.deletes, || {
                    "a claim that no deletion would see".to_owned()
                });
                self.check_verdict(object, correction);
                let claim = object.conditions.correction_status().claim;
                let is_claimed = claim.is_some_and(|claim| key_claimed(claim.name()) == resource);
                self.ensure(is_claimed, || format!("a write comes before the claim: of {uid} to {resource}"));
                let touches = correction.action != Action::Create && is_others;
                self.ensure(!touches || text.adopt, || {
                    format!("a resource is updated that was there before: {resource} by {uid}")
                });
            }
        }
    }

    fn check_verdict(&mut self, object: &LeanObject, correction: &Correction) {
        let uid = &object.id.uid;
        let Some(current) = object.conditions.observed().and_then(CurrentVerdict::read) else {
            return self.violate("a correction without a verdict");
        };
        let drifted = current.reason.status() == ConditionStatus::True;
        self.ensure(drifted, || "a correction of what is not drifted".to_owned());
        self.ensure(current.generation == object.generation, || "a verdict of another generation".to_owned());
        let is_same = current.tag.desired_hash == correction.desired_hash;
        self.ensure(is_same, || "a verdict of another desired state".to_owned());
        let known = self.seen.contains(&(uid.clone(), current.tag.desired_hash, current.tag.correction, true));
        self.ensure(known, || "a correction of what no poll has seen drifted".to_owned());
        let replayed = self.replayed.contains(uid);
        self.ensure(!replayed, || "a replayed verdict is acted on".to_owned());
    }

    /// Records the outcome of a request with this key.
    pub(crate) fn note_outcome(&mut self, key: &str, definite: bool) {
        if definite {
            self.creates.note_answer(key);
        }
        if let Some((_, was)) = self.keys.get_mut(key) {
            *was |= definite;
        }
    }

    /// Records that the object's conditions were cleaned up, so it starts again.
    pub(crate) fn forget(&mut self, uid: &Uid) {
        self.claims.forget(uid);
        self.corrections.remove(uid);
        self.jobs.forget(uid);
        self.keys.retain(|key, _| !key.starts_with(&format!("{uid}-")));
    }
}

/// A request that is sent.
#[derive(Clone, Copy)]
pub(crate) struct Sent<'a> {
    pub(crate) asked: Asked<'a>,
    pub(crate) request: &'a HttpRequest,
    pub(crate) key: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) at: Moment,
}

/// Returns an entry of the object's conditions.
pub(crate) fn entry<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object.pointer("/status/conditions")?.as_array()?.iter().find(|entry| entry["type"] == kind)
}

/// Returns the resource that the object owns by its note.
pub(crate) fn owns(object: &Value) -> Option<String> {
    let note = CorrectionStatus::parse(entry(object, DRIFT_CORRECTED)?["message"].as_str()?);
    note.owned().map(key_claimed)
}

fn without(object: &Value, kind: &str) -> Value {
    let mut rest = object.clone();
    rest["metadata"]["resourceVersion"] = Value::Null;
    let conditions = rest.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let others: Vec<Value> = conditions.into_iter().filter(|entry| entry["type"] != kind).collect();
    rest["status"] = serde_json::json!({ "conditions": others });
    rest
}
