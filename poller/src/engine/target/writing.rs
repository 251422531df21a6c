//! Writes of a target's verdicts: begun as their urgency allows, and processed when they end.

use drift_api::{Uid, Verdict};

use super::Target;
use crate::engine::effect::{Effect, Report};
use crate::engine::input::EndedWrite;
use crate::engine::schedule::Now;
use crate::engine::shared_state::SharedState;
use crate::engine::writes::WRITES_AT_ONCE;
use crate::engine::writes::urgency::Urgency;
use crate::engine::writes::write_attempts::WriteOutcome;

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

    pub(super) fn begin_write(&mut self, uid: &Uid, verdict: &Verdict, urgency: Urgency, now: Now) {
        let begun = self.objects.update(uid, now.moment, |state| {
            (state.object().clone(), state.begin_write(verdict, urgency, now.moment, &now.date()))
        });
        if let Some((before, begun)) = begun {
            self.writes_under_way += 1;
            self.effects.push(Effect::Write(Box::new(before), begun));
        }
    }

    pub(super) fn end_write(&mut self, mut write: Box<EndedWrite>, now: Now) {
        debug_assert!(self.writes_under_way > 0, "a write ended that never began");
        self.writes_under_way = self.writes_under_way.saturating_sub(1);
        let uid = write.before.id.uid.clone();
        // The object is taken in before the write counts as ended, so that the object state recognizes its own write.
        // An object that left meanwhile stays forgotten.
        if let Some(object) = write.object.take().filter(|_| self.objects.state(&uid).is_some()) {
            self.see(object, now);
        }
        let lost = self.objects.update(&uid, now.moment, |state| {
            state.finish_write(&write.outcome, now.moment);
            if let WriteOutcome::Refused(refusal) = &write.outcome
                && state.refusal_is_news()
            {
                let refused = Report::WriteRefused(write.before.id.clone(), refusal.sentence.clone());
                self.effects.push(Effect::Report(refused));
            }
            state.has_given_up()
        });
        if lost == Some(true) {
            self.report(Report::RaceLost);
        }
        if write.outcome == WriteOutcome::Gone {
            self.forget(&uid);
        }
        self.report(Report::Written(write));
    }
}
