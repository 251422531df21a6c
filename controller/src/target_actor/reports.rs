//! What comes back from the hands, and what is handed out on a live object.
//!
//! The object that was read live is decided again, and only what still stands is done. Every end is remembered before
//! the object is decided anew.

use drift_cluster::client::WriteError;
use drift_cluster::process::clock;
use drift_cluster::process::kill_point::{KillPoint, reach};
use drift_model::identity::Uid;
use drift_model::moment::Moment;
use drift_model::object::{LeanObject, ObjectId};

use super::{LOOK_AGAIN, TargetActor};
use crate::act::{Ended, Granted, Newest, Work, Write};
use crate::core::limits::Place;
use crate::core::outcome::Outcome;
use crate::metrics::{CorrectionLabels, Metrics};
use crate::steps::HostPlace;
use drift_cluster::sightings::Busy;

/// What comes back from the hands.
pub(super) enum Report {
    /// The object was read before it is acted on.
    Looked { id: ObjectId, result: Result<Option<Box<LeanObject>>, WriteError>, busy: Busy, reserved: Reserved },
    /// It was read because a list showed it older than it was known.
    ReadAnew(Option<Box<LeanObject>>),
    /// It was acted on.
    Acted { uid: Uid, newest: Newest, ended: Ended, spent: Option<Place> },
    /// An object out of the selection was let go, or not.
    StrayDone { uid: Uid, done: bool },
}

/// What a correction waits for before the object is judged for the last time.
#[derive(Default)]
pub(super) struct Reserved {
    /// Of the target's limits.
    limits: Option<Place>,
    /// At the host of the first step.
    host: Option<HostPlace>,
}

impl TargetActor {
    /// Reads the object live, so that it is decided again on what it is now. A correction takes its places first: what
    /// happens while it waits for them is seen.
    pub(super) fn look(&mut self, uid: &Uid, work: &Work, now: Moment) {
        let busy = if self.hands.steps.may_act() { self.shared.sightings.begin(uid) } else { None };
        let (Some(busy), Some(object)) = (busy, self.roster.object(uid).cloned()) else {
            self.alarms.set(uid, now + LOOK_AGAIN);
            return;
        };
        let correction = match work {
            Work::Correct(correction) => Some(correction.clone()),
            _ => None,
        };
        let limits = correction.is_some().then(|| self.roster.pace.begin(now));
        self.working.insert(uid.clone());
        let hands = self.hands.clone();
        self.spawn(async move {
            let host = match &correction {
                Some(correction) => hands.steps.take_place(&hands.target, &object, correction).await,
                None => None,
            };
            let live = hands.pen.read(&object.id).await;
            let result = live.map(|live| live.map(|live| Box::new(live.read_after(&object))));
            reach(KillPoint::ControllerAfterLiveRead);
            Report::Looked { id: object.id, result, busy, reserved: Reserved { limits, host } }
        });
    }

    pub(super) fn take_report(&mut self, report: Report) {
        match report {
            Report::Looked { id, result, busy, reserved } => self.take_look(&id, result, busy, reserved),
            Report::ReadAnew(live) => self.take_live(live),
            Report::Acted { uid, newest, ended, spent } => self.take_act(&uid, newest, ended, spent),
            Report::StrayDone { uid, done } => {
                self.working.remove(&uid);
                if done {
                    self.strays.remove(&uid);
                }
                // It may have come back into the selection meanwhile.
                self.due.push_back(uid);
            }
        }
    }

    /// An object that left the selection meanwhile is not brought back.
    fn take_live(&mut self, live: Option<Box<LeanObject>>) {
        if let Some(live) = live.filter(|live| self.roster.object(&live.id.uid).is_some()) {
            self.see(*live, clock::now());
        }
    }

