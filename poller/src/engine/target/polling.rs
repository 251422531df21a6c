//! Polls of a target's objects: begun as far as the read limits allow, and processed when they end.

use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;

use super::Target;
use crate::engine::effect::{Effect, PollOrder, Report};
use crate::engine::input::{PollResult, Postponed};
use crate::engine::judgement::finding::{Finding, Found};
use crate::engine::judgement::total_loss::OtherObjects;
use crate::engine::object::object_state::{BegunPoll, EndedPoll};
use crate::engine::schedule::Now;
use crate::engine::schedule::poll_turns::PollTurn;
use crate::engine::shared_state::SharedState;

impl<P: SharedState> Target<P> {
    pub(super) fn begin_polls(&mut self, now: Now) {
        if self.text.read.keys().is_some() {
            return self.begin_traversals(now);
        }
        while self.may_read(now.moment) {
            let Some(turn) = self.objects.next_poll(now.moment) else { break };
            self.begin_poll(&turn, now);
        }
    }

    /// Returns true if the target's read limits allow one more request.
    pub(super) fn may_read(&self, now: Moment) -> bool {
        self.reads_under_way < self.reads_at_once() && self.shared.next_read_at(now) <= now
    }

    pub(super) fn reads_at_once(&self) -> usize {
        self.text.read.limits.concurrent as usize
    }

    fn begin_poll(&mut self, turn: &PollTurn, now: Now) {
        let uid = &turn.uid;
        let Some(prepared) = self.objects.prepare(uid) else { return };
        if let Ok(request) = prepared.first()
            && let Some(postponed) = self.shared.postponed(request, now.moment)
        {
            self.postpone(uid, None, postponed, now.moment);
            return;
        }
        // A postponed poll uses no limit: objects that wait for one host must not slow down the others of the target.
        self.shared.take_read(now.moment);
        let Some(state) = self.objects.state(uid) else { return };
        let (view, moved) = (state.object().view.clone(), state.object().conditions.moved_secrets());
        let (tag, known) = (state.known_tag().cloned(), state.known_finding().cloned());
        let Some(begun) = self.objects.begin_poll(turn, now) else { return };
        match prepared.first() {
            Ok(_) => {
                self.reads_under_way += 1;
                let order = PollOrder { uid: uid.clone(), begun, view, prepared, moved, tag, known };
                self.effects.push(Effect::Poll(Box::new(order)));
            }
            Err(found) => self.take_found(uid, begun, found.clone(), now.moment),
        }
    }

    /// Takes in a finding that needed no request.
    pub(super) fn take_found(&mut self, uid: &Uid, begun: BegunPoll, found: Found, now: Moment) {
        let (uid, found, took) = (uid.clone(), Ok(found), Duration::ZERO);
        let result = PollResult { uid, begun, found, pause: None, tagged: None, known: None, took };
        self.take_result_among(result, None, now);
    }

    pub(super) fn end_poll(&mut self, result: PollResult, now: Moment) {
        self.note_read_ended();
        self.take_result(result, now);
    }

    /// Takes in the result of a poll that requested something.
    pub(super) fn take_result(&mut self, result: PollResult, now: Moment) {
        let others = self.objects.others(&result.uid);
        self.take_result_among(result, Some(others), now);
    }

    pub(super) fn note_read_ended(&mut self) {
        debug_assert!(self.reads_under_way > 0, "a read ended that never began");
        self.reads_under_way = self.reads_under_way.saturating_sub(1);
    }

    fn take_result_among(&mut self, result: PollResult, others: Option<OtherObjects>, now: Moment) {
        let PollResult { uid, begun, found, pause, tagged, known, took } = result;
        let found = match found {
            Ok(found) => found,
            Err(postponed) => return self.postpone(&uid, Some(begun), postponed, now),
        };
        self.report(Report::Polled(found.finding.as_label(), took));
        let (is_found, is_absent) = (found.finding.is_presence(), found.finding == Finding::Absent);
        if is_found {
            self.objects.note_found(&uid, begun.at(), now);
        }
        self.objects.update(&uid, now, |state| {
            if state.finish_poll(EndedPoll { begun, others }, found, now) {
                state.remember_tag(tagged);
                state.remember_finding(known);
            }
            if let Some(pause) = pause {
                state.hold_polls(now + pause);
            }
        });
        if is_absent && self.objects.lacks_proof(&uid) {
            self.objects.ask_for_proof(&uid, now);
        }
    }

    /// Postpones a poll that was not begun. It is late, not failed.
    pub(super) fn postpone(&mut self, uid: &Uid, begun: Option<BegunPoll>, postponed: Postponed, now: Moment) {
        let Postponed { until, cause } = postponed;
        self.report(Report::Postponed);
        self.objects.update(uid, now, |state| state.postpone_poll(begun, until, cause));
    }
}
