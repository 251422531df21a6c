//! The actor as it supervises executions: what it lends each, answers it, and remembers of how it ended.
//!
//! An object that was read live is decided again here, and only what still stands is done. Every end is remembered before
//! the object is decided anew.

use std::collections::HashMap;

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::timing::backoff::{Backoff, Series};
use drift_api::timing::moment::Moment;
use drift_kube::process::{clock, tasks};
use tokio_util::sync::CancellationToken;

use super::{LOOK_AGAIN, TargetActor, WRITES_AT_ONCE};
use crate::core::decision::Decision;
use crate::core::execution::ExecutionEnd;
use crate::core::held::Held;
use crate::core::limits::Place;
use crate::executor::{Answer, Question, Supervision};

/// What comes back to the actor.
pub(super) enum Report {
    /// A decision was carried out, or not.
    Ended { object: Box<LeanObject>, end: ExecutionEnd },
    /// An object was read because a list showed it older than it was known.
    ReadAnew(Option<Box<LeanObject>>),
}

/// One execution, as the actor sees it.
pub(super) struct Underway {
    /// Its part of the target's limits, from before the live read.
    reserved: Option<Place>,
    /// Its part of the target's limits, once the correction counts as begun.
    begun: Option<Place>,
    deleting: CancellationToken,
    is_correction: bool,
}

/// The objects of a target whose live reads fail.
#[derive(Default)]
pub(super) struct Unreadable {
    waiting: HashMap<Uid, Backoff>,
}

impl Unreadable {
    /// Not to be read before that.
    fn ready_at(&self, uid: &Uid) -> Moment {
        self.waiting.get(uid).map_or(Moment::START, Backoff::ready_at)
    }

    /// Gives whether it is the first: only a change is told.
    fn fail(&mut self, uid: &Uid, now: Moment) -> bool {
        let is_first = self.waiting.is_empty();
        self.waiting.entry(uid.clone()).or_insert_with(|| Backoff::new(Series::API_UNAVAILABLE)).fail(now);
        is_first
    }

    /// Gives whether it was the last.
    pub(super) fn remove(&mut self, uid: &Uid) -> bool {
        self.waiting.remove(uid).is_some() && self.waiting.is_empty()
    }
}

impl TargetActor {
    /// Begins to carry out a decision; gives whether it did, else the object is looked at again in time.
    pub(super) fn begin(&mut self, uid: &Uid, decision: Decision, now: Moment) -> bool {
        let is_correction = matches!(decision, Decision::Correct(_));
        if !is_correction && self.writes_under_way() >= WRITES_AT_ONCE {
            self.crowded.join(uid);
            return false;
        }
        let ready_at = self.unreadable.ready_at(uid);
        if now < ready_at {
            self.queue.add_after(uid, ready_at);
            return false;
        }
        let busy = if self.executor.requests.may_begin() { self.context.under_way.begin(uid) } else { None };
        let (Some(busy), Some(object)) = (busy, self.roster.object(uid).cloned()) else {
            self.queue.add_after(uid, now + LOOK_AGAIN);
            return false;
        };
        let line = self.roster.line(uid);
        let reserved = is_correction.then(|| self.roster.pace.begin(&line, now));
        let deleting = CancellationToken::new();
        let supervision = Supervision {
            questions: self.questions.clone(),
            stalls: self.stalls.clone(),
            deleting: deleting.clone(),
            superseded: self.superseded.clone(),
        };
        self.under_way.insert(uid.clone(), Underway { reserved, begun: None, deleting, is_correction });
        let executor = self.executor.clone();
        self.spawn(async move {
            let (object, end) = executor.execute(object, decision, supervision).await;
            drop(busy);
            Report::Ended { object: Box::new(object), end }
        });
        true
    }

    pub(super) fn writes_under_way(&self) -> usize {
        self.under_way.values().filter(|underway| !underway.is_correction).count()
    }

    /// Whatever an execution waits for, an object that is deleted does not.
    pub(super) fn note_deletion(&self, object: &LeanObject) {
        if object.deleting
            && let Some(underway) = self.under_way.get(&object.id.uid)
        {
            underway.deleting.cancel();
        }
    }

