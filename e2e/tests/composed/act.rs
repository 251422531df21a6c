//! The operations of one execution of the controller, as its shell performs them.
//!
//! Each call to the API server or the external system is one step, so that any event can happen in between. It decides
//! nothing.

use std::sync::Arc;

use drift_api::condition::StatusFields;
use drift_api::identity::{ObjectRef, ResourceName};
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::status_patch::{condition_patch, removal_patch};
use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_api::timing::moment::Moment;
use drift_controller::engine::corrections::claim::Action;
use drift_controller::engine::corrections::correction::Correction;
use drift_controller::engine::corrections::finalizer_patches::{put_patch, release_patch};
use drift_controller::engine::corrections::outcome::{Doubt, StepOutcome, Uncertainty};
use drift_controller::engine::execution::{Event, Failure, Operation, Purpose, Sending, Write};
use drift_controller::engine::rendering::http::Rendering;
use drift_controller::engine::rendering::secrets::{AvailableSecrets, ObjectSecrets};
use drift_controller::engine::rendering::{ApiRefusal, NudgeReply, Reply, Request, Requests};
use drift_language::{HttpRequest, SecretValues, Target};
use drift_systems::{HttpFailure, HttpReply, ReplyBody, SystemFailure};
use http::{HeaderMap, Method, StatusCode};
use json_patch::Patch;
use serde_json::Value;

use crate::api_server::{ApiServer, Refusal, seen_report};
use crate::calls::{Clock, Scene, call};
use crate::job_acting::{Asked, JobActing};
use crate::ledger::Sent;
use crate::outside::{Fault, resource_of};
use crate::targets::{Text, key_of, named, secrets};

/// An operation for an object in its newest known state.
type Work = (Box<LeanObject>, Operation);

/// An execution in progress.
pub(crate) struct Acting {
    target: Arc<Target>,
    text: Text,
    /// The correction, once it was decided on the object as it was read.
    correction: Option<Box<Correction>>,
    /// The pending work, or `None` while the execution pauses.
    work: Option<Work>,
    /// Its Job, if the target corrects by Jobs.
    job: Option<JobActing>,
    /// The response to the sent request. The inner `None` means that there was no response.
    answer: Option<Option<HttpReply>>,
    /// End of its current wait.
    until: Option<Moment>,
    /// True after a live read of the object.
    was_read: bool,
    /// Time of the decision to correct the object, or `None` after the first request.
    decided_at: Option<Moment>,
}

impl Acting {
    /// Creates an execution without work.
    pub(crate) fn new(target: &Arc<Target>, text: Text) -> Self {
        Self {
            target: target.clone(),
            text,
            correction: None,
            work: None,
            job: None,
            answer: None,
            until: None,
            was_read: false,
            decided_at: None,
        }
    }

    /// Accepts the decision to correct the object.
    pub(crate) fn decide(&mut self, correction: Box<Correction>, now: Moment) {
        self.correction = Some(correction);
        self.decided_at = Some(now);
    }

    /// Returns true if the object was read live.
    pub(crate) const fn was_read(&self) -> bool {
        self.was_read
    }

    /// Accepts the next piece of work.
    pub(crate) fn assign(&mut self, work: Work, now: Moment) {
        self.until = match work.1 {
            Operation::Send(_) => self.job.as_ref().and_then(|job| job.looks_again_at(now)),
            _ => None,
        };
        self.work = Some(work);
    }

    /// Returns true if no call is pending.
    pub(crate) const fn pauses(&self) -> bool {
        self.work.is_none()
    }

    /// Returns the end of its current wait.
    pub(crate) const fn waits_until(&self) -> Option<Moment> {
        self.until
    }

