//! Writes of a target's verdicts: begun when they are due, and processed when they end.

use drift_api::identity::Uid;

use super::Target;
use crate::engine::effect::{Effect, Report, WrittenVerdict};
use crate::engine::input::EndedWrite;
use crate::engine::schedule::Now;
use crate::engine::shared_state::SharedState;
use crate::engine::writes::WRITES_AT_ONCE;
use crate::engine::writes::write_attempts::{Sent, WriteOutcome};

impl<P: SharedState> Target<P> {
    pub(super) fn begin_queued_writes(&mut self, now: Now) {
        while self.has_room_for_write() {
            let Some(uid) = self.objects.next_write() else { break };
            self.attend_object(&uid, now);
        }
    }

    pub(super) const fn has_room_for_write(&self) -> bool {
        self.writes_under_way < WRITES_AT_ONCE
    }

    pub(super) fn begin_write(&mut self, uid: &Uid, now: Now) {
        let update = self.objects.update(uid, now.moment, |state| state.begin_write(now.moment, &now.date()));
        if let Some(update) = update.flatten() {
            self.writes_under_way += 1;
            self.effects.push(Effect::Write(Box::new(update)));
        }
    }

    pub(super) fn end_write(&mut self, write: EndedWrite, now: Now) {
        debug_assert!(self.writes_under_way > 0, "a write ended that never began");
        self.writes_under_way = self.writes_under_way.saturating_sub(1);
        let EndedWrite { before, object, outcome } = write;
        let uid = before.id.uid.clone();
        // The object is taken in before the write counts as ended, so that the object state recognizes its own write.
        // An object that left meanwhile stays forgotten.
        if let Some(object) = object.filter(|_| self.objects.state(&uid).is_some()) {
            self.see(object, now);
        }
        let ended = self.objects.update(&uid, now.moment, |state| {
            let written = state.finish_write(&outcome, now.moment);
            if let WriteOutcome::Refused(refusal) = &outcome
                && state.refusal_is_news()
            {
                let refused = Report::WriteRefused(before.id.clone(), refusal.sentence.clone());
                self.effects.push(Effect::Report(refused));
            }
            (written, state.has_given_up())
        });
        let (written, has_given_up) = ended.unwrap_or_default();
        if has_given_up {
            self.report(Report::RaceLost);
        }
        if outcome == WriteOutcome::Gone {
            self.forget(&uid);
        }
        self.report(Report::WriteEnded(outcome.as_label()));
        if let Some(Sent { condition, announcement, .. }) = written {
            self.report(Report::Written(Box::new(WrittenVerdict { before, condition, announcement })));
        }
    }
}
