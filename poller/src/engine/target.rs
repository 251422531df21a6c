//! Engine of one target: its objects, and the next polls and writes.

mod polling;
mod traversing;
mod watching;
mod writing;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use drift_api::attestation::{Attestation, Exceptions};
use drift_api::condition::ObservedReason;
use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;
use drift_api::unwritten::Unwritten;
use drift_language::{Polls, TargetState};

use super::effect::{Effect, Report};
use super::input::Input;
use super::shared_state::SharedState;
use crate::engine::collection::requests::CollectionRequests;
use crate::engine::hints::{Hint, Hints};
use crate::engine::object::object_store::ObjectStore;
use crate::engine::object::overview::{Question, TargetOverview, overview};
use crate::engine::schedule::{Now, tick_of};

/// Interval of counting all objects, and the longest sleep of an engine. Metrics are not scraped more often.
const HOUSEKEEPING: Duration = Duration::from_secs(5);

/// Engine of one version of a target.
#[derive(Debug)]
pub struct Target<P> {
    /// The target's part of the shared state.
    pub shared: P,
    text: Arc<drift_language::Target>,
    objects: ObjectStore,
    /// Reads of a collection, by their requests.
    traversals: CollectionRequests,
    hints: Hints,
    reads_under_way: usize,
    writes_under_way: usize,
    /// Objects owned by another target (the first by name wins).
    skipped: HashSet<Uid>,
    /// Last reported namespaces that are not attested as a whole.
    crowded: BTreeSet<String>,
    /// State of the target by its ConfigMaps.
    state: TargetState,
    /// Time at which the polls of a former target end.
    polls_end: Option<Moment>,
    /// Exceptions of the last requested attestation; `None` without one.
    attested: Option<Exceptions>,
    /// Last published verdicts that cannot be written.
    unwritten: Option<Unwritten>,
    housekeeping: Moment,
    effects: Vec<Effect>,
}

impl<P: SharedState> Target<P> {
    /// Creates an engine without objects.
    #[must_use]
    pub fn new(text: Arc<drift_language::Target>, shared: P) -> Self {
        Self {
            shared,
            objects: ObjectStore::new(text.clone()),
            traversals: CollectionRequests::default(),
            hints: Hints::of(&text),
            text,
            reads_under_way: 0,
            writes_under_way: 0,
            skipped: HashSet::new(),
            crowded: BTreeSet::new(),
            state: TargetState::Live,
            polls_end: None,
            attested: None,
            unwritten: None,
            housekeeping: Moment::START,
            effects: Vec::new(),
        }
    }

    /// Processes one input. Returns the effects in order.
    #[must_use]
    pub fn step(&mut self, now: Now, input: Input) -> Vec<Effect> {
        match input {
            Input::Seen(object) => self.take_seen(*object, now),
            Input::Reported(uid, report) => self.take_reported(&uid, *report, now),
            Input::Left(uid) => self.leave(&uid),
            Input::Skipped(object) => self.skip(&object.id),
            Input::Listed => self.note_listed(now.moment),
            Input::Alive { since } => self.objects.note_alive(since),
            Input::ReadAnew(live) => self.take_read_anew(live, now),
            Input::PollEnded(result) => self.end_poll(*result, now.moment),
            Input::TraversalEnded(traversal) => self.end_traversal(traversal, now.moment),
            Input::WriteEnded(write) => self.end_write(*write, now),
            Input::StateChanged { state, polled_for } => self.take_state(state, polled_for, now.moment),
            Input::Hint(hint) => self.take_hint(&hint, now.moment),
            Input::Tick => self.tick(now),
        }
        std::mem::take(&mut self.effects)
    }

    /// Returns the known objects.
    #[must_use]
    pub const fn objects(&self) -> &ObjectStore {
        &self.objects
    }

    /// Returns the number of objects that another target owns.
    #[must_use]
    pub fn skipped_count(&self) -> usize {
        self.skipped.len()
    }

    /// Returns the summary of the objects that is asked for.
    #[must_use]
    pub fn overview(&self, question: &Question, now: Now) -> TargetOverview {
        overview(&self.text, self.objects.states(), question, now)
    }