    /// Decides on the very state that will be acted on: the watch may know a newer one than was read.
    pub(super) fn take_question(&mut self, Question { object, was_read, answer }: Question) {
        let (uid, now) = (object.id.uid.clone(), clock::now());
        if let Some(place) = self.under_way.get_mut(&uid).and_then(|underway| underway.reserved.take()) {
            self.roster.pace.call_off(place);
        }
        if was_read && self.unreadable.remove(&uid) {
            tracing::info!(target_name = %self.name, "objects can be read again");
        }
        // What left the selection meanwhile is not brought back by what was read.
        if self.roster.object(&uid).is_none() {
            return;
        }
        self.see(*object, now);
        self.attend_breaker(now);
        let Some(decision) = self.decide(&uid, now) else { return };
        if matches!(&decision, Decision::Correct(correction) if correction.claim_first) && !self.claim(&uid) {
            return self.queue.add(&uid);
        }
        let Some(object) = self.roster.object(&uid).cloned() else { return };
        let mut begun = matches!(decision, Decision::Correct(_)).then(|| self.roster.begin(&uid, now));
        let taken = begun.as_mut().and_then(Place::hand_over);
        let claimant = self.roster.claimant(&uid).filter(|_| taken.is_some());
        let holding = claimant.map(|claimant| self.identities.hold(&uid, claimant));
        if let Some(underway) = self.under_way.get_mut(&uid) {
            underway.begun = begun;
        }
        // An execution that has ended meanwhile needs no answer.
        let _ = answer.send(Answer { object: Box::new(object), decision, taken, holding });
    }

    /// Shows all others that the object claims what it wants, before the claim is written; whether it still has that.
    fn claim(&mut self, uid: &Uid) -> bool {
        let claimed = self.roster.claimant(uid).is_some_and(|claimant| self.identities.claim(uid, claimant));
        self.roster.set_claiming(uid, claimed);
        claimed
    }

    /// Nothing comes of what was begun for an object, or something does by now. What has ended meanwhile is decided anew.
    pub(super) fn take_stall(&mut self, uid: &Uid, held: Option<Held>) {
        if self.under_way.contains_key(uid) {
            self.held_counts.set(uid, held);
        }
    }

    pub(super) fn take_report(&mut self, report: Report) {
        match report {
            Report::Ended { object, end } => self.take_end(*object, &end),
            Report::ReadAnew(live) => self.take_live(live),
        }
    }

    /// An object that left the selection meanwhile is not brought back.
    fn take_live(&mut self, live: Option<Box<LeanObject>>) {
        if let Some(live) = live.filter(|live| self.roster.object(&live.id.uid).is_some()) {
            self.see(*live, clock::now());
        }
    }

    fn take_end(&mut self, object: LeanObject, end: &ExecutionEnd) {
        let (uid, now) = (object.id.uid.clone(), clock::now());
        let Some(Underway { reserved, begun, .. }) = self.under_way.remove(&uid) else { return };
        let has_begun = begun.is_some();
        for place in reserved.into_iter().chain(begun.filter(|_| end.sent_nothing())) {
            self.roster.pace.call_off(place);
        }
        let refused = self.roster.memory(&uid).is_some_and(|memory| end.remember(memory, has_begun, now));
        // What left the selection meanwhile is not brought back by our own write.
        if self.roster.object(&uid).is_some() {
            self.look_after(object, end, refused);
        }
        // What is claimed on the object is taken in by now; before, the claim would seem to be given up for a moment.
        self.roster.set_claiming(&uid, false);
        self.contend(&uid);
        self.queue.done(&uid);
    }

    fn look_after(&mut self, object: LeanObject, end: &ExecutionEnd, refused: bool) {
        let (uid, now) = (object.id.uid.clone(), clock::now());
        match end {
            ExecutionEnd::Gone => return self.forget(&uid),
            ExecutionEnd::Nothing => return,
            ExecutionEnd::Lost | ExecutionEnd::CalledOff => self.queue.add_after(&uid, now + LOOK_AGAIN),
            ExecutionEnd::Postponed(until) => self.queue.add_after(&uid, *until),
            ExecutionEnd::PutOff(pause) => self.queue.add_after(&uid, now + *pause),
            ExecutionEnd::Unread(sentence) => {
                if self.unreadable.fail(&uid, now) {
                    tracing::warn!(target_name = %self.name, object = %object.id, "objects cannot be read: {sentence}");
                }
                let ready_at = self.unreadable.ready_at(&uid);
                return self.queue.add_after(&uid, ready_at);
            }
            ExecutionEnd::Refused { sentence, .. } if refused => {
                self.executor.announcer.write_refused(&self.executor.writer.kind, &object, sentence);
            }
            ExecutionEnd::Written(_)
            | ExecutionEnd::Patched
            | ExecutionEnd::Corrected { .. }
            | ExecutionEnd::Refused { .. } => {}
        }
        let waits = matches!(end, ExecutionEnd::Postponed(_) | ExecutionEnd::PutOff(_));
        if !waits && !matches!(end, ExecutionEnd::Lost | ExecutionEnd::CalledOff) {
            self.queue.add(&uid);
        }
        let known = self.roster.object(&uid).map(|known| &known.resource_version);
        if known != Some(&object.resource_version) {
            self.see(object, now);
        }
    }

    pub(super) fn spawn(&self, work: impl Future<Output = Report> + Send + 'static) {
        let reports = self.reports.clone();
        let job = async move {
            // Without an actor nobody needs the report.
            let _ = reports.send(work.await);
        };
        tasks::spawn("job", self.context.failed.clone(), self.context.jobs.track_future(job));
    }
}
