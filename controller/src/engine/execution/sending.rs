//! The requests of a correction in sequence. Each is rendered with the responses to the earlier ones, and then skipped
//! or sent, or it ends the correction.
//!
//! The finalizer and the claim are written just before the first external write, so that a look-up that ends the
//! correction leaves no trace. Look-ups may take long, so the object is read once more before the first write, unless a
//! write to it has just returned its state.

use std::sync::Arc;
use std::time::Duration;

use drift_api::object::LeanObject;
use drift_language::JobStage;

use super::end::ExecutionEnd;
use super::progress::Progress;
use super::step::{Event, Failure, News, Operation, Purpose, Sending, Step, Write};
use super::{Execution, Stage};
use crate::engine::correction_limits::Taken;
use crate::engine::corrections::outcome::{Code, Unstored};
use crate::engine::corrections::{
    Action, Correction, Doubt, FailedStep, Outcome, Reach, StepAnswer, StepOutcome, Uncertainty,
};
use crate::engine::decide::decision::Decision;
use crate::engine::decide::still_stands;
use crate::engine::rendering::Unrenderable;

impl Execution {
    /// Continues with a step. The deletion of a replacement must be complete before the next steps.
    pub(super) fn turn_to(&mut self, index: usize) -> Step {
        let progress = &mut self.progress;
        progress.reached = index;
        let deletion = progress.plan.deletion;
        if index == deletion
            && let Some((_, underway)) = progress.underway.take_if(|(step, _)| *step < deletion)
        {
            self.forget_create();
            return self.record(underway);
        }
        if index < progress.plan.steps.len() {
            return self.render_step(index);
        }
        let outcome = match self.correction() {
            Some(correction) if correction.action == Action::Delete => self.deleted(correction),
            _ if self.progress.made => Outcome::Applied,
            _ => Outcome::AllSkipped,
        };
        self.record(outcome)
    }

    /// Returns the outcome of a deletion whose requests were all accepted or skipped. An answered look-up shows that
    /// nothing is left. Without any request, this is unknown. If no write found a resource that should exist, it may
    /// have another address, or its address is not known yet.
    fn deleted(&self, correction: &Correction) -> Outcome {
        let Progress { wrote, looked_up, found, .. } = self.progress;
        match found {
            false if correction.expects_resource && !(looked_up && correction.looks_again) => Outcome::FoundNothing,
            _ if !(wrote || looked_up) => Outcome::AllSkipped,
            _ => Outcome::Applied,
        }
    }

    /// Renders the next request of a step, and sends it or prepares its sending.
    fn render_step(&mut self, index: usize) -> Step {
        let rendered = self.requests.as_mut().map(|rendered| &mut rendered.requests);
        let Some(requests) = rendered else { return self.end(ExecutionEnd::Nothing) };
        self.progress.item = None;
        match requests.render(index) {
            Ok(Some(request)) => {
                self.progress.item = requests.item_label(index);
                self.request = Some(request);
                let is_first = !(self.progress.wrote || self.progress.is_open);
                let needs_claim = is_first && self.progress.plan.writes(index);
                if needs_claim { self.prepare_first_write(index) } else { self.send(index) }
            }
            Ok(None) => self.skipped(index),
            Err(why) => self.not_rendered(index, &why),
        }
    }

    fn skipped(&mut self, index: usize) -> Step {
        let is_after_items = |(step, _): &mut (usize, Outcome)| *step == index && index >= self.progress.plan.deletion;
        match self.progress.underway.take_if(is_after_items) {
            Some((_, underway)) => self.record(underway),
            None => self.turn_to(index + 1),
        }
    }

    fn not_rendered(&mut self, index: usize, why: &Unrenderable) -> Step {
        self.news.push(News::Unsendable(why.to_string()));
        let reach = match &self.progress {
            Progress { wrote: true, .. } => self.reach(index, false),
            progress if progress.is_silent() => Reach::Unsent,
            _ => Reach::Unwritten,
        };
        self.record(unrendered(self.failed(index, reach), why.uncertainty()))
    }

