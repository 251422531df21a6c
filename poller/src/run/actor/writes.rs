//! The actor's writes: each as urgent as the core says, taken in when it ends, and told to people.
//!
//! What is written, and whether it is news, is the core's business.

use std::sync::PoisonError;

use drift_api::condition::Verdict;
use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;
use drift_kube::object_writer::CONCURRENT_CALLS;
use drift_kube::process::clock;

use super::{TargetActor, read_clock};
use crate::engine::object::object_state::ObjectState;
use crate::engine::writes::urgency::Urgency;
use crate::engine::writes::write_attempts::WriteOutcome;
use crate::run::metrics::of_target;
use crate::run::notices;
use crate::run::write::{WriteResult, write};

impl TargetActor {
    /// Its moment in the lane, where it has not come yet, is another's.
    pub(super) fn leave_slow_lane(&mut self, uid: &Uid, now: Moment) {
        if let Some(slot) = self.objects.slow_slot(uid).filter(|slot| *slot > now) {
            self.context.slow_lane.lock().unwrap_or_else(PoisonError::into_inner).give_back(slot);
        }
        self.objects.set_slow_slot(uid, None, now);
    }

    /// Whether a write may go now; a slow one gets its moment in the lane first.
    pub(super) fn may_go(&mut self, uid: &Uid, urgency: Urgency, now: Moment) -> bool {
        if urgency != Urgency::Slow {
            return true;
        }
        let slot = self
            .objects
            .slow_slot(uid)
            .unwrap_or_else(|| self.context.slow_lane.lock().unwrap_or_else(PoisonError::into_inner).reserve(now));
        self.objects.set_slow_slot(uid, Some(slot), now);
        slot <= now
    }

    /// Whether one more write may be under way: a target alone uses all that there are, and with thousands to write it
    /// stands before the writes of others with no more than these.
    pub(super) fn has_free_hand(&self) -> bool {
        self.writes.len() < CONCURRENT_CALLS
    }

    pub(super) fn begin_write(&mut self, uid: &Uid, verdict: &Verdict, urgency: Urgency, now: Moment) {
        let wall = clock::wall_seconds();
        let begun = self
            .objects
            .update(uid, now, |state| (state.object().clone(), state.begin_write(verdict, urgency, now, &wall)));
        self.leave_slow_lane(uid, now);
        if let Some((before, begun)) = begun {
            let writer = self.writer.clone();
            self.writes.push(Box::pin(async move { write(&writer, before, begun).await }));
        }
    }

    pub(super) fn take_write(&mut self, result: WriteResult) {
        let now = clock::now();
        let uid = result.before.id.uid.clone();
        self.counts.write(result.outcome.as_label());
        if let Some(object) = result.object.clone().filter(|_| self.objects.state(&uid).is_some()) {
            // An object that left meanwhile stays forgotten. Before the write counts as ended, so that the state machine knows its own hand in the new state.
            self.see(object, read_clock());
        }
        let lost = self.objects.update(&uid, now, |state| {
            state.finish_write(&result.outcome, now);
            state.has_given_up()
        });
        if lost == Some(true) {
            self.context.metrics.races_lost.get_or_create(&of_target(&self.target.name)).inc();
        }
        if result.outcome == WriteOutcome::Gone {
            self.forget(&uid, now);
        }
        self.tell(&uid, &result, now);
        if result.outcome == WriteOutcome::Written {
            tracing::info!(
                target_name = self.target.name,
                object = %result.before.id,
                status = result.begun.condition.status.as_str(),
                reason = &*result.begun.condition.reason,
                "wrote driftObserved"
            );
        }
    }

    fn tell(&mut self, uid: &Uid, result: &WriteResult, now: Moment) {
        let (events, target, kind) = (&self.context.events, &self.target, &self.writer.kind);
        if let WriteOutcome::Refused(sentence) = &result.outcome
            && self.objects.update(uid, now, ObjectState::refusal_is_news) == Some(true)
        {
            notices::tell_of_refusal(events, target, kind, (&result.before.id, sentence));
        }
        notices::tell(events, target, kind, result);
    }

    pub(super) fn tell_of_flapping(&self, uid: &Uid) {
        let Some(state) = self.objects.state(uid) else { return };
        notices::tell_of_flapping(&self.context.events, &self.target, &self.writer.kind, &state.object().id);
    }
}
