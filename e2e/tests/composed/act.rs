//! One execution of the controller as the shell drives it: its real machine, and each step that it asks for.
//!
//! One call to the API server or to the external system is one step, so that anything can happen in between. It decides
//! nothing.

use std::sync::Arc;

use drift_api::condition::{PatchBase, StatusFields, condition_patch, removal_patch};
use drift_api::object::LeanObject;
use drift_api::requests::http_request::HttpRequest;
use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_api::timing::moment::Moment;
use drift_controller::core::claim::Action;
use drift_controller::core::decision::Decision;
use drift_controller::core::execution::{
    Event, Execution, ExecutionEnd, Failure, Interrupt, Purpose, Readiness, Rendered, Step, Write,
};
use drift_controller::core::finalizer::{put_patch, release_patch};
use drift_controller::core::held::Held;
use drift_controller::core::job::CorrectionJob;
use drift_controller::core::limits::Taken;
use drift_controller::core::outcome::{Doubt, Sighting, StepOutcome, Uncertainty};
use drift_controller::core::rendering::Rendering;
use drift_controller::core::secrets::{Known, ObjectSecrets};
use drift_controller::engine::Answer;
use drift_language::{Destination, Target};
use drift_systems::{HttpReply, ReplyBody};
use http::{HeaderMap, StatusCode};
use json_patch::Patch;
use serde_json::Value;

use crate::api_server::Refusal;
use crate::calls::{Scene, call};
use crate::job_acting::{Asked, JobActing};
use crate::ledger::Sent;
use crate::outside::{Fault, resource_of};
use crate::targets::{Text, secrets};

/// One execution under way.
pub(crate) struct Acting {
    target: Arc<Target>,
    text: Text,
    execution: Execution,
    /// What it asks for.
    step: Step,
    /// What its requests are made of, once they may go out.
    rendering: Option<Rendering>,
    /// Its Job, where one corrects.
    job: Option<JobActing>,
    /// The request that is to be sent next.
    request: Option<HttpRequest>,
    /// It was sent, and this is its answer; `None` inside is none.
    answer: Option<Option<HttpReply>>,
    /// It waits until then.
    until: Option<Moment>,
    /// The object is seen to be deleted.
    deleting: bool,
    /// The target works by another text, or is gone.
    superseded: bool,
    /// Its part of the target's limits, until nothing more is asked of the external system.
    taken: Option<Taken>,
    /// Why it makes no progress, or that it makes some again, as the engine is still to be told.
    stalls: Vec<Option<Held>>,
}

impl Acting {
    /// Begins to carry out what was decided on the object.
    pub(crate) fn begin(target: &Arc<Target>, text: Text, object: LeanObject, decision: Decision) -> Self {
        let mut execution = Execution::new(object, decision);
        let step = execution.next(Event::Begin);
        Self {
            target: target.clone(),
            text,
            execution,
            step,
            rendering: None,
            job: None,
            request: None,
            answer: None,
            until: None,
            deleting: false,
            superseded: false,
            taken: None,
            stalls: Vec::new(),
        }
    }

    /// The newest state of the object that it knows.
    pub(crate) const fn object(&self) -> &LeanObject {
        self.execution.object()
    }

    /// Until when it waits.
    pub(crate) const fn waits_until(&self) -> Option<Moment> {
        self.until
    }

    /// Whether the object is to be decided anew.
    pub(crate) const fn asks(&self) -> bool {
        matches!(self.step, Step::Decide)
    }

    /// Nothing more is asked of the external system.
    pub(crate) const fn writes_no_more(&self) -> bool {
        matches!(self.step, Step::End(_) | Step::Pause(_))
    }

    /// What became of it, once it has ended.
    pub(crate) const fn ended(&self) -> Option<&ExecutionEnd> {
        match &self.step {
            Step::End(end) => Some(end),
            _ => None,
        }
    }

    /// The answer to what it asked; `None` where nothing is to be done.
    pub(crate) fn answer(&mut self, answer: Option<Answer>, now: Moment) {
        let event = match answer {
            Some(Answer { object, decision, taken, .. }) => {
                self.taken = taken;
                Event::Decided(object, decision)
            }
            None => Event::Dismissed,
        };
        self.tell(event, now);
    }

    /// The object is seen to be deleted, which cuts a pause short once.
    pub(crate) fn interrupt(&mut self, now: Moment) {
        if !std::mem::replace(&mut self.deleting, true) {
            self.cut_short(now);
        }
    }

    /// The target works by another text from now on, which cuts a pause short once.
    pub(crate) fn supersede(&mut self, now: Moment) {
        if !std::mem::replace(&mut self.superseded, true) {
            self.cut_short(now);
        }
    }

