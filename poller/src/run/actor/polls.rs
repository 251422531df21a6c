//! The actor's polls: begun as far as the read limits allow, and taken in when they end.
//!
//! When an object wants one and what it proves is the core's business.

use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;
use drift_kube::process::clock;
use futures::{FutureExt, StreamExt};

use super::{TargetActor, read_clock};
use crate::engine::judgement::finding::Found;
use crate::engine::object::object_state::BegunPoll;
use crate::engine::schedule::Now;
use crate::engine::schedule::poll_turns::PollTurn;
use crate::run::metrics::of_target;
use crate::run::reads::outside::Postponed;
use crate::run::reads::poll::{PollOrder, PollOutcome, PollResult, PollResults, poll};

/// Polls taken in before anything else is looked at: as many as one host gets at once where nobody asks for more, so that neither a
/// watch nor a stop waits for the answers of a whole target to be judged.
const POLLS_AT_ONCE: usize = 16;

impl TargetActor {
    pub(super) fn begin_polls(&mut self) {
        let now = read_clock();
        if self.target.read.keys().is_some() {
            return self.begin_traversals(now);
        }
        while self.may_read(now.moment) {
            let Some(turn) = self.objects.next_poll(now.moment) else { break };
            self.begin_poll(&turn, now);
        }
    }

    /// Whether the target's read limits allow one more request.
    pub(super) fn may_read(&self, now: Moment) -> bool {
        let concurrent = self.target.read.limits.concurrent as usize;
        self.polls.len() < concurrent && self.read_rate.available_at(now) <= now
    }

    fn begin_poll(&mut self, turn: &PollTurn, now: Now) {
        let uid = &turn.uid;
        let Some(prepared) = self.objects.prepare(uid) else { return };
        if let Ok(request) = prepared.first()
            && let Some(postponed) = self.context.outside.postponed(&self.target, request, now.moment)
        {
            self.postpone(uid, None, postponed);
            return;
        }
        // A poll that is put off draws on no limit: what waits for one host must not slow the others of the target.
        let _ = self.read_rate.take(now.moment);
        let Some(state) = self.objects.state(uid) else { return };
        let (view, moved) = (state.object().view.clone(), state.object().conditions.moved_secrets());
        let tag = state.known_tag().cloned();
        let known = state.known_finding().filter(|_| !self.context.judges_every_answer).cloned();
        let Some(begun) = self.objects.begin_poll(turn, now) else { return };
        match prepared.first() {
            Ok(_) => {
                let order = PollOrder { uid: uid.clone(), begun, view, prepared, moved, tag, known };
                let (context, target) = (self.context.clone(), self.target.clone());
                self.polls.push(Box::pin(async move { poll(&context.outside, &target, order).await }));
            }
            Err(found) => self.take_found(uid, begun, found.clone()),
        }
    }

    /// What could be said without a request.
    pub(super) fn take_found(&mut self, uid: &Uid, begun: BegunPoll, found: Found) {
        let outcome = PollOutcome::Found { found, pause: None, tagged: None, known: None };
        self.take_poll(PollResult { uid: uid.clone(), begun, outcome, took: Duration::ZERO });
    }

    /// Takes in a poll that ended, and some that have ended with it: what begins within one tick ends together, and to look
    /// at everything else between any two costs as much as taking one in.
    pub(super) fn take_ended_polls(&mut self, first: PollResults) {
        self.take_polls(first);
        for _ in 1..POLLS_AT_ONCE {
            // Asked without a waker of its own: whoever waits for all polls asks again before it sleeps.
            let Some(Some(next)) = self.polls.next().now_or_never() else { break };
            self.take_polls(next);
        }
    }

    fn take_polls(&mut self, results: PollResults) {
        results.results.into_iter().for_each(|result| self.take_poll(result));
        if let Some(traversal) = results.traversal {
            self.end_traversal(traversal);
        }
    }

    fn take_poll(&mut self, result: PollResult) {
        let PollResult { uid, begun, outcome, took } = result;
        match outcome {
            PollOutcome::Postponed(postponed) => self.postpone(&uid, Some(begun), postponed),
            PollOutcome::Found { found, pause, tagged, known } => {
                self.counts.poll(&found.finding, took);
                let now = clock::now();
                self.objects.update(&uid, now, |state| {
                    if state.finish_poll(begun, found, now) {
                        state.remember_tag(tagged);
                        state.remember_finding(known);
                    }
                    if let Some(pause) = pause {
                        state.hold_polls(now + pause);
                    }
                });
            }
        }
    }

    /// A poll that was not begun is late, not failed.
    pub(super) fn postpone(&mut self, uid: &Uid, begun: Option<BegunPoll>, Postponed { until, cause }: Postponed) {
        self.context.metrics.polls_postponed.get_or_create(&of_target(&self.target.name)).inc();
        self.objects.update(uid, clock::now(), |state| state.postpone_poll(begun, until, cause));
    }
}