    /// Continues after an accepted write: with the next item of the same step, or with the next step.
    fn turn_on(&mut self, index: usize) -> Step {
        self.turn_to(if self.progress.item.is_some() { index } else { index + 1 })
    }

    fn prepare_first_write(&mut self, index: usize) -> Step {
        if self.correction().is_some_and(|correction| correction.put_finalizer) {
            return self.write(Stage::PuttingFinalizer(index), Write::PutFinalizer(Purpose::Claim));
        }
        self.claim(index)
    }

    pub(super) fn claim(&mut self, index: usize) -> Step {
        self.note_secrets();
        match self.correction().filter(|correction| correction.is_announced()).map(Correction::claim) {
            Some(claim) if self.still_stands() => {
                self.write(Stage::Claiming(index), Write::Status(claim, Purpose::Claim))
            }
            None if self.progress.looked_up => {
                self.stage = Stage::LookingAgain(index);
                Step::Do(Operation::ReadAgain)
            }
            _ => self.send_first_write(index),
        }
    }

    pub(super) fn claim_written(&mut self, index: usize) -> Step {
        self.progress.claimed = true;
        self.send_first_write(index)
    }

    pub(super) fn seen_again(&mut self, index: usize, read: Result<Option<Box<LeanObject>>, String>) -> Step {
        match read {
            Ok(Some(object)) => {
                self.object = *object;
                self.send_first_write(index)
            }
            Ok(None) => self.end(ExecutionEnd::Gone),
            Err(_) => self.call_off(),
        }
    }

    /// Performs the final check before the first write.
    fn send_first_write(&mut self, index: usize) -> Step {
        if self.still_stands() { self.send(index) } else { self.call_off() }
    }

    /// Returns true if the correction is still valid for the newest known state. The finalizer must still be on the
    /// object if it was there at the decision or was added: without it, no deletion would know of the resource.
    fn still_stands(&self) -> bool {
        let is_put = self.correction().is_some_and(|correction| correction.put_finalizer);
        let needs_finalizer = is_put || self.decided_on.has_finalizer();
        let claim = |object: &LeanObject| object.conditions.correction_status().claim;
        // Another writer may have removed the record during a look-up. It is restored first.
        let is_stripped = !self.progress.claimed
            && claim(&self.decided_on).is_some_and(|claimed| claim(&self.object) != Some(claimed));
        still_stands(&self.decided_on, &self.object)
            && (self.object.has_finalizer() || !needs_finalizer)
            && !is_stripped
    }

    fn send(&mut self, index: usize) -> Step {
        let number = self.correction().map(|correction| correction.number);
        let Some((request, correction)) = self.request.take().zip(number) else { return self.call_off() };
        if self.record.begin(&self.object, self.now.moment) {
            self.news.push(News::Begins);
        }
        self.stage = Stage::Sending(index);
        let begins = !(self.progress.wrote || self.progress.is_open);
        let (checked_host, probes) = (self.checked_host.clone(), std::mem::take(&mut self.probes));
        Step::Do(Operation::Send(Box::new(Sending { request, correction, begins, checked_host, probes })))
    }

    /// Takes the claim back, because nothing was written in the external system.
    fn call_off(&mut self) -> Step {
        self.forget_secrets();
        match self.correction().filter(|_| self.progress.claimed).map(|correction| correction.before.clone()) {
            Some(before) => {
                self.release();
                self.write(Stage::TakingBack, Write::Status(before, Purpose::TakeBack))
            }
            None => self.end(ExecutionEnd::CalledOff),
        }
    }

    /// Returns the next step after a failed preparatory write; `None` if the write succeeded.
    pub(super) fn not_landed(&mut self, written: Result<Box<LeanObject>, Failure>) -> Option<Step> {
        let ended = match written {
            Ok(object) => {
                self.object = *object;
                self.progress.looked_up = false;
                return None;
            }
            Err(Failure::Refused(sentence)) => {
                ExecutionEnd::Refused { finalizer: matches!(self.stage, Stage::PuttingFinalizer(_)), sentence }
            }
            Err(Failure::Gone) => ExecutionEnd::Gone,
            Err(Failure::Moved | Failure::Unavailable | Failure::NotLeading) => ExecutionEnd::CalledOff,
        };
        Some(self.end(ended))
    }

