//! The shell of the controller. It executes the engine's decisions one at a time, and some steps fail.

use drift_api::names::FINALIZER;
use drift_api::{CorrectionStatus, Ownership, Rights};
use drift_language::Existing;

use super::event::{Answer, Meanwhile, Mishap};
use super::world::World;
use crate::engine::correction_limits::Room;
use crate::engine::corrections::{Action, Correction, Doubt, Outcome};
use crate::engine::decide::decide;
use crate::engine::decide::decision::Decision;
use crate::engine::decide::situation::{Situation, Surroundings};
use crate::engine::fixtures::{doubtful, refused, set_corrected};

impl World {
    pub(super) fn control(&mut self, answer: Answer, mishap: Mishap, meanwhile: Meanwhile) {
        self.observe();
        self.see_replay();
        if let Some((correction, outcome)) = self.unrecorded.take() {
            self.record(&correction, &outcome);
            if self.unrecorded.is_some() {
                return;
            }
        }
        let surroundings = Surroundings {
            listed: true,
            state: drift_language::TargetState::Live,
            rights: Rights { ownership: Ownership::Held, shared: false },
            scope_complete: true,
            attested: self.attested && !self.moved,
            breaker_holds: false,
            may_create: true,
            window_opens: None,
            room: Room::Free,
        };
        let situation = Situation {
            object: &self.object,
            facts: &self.facts(),
            target: &self.target,
            memory: &self.memory,
            secrets: None,
            declared_secrets: None,
            surroundings,
            now: self.now,
        };
        match decide(&situation) {
            // No other object exists that could have caused a refusal.
            Decision::Nothing(_) | Decision::Wait { .. } | Decision::TakeUp { .. } => {}
            Decision::Correct(correction) if correction.action == Action::Delete => {
                self.delete_outside(&correction, answer, mishap);
            }
            Decision::Correct(correction) => self.correct(&correction, answer, (mishap, meanwhile)),
            Decision::WriteStatus(_) | Decision::PutFinalizer if self.is_overtaken() => {}
            Decision::WriteStatus(_) if self.status_refused => _ = self.memory.writes.refuse_status(self.now),
            Decision::WriteStatus(status) => {
                self.write(&status);
                self.memory.land_status(status, self.now);
            }
            Decision::PutFinalizer => {
                self.put_finalizer();
                self.memory.writes.land_finalizer(self.now);
            }
            Decision::ReleaseFinalizer { left_behind } => {
                assert!(left_behind || self.memory.deleted_outside, "let go before it was done");
                self.writes += 1;
                self.memory.writes.land_finalizer(self.now);
                self.object.finalizers = Box::default();
                self.gone = self.object.deleting;
            }
        }
    }

    pub(super) fn see_replay(&mut self) {
        let Some(observed) = self.object.conditions.observed() else { return };
        let time = observed.last_transition_time.clone();
        if self.newest_seen.is_later_than(&time) {
            self.replayed_at.get_or_insert(self.now);
        } else {
            self.newest_seen = time;
            self.replayed_at = None;
        }
    }

    pub(super) fn put_finalizer(&mut self) {
        assert!(!self.object.deleting && !self.object.has_finalizer(), "a finalizer that the API server refuses");
        self.writes += 1;
        self.object.finalizers = [FINALIZER.into()].into();
    }

    pub(super) fn write(&mut self, status: &CorrectionStatus) {
        assert!(!status.stands(self.object.conditions.corrected()), "a write that changes nothing: {status:?}");
        self.writes += 1;
        self.highest = self.highest.max(status.correction);
        set_corrected(&mut self.object.conditions, status);
    }

    /// Returns true if another writer overtook a write of ours that tests the whole state.
    pub(super) fn is_overtaken(&mut self) -> bool {
        let Some(left) = self.overtaken.checked_sub(1) else { return false };
        self.overtaken = left;
        self.lost_races += 1;
        self.memory.writes.lose_race(self.now);
        true
    }