    fn cut_short(&mut self, now: Moment) {
        if matches!(self.step, Step::Pause(_)) {
            self.until = Some(now);
        }
    }

    /// What the engine is to be told of its progress.
    pub(crate) fn take_stalls(&mut self) -> Vec<Option<Held>> {
        std::mem::take(&mut self.stalls)
    }

    /// One step on.
    pub(crate) fn go_on(&mut self, fault: Fault, scene: &mut Scene<'_>) {
        let now = scene.clock.moment;
        if self.until.take().is_some() && matches!(self.step, Step::Send { .. }) {
            // The wait for the next look is over.
            return;
        }
        let event = match self.step.clone() {
            Step::Read | Step::ReadAgain => self.read(fault, scene),
            Step::Prepare => Event::Prepared(self.prepare(scene.clock.known_secret())),
            Step::Write(write) => self.write(&write, fault, scene),
            Step::Render(index) => Event::Rendered(self.render(index)),
            Step::Send { index, .. } => match self.send(index, fault, scene) {
                Some(event) => event,
                None => return,
            },
            Step::Pause(_) => Event::Waited(self.superseded.then_some(Interrupt::Superseded)),
            Step::Decide | Step::End(_) => return,
        };
        self.tell(event, now);
        self.check_what_is_missed(scene);
    }

    /// Nobody is told that nothing was there to delete where a request for the object had taken it away.
    fn check_what_is_missed(&self, scene: &mut Scene<'_>) {
        let Some((end, correction)) = self.ended().zip(self.execution.correction()) else { return };
        let taken = scene.outside.taken.get(&*correction.resource.identity);
        if self.execution.misses_what_was_seen(end) && taken == Some(&self.object().id.uid) {
            scene.ledger.violate(format!("{}: told to miss what its own deletion took away", self.object().id));
        }
    }

    fn tell(&mut self, event: Event, now: Moment) {
        self.step = self.execution.next(event);
        self.until = match self.step {
            Step::Pause(pause) => {
                self.taken = None;
                Some(now + pause)
            }
            Step::Send { .. } => self.job.as_ref().and_then(|job| job.looks_again_at(now)),
            _ => None,
        };
    }

    fn read(&self, fault: Fault, scene: &mut Scene<'_>) -> Event {
        let known = self.object();
        let read = call(fault, scene.api, |api| Ok(api.read(&known.id.name, &known.id.uid)));
        let live = read.map(|live| live.map(|live| Box::new(self.lean(&live).read_after(known))));
        Event::Read(live.map_err(|_| "no answer".to_owned()))
    }

    fn prepare(&mut self, secret: Option<u32>) -> Readiness {
        let Some(correction) = self.execution.correction() else { return Readiness::NotNow };
        if let Some(Destination::Job(job)) = &self.target.correct.destination {
            return match CorrectionJob::new(&self.target, job, self.object(), correction) {
                Ok(job) => {
                    let plan = CorrectionJob::plan(correction.action);
                    self.job = Some(JobActing::new(job));
                    Readiness::Ready(plan)
                }
                Err(unrenderable) => Readiness::Unsendable(unrenderable.label, unrenderable.doubt),
            };
        }
        let (own, beside) = (secrets(secret), LabelledSecrets::from_iter([]));
        let sent = ObjectSecrets::of(&self.target, self.object(), Known { own: &own, beside: &beside });
        match Rendering::new(&self.target, self.object(), correction, sent) {
            Ok(rendering) => {
                let plan = rendering.plan();
                self.rendering = Some(rendering);
                Readiness::Ready(plan)
            }
            Err(unrenderable) => Readiness::Unsendable(unrenderable.label, unrenderable.doubt),
        }
    }

    fn render(&mut self, index: usize) -> Rendered {
        if let Some(job) = &mut self.job {
            return if job.make_ready(index) { Rendered::Ready } else { Rendered::Skipped };
        }
        match self.rendering.as_ref().map(|rendering| rendering.request(index)) {
            Some(Ok(request)) => {
                self.request = request;
                if self.request.is_some() { Rendered::Ready } else { Rendered::Skipped }
            }
            Some(Err(unrenderable)) => Rendered::Fails(unrenderable.doubt),
            None => Rendered::Fails(Doubt::TemplateFails),
        }
    }

