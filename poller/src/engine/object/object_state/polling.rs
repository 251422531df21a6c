//! The polls of an object: their times, and the verdicts that they confirm.
//!
//! Every result is checked against the state that its poll began with.

use drift_api::condition::{CurrentVerdict, ObservedReason, PollRequest, StatusFields};
use drift_api::timing::moment::Moment;
use std::time::Duration;

use std::sync::Arc;

use drift_language::Target;

use super::writing::Believed;
use super::{LatestPoll, ObjectState, SILENT_INTERVALS, stands_true};
use crate::engine::judgement::total_loss::{Loss, OtherObjects, all_missing, is_confirmed_loss};
use crate::engine::judgement::verdict::{is_unfound, reach_verdict};
use crate::engine::judgement::without_effect::note_no_effect;
use crate::engine::judgement::{Basis, Belief, Failure, Finding, Found, NewFinding};
use crate::engine::object::found_objects::Standing;
use crate::engine::poll::entity_tag::{EntityTag, RememberedTag, Tagged};
use crate::engine::poll::known_finding::KnownFinding;
use crate::engine::poll::request::Prepared;
use crate::engine::schedule::{Now, PROMPT_SPACING};
use crate::engine::writes::news::is_change;

/// A poll that began. The object may leave the selection and return meanwhile, and the result of an earlier poll may be
/// outdated by then. So a result counts only for the running poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BegunPoll {
    /// State that its result belongs to.
    pub basis: Basis,
    /// Start of the poll, which identifies it: two polls of one moment see the same state.
    at: Moment,
}

/// The end of a poll.
#[derive(Clone, Copy, Debug)]
pub struct EndedPoll {
    /// The poll that ended.
    pub begun: BegunPoll,
    /// The target's other objects; `None` if nothing was requested, so that the result proves nothing about the read.
    pub others: Option<OtherObjects>,
}

impl From<BegunPoll> for EndedPoll {
    /// The end of a poll of an object without others.
    fn from(begun: BegunPoll) -> Self {
        Self { begun, others: Some(OtherObjects::default()) }
    }
}

impl BegunPoll {
    /// Returns the start of the poll.
    #[must_use]
    pub const fn at(&self) -> Moment {
        self.at
    }
}

impl ObjectState {
    /// Returns the time of the next poll; `None` while one is running or none is wanted.
    #[must_use]
    pub fn poll_due(&self) -> Option<Moment> {
        let wanted = self.polling.is_none() && self.is_polled() && self.rendered.rejected.is_none();
        wanted.then(|| self.schedule.due())
    }

    /// Returns true if its next poll was requested and is not only the regular one.
    #[must_use]
    pub fn wants_prompt_poll(&self) -> bool {
        self.schedule.is_wanted()
    }

    /// Returns true if a requested poll comes within [`PROMPT_SPACING`], or after the running one.
    #[must_use]
    pub fn is_polled_soon(&self, now: Moment) -> bool {
        self.wants_prompt_poll() && self.poll_due().is_none_or(|due| due <= now + PROMPT_SPACING)
    }

    /// Takes in a hint that the external resource may have changed, and polls soon. During drift, the change may be the
    /// write of a correction whose number is not yet on the object. A poll before that would count the object as
    /// healed, and repeated corrections against another writer would not be counted. So the hint waits for the settle
    /// time of the correction.
    pub fn take_hint(&mut self, now: Moment) {
        self.take_hint_after(Duration::ZERO, now);
    }

    /// The same for a hint that must wait itself.
    pub fn take_hint_after(&mut self, wait: Duration, now: Moment) {
        let wait = wait.max(self.hint_waits().unwrap_or_default());
        self.schedule.want_promptly(now + wait);
    }

    /// Brings the regular poll forward because hints may have been missed. Requested polls go first.
    pub fn miss_hints(&mut self, now: Moment) {
        self.schedule.bring_forward(now + self.hint_waits().unwrap_or_default());
    }