    fn report(&mut self, report: Report) {
        self.effects.push(Effect::Report(report));
    }

    /// Begins every poll and write that is due, as far as the limits allow.
    fn tick(&mut self, now: Now) {
        self.end_polls_if_due(now.moment);
        while let Some(uid) = self.objects.pop_awake(now.moment) {
            self.attend_object(&uid, now);
        }
        self.begin_queued_writes(now);
        self.begin_polls(now);
        self.attest(now.moment);
        if now.moment >= self.housekeeping {
            self.housekeeping = now.moment + HOUSEKEEPING;
            self.report_crowded();
            self.publish_unwritten();
            self.report(Report::Counts);
        }
        let wake = self.next_wake(now.moment);
        self.effects.push(Effect::WakeAt(wake));
    }

    /// Begins the write of an object if one is due, and queues its poll if that is due.
    fn attend_object(&mut self, uid: &Uid, now: Now) {
        let attended = self.objects.attend(uid, now.moment, |state| {
            state.notice_silence(now.moment);
            (
                state.next_write(now.moment).is_some_and(|at| at <= now.moment),
                state.flapping_is_news().then(|| Report::Flapping(state.object().id.clone())),
                state.removals_are_news().then(|| Report::VerdictRemoved(state.object().id.clone())),
            )
        });
        let Some((may_write, flapping, removed)) = attended else { return };
        self.effects.extend(flapping.into_iter().chain(removed).map(Effect::Report));
        if may_write && self.has_room_for_write() {
            self.begin_write(uid, now);
        } else if may_write {
            self.objects.queue_write(uid, now.moment);
        }
    }

    /// Polls a former target for a while: a GitOps tool may delete and recreate its ConfigMap.
    fn take_state(&mut self, state: TargetState, polled_for: Duration, now: Moment) {
        if self.state == state {
            return;
        }
        self.state = state;
        let rules = state.rules();
        self.polls_end = (rules.polls == Polls::End).then_some(now + polled_for);
        if rules.polls == Polls::GoOn {
            self.objects.bar(None, now);
        }
    }

    fn end_polls_if_due(&mut self, now: Moment) {
        if self.polls_end.take_if(|end| *end <= now).is_some() {
            self.objects.bar(Some(ObservedReason::TargetMissing), now);
        }
    }

    fn attest(&mut self, now: Moment) {
        let except = self.objects.attested_except(now).filter(|_| self.state.rules().attests);
        if self.attested != except {
            let attestation = except.clone().map(|except| Attestation { hash: self.text.verdict_hash.clone(), except });
            self.effects.push(Effect::Attest(attestation));
            self.attested = except;
        }
    }

    fn report_crowded(&mut self) {
        let crowded = self.objects.crowded_namespaces();
        if crowded != self.crowded {
            self.crowded.clone_from(&crowded);
            self.report(Report::Crowded(crowded));
        }
    }

    /// Publishes the verdicts that cannot be written. The Lease changes with them, so it is done once for many.
    fn publish_unwritten(&mut self) {
        let unwritten = self.objects.unwritten();
        if unwritten != self.unwritten {
            self.unwritten.clone_from(&unwritten);
            self.effects.push(Effect::Unwritten(unwritten));
        }
    }

    fn take_hint(&mut self, hint: &Hint, now: Moment) {
        let outcome = match hint {
            Hint::Everything => return self.hints.take_everything(&mut self.objects, now),
            Hint::ClusterObject(changed) => self.hints.take_change(&mut self.objects, changed, now),
            Hint::Resource(identity) => self.hints.take(&mut self.objects, identity, now),
        };
        self.report(Report::Hinted(outcome));
    }

    fn next_wake(&self, now: Moment) -> Moment {
        let may_begin = self.reads_under_way < self.reads_at_once();
        let poll = (self.objects.has_waiting_polls() && may_begin).then(|| self.shared.next_read_at(now));
        let wakes = [self.objects.next_wake(), poll, self.polls_end];
        let wake = wakes.into_iter().flatten().fold(self.housekeeping, Moment::min);
        wake.rounded_up(tick_of(self.text.interval))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod loss_tests;