    fn take_look(
        &mut self,
        id: &ObjectId,
        result: Result<Option<Box<LeanObject>>, WriteError>,
        busy: Busy,
        reserved: Reserved,
    ) {
        let (uid, now) = (&id.uid, clock::now());
        self.working.remove(uid);
        let Reserved { limits, host } = reserved;
        if let Some(place) = limits {
            self.roster.pace.call_off(place);
        }
        if self.roster.object(uid).is_none() {
            // It left the selection meanwhile; what was read does not bring it back.
            return;
        }
        match result {
            Ok(Some(live)) => {
                self.see(*live, now);
                self.attend_breaker(now);
                if let Some(work) = self.decide(uid, now) {
                    self.act(uid, work, (busy, host), now);
                }
            }
            Ok(None) => self.forget(uid),
            Err(error) => {
                tracing::warn!(object = %id, "the object cannot be read: {error}");
                self.alarms.set(uid, now + LOOK_AGAIN);
            }
        }
    }

    /// Acts on the very state that was decided on: the watch may know a newer one than was read.
    fn act(&mut self, uid: &Uid, work: Work, (busy, place): (Busy, Option<HostPlace>), now: Moment) {
        let Some(object) = self.roster.object(uid).cloned() else { return };
        let mut spent = matches!(work, Work::Correct(_)).then(|| self.roster.begin(uid, now));
        // Nobody else waits at the host for a note.
        let place = place.filter(|_| spent.is_some());
        let granted = Granted { limits: spent.as_mut().and_then(Place::hand_over), place };
        let uid = uid.clone();
        self.working.insert(uid.clone());
        let hands = self.hands.clone();
        let metrics = self.shared.metrics.clone();
        self.spawn(async move {
            let (newest, ended) = match work {
                Work::Correct(correction) => {
                    let (newest, ended) = hands.correct(object, &correction, granted).await;
                    if let Ended::Corrected { outcome, .. } = &ended {
                        count(&metrics, &hands.target.name, correction.action.as_str(), outcome);
                    }
                    (newest, ended)
                }
                other => hands.work(object, other).await,
            };
            drop(busy);
            Report::Acted { uid, newest, ended, spent }
        });
    }

    fn take_act(&mut self, uid: &Uid, newest: Newest, ended: Ended, spent: Option<Place>) {
        let now = clock::now();
        self.working.remove(uid);
        self.remember(uid, &ended, spent.is_some(), now);
        if let (Some(place), Ended::CalledOff | Ended::Postponed(_) | Ended::Refused { .. }) = (spent, &ended) {
            self.roster.pace.call_off(place);
        }
        if self.roster.object(uid).is_none() {
            // It left the selection meanwhile; our own write does not bring it back.
            return;
        }
        match newest {
            Newest::State(object) => self.see(*object, now),
            Newest::Gone => self.forget(uid),
            Newest::Unknown => {}
        }
        match ended {
            Ended::Lost | Ended::CalledOff => self.alarms.set(uid, now + LOOK_AGAIN),
            Ended::Postponed(until) => self.alarms.set(uid, until),
            _ => self.due.push_back(uid.clone()),
        }
    }

    fn remember(&mut self, uid: &Uid, ended: &Ended, spent: bool, now: Moment) {
        let Some(memory) = self.roster.memory(uid) else { return };
        if spent && matches!(ended, Ended::CalledOff | Ended::Postponed(_) | Ended::Refused { .. }) {
            memory.call_off();
        }
        match ended {
            Ended::StatusWritten(status) => memory.land_status(status.clone(), now),
            Ended::FinalizerWritten => memory.writes.land_finalizer(now),
            Ended::Refused { write, sentence } => {
                let is_news = match write {
                    Write::Status => memory.writes.refuse_status(now),
                    Write::Finalizer => memory.writes.refuse_finalizer(now),
                };
                if let Some(object) = self.roster.object(uid).filter(|_| is_news) {
                    self.hands.announcer.write_refused(&self.hands.pen.kind, object, sentence);
                }
            }
            Ended::Corrected { outcome, correction, status } => {
                memory.finish(correction, outcome, now);
                if let Some(status) = status {
                    memory.land_outcome(status.clone());
                }
            }
            Ended::Postponed(until) => memory.delay.hold_until(*until),
            Ended::Lost | Ended::CalledOff => memory.writes.lose_race(now),
        }
    }
}

fn count(metrics: &Metrics, target: &str, action: &'static str, outcome: &Outcome) {
    let labels = CorrectionLabels { target: target.to_owned(), action, outcome: outcome.as_label() };
    metrics.corrections.get_or_create(&labels).inc();
}
