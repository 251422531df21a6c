//! The execution of one decision, as a state machine that is safe after a crash at any point.
//!
//! A correction has these steps: a live read, a decision on it, look-ups, the finalizer, the claim, a second read to
//! check that the object did not change since the decision, the external writes, and the record of the outcome on the
//! object. The execution renders the requests and judges the replies. It neither waits nor sends: the shell does that,
//! or random histories in tests.
//!
//! These are its states and results, about a create and an update over HTTP. A Job also repeats `send` until it ends.
//!
//! | State | Result | Next state |
//! |---|---|---|
//! | begin | complete | read |
//! | begin | an input is missing | decide |
//! | read | the object | decide |
//! | read | gone; no answer | end |
//! | decide | correct | put the finalizer; claim; send; record; end |
//! | decide | nothing to do | end |
//! | put the finalizer | written | claim |
//! | put the finalizer | written, the object changed; changed meanwhile; refused; gone; no answer | end |
//! | claim | written | send |
//! | claim | written, the object changed | take back |
//! | claim | changed meanwhile; refused; gone; no answer | end |
//! | read again | the object | send |
//! | read again | the object, changed; gone; no answer | end |
//! | send | accepted | put the finalizer; read again; send; record |
//! | send | in doubt; refused | record |
//! | send | not sent | take back; record; end |
//! | send | cut off | end |
//! | take back | written; changed meanwhile; refused; gone; no answer | end |
//! | record | written; gone | end |
//! | record | changed meanwhile; refused; no answer | pause |
//! | pause | cut off; the target was edited | read for the record; end |
//! | pause | over | read for the record |
//! | read for the record | the object; the object, changed | record |
//! | read for the record | gone | end |
//! | read for the record | no answer | pause |
//!
//! - **Begin** and **decide** need no network: the requests are rendered and their credentials checked. After
//!   **decide**, the next step is the first that the first due request needs, or the record that none can be sent.
//! - **Put the finalizer** and **claim** come right before the first external write. The claim is the record before
//!   sending: a new leader finds it, and a poll comes first. An update of an owned resource sends without both.
//! - **Read again** follows a look-up, because a look-up may take long.
//! - **Send** repeats for each step. A request that the target skips is not sent. **Not sent** means that the program
//!   stops or the Lease is not fresh. **Cut off** means that this happened while the request ran, so the claim stays for
//!   the next leader.
//! - **Record** goes on until the outcome is on the object. A pause holds no place at a host or in the target's limits.

mod correction_record;
mod end;
mod progress;
mod recording;
mod sending;
mod sent_secrets;
mod step;

use std::time::Duration;

use drift_api::condition::CorrectionStatus;
use drift_api::object::LeanObject;
use drift_api::object::object_view::ObjectView;
use drift_api::timing::moment::Moment;

use crate::engine::correction_limits::Taken;
use crate::engine::corrections::{Action, Correction, FailedStep, Held, Outcome, Reach, Uncertainty};
use crate::engine::decide::decision::Decision;
use crate::engine::now::Now;
use crate::engine::rendering::{Plan, Request, Requests, Unrenderable};
use correction_record::CorrectionRecord;
use progress::Progress;
use recording::Recording;
use sending::unrendered;

pub use end::ExecutionEnd;
pub use step::{
    Destinations, Event, Failure, Interrupt, News, Operation, Probes, ProgramView, Purpose, Sending, Step, Write,
};

/// Interval in which a correction that sends secrets checks if the Secrets are listed. Listing takes a second at the
/// start, and for the first object of a namespace.
const UNTIL_SECRETS_ARE_LISTED: Duration = Duration::from_secs(1);

/// One decision during its execution.
#[derive(Debug)]
pub struct Execution {
    decision: Decision,
    /// Newest known state. Writes are based on it.
    object: LeanObject,
    /// State that the correction was decided on.
    decided_on: LeanObject,
    stage: Stage,
    progress: Progress,
    /// Requests of the correction, until its outcome is known.
    requests: Option<Rendered>,
    /// Request rendered last, until it is sent.
    request: Option<Request>,
    /// Host of the first request, for which the secrets were checked.
    checked_host: Option<String>,
    probes: Probes,
    /// Place of a correction within the target's limits. It is released once all external requests are done. The record
    /// on the object comes later and may be refused for ever, which must not block other corrections.
    taken: Option<Taken>,
    /// False if an input of the requests is missing. A correction that lacks a Secret then causes no read, regardless of
    /// the number of such objects.
    was_read: bool,
    /// True once the object was seen being deleted.
    deleting: bool,
    /// End of the current pause.
    due: Option<Moment>,
    /// Time of the current event.
    now: Now,
    record: CorrectionRecord,
    news: Vec<News>,
    /// News of a Job: the reason for missing progress, or `None` if it makes progress.
    stall: Option<Option<Held>>,
}