    fn hint_waits(&self) -> Option<Duration> {
        (self.settings.corrects && stands_true(&self.object)).then(|| self.settings.settle.max(PROMPT_SPACING))
    }

    /// Returns the time at which to call [`ObjectState::notice_silence`].
    #[must_use]
    pub fn silence_due(&self) -> Option<Moment> {
        let polled = self.is_polled() && self.rendered.rejected.is_none();
        polled.then(|| self.last_heard + self.schedule.interval().saturating_mul(SILENT_INTERVALS))
    }

    /// Returns the time since the last poll of the object ended, in intervals of the object; `None` if it is not polled.
    #[must_use]
    pub fn verdict_age(&self, now: Moment) -> Option<f64> {
        self.silence_due().map(|_| (now - self.last_heard).div_duration_f64(self.schedule.interval()))
    }

    /// Begins a poll and returns the state that its result must match.
    pub fn begin_poll(&mut self, now: Now) -> BegunPoll {
        self.polling = Some(now.moment);
        (self.edited_meanwhile, self.asked_meanwhile) = (false, false);
        self.schedule.begin(now);
        BegunPoll { basis: self.basis(), at: now.moment }
    }

    /// Postpones a poll that never reached the external system, begun or not. The poll is late, not failed, and stays
    /// prompt or regular.
    pub fn postpone_poll(&mut self, begun: Option<BegunPoll>, until: Moment, cause: Failure) {
        match begun {
            Some(begun) if self.end_poll(begun) => self.schedule.want_promptly(until),
            Some(_) => return,
            None => {}
        }
        self.last_failure = Some(cause);
        self.schedule.hold_until(until);
    }

    /// Blocks polls until this time, as the external system requested.
    pub fn hold_polls(&mut self, until: Moment) {
        self.schedule.hold_until(until);
    }

    /// Returns the tag of the state that the next poll need not read again. Only the regular poll of an object in sync,
    /// with its present desired state and after its last correction, may rely on an earlier read.
    #[must_use]
    pub fn known_tag(&self) -> Option<&EntityTag> {
        let tag = self.tag.as_ref()?.usable()?;
        let is_quiet = !self.schedule.is_wanted() && self.is_in_sync_as_desired();
        is_quiet.then_some(tag)
    }

    /// Remembers the tag of the state that the last poll found in sync. Other results clear it.
    pub fn remember_tag(&mut self, tagged: Option<Tagged>) {
        let known = self.tag.take();
        self.tag = RememberedTag::after(known, tagged.filter(|_| !self.edited_meanwhile));
    }

    /// Returns the rendered request of its next poll.
    pub fn prepare(&mut self, target: &Target) -> Arc<Prepared> {
        if let Some(prepared) = &self.prepared {
            return prepared.clone();
        }
        let prepared = Arc::new(Prepared::of(target, &self.object.view));
        self.prepared = self.settings.keeps_requests.then(|| prepared.clone());
        prepared
    }

    /// Returns the last finding, to reuse for equal responses.
    #[must_use]
    pub const fn known_finding(&self) -> Option<&KnownFinding> {
        self.known.as_ref()
    }

    /// Remembers the last finding, unless the object has changed since the poll began.
    pub fn remember_finding(&mut self, known: Option<KnownFinding>) {
        self.known = known.filter(|_| !self.edited_meanwhile);
    }

