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
use drift_api::requests::http_request::HttpRequest;
use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_api::timing::moment::Moment;
use drift_controller::engine::corrections::claim::Action;
use drift_controller::engine::corrections::correction::Correction;
use drift_controller::engine::corrections::finalizer_patches::{put_patch, release_patch};
use drift_controller::engine::corrections::outcome::{Doubt, StepOutcome, Uncertainty};
use drift_controller::engine::execution::{Event, Failure, Outgoing, Purpose, Readiness, Rendered, Write};
use drift_controller::engine::rendering::http::Rendering;
use drift_controller::engine::rendering::job::CorrectionJob;
use drift_controller::engine::rendering::plan::Plan;
use drift_controller::engine::rendering::secrets::{AvailableSecrets, ObjectSecrets};
use drift_controller::engine::rendering::unrenderable::Unrenderable;
use drift_controller::engine::{Operation, StepAnswer, Work};
use drift_language::{Destination, Target};
use drift_systems::{HttpReply, ReplyBody};
use http::{HeaderMap, Method, StatusCode};
use json_patch::Patch;
use serde_json::Value;

use crate::api_server::{ApiServer, Refusal};
use crate::calls::{Clock, Scene, call};
use crate::job_acting::{Asked, JobActing};
use crate::ledger::Sent;
use crate::outside::{Fault, resource_of};
use crate::targets::{Text, key_of, secrets};