    pub(super) fn sent(&mut self, index: usize, event: Event) -> Step {
        match event {
            Event::Replied(reply) => {
                let requests = self.requests.as_mut().map(|rendered| &mut rendered.requests);
                let Some(requests) = requests else { return self.end(ExecutionEnd::Nothing) };
                let answer = requests.judge(index, reply, self.now.timestamp());
                self.tell(index, &answer);
                let StepAnswer { outcome, stored, label, object, .. } = answer;
                label.into_iter().for_each(|label| self.name_step(index, label));
                object.into_iter().for_each(|object| self.see(*object));
                self.progress.stored.extend(stored);
                self.answered(index, outcome)
            }
            Event::NotSent if !self.progress.is_open => self.not_sent(index),
            // The next leader records the outcome.
            _ => {
                let step = self.failed(index, self.reach(index, false));
                let cut_off = Outcome::Doubtful(step, Uncertainty::unanswered(Doubt::CutOff));
                self.corrected(cut_off, None, false)
            }
        }
    }

    /// Notes the answer for people.
    fn tell(&mut self, index: usize, answer: &StepAnswer) {
        let step = self.label(index);
        let step = step.as_deref().map_or_else(|| (index + 1).to_string(), str::to_owned);
        self.record.add(&step, answer);
        let code = match &answer.outcome {
            StepOutcome::Refused { refusal, .. } | StepOutcome::AlreadyExists(refusal) => Some(refusal.code),
            StepOutcome::Indefinite(uncertainty) => uncertainty.code,
            _ => None,
        };
        if let Some(status) = code.map(Code::short) {
            let step = answer.label.as_deref().map_or(step, str::to_owned);
            let reason = answer.outcome.reason().map(ToString::to_string);
            self.news.push(News::NotAccepted { step, status, reason });
        }
    }

    fn not_sent(&mut self, index: usize) -> Step {
        if !self.progress.wrote {
            return self.call_off();
        }
        let step = self.failed(index, Reach::Further);
        self.record_doubt(step, Uncertainty::unanswered(Doubt::CutOff))
    }

    /// Ends the correction as if it had not been requested, because the system did nothing.
    fn put_off(&mut self, index: usize, pause: Duration) -> Step {
        match self.not_sent(index) {
            Step::End(ExecutionEnd::CalledOff) => Step::End(ExecutionEnd::PutOff(pause)),
            step => step,
        }
    }

    fn answered(&mut self, index: usize, answer: StepOutcome) -> Step {
        let is_write = self.progress.plan.writes(index);
        let did_nothing = match &answer {
            StepOutcome::Accepted | StepOutcome::NotThere | StepOutcome::Underway { .. } | StepOutcome::Unstored(_) => {
                !is_write
            }
            StepOutcome::Refused { did_nothing, .. } => *did_nothing,
            StepOutcome::Indefinite(uncertainty) => uncertainty.why.sent_nothing(),
            StepOutcome::Open(_) => false,
            StepOutcome::AlreadyExists(_)
            | StepOutcome::NotNow { .. }
            | StepOutcome::Overtaken
            | StepOutcome::LeftBehind => true,
        };
        if !did_nothing {
            self.note_received(index);
        }
        let asked_nobody = match &answer {
            StepOutcome::Indefinite(uncertainty) => uncertainty.why.asked_nobody() && self.progress.is_silent(),
            _ => false,
        };
        let is_accepted = matches!(answer, StepOutcome::Accepted | StepOutcome::Underway { .. });
        self.progress.found |= is_write && is_accepted;
        let step = self.failed(index, if asked_nobody { Reach::Unsent } else { self.reach(index, did_nothing) });
        match answer {
            StepOutcome::Open(stage) => {
                self.progress.is_open = true;
                let gives_place_back = self.taken.as_mut().is_some_and(Taken::begin_job);
                if gives_place_back || stage.is_some() {
                    self.stall = Some(stage.and_then(JobStage::hold));
                }
                self.render_step(index)
            }
            StepOutcome::NotNow { pause } => self.put_off(index, pause),
            StepOutcome::Overtaken => self.not_sent(index),
            StepOutcome::LeftBehind => self.record(Outcome::AllSkipped),
            StepOutcome::AlreadyExists(refusal) if self.creates() => self.record(Outcome::AlreadyExists(step, refusal)),
            StepOutcome::Refused { refusal, .. } | StepOutcome::AlreadyExists(refusal) => {
                self.record(Outcome::Refused(step, refusal))
            }
            StepOutcome::Unstored(cause) => self.record(Outcome::Unstored(step, Unstored::Unread(cause))),
            StepOutcome::Indefinite(uncertainty) => self.record_doubt(step, uncertainty),
            accepted if !is_write && accepted.is_accepted() => {
                self.progress.looked_up = true;
                self.turn_to(index + 1)
            }
            StepOutcome::Accepted | StepOutcome::NotThere => self.accepted(index, None),
            StepOutcome::Underway { retry_after } => self.accepted(index, Some(Outcome::Underway { retry_after })),
        }
    }