    /// Takes in the result of the running poll and ignores results of other polls. Returns true if the result is about
    /// the current state of the object.
    pub fn finish_poll(&mut self, ended: impl Into<EndedPoll>, found: impl Into<Found>, now: Moment) -> bool {
        let (EndedPoll { begun, others }, found) = (ended.into(), found.into());
        let finding = &found.finding;
        if !self.end_poll(begun) {
            return false;
        }
        let basis = begun.basis;
        if basis != self.basis() || self.rendered.rejected.is_some() {
            self.schedule.want_promptly(now);
            return false;
        }
        self.last_heard = now;
        self.note_latest(finding, others.is_some());
        self.last_failure = match finding {
            Finding::Failed(failure) => Some(failure.clone()),
            _ => None,
        };
        let (current, flaps) = (self.current.clone(), self.is_flapping(now));
        let was_there =
            self.seen.in_sync || basis.correction > 0 || current.as_ref().is_some_and(CurrentVerdict::proves_seen);
        let is_unfound = is_unfound(&basis, basis.correction, current.as_ref(), &self.seen);
        let new = NewFinding {
            finding,
            basis: &basis,
            current: current.as_ref(),
            was_there,
            create_shows_within: if is_unfound { self.settings.create_shows_within } else { Duration::ZERO },
            flaps,
            began: begun.at,
            at: now,
        };
        match self.confirmation.count(&new, &self.settings.confirm) {
            Belief::Confirmed => self.believe_confirmed(&found, others, current.as_ref(), now),
            Belief::PollAgainAfter(wait) => {
                if !matches!(found.finding, Finding::Failed(_)) {
                    self.writing.note_unconfirmed(now);
                }
                self.drop_unwritten();
                self.schedule.want_after(wait, now);
            }
        }
        true
    }

    /// Takes in a finding that enough polls confirm. An absence also needs the proof that the read works.
    fn believe_confirmed(
        &mut self,
        found: &Found,
        others: Option<OtherObjects>,
        current: Option<&CurrentVerdict>,
        now: Moment,
    ) {
        let answers = !self.asked_meanwhile;
        match self.judge_absence(&found.finding, others, current) {
            Loss::OfOne => {
                self.confirms_loss &= !found.finding.is_presence();
                self.believe_poll(&found.finding, found.published.clone(), answers, now);
            }
            Loss::OfAll => {
                let failure = Finding::Failed(all_missing(found.answer.as_deref()));
                self.believe_poll(&failure, Some(StatusFields::NONE), answers, now);
            }
            Loss::Undecided => {
                self.drop_unwritten();
                let wait = self.confirmation.last_run().map_or(PROMPT_SPACING, |(_, wait)| wait);
                self.schedule.want_after(wait, now);
            }
        }
    }

    fn judge_absence(&self, finding: &Finding, others: Option<OtherObjects>, current: Option<&CurrentVerdict>) -> Loss {
        let basis = self.basis();
        let is_of_spec = current.is_some_and(|current| basis.is_spoken_of_by(current));
        // The resource is gone as it should be, or a refused create proves the read wrong by itself.
        let is_expected = basis.contradicted || self.object.conditions.has_replaced();
        let judged = others.zip(self.confirmation.last_run()).filter(|_| *finding == Finding::Absent);
        match judged {
            Some((others, (since, _)))
                if self.seen.found
                    && !is_expected
                    && !self.confirms_loss
                    && !is_confirmed_loss(&self.object, current, is_of_spec) =>
            {
                others.judge_absence(since)
            }
            _ => Loss::OfOne,
        }
    }

    fn note_latest(&mut self, finding: &Finding, is_asked: bool) {
        self.latest = match finding {
            finding if finding.is_presence() => LatestPoll::Present,
            Finding::Absent if is_asked => LatestPoll::Absent,
            Finding::Absent => LatestPoll::Unasked,
            Finding::Failed(failure) if failure.reason.needs_no_read() => LatestPoll::Unasked,
            _ => LatestPoll::Failed,
        };
        self.seen.found |= self.latest == LatestPoll::Present;
    }