#[derive(Clone, Debug)]
enum Stage {
    /// Before the object is decided anew.
    Opening,
    /// One write to the object.
    Writing,
    /// The finalizer write before the external write of this index. The next stages use the same index.
    PuttingFinalizer(usize),
    Claiming(usize),
    LookingAgain(usize),
    Sending(usize),
    TakingBack,
    Recording(Box<Recording>),
}

/// The requests of a correction with their plan, and what they were rendered for.
#[derive(Debug)]
struct Rendered {
    requests: Box<dyn Requests>,
    plan: Plan,
    view: ObjectView,
    correction: Box<Correction>,
}

impl Execution {
    /// Begins the execution of a decision that was made on `object`. The object is read live before an external write and
    /// before a finalizer is removed. Other writes test the state that they were decided on.
    #[must_use]
    pub fn begin(object: LeanObject, decision: Decision, view: &dyn ProgramView, now: Now) -> (Self, Step) {
        let mut execution = Self {
            decision,
            decided_on: object.clone(),
            object,
            stage: Stage::Opening,
            progress: Progress::default(),
            requests: None,
            request: None,
            checked_host: None,
            probes: Probes::new(),
            taken: None,
            was_read: true,
            deleting: false,
            due: None,
            now,
            record: CorrectionRecord::default(),
            news: Vec::new(),
            stall: None,
        };
        let step = match execution.decision.clone() {
            Decision::Correct(_) => execution.check(view),
            Decision::ReleaseFinalizer { .. } => Step::Do(Operation::Read(None)),
            decision => execution.carry_out(decision, view),
        };
        (execution, step)
    }

    /// Returns the newest known state of the object.
    #[must_use]
    pub const fn object(&self) -> &LeanObject {
        &self.object
    }

    /// Returns false if the object was not read live, because an input of the requests is missing.
    #[must_use]
    pub const fn was_read(&self) -> bool {
        self.was_read
    }

    /// Returns the end of the current pause.
    #[must_use]
    pub const fn due(&self) -> Option<Moment> {
        self.due
    }

    /// Returns the correction, if the decision is one.
    #[must_use]
    pub fn correction(&self) -> Option<&Correction> {
        match &self.decision {
            Decision::Correct(correction) => Some(correction),
            _ => None,
        }
    }

    /// Returns the news since the last call.
    pub fn take_news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// Returns the news of a Job since the last call: inside, the reason for missing progress.
    pub const fn take_stall(&mut self) -> Option<Option<Held>> {
        self.stall.take()
    }

    /// Records that the object is being deleted. Returns true the first time, because a deletion interrupts
    /// a pause once.
    pub fn note_deletion(&mut self) -> bool {
        !std::mem::replace(&mut self.deleting, true)
    }

    /// Processes the result of the last operation. Returns the next step.
    pub fn next(&mut self, event: Event, now: Now) -> Step {
        self.now = now;
        match (&self.stage, event) {
            (Stage::Opening, Event::Read(Ok(Some(object)))) => {
                self.object = *object;
                Step::Decide
            }
            (Stage::Opening, Event::Read(Ok(None))) => self.end(ExecutionEnd::Gone),
            (Stage::Opening, Event::Read(Err(sentence))) => self.end(ExecutionEnd::Unread(sentence)),
            (Stage::Opening, Event::HoldersRead { is_claimed }) => self.take_up(is_claimed),
            (Stage::Writing, Event::Written(written)) => self.written(written),
            (&Stage::PuttingFinalizer(index), Event::Written(written)) => {
                self.not_landed(written).unwrap_or_else(|| self.claim(index))
            }
            (&Stage::Claiming(index), Event::Written(written)) => {
                self.not_landed(written).unwrap_or_else(|| self.claim_written(index))
            }
            (&Stage::LookingAgain(index), Event::Read(read)) => self.seen_again(index, read),
            (&Stage::Sending(index), event) => self.sent(index, event),
            (Stage::TakingBack, Event::Written(written)) => {
                // If the write failed, the claim is found current, counts as interrupted, and a poll follows.
                if let Ok(object) = written {
                    self.object = *object;
                }
                self.end(ExecutionEnd::CalledOff)
            }
            (Stage::Recording(_), event) => self.recording(event),
            _ => self.end(ExecutionEnd::Nothing),
        }
    }