    /// Sends, or takes the answer in.
    fn send(&mut self, index: usize, fault: Fault, scene: &mut Scene<'_>) -> Option<Event> {
        let correction = self.execution.correction()?.clone();
        if let Some(job) = &mut self.job {
            let asked = Asked { object: self.execution.object(), correction: &correction, text: self.text };
            let outcome = job.send(asked, fault, scene);
            if let StepOutcome::Open(sighting) = &outcome {
                self.job_goes_on(sighting.as_ref());
            }
            return Some(Event::Answered(outcome, StatusFields::NONE));
        }
        let request = self.request.clone()?;
        let uid = self.object().id.uid.clone();
        let key = request.headers.get("idempotency-key").and_then(|key| key.to_str().ok());
        let Some(answer) = self.answer.take() else {
            let resource = resource_of(&request);
            self.answer = Some(match key {
                None => scene.outside.read(&resource, fault),
                Some(key) => {
                    let sent =
                        Sent { correction: &correction, request: &request, key, text: self.text, resource: &resource };
                    scene.ledger.note_request(self.object(), &sent, scene.outside, scene.api);
                    scene.outside.write(&request, &uid, fault).map(reply)
                }
            });
            return None;
        };
        let rendering = self.rendering.as_mut()?;
        let outcome = match &answer {
            Some(reply) => rendering.take_answer(index, reply, None),
            None => StepOutcome::Indefinite(Uncertainty::unanswered(Doubt::NoAnswer)),
        };
        // What a retry sends again follows from the whole: a step that was accepted says nothing while others are to come.
        let is_last = index + 1 >= rendering.plan().steps.len();
        let definite = match outcome {
            StepOutcome::Indefinite(_) | StepOutcome::NotNow { .. } | StepOutcome::Overtaken | StepOutcome::Open(_) => {
                false
            }
            StepOutcome::Accepted | StepOutcome::NotThere => is_last,
            StepOutcome::Refused { .. }
            | StepOutcome::Unstored(_)
            | StepOutcome::Underway { .. }
            | StepOutcome::LeftBehind => true,
        };
        if let Some(key) = key {
            scene.ledger.note_outcome(key, definite);
        }
        Some(Event::Answered(outcome, StatusFields::NONE))
    }

    fn job_goes_on(&mut self, sighting: Option<&Sighting>) {
        let gives_place_back = self.taken.as_mut().is_some_and(Taken::begin_job);
        if gives_place_back || sighting.is_some() {
            self.stalls.push(sighting.and_then(|sighting| Held::of_job(sighting.stage)));
        }
    }

    fn write(&mut self, write: &Write, fault: Fault, scene: &mut Scene<'_>) -> Event {
        if matches!(write, Write::Outcome(..) | Write::Status(_, Purpose::TakeBack)) {
            self.taken = None;
        }
        let object = self.object();
        let written = match write {
            Write::PutFinalizer => self.patch(Some(put_patch(object)), false, fault, scene),
            Write::ReleaseFinalizer { .. } => self.patch(release_patch(object), false, fault, scene),
            Write::Status(status, _) | Write::Outcome(status, _) => {
                let placed = object.conditions.corrected.as_deref();
                let condition = status.to_condition(object.conditions.corrected(), &scene.clock.wall());
                let base = PatchBase {
                    uid: &object.id.uid,
                    resource_version: &object.resource_version,
                    generation: None,
                    conditions: &object.conditions,
                };
                let patch = match (condition, placed) {
                    (Some(condition), placed) => Some(condition_patch(&base, placed, &condition, &StatusFields::NONE)),
                    (None, placed) => placed.map(|placed| removal_patch(&base, placed)),
                };
                self.patch(patch, true, fault, scene)
            }
        };
        let claims = matches!(write, Write::Status(_, Purpose::Claim)) && written.is_ok();
        if let Some(correction) = self
            .execution
            .correction()
            .filter(|correction| claims && self.text.adopt && correction.action == Action::Update)
        {
            scene.outside.adopt(&correction.resource.identity, &object.id.uid);
        }
        Event::Written(written.map(Box::new))
    }

    fn patch(
        &self,
        patch: Option<Patch>,
        status: bool,
        fault: Fault,
        scene: &mut Scene<'_>,
    ) -> Result<LeanObject, Failure> {
        let id = &self.object().id;
        let patch = patch.ok_or(Failure::Moved)?;
        let standing = scene.api.objects.get(&*id.name).cloned();
        let written = call(fault, scene.api, |api| api.patch(&id.name, &patch, status));
        if status {
            scene.ledger.note_status(&id.uid, standing.as_ref(), scene.api);
        } else {
            scene.ledger.note_finalizer(&id.uid, standing.as_ref(), scene.api);
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

/// An answer without a body.
fn reply(status: u16) -> HttpReply {
    let status = StatusCode::from_u16(status).unwrap_or_default();
    HttpReply { status, headers: HeaderMap::new(), body: ReplyBody::Whole(Vec::new()) }
}