    /// Returns true if its resource was found before and the last poll did not find it.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.counted == Standing::Absent
    }

    /// Returns true if only a poll of another object can decide about the absence that its last poll found.
    #[must_use]
    pub fn lacks_proof(&self, others: OtherObjects) -> bool {
        let judged = || self.judge_absence(&Finding::Absent, Some(others), self.current.as_ref());
        self.latest == LatestPoll::Absent && judged() == Loss::Undecided
    }

    /// Asks for a poll that shows if the read still works.
    pub fn prove_read(&mut self, now: Moment) {
        self.schedule.want_promptly(now);
    }

    /// Sets the verdict to Unknown if no poll completed for [`SILENT_INTERVALS`].
    pub fn notice_silence(&mut self, now: Moment) {
        if self.silence_due().is_some_and(|due| due <= now) {
            self.last_heard = now;
            self.latest = LatestPoll::Failed;
            let failure = self.last_failure.clone().unwrap_or_else(|| Failure::of(ObservedReason::NotYetPolled));
            self.believe_poll(&Finding::Failed(failure), Some(StatusFields::NONE), false, now);
        }
    }

    /// Delays the next poll until a correction has settled. That delay does not count as silence.
    pub(super) fn settle_from(&mut self, now: Moment) {
        let settled = now + self.settings.settle;
        self.schedule.hold_until(settled);
        self.be_quiet_until(settled);
    }

    /// The same for an edit, which wakes the object's own operator.
    pub(super) fn settle_edit(&mut self, now: Moment) {
        let settled = self.schedule.settle_edit(self.settings.settle, now);
        self.be_quiet_until(settled);
    }

    fn be_quiet_until(&mut self, settled: Moment) {
        self.last_heard = self.last_heard.max(settled);
    }

    /// Ends the poll. Returns true if it was the running one.
    fn end_poll(&mut self, begun: BegunPoll) -> bool {
        self.polling.take_if(|at| *at == begun.at).is_some()
    }

    /// Drops an unwritten verdict that a newer poll contradicts.
    fn drop_unwritten(&mut self) {
        let current = self.object.conditions.observed();
        self.writing.believed.take_if(|believed| is_change(current, &believed.verdict));
    }

    fn believe_poll(&mut self, finding: &Finding, published: Option<StatusFields>, answers: bool, now: Moment) {
        let believed = |state: &Self| state.writing.believed.as_ref().map(|believed| believed.verdict.status());
        let before = believed(self).or_else(|| self.shown_status());
        self.believe(finding, published, answers);
        if before.is_some() && believed(self) != before {
            self.writing.note_change(now);
        }
    }

    /// Takes in a confirmed finding. `answers` is true if it answers the request for a poll on the object.
    fn believe(&mut self, finding: &Finding, published: Option<StatusFields>, answers: bool) {
        let basis = self.basis();
        let current = self.current.clone();
        // Only the controller of a target that creates withdraws a contradiction.
        let judged = Basis { contradicted: basis.contradicted && self.settings.actions.create, ..basis };
        let mut verdict = reach_verdict(finding, &judged, current.as_ref(), &self.seen);
        let known = (&mut self.seen.in_vain, self.settings.actions.nudge);
        note_no_effect(&mut verdict, finding, (current.as_ref(), &self.object.conditions), known);
        verdict.tag.ready = self.settings.ready;
        let asked = self.object.poll_requested().filter(|_| answers).map(PollRequest::of);
        verdict.tag.polled = asked.or_else(|| current.and_then(|current| current.tag.polled));
        self.seen.in_sync |= *finding == Finding::InSync;
        // Our own deletion ended, and its replacement was never found.
        self.seen.found &= !(*finding == Finding::Absent && self.object.conditions.has_replaced());
        if matches!(finding, Finding::InSync | Finding::Differs(_)) {
            self.seen.found_at = Some(basis.correction);
        }
        let before = self.disbelieve();
        let known = || before.as_ref().map(|before| before.published.clone());
        let published = published.or_else(known).unwrap_or_default();
        let accepted = before.is_some_and(|before| before.accepted && before.published == published);
        self.writing.believed = Some(Box::new(Believed { verdict, published, accepted }));
    }

    pub(super) fn believe_bar(&mut self) {
        if let Some(failure) = self.rendered.rejected.as_deref().cloned() {
            // No poll follows, so this is the answer.
            self.believe(&Finding::Failed(failure), Some(StatusFields::NONE), true);
        }
    }
}