    /// Ends a pause that is over or that `interrupt` cuts short.
    pub fn end_pause(&mut self, interrupt: Option<Interrupt>, now: Now) -> Option<Step> {
        self.due.take()?;
        Some(self.next(Event::Waited(interrupt), now))
    }

    /// Processes the decision on the newest known state of the object. `taken` is the place of a correction within the
    /// target's limits.
    pub fn decided(
        &mut self,
        object: LeanObject,
        (decision, taken): (Decision, Option<Taken>),
        view: &dyn ProgramView,
        now: Now,
    ) -> Step {
        self.now = now;
        self.taken = taken;
        self.decided_on = object.clone();
        self.object = object;
        self.carry_out(decision, view)
    }

    fn carry_out(&mut self, decision: Decision, view: &dyn ProgramView) -> Step {
        let write = match &decision {
            Decision::Nothing(_) | Decision::Wait { .. } => return self.end(ExecutionEnd::Nothing),
            Decision::Correct(correction) => {
                self.progress.noted = correction.before.secrets.clone();
                self.decision = decision;
                return self.prepare(view);
            }
            Decision::TakeUp { resource, holders, .. } => {
                let read = Operation::ReadHolders(holders.clone(), resource.clone());
                let has_holders = !holders.is_empty();
                self.decision = decision;
                return if has_holders { Step::Do(read) } else { self.take_up(false) };
            }
            Decision::WriteStatus(status) => Write::Status(status.clone(), Purpose::Other),
            Decision::PutFinalizer => Write::PutFinalizer(Purpose::Other),
            Decision::ReleaseFinalizer { left_behind } => Write::ReleaseFinalizer { left_behind: *left_behind },
        };
        self.decision = decision;
        self.write(Stage::Writing, write)
    }

    /// Reads the object of a correction, unless an input of its requests is missing.
    fn check(&mut self, view: &dyn ProgramView) -> Step {
        let destinations = match self.render(view) {
            Some(Ok(rendered)) => Some(view.destinations(&*rendered.requests)).filter(|found| found.missing.is_none()),
            _ => None,
        };
        match destinations {
            Some(destinations) => Step::Do(Operation::Read(destinations.hosts.into_iter().next())),
            None => {
                self.was_read = false;
                Step::Decide
            }
        }
    }

    /// Renders the requests, and checks if they may be sent, before anything is written or sent. An object that was not
    /// read live because something was missing is decided on again once nothing is missing.
    fn prepare(&mut self, view: &dyn ProgramView) -> Step {
        let now = self.now.moment;
        let (destinations, plan) = match self.render(view) {
            None => return self.end(ExecutionEnd::Postponed(now + UNTIL_SECRETS_ARE_LISTED)),
            Some(Err(why)) => {
                self.news.push(News::Unsendable(why.to_string()));
                let step = FailedStep { label: why.label.clone(), reach: Reach::Unsent };
                return self.record(unrendered(step, why.uncertainty()));
            }
            Some(Ok(rendered)) => (view.destinations(&*rendered.requests), rendered.plan.clone()),
        };
        if !view.may_begin() {
            return self.end(ExecutionEnd::CalledOff);
        }
        match view.take_probes(&destinations.hosts, now) {
            Ok(probes) => self.probes = probes,
            Err(until) => return self.end(ExecutionEnd::Postponed(until)),
        }
        if let Some((why, cause)) = destinations.missing {
            self.news.push(News::Unsendable(cause.clone()));
            let step = FailedStep { label: None, reach: Reach::Unsent };
            return self.record(unrendered(step, Uncertainty::caused_by(why, cause)));
        }
        // A Secret that was missing is there now, or one changed since the decision. The decision is made again.
        if !self.was_read {
            return self.end(ExecutionEnd::Postponed(now));
        }
        if !self.sends_what_was_approved(&plan) {
            return self.end(ExecutionEnd::CalledOff);
        }
        self.news.push(News::Decided);
        self.checked_host = destinations.hosts.into_iter().next();
        self.progress.plan = plan;
        self.turn_to(0)
    }