    fn record_doubt(&mut self, step: FailedStep, uncertainty: Uncertainty) -> Step {
        match self.correction().map(|correction| correction.in_doubt(step, uncertainty)) {
            Some(outcome) => self.record(outcome),
            None => self.end(ExecutionEnd::Nothing),
        }
    }

    /// Handles an accepted write. In a deletion, the last write determines if the resource is gone.
    fn accepted(&mut self, index: usize, underway: Option<Outcome>) -> Step {
        let is_first = !std::mem::replace(&mut self.progress.wrote, true);
        let deletes = index < self.progress.plan.deletion;
        self.progress.made |= !deletes;
        let lists_answers = self.progress.plan.steps.get(index).is_some_and(|step| step.lists_answers);
        // The list may be a page of several, so only an empty one shows that nothing is left.
        let rest = (deletes && lists_answers).then_some(Outcome::Underway { retry_after: None });
        match underway.or(rest) {
            Some(underway) if !deletes && self.progress.item.is_none() => {
                if is_first {
                    self.forget_create();
                }
                self.record(underway)
            }
            underway => {
                let before = self.progress.underway.take().filter(|(step, _)| *step == index);
                self.progress.underway = underway.map(|underway| (index, underway)).or(before);
                self.turn_on(index)
            }
        }
    }

    /// Takes the create off the record, because none was sent.
    pub(super) fn forget_create(&mut self) {
        if let Decision::Correct(correction) = &mut self.decision {
            correction.creating = None;
        }
    }

    /// Returns the progress of the correction at the step that ends it.
    fn reach(&self, index: usize, did_nothing: bool) -> Reach {
        let Progress { plan, wrote, made, .. } = &self.progress;
        if *wrote && !made && plan.deletion > 0 {
            Reach::Deleted
        } else if *wrote {
            Reach::Further
        } else if did_nothing || !plan.writes(index) {
            Reach::Unwritten
        } else {
            Reach::FirstWrite
        }
    }

    /// Sets the label of the part at which this step ended.
    fn name_step(&mut self, index: usize, label: Arc<str>) {
        if let Some(step) = self.progress.plan.steps.get_mut(index) {
            step.label = Some(label);
        }
    }

    fn failed(&self, index: usize, reach: Reach) -> FailedStep {
        FailedStep { label: self.label(index), reach }
    }

    /// Returns the name of the step and of its item.
    fn label(&self, index: usize) -> Option<Arc<str>> {
        self.progress.item.clone().or_else(|| self.progress.plan.label(index))
    }
}

/// Returns the outcome of a correction that ends because a request could not be rendered.
pub(super) fn unrendered(step: FailedStep, uncertainty: Uncertainty) -> Outcome {
    // Another try would find the same, until a poll brings something new.
    let is_definite =
        step.reach == Reach::Further || matches!(uncertainty.why, Doubt::TooManyItems | Doubt::RepeatsAnswer);
    match is_definite {
        true => Outcome::Halted(step, uncertainty),
        false => Outcome::Doubtful(step, uncertainty),
    }
}