/// An execution in progress.
pub(crate) struct Acting {
    target: Arc<Target>,
    text: Text,
    /// The pending work, or `None` while the execution pauses.
    work: Option<Box<Work>>,
    /// The source of its requests, once they may be sent.
    rendering: Option<Rendering>,
    /// Its Job, if the target corrects by Jobs.
    job: Option<JobActing>,
    /// The next request to send.
    request: Option<HttpRequest>,
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
            work: None,
            rendering: None,
            job: None,
            request: None,
            answer: None,
            until: None,
            was_read: false,
            decided_at: None,
        }
    }

    /// Returns true if the object was read live.
    pub(crate) const fn was_read(&self) -> bool {
        self.was_read
    }

    /// Accepts the next piece of work.
    pub(crate) fn assign(&mut self, work: Box<Work>, now: Moment) {
        self.until = match work.operation {
            Operation::Send { .. } => self.job.as_ref().and_then(|job| job.looks_again_at(now)),
            _ => None,
        };
        if matches!(work.operation, Operation::Prepare { .. }) {
            self.decided_at = Some(now);
        }
        self.work = Some(work).filter(|work| work.operation != Operation::Pause);
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
        let work = self.work.take()?;
        let done = match &work.operation {
            Operation::Check => Some(Event::Checked { lacks_something: self.lacks_something(&work, scene.clock) }),
            Operation::Read | Operation::ReadAgain => {
                self.was_read = true;
                Some(self.read(&work, fault, scene))
            }
            Operation::ReadHolders(holders, resource) => Some(holders_read(holders, resource, fault, scene)),
            Operation::Prepare { is_unread } => {
                let readiness = self.prepare(&work, *is_unread, scene.clock);
                Some(Event::Prepared(readiness))
            }
            Operation::Write(write) => Some(self.write((&work, write), fault, scene)),
            Operation::Render(index) => Some(Event::Rendered(self.render(*index))),
            Operation::Send { index, .. } => self.send(&work, *index, (fault, scene)).map(Event::Answered),
            Operation::Pause | Operation::End(_) => None,
        };
        if done.is_none() {
            self.work = Some(work);
        }
        done
    }

    /// Performs the next step after the loss of the Lease: sends and writes nothing, and sent requests get no response.
    pub(crate) fn go_on_without_lease(&mut self, scene: &mut Scene<'_>) -> Option<Event> {
        let event = match self.work.as_ref().map(|work| &work.operation)? {
            Operation::Send { .. } if self.answer.take().is_some() => Event::CutOff,
            Operation::Send { .. } => Event::NotSent,
            Operation::Write(_) => Event::Written(Err(Failure::NotLeading)),
            _ => return self.go_on(Fault::None, scene),
        };
        self.work = None;
        Some(event)
    }

    fn read(&self, work: &Work, fault: Fault, scene: &mut Scene<'_>) -> Event {
        let known = &work.object;
        let read = call(fault, scene.api, |api| Ok(api.read(&known.id.name, &known.id.uid)));
        let live = read.map(|live| live.map(|live| Box::new(self.lean(&live).read_after(known))));
        Event::Read(live.map_err(|_| "no answer".to_owned()))
    }

    /// Returns true if the available data is not enough to make the requests.
    pub(crate) fn lacks_something(&self, work: &Work, clock: Clock) -> bool {
        work.correction.as_ref().is_some_and(|correction| self.outgoing(&work.object, correction, clock).is_err())
    }

    fn outgoing(&self, object: &LeanObject, correction: &Correction, clock: Clock) -> Result<Requests, Unrenderable> {
        if let Some(Destination::Job(job)) = &self.target.correct.destination {
            let job = CorrectionJob::new(&self.target, job, object, correction)?;
            return Ok(Requests::Job(Box::new(JobActing::new(job)), CorrectionJob::plan(correction.action)));
        }
        let (own, beside) = (secrets(clock.known_secret()), LabelledSecrets::from_iter([]));
        let sent = ObjectSecrets::of(&self.target, object, AvailableSecrets { own: &own, beside: &beside });
        Rendering::new(&self.target, object, correction, sent).map(|rendering| Requests::Http(Box::new(rendering)))
    }

    fn prepare(&mut self, work: &Work, is_unread: bool, clock: Clock) -> Readiness {
        let Some(correction) = &work.correction else { return Readiness::NotNow };
        let mut requests = self.outgoing(&work.object, correction, clock);
        let looked_at = requests.as_mut().map(|requests| requests as &mut dyn Outgoing);
        let readiness = match looked_at {
            Ok(outgoing) => Readiness::of(Some(Ok(outgoing)), is_unread, clock.moment),
            Err(why) => Readiness::Unsendable(why.label.clone(), why.uncertainty()),
        };
        match requests {
            Ok(Requests::Http(rendering)) => self.rendering = Some(*rendering),
            Ok(Requests::Job(job, _)) => self.job = Some(*job),
            Err(_) => {}
        }
        readiness
    }

    fn render(&mut self, index: usize) -> Rendered {
        if let Some(job) = &mut self.job {
            return if job.make_ready(index) { Rendered::Ready } else { Rendered::Skipped };
        }
        let Some(rendering) = &mut self.rendering else {
            return Rendered::Fails(Uncertainty::unanswered(Doubt::TemplateFails));
        };
        match rendering.request(index) {
            Ok(request) => {
                self.request = request;
                let ready = || rendering.item_label(index).map_or(Rendered::Ready, Rendered::Item);
                self.request.as_ref().map_or(Rendered::Skipped, |_| ready())
            }
            Err(unrenderable) => Rendered::Fails(unrenderable.uncertainty()),
        }
    }

    /// Sends the request, or accepts its response.
    fn send(&mut self, work: &Work, index: usize, (fault, scene): (Fault, &mut Scene<'_>)) -> Option<StepAnswer> {
        let (object, correction) = (&work.object, work.correction.as_deref()?);
        let answered = |outcome| StepAnswer::of(outcome);
        let asked = Asked { object, correction, text: self.text, target: &self.target, decided_at: self.decided_at };
        if let Some(job) = &mut self.job {
            let outcome = job.send(asked, fault, scene);
            note_deleted(asked, &outcome, scene);
            return Some(answered(outcome));
        }
        let request = self.request.clone()?;
        let uid = object.id.uid.clone();
        let key = request.headers.get("idempotency-key").and_then(|key| key.to_str().ok());
        let Some(answer) = self.answer.take() else {
            let resource = resource_of(&request);
            self.answer = Some(match key {
                None => scene.outside.read(&resource, fault),
                Some(key) => {
                    let at = scene.clock.moment;
                    let sent = Sent { asked, request: &request, key, resource: &resource, at };
                    self.decided_at = None;
                    scene.ledger.note_request(&sent, scene.outside, scene.api);
                    let status = scene.outside.write(&request, &uid, (fault, at));
                    let status_of_create = status.filter(|_| request.method == Method::POST);
                    status_of_create.into_iter().for_each(|status| scene.ledger.creates.note_status(&uid, status));
                    status.map(reply)
                }
            });
            return None;
        };
        let rendering = self.rendering.as_mut()?;
        let outcome = match &answer {
            Some(reply) => rendering.take_answer(index, reply, None),
            None => StepOutcome::Indefinite(Uncertainty::unanswered(Doubt::NoAnswer)),
        };
        // Retries depend on the whole correction: an accepted step proves nothing while others are pending.
        let is_last = index + 1 >= rendering.plan().steps.len();
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
        Some(answered(outcome))
    }

    fn write(&self, (work, write): (&Work, &Write), fault: Fault, scene: &mut Scene<'_>) -> Event {
        let object = &work.object;
        let written = match write {
            Write::PutFinalizer => self.patch(object, (Some(put_patch(object)), false), fault, scene),
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
            work.correction.as_deref().filter(|_| is_claim && matches!(fault, Fault::LostAfter | Fault::Late));
        if let Some(correction) = unanswered {
            // The claim may exist, so later resources of this name count as made by its object.
            scene.outside.doubt(&key_of(&correction.resource), &object.id.uid, false);
        }
        let claims = is_claim && written.is_ok();
        let adopts = |correction: &&Correction| claims && self.text.adopt && correction.action == Action::Update;
        if let Some(correction) = work.correction.as_deref().filter(adopts) {
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
        let current = scene.api.objects.get(&*id.name).cloned();
        let written = call(fault, scene.api, |api| api.patch(&id.name, &patch, status));
        if status {
            scene.ledger.note_status(&id.uid, current.as_ref(), scene.api);
        } else {
            scene.ledger.note_finalizer(&id.uid, current.as_ref(), scene.api);
        }
        written.map(|written| self.lean(&written)).map_err(|refusal| match refusal {
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

/// Records a deletion that was reported as done.
fn note_deleted(asked: Asked<'_>, outcome: &StepOutcome, scene: &mut Scene<'_>) {
    let is_moved = scene.outside.moved.contains(&key_of(&asked.correction.resource));
    let is_done = matches!(outcome, StepOutcome::Accepted | StepOutcome::NotThere) && !is_moved;
    if asked.correction.action == Action::Delete && is_done {
        scene.ledger.decisions.note_deleted(&asked.object.id.uid);
    }
}

/// The unsent requests of a correction.
enum Requests {
    Http(Box<Rendering>),
    Job(Box<JobActing>, Plan),
}

impl Outgoing for Requests {
    fn may_begin(&self) -> bool {
        true
    }

    fn take_hosts(&mut self, _: Moment) -> Result<(), Moment> {
        Ok(())
    }

    fn missing(&mut self) -> Option<Uncertainty> {
        None
    }

    fn plan(&self) -> Plan {
        match self {
            Self::Http(rendering) => rendering.plan(),
            Self::Job(_, plan) => plan.clone(),
        }
    }
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