    pub(super) fn correct(
        &mut self,
        correction: &Correction,
        answer: Answer,
        (mishap, meanwhile): (Mishap, Meanwhile),
    ) {
        self.memory.begin(self.now, self.object.retry_requested());
        if mishap == Mishap::LacksSecret {
            return self.send_nothing(correction);
        }
        if (correction.put_finalizer || correction.is_announced()) && self.is_overtaken() {
            return self.memory.call_off();
        }
        if correction.put_finalizer {
            self.put_finalizer();
        }
        if correction.is_announced() && self.status_refused {
            self.memory.writes.refuse_status(self.now);
            return self.memory.call_off();
        }
        if correction.is_announced() {
            self.write(&correction.claim());
            if mishap == Mishap::DiesAfterClaim {
                self.cannot_tell_whose();
                return self.restart();
            }
        }
        self.check_request(correction);
        let outcome = match correction.action {
            Action::Replace => {
                let Some(outcome) = self.replace(correction, answer, mishap) else { return self.restart() };
                outcome
            }
            _ => self.ask(correction, answer),
        };
        if correction.action != Action::Replace {
            self.send(correction, 0, &outcome);
        }
        match meanwhile {
            Meanwhile::Nothing => {}
            Meanwhile::Edited(value) => self.edit(value),
            Meanwhile::Deleted => self.delete(),
        }
        if !self.gone {
            self.end_correction(correction, &outcome, mishap);
        }
    }

    /// Simulates a correction that cannot be sent, detected before any write.
    fn send_nothing(&mut self, correction: &Correction) {
        let outcome = doubtful(Doubt::CredentialUnavailable);
        self.unsent += 1;
        self.memory.finish(correction, &outcome, self.now);
        self.record(correction, &outcome);
    }

    /// Remembers and records the outcome, unless the process crashes first.
    fn end_correction(&mut self, correction: &Correction, outcome: &Outcome, mishap: Mishap) {
        let is_open = !outcome.is_definite() && !outcome.was_turned_away();
        if is_open || mishap == Mishap::DiesBeforeRecord {
            self.cannot_tell_whose();
        }
        match mishap {
            Mishap::DiesBeforeRecord => return self.restart(),
            Mishap::NoteTakenBeforeRecord => {
                self.read_everything();
                self.object.conditions.corrected = None;
            }
            _ => {}
        }
        self.memory.finish(correction, outcome, self.now);
        self.record(correction, outcome);
        if mishap == Mishap::DiesAfterRecord {
            self.restart();
        }
    }

    /// Deletes the claimed resource.
    pub(super) fn delete_outside(&mut self, correction: &Correction, answer: Answer, mishap: Mishap) {
        assert!(!self.object.orphan, "what was to be left is deleted");
        assert!(self.object.deleting && self.owns_in(self.scope), "what is not ours is deleted");
        let is_foreign = self.outside().is_some_and(|resource| resource.foreign);
        assert!(!is_foreign || self.target.existing == Existing::Adopt || self.claim_lost, "what was there is deleted");
        self.memory.begin(self.now, None);
        if mishap == Mishap::LacksSecret {
            return self.send_nothing(correction);
        }
        if matches!(answer, Answer::Done | Answer::LostAfter) {
            *self.outside_mut() = None;
        }
        let outcome = match answer {
            Answer::Done => Outcome::Applied,
            Answer::AcceptedWithoutEffect => Outcome::Underway { retry_after: None },
            Answer::Refused => refused(409),
            Answer::LostBefore | Answer::LostAfter => doubtful(Doubt::NoAnswer),
            Answer::TurnedAway => doubtful(Doubt::CredentialRefused),
        };
        self.send(correction, 0, &outcome);
        if mishap != Mishap::None {
            return self.restart();
        }
        self.memory.finish(correction, &outcome, self.now);
        self.deleted_outside = outcome == Outcome::Applied;
        if outcome != Outcome::Applied {
            self.record(correction, &outcome);
        }
    }

    pub(super) fn record(&mut self, correction: &Correction, outcome: &Outcome) {
        // The current status on the object. The claim is not yet in the memory of the process.
        let status = correction.to_record(&self.object.conditions.correction_status(), outcome);
        let Some(status) = status else { return };
        let stands = status.stands(self.object.conditions.corrected());
        if !stands && self.status_refused {
            // A failed status write does not block a deletion.
            self.unrecorded = (!self.object.deleting).then(|| (correction.clone(), outcome.clone()));
            return;
        }
        if !stands {
            self.write(&status);
        }
        self.memory.land_outcome(status);
    }
}