    /// Returns the requests of the correction; `None` until the Secrets are listed. Earlier ones are reused if none of
    /// their inputs can have changed; a Secret that is sent may have changed.
    fn render(&mut self, view: &dyn ProgramView) -> Option<Result<&Rendered, Unrenderable>> {
        let Decision::Correct(correction) = &self.decision else { return None };
        let is_same = |rendered: &Rendered| {
            rendered.view == self.object.view && rendered.correction == *correction && rendered.plan.secrets.is_empty()
        };
        if !self.requests.as_ref().is_some_and(is_same) {
            self.requests = None;
            match view.requests(&self.object, correction)? {
                Ok(requests) => {
                    let (plan, view, correction) = (requests.plan(), self.object.view.clone(), correction.clone());
                    self.requests = Some(Rendered { requests, plan, view, correction });
                }
                Err(why) => return Some(Err(why)),
            }
        }
        self.requests.as_ref().map(Ok)
    }

    /// Takes the resource, unless one of its former holders still claims it.
    fn take_up(&mut self, is_claimed: bool) -> Step {
        match &self.decision {
            Decision::TakeUp { status, .. } if !is_claimed => {
                let status = status.clone();
                self.decision = Decision::WriteStatus(status.clone());
                self.write(Stage::Writing, Write::Status(status, Purpose::Other))
            }
            _ => self.end(ExecutionEnd::StillTaken),
        }
    }

    fn written(&mut self, written: Result<Box<LeanObject>, Failure>) -> Step {
        let end = match (written, &self.decision) {
            (Ok(object), decision) => {
                let end = match decision {
                    Decision::WriteStatus(status) => ExecutionEnd::Written(status.clone()),
                    _ => ExecutionEnd::Patched,
                };
                self.object = *object;
                end
            }
            (Err(Failure::Gone), _) => ExecutionEnd::Gone,
            (Err(Failure::Refused(sentence)), decision) => {
                ExecutionEnd::Refused { finalizer: !matches!(decision, Decision::WriteStatus(_)), sentence }
            }
            (Err(Failure::Moved | Failure::Unavailable | Failure::NotLeading), _) => ExecutionEnd::Lost,
        };
        self.end(end)
    }

    fn write(&mut self, stage: Stage, write: Write) -> Step {
        self.stage = stage;
        Step::Do(Operation::Write(write))
    }

    /// Takes in the object as returned by one of our writes to it.
    fn see(&mut self, object: LeanObject) {
        if object.id == self.object.id
            && let Some(object) = object.joined_with(&self.object)
        {
            self.object = object;
        }
    }

    /// Returns true if the correction creates what the poll did not find. A replacement does not: its deletion may still
    /// be in progress, so that a refused create contradicts no poll.
    fn creates(&self) -> bool {
        self.correction().is_some_and(|correction| correction.action == Action::Create)
    }

    /// Releases the places of the requests, because none follows.
    fn release(&mut self) {
        (self.taken, self.requests, self.request) = (None, None, None);
        self.probes.clear();
    }

    /// Waits. A pause holds no places.
    fn pause(&mut self, pause: Duration) -> Step {
        self.release();
        self.due = Some(self.now.moment + pause);
        Step::Pause
    }

    fn end(&mut self, end: ExecutionEnd) -> Step {
        self.release();
        if let ExecutionEnd::Corrected { outcome, .. } = &end {
            let record = std::mem::take(&mut self.record);
            let (steps, duration) = (record.steps(), record.duration(self.now.moment));
            self.news.push(News::Ended { outcome: outcome.clone(), drift: record.drift, steps, duration });
        }
        Step::End(end)
    }

    fn corrected(&mut self, outcome: Outcome, status: Option<CorrectionStatus>, written: bool) -> Step {
        match &self.decision {
            Decision::Correct(correction) => {
                let correction = correction.clone();
                self.end(ExecutionEnd::Corrected { correction, outcome, status, written })
            }
            _ => self.end(ExecutionEnd::Nothing),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
