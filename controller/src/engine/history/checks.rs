//! Invariants of each request to the external system, checked when it is sent.

use drift_api::condition::{ConditionStatus, CorrectedReason, CurrentVerdict};
use drift_language::Existing;

use super::world::{Request, World};
use crate::engine::corrections::{Action, Correction, Outcome};
use crate::engine::memory::VERDICT_HELD_FOR;

impl World {
    /// Each key identifies one request, and is not reused once the outcome is known.
    pub(super) fn send(&mut self, correction: &Correction, step: usize, outcome: &Outcome) {
        let key = correction.idempotency_key("u", step, None);
        let body = (correction.asked_as(), self.spec, correction.correct_hash);
        for sent in self.requests.iter().filter(|sent| sent.key == key) {
            assert_eq!(sent.body, body, "one key for two requests");
            assert!(!sent.definite || self.crashed, "a definite request is sent again without a crash: {key}");
        }
        let doubted = self.requests.last().filter(|last| !last.definite && last.body.0 == correction.asked_as());
        let is_edited = doubted.is_some_and(|doubted| doubted.body.2 != correction.correct_hash);
        let may_be_edited = self.polled || self.crashed || correction.action == Action::Delete;
        assert!(!is_edited || may_be_edited, "another request while one is in doubt, and no poll between");
        self.polled = false;
        self.requests.push(Request { key, body, definite: outcome.is_definite() });
    }

    /// Checks the invariants of a request when it is sent.
    pub(super) fn check_request(&mut self, correction: &Correction) {
        let current = self.object.conditions.observed().and_then(CurrentVerdict::read);
        let Some(current) = current else { unreachable!("a correction without a verdict") };
        assert_eq!(current.reason.status(), ConditionStatus::True);
        assert_eq!(current.generation, self.object.generation, "a verdict of another generation");
        assert_eq!(current.tag.desired_hash, Some(self.desired_hash()), "a verdict of another desired state");
        assert!(self.attested, "nobody attests");
        assert!(!self.object.deleting, "a deleting object is corrected");
        assert!(self.target.mode.corrects(), "an observed object is corrected");
        assert!(self.object.has_finalizer() || !self.target.deletes(), "a claim that a deletion would not see");
        let is_started = self.status().reason == Some(CorrectedReason::CorrectionStarted);
        let is_known = correction.is_announced() || self.memory.knows_to_go_on(&self.status());
        assert!(!is_started || is_known, "a claim of an earlier process is acted on without a poll");
        assert_eq!(self.verified + 1, correction.number, "the correction before is not verified");
        let is_held = |since| self.now.saturating_since(since) < VERDICT_HELD_FOR;
        assert!(!self.replayed_at.is_some_and(is_held), "a verdict that was put back is acted on");
        if correction.action != Action::Create && self.target.existing == Existing::Refuse {
            assert!(!self.outside().is_some_and(|resource| resource.foreign), "what was there before is touched");
        }
    }
}