    /// Performs the next step. The response to a request takes a separate step.
    pub(crate) fn go_on(&mut self, fault: Fault, scene: &mut Scene<'_>) -> Option<Event> {
        if self.until.take().is_some() {
            // The wait for the next check is over.
            return None;
        }
        let (object, operation) = self.work.take()?;
        let done = match &operation {
            Operation::Read(_) | Operation::ReadAgain => {
                self.was_read = true;
                Some(self.read(&object, fault, scene))
            }
            Operation::ReadHolders(holders, resource) => Some(holders_read(holders, resource, fault, scene)),
            Operation::Write(write) => Some(self.write(&object, write, fault, scene)),
            Operation::Send(sending) => self.send(&object, sending, (fault, scene)).map(Event::Replied),
        };
        if done.is_none() {
            self.work = Some((object, operation));
        }
        done
    }

    /// Performs the next step after the loss of the Lease: sends and writes nothing, and sent requests get no response.
    pub(crate) fn go_on_without_lease(&mut self, scene: &mut Scene<'_>) -> Option<Event> {
        let event = match self.work.as_ref().map(|(_, operation)| operation)? {
            Operation::Send(_) if self.answer.take().is_some() => Event::CutOff,
            Operation::Send(_) => Event::NotSent,
            Operation::Write(_) => Event::Written(Err(Failure::NotLeading)),
            _ => return self.go_on(Fault::None, scene),
        };
        self.work = None;
        Some(event)
    }

    fn read(&self, known: &LeanObject, fault: Fault, scene: &mut Scene<'_>) -> Event {
        let read = call(fault, scene.api, |api| Ok(api.read(&known.id.name, &known.id.uid)));
        let lean = |live: Value| {
            let live = self.lean(&live);
            let live = if known.report.is_some() { scene.api.with_report(live) } else { live };
            Box::new(live.read_after(known))
        };
        let live = read.map(|live| live.map(lean));
        Event::Read(live.map_err(|_| "no answer".to_owned()))
    }

    /// Sends the request, or accepts its response.
    fn send(
        &mut self,
        object: &LeanObject,
        sending: &Sending,
        (fault, scene): (Fault, &mut Scene<'_>),
    ) -> Option<Reply> {
        let correction = self.correction.as_deref()?;
        let asked = Asked { object, correction, text: self.text, target: &self.target, decided_at: self.decided_at };
        let request = match &sending.request {
            Request::Http { request, .. } => request,
            Request::Nudge(patch) => return Some(Reply::Nudge(nudge(object, patch, (self, fault), scene))),
            Request::Job(job, step) => {
                let acting = self.job.get_or_insert_with(|| JobActing::new((**job).clone()));
                let reply = acting.send(*step, asked, fault, scene);
                note_deleted(asked, &job.judge(&reply), scene);
                return Some(Reply::Job(reply));
            }
            other => unreachable!("no target of these histories sends {other:?}"),
        };
        let uid = object.id.uid.clone();
        let key = request.headers.get("idempotency-key").and_then(|key| key.to_str().ok());
        let Some(answer) = self.answer.take() else {
            let resource = resource_of(request);
            self.answer = Some(match key {
                None => scene.outside.read(&resource, fault),
                Some(key) => {
                    let at = scene.clock.moment;
                    let sent = Sent { asked, request, key, resource: &resource, at };
                    self.decided_at = None;
                    scene.ledger.note_request(&sent, scene.outside, scene.api);
                    let status = scene.outside.write(request, &uid, (fault, at));
                    let status_of_create = status.filter(|_| request.method == Method::POST);
                    status_of_create.into_iter().for_each(|status| scene.ledger.creates.note_status(&uid, status));
                    status.map(reply)
                }
            });
            return None;
        };
        let response = answer.ok_or(HttpFailure::System(SystemFailure::Unreachable("no answer")));
        let reply = Reply::Http { response, sent: SecretValues::default() };
        let (outcome, is_last) = judge(asked, request, reply.clone(), scene.clock);
        // Retries depend on the whole correction: an accepted step proves nothing while others are pending.
        let definite = match outcome {
            StepOutcome::Indefinite(_) | StepOutcome::NotNow { .. } | StepOutcome::Overtaken | StepOutcome::Open(_) => {
                false
            }
            StepOutcome::Accepted | StepOutcome::NotThere => is_last,
            StepOutcome::Refused { .. }
            | StepOutcome::AlreadyExists(_)
            | StepOutcome::Unstored(_)
            | StepOutcome::Underway { .. }
            | StepOutcome::LeftBehind => true,
        };
        if let Some(key) = key {
            scene.ledger.note_outcome(key, definite);
        }
        note_deleted(asked, &outcome, scene);
        Some(reply)
    }

    fn write(&self, object: &LeanObject, write: &Write, fault: Fault, scene: &mut Scene<'_>) -> Event {
        let written = match write {
            Write::PutFinalizer(_) => self.patch(object, (Some(put_patch(object)), false), fault, scene),
            Write::ReleaseFinalizer { .. } => self.patch(object, (release_patch(object), false), fault, scene),
            Write::Status(status, _) | Write::Outcome(status, _) => {
                let placed = object.conditions.corrected.as_deref();
                let condition = status.to_condition(object.conditions.corrected(), &scene.clock.wall());
                let patch = match (condition, placed) {
                    (Some(condition), _) => Some(condition_patch(object, None, &condition, &StatusFields::NONE)),
                    (None, placed) => placed.map(|placed| removal_patch(object, placed)),
                };
                self.patch(object, (patch, true), fault, scene)
            }
        };
        let is_claim = matches!(write, Write::Status(_, Purpose::Claim));
        let unanswered =
            self.correction.as_deref().filter(|_| is_claim && matches!(fault, Fault::LostAfter | Fault::Late));
        if let Some(correction) = unanswered {
            // The claim may exist, so later resources of this name count as made by its object.
            scene.outside.doubt(&key_of(&correction.resource), &object.id.uid, false);
        }
        let claims = is_claim && written.is_ok();
        let adopts = |correction: &&Correction| claims && self.text.adopt && correction.action == Action::Update;
        if let Some(correction) = self.correction.as_deref().filter(adopts) {
            scene.outside.adopt(&key_of(&correction.resource), &object.id.uid);
        }
        Event::Written(written.map(Box::new))
    }

    fn patch(
        &self,
        object: &LeanObject,
        (patch, status): (Option<Patch>, bool),
        fault: Fault,
        scene: &mut Scene<'_>,
    ) -> Result<LeanObject, Failure> {
        let id = &object.id;
        let patch = patch.ok_or(Failure::Moved)?;
        let is_reported = status && object.report.is_some();
        let current = if is_reported { &scene.api.reports } else { &scene.api.objects }.get(&*id.name).cloned();
        let written = call(fault, scene.api, |api| match is_reported {
            true => api.patch_report(object, &patch).map(|report| object.clone().with_report(seen_report(&report))),
            false => api.patch(&id.name, &patch, status).map(|written| self.lean(&written)),
        });
        if status {
            scene.ledger.note_status(object, current.as_ref(), &self.target, scene.api);
        } else {
            scene.ledger.note_finalizer(&id.uid, current.as_ref(), scene.api);
        }
        written.map_err(|refusal| match refusal {
            Refusal::Moved => Failure::Moved,
            Refusal::Gone => Failure::Gone,
            Refusal::Refused => Failure::Refused("a missing right".to_owned()),
            Refusal::Unavailable => Failure::Unavailable,
        })
    }

    fn lean(&self, object: &Value) -> LeanObject {
        LeanObject::prune(object, &self.target.all_fields)
    }
}

/// Writes the nudge of the object's operator, which then makes the resource as the object says.
fn nudge(object: &LeanObject, patch: &Value, (acting, fault): (&Acting, Fault), scene: &mut Scene<'_>) -> NudgeReply {
    let (name, uid) = (&*object.id.name, &*object.id.uid);
    let (target, outside, ledger) = (&acting.target, &mut *scene.outside, &mut *scene.ledger);
    ledger.ensure(target.correct.mode.corrects(), || format!("a nudge of a target that only observes: of {uid}"));
    let nudged = call(fault, scene.api, |api| {
        let live = api.read(name, uid).ok_or(Refusal::Moved)?;
        api.edit(name, |object| {
            object["metadata"]["annotations"]["wake"] = patch["metadata"]["annotations"]["wake"].clone()
        });
        // An operator does not fight for a resource that another object names.
        let names = |object: &&Value| object["spec"]["resource"] == live["spec"]["resource"];
        let is_alone = api.objects.values().filter(names).count() == 1;
        let healed = named(&live, target.scope.id).filter(|_| is_alone);
        if let (Some(key), Some(value)) = (healed, live["spec"]["value"].as_i64()) {
            outside.make(&key, value, &[]);
            outside.resources.entry(key).and_modify(|resource| resource.value = value);
        }
        api.read(name, uid).ok_or(Refusal::Gone)
    });
    match nudged {
        Ok(object) => NudgeReply::Taken(Box::new(acting.lean(&object))),
        Err(Refusal::Moved) => NudgeReply::OfAnother,
        Err(_) => NudgeReply::Refused(ApiRefusal { status: None, sentence: "no answer".to_owned(), retry_after: None }),
    }
}

/// Records a deletion that was reported as done.
fn note_deleted(asked: Asked<'_>, outcome: &StepOutcome, scene: &mut Scene<'_>) {
    let is_moved = scene.outside.moved.contains(&key_of(&asked.correction.resource));
    let is_done = matches!(outcome, StepOutcome::Accepted | StepOutcome::NotThere) && !is_moved;
    if asked.correction.action == Action::Delete && is_done {
        scene.ledger.decisions.note_deleted(&asked.object.id.uid);
    }
}

/// Judges the reply as the engine does. Also returns true if the request is that of the last step. The steps of an action
/// differ by their methods, and no judgement depends on earlier answers.
fn judge(asked: Asked<'_>, request: &HttpRequest, reply: Reply, clock: Clock) -> (StepOutcome, bool) {
    let (own, beside) = (secrets(Some(clock.secret)), LabelledSecrets::from_iter([]));
    let sent = ObjectSecrets::of(asked.target, asked.object, AvailableSecrets { own: &own, beside: &beside });
    let Ok(mut rendering) = Rendering::new(asked.target, asked.object, asked.correction, sent) else {
        return (StepOutcome::Indefinite(Uncertainty::unanswered(Doubt::TemplateFails)), false);
    };
    let steps = rendering.probes();
    let index = steps.iter().position(|step| step.method == request.method).unwrap_or_default();
    let wall = clock.wall().parse().unwrap_or_default();
    (Requests::judge(&mut rendering, index, reply, wall).outcome, index + 1 >= steps.len())
}

/// Returns a response without a body.
fn reply(status: u16) -> HttpReply {
    let status = StatusCode::from_u16(status).unwrap_or_default();
    HttpReply { status, headers: HeaderMap::new(), body: ReplyBody::Whole(Vec::new()) }
}

/// Returns the live reads of the objects that held a resource. Object names are unique here across namespaces.
fn holders_read(holders: &[ObjectRef], resource: &ResourceName, fault: Fault, scene: &mut Scene<'_>) -> Event {
    let claims = |api: &ApiServer, holder: &ObjectRef| {
        let object = api.objects.get(&*holder.name);
        object.is_some_and(|object| LeanObject::prune(object, &FieldPaths::default()).claims(resource))
    };
    let read = call(fault, scene.api, |api| Ok(holders.iter().any(|holder| claims(api, holder))));
    Event::HoldersRead { is_claimed: read.unwrap_or(true) }
}
