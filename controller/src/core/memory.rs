//! What this process remembers of one object: when it was corrected, and what came of it.
//!
//! It paces corrections and keeps a lost note from being believed. A restart starts anew; whatever must survive one
//! stands on the object. This file must not know what is decided from it.

use std::collections::VecDeque;
use std::time::Duration;

use drift_model::condition::{Condition, ConditionStatus, CorrectedReason, ObservedReason, Standing, Wish};
use drift_model::moment::Moment;
use drift_model::object::LeanObject;

use super::delay::{MOST_FOR_FORMER_SPECS, WINDOW, pause};
use super::note::NoteChange;
use super::outcome::Outcome;
use super::races;

/// How many begun corrections are kept: more than the longest delay's index, so that forgetting older ones changes nothing.
const KEPT_ATTEMPTS: usize = 8;

/// The longest pause between two writes to an object whose API server refuses them.
const MAX_WRITE_PAUSE: Duration = Duration::from_secs(300);

/// How long a verdict that an object brings along into the selection is not acted on: the poller sees the object within
/// a second and takes the target off its Lease within another, and the Lease is read every two. By then either nobody
/// vouches, or the poller has judged anew. Twice that and more, since either of them may stand still for a moment.
pub const ARRIVAL_PAUSE: Duration = Duration::from_secs(10);

/// A note that another writer keeps taking away is put back this often at most: a war over a condition heals nobody.
const RESTORE_EVERY: Duration = Duration::from_secs(60);

/// The memory of one object.
#[derive(Clone, Debug, Default)]
pub struct ObjectMemory {
    /// When this process first saw the object.
    pub first_seen: Moment,
    /// When corrections began, oldest first.
    begun: VecDeque<Moment>,
    /// What tells the spec that the object has from another.
    spec: Option<SpecMark>,
    /// When the object was last edited or deleted.
    edited: Moment,
    /// Whether it was seen being deleted.
    deleting: bool,
    /// Corrections in a row whose outcome is open.
    doubtful: u32,
    /// Not before, since the external system asked for it.
    not_before: Option<Moment>,
    /// Deletions in a row that were answered, and left the resource there.
    deletions_undone: u32,
    /// Whether the external resource is deleted already, so that only the finalizer is left.
    pub deleted_outside: bool,
    /// The last note that we know to have stood: this process wrote it, or found it when it first saw the object.
    pub noted: Option<NoteChange>,
    /// The retry request that is old: answered, or there before the object needed one.
    retry_seen: Option<String>,
    /// The retry request that the correction under way answers, once it ends.
    retry_answered: Option<String>,
    /// When a note that another writer took away was put back last.
    restored: Option<Moment>,
    /// Writes in a row that the API server refused, and when the last one was.
    refused_writes: Option<(u32, Moment)>,
    /// Writes in a row that another writer overtook, and when the last one was.
    lost_races: Option<(u32, Moment)>,
    /// The verdict that the object brought along when it came into sight after the first list, and when it came.
    brought: Option<(Condition, Moment)>,
}

/// What tells one spec of an object from another.
#[derive(Clone, Copy, Debug)]
struct SpecMark {
    generation: Option<i64>,
    wish: Wish,
}

impl SpecMark {
    /// Whether the object was edited between the two, and to another wish. An edit of what the target does not read is
    /// none, nor is an edit of the target; a kind without generation cannot tell the latter.
    fn is_edit_of(self, before: Self) -> bool {
        self.wish != before.wish && (self.generation.is_none() || self.generation != before.generation)
    }
}

impl ObjectMemory {
    /// The memory of an object that is seen for the first time: whatever an earlier process noted on it and asked of it
    /// is known from then on, and another writer cannot make us forget it.
    #[must_use]
    pub fn of(object: &LeanObject, now: Moment) -> Self {
        let mut memory = Self::new(now, object.retry_requested.as_deref());
        memory.adopt_note(object);
        memory
    }

    /// The same for one that carries no note.
    pub(super) fn new(now: Moment, retry_requested: Option<&str>) -> Self {
        Self { first_seen: now, retry_seen: retry_requested.map(str::to_owned), ..Self::default() }
    }

    /// The object came into sight after the first list, with this verdict: word of a time in which nobody watched it.
    pub fn arrive(&mut self, verdict: Option<&Condition>, now: Moment) {
        self.brought = verdict.map(|verdict| (verdict.clone(), now));
    }

    /// From when on the verdict that stands may be acted on; `None` where it is no old word.
    #[must_use]
    pub fn believed_from(&self) -> Option<Moment> {
        self.brought.as_ref().map(|(_, arrived)| *arrived + ARRIVAL_PAUSE)
    }

    /// A correction begins. A request for one more try is answered only by its end: until then it may be called off.
    pub fn begin(&mut self, now: Moment, retry_requested: Option<&str>) {
        self.begun.push_back(now);
        while self.begun.len() > KEPT_ATTEMPTS {
            self.begun.pop_front();
        }
        self.retry_answered = retry_requested.map(str::to_owned);
    }

    /// The correction that began last was called off before anything was sent: it did not count.
    pub fn call_off(&mut self) {
        self.begun.pop_back();
        self.retry_answered = None;
    }

    /// The external system is to be left alone until then.
    pub fn hold_until(&mut self, until: Moment) {
        self.not_before = self.not_before.max(Some(until));
    }

    /// A correction came to an end.
    pub fn finish(&mut self, outcome: &Outcome, now: Moment) {
        if let Some(answered) = self.retry_answered.take() {
            self.retry_seen = Some(answered);
        }
        match *outcome {
            Outcome::Doubtful { retry_after, .. } => {
                self.doubtful = self.doubtful.saturating_add(1);
                self.not_before = retry_after.map(|span| now + span);
            }
            Outcome::Underway { retry_after } => {
                self.settle();
                self.not_before = retry_after.map(|span| now + span);
            }
            Outcome::Applied | Outcome::Refused { .. } => self.settle(),
        }
    }

    /// A deletion came to an end.
    pub fn finish_deletion(&mut self, outcome: &Outcome, now: Moment) {
        self.finish(outcome, now);
        match outcome {
            Outcome::Applied => self.deleted_outside = true,
            Outcome::Refused { .. } | Outcome::Underway { .. } => {
                self.deletions_undone = self.deletions_undone.saturating_add(1)
            }
            Outcome::Doubtful { .. } => {}
        }
    }

    /// No doubt is left: a definite outcome came, or the object was seen in sync.
    pub fn settle(&mut self) {
        self.doubtful = 0;
        self.not_before = None;
    }

    /// The object does not need a retry now, so a request that stands is old.
    pub fn see_retry_request(&mut self, retry_requested: Option<&str>) {
        if self.retry_seen.as_deref() != retry_requested {
            self.retry_seen = retry_requested.map(str::to_owned);
        }
    }

    /// Whether somebody asked for one more try since the last.
    #[must_use]
    pub fn retry_is_requested(&self, retry_requested: Option<&str>) -> bool {
        retry_requested.is_some() && self.retry_seen.as_deref() != retry_requested
    }

    /// Whether the last correction's outcome is open, so that what follows is its retry.
    #[must_use]
    pub const fn is_in_doubt(&self) -> bool {
        self.doubtful > 0
    }

    /// When the last correction began; the first sight of the object where this process began none.
    #[must_use]
    pub fn last_begun(&self) -> Moment {
        self.begun.back().copied().unwrap_or(self.first_seen)
    }

    /// When the next correction may begin: the pause since the last, by the largest of the corrections in the last
    /// ten minutes (all for the spec that the object has, a few of those for former ones), those in doubt, and
    /// `ineffective` (verified ones that healed nothing); and what the external system asked for.
    #[must_use]
    pub fn ready_at(&self, ineffective: u32, now: Moment) -> Moment {
        let recent = || self.begun.iter().filter(|begun| !now.is_past(**begun, WINDOW));
        let for_this_spec = recent().filter(|begun| **begun >= self.edited).count();
        let count = for_this_spec.max(recent().count().min(MOST_FOR_FORMER_SPECS as usize));
        let count = count.max(self.doubtful as usize).max(ineffective as usize);
        let paced = self.last_begun() + pause(count);
        self.not_before.map_or(paced, |not_before| paced.max(not_before))
    }

    /// When the next deletion may begin.
    #[must_use]
    pub fn deletion_ready_at(&self, now: Moment) -> Moment {
        self.ready_at(self.deletions_undone, now)
    }

    /// Takes in the object as it is seen now: what it shows may end a doubt or make a retry request old.
    pub fn observe(&mut self, object: &LeanObject, wish: Option<Wish>, allowed_attempts: u32, now: Moment) {
        self.note_edit(object, wish, now);
        self.adopt_note(object);
        let observed = object.conditions.observed();
        self.brought.take_if(|(brought, _)| observed != Some(brought));
        let standing = observed.and_then(Standing::read);
        let reason = standing.as_ref().map(|standing| standing.reason);
        // What stands on a deleting object is of before its deletion, which may be in doubt.
        if reason == Some(ObservedReason::InSync) && !object.deleting {
            self.settle();
        }
        let exhausted = standing.is_some_and(|standing| standing.tag.unhealed >= allowed_attempts);
        let drifted = reason.is_some_and(|reason| reason.status() != ConditionStatus::False);
        if !(exhausted && drifted) {
            self.see_retry_request(object.retry_requested.as_deref());
        }
    }

    /// A note that counts more corrections than ours is the newer word: an earlier process wrote it, or we did and the
    /// answer was lost. A claim is nobody's last word: whoever laid it may still take it back.
    fn adopt_note(&mut self, object: &LeanObject) {
        let known = self.noted.as_ref().map(|noted| noted.note.correction);
        let standing = NoteChange::standing(object).filter(|note| note.reason != CorrectedReason::CorrectionStarted);
        if let Some(note) = standing.filter(|note| known.is_none_or(|known| note.note.correction > known)) {
            self.noted = Some(note);
        }
    }

    /// What was tried for a former spec, or before the deletion, says little of what comes now.
    fn note_edit(&mut self, object: &LeanObject, wish: Option<Wish>, now: Moment) {
        let deletes = object.deleting && !self.deleting;
        self.deleting = object.deleting;
        let mark = wish.map(|wish| SpecMark { generation: object.generation, wish });
        let edits = mark.zip(self.spec).is_some_and(|(mark, before)| mark.is_edit_of(before));
        self.spec = mark.or(self.spec);
        if deletes || edits {
            self.edited = now;
            self.doubtful = self.doubtful.min(MOST_FOR_FORMER_SPECS);
        }
    }

    /// A note landed. One that we had written before was put back; a try that lost its race put back nothing.
    pub fn land_note(&mut self, change: NoteChange, now: Moment) {
        self.land_write();
        if self.noted.as_ref() == Some(&change) {
            self.restored = Some(now);
        }
        self.noted = Some(change);
    }

    /// When a lost note may be put back again; `None` where it never was.
    #[must_use]
    pub fn restore_ready_at(&self) -> Option<Moment> {
        self.restored.map(|restored| restored + RESTORE_EVERY)
    }

    /// The API server refused a write to the object; gives whether it is the first in a row, which is news.
    pub fn refuse_write(&mut self, now: Moment) -> bool {
        let refused = self.refused_writes.map_or(0, |(count, _)| count).saturating_add(1);
        self.refused_writes = Some((refused, now));
        refused == 1
    }

    /// Another writer was faster, or the API server did not answer.
    pub fn lose_race(&mut self, now: Moment) {
        let lost = self.lost_races.map_or(0, |(count, _)| count).saturating_add(1);
        self.lost_races = Some((lost, now));
    }

    /// A write landed.
    pub fn land_write(&mut self) {
        self.refused_writes = None;
        self.lost_races = None;
    }

    /// Until when no write to the object is tried, because the last ones were overtaken; `None` where none was.
    #[must_use]
    pub fn races_ready_at(&self) -> Option<Moment> {
        self.lost_races.map(|(lost, last)| last + races::pause(lost))
    }

    /// Until when no write to the object is tried, because the last ones were refused; `None` where none was.
    #[must_use]
    pub fn writes_ready_at(&self) -> Option<Moment> {
        let (count, last) = self.refused_writes?;
        let doubled = Duration::from_secs(1).saturating_mul(1_u32.checked_shl(count).unwrap_or(u32::MAX));
        Some(last + doubled.min(MAX_WRITE_PAUSE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fixtures::bare_object;
    use crate::core::outcome::Doubt;
    use serde_json::json;

    fn at(seconds: u64) -> Moment {
        Moment::from_start(Duration::from_secs(seconds))
    }

    fn doubtful(retry_after: Option<u64>) -> Outcome {
        Outcome::Doubtful { why: Doubt::NoAnswer, retry_after: retry_after.map(Duration::from_secs), step: 0 }
    }

    #[test]
    fn a_war_backs_off_by_the_corrections_of_the_last_ten_minutes() {
        let mut memory = ObjectMemory::new(at(0), None);
        let mut now = at(0);
        let mut begun = Vec::new();
        for _ in 0..9 {
            now = now.max(memory.ready_at(0, now));
            begun.push(now.since_start().as_secs());
            memory.begin(now, None);
            memory.finish(&Outcome::Applied, now);
        }
        assert_eq!(begun, [0, 0, 2, 8, 26, 80, 242, 542, 842]);
    }

    /// When each of eight corrections begins, if the object is edited after each of them.
    fn corrections_of_edits(generation: impl Fn(u64) -> Option<i64>, wish: impl Fn(u64) -> Option<Wish>) -> Vec<u64> {
        let mut memory = ObjectMemory::new(at(0), None);
        let mut now = at(0);
        let mut begun = Vec::new();
        for edit in 0..8 {
            let object = LeanObject { generation: generation(edit), ..bare_object() };
            memory.observe(&object, wish(edit), 10, now);
            now = now.max(memory.ready_at(0, now));
            begun.push(now.since_start().as_secs());
            memory.begin(now, None);
            memory.finish(&Outcome::Applied, now);
            now += Duration::from_secs(1);
        }
        begun
    }

    #[test]
    fn an_edit_waits_for_eighteen_seconds_at_the_most_however_many_went_before() {
        let wish_of = |edit: u64| Some(Wish::of(&json!(edit)));
        let same = |_| Some(Wish::of(&json!("same")));
        let generation_of = |edit: u64| i64::try_from(edit).ok();
        let (edits, a_war) = ([0, 1, 3, 9, 27, 45, 63, 81], [0, 1, 3, 9, 27, 81, 243, 543]);
        assert_eq!(corrections_of_edits(generation_of, wish_of), edits);
        assert_eq!(corrections_of_edits(|_| None, wish_of), edits, "a kind without generation");
        assert_eq!(corrections_of_edits(|_| Some(1), same), a_war, "no edit at all");
        assert_eq!(corrections_of_edits(|_| Some(1), wish_of), a_war, "an edit of the target");
        assert_eq!(corrections_of_edits(generation_of, same), a_war, "an edit of what the target does not read");
    }

    #[test]
    fn an_edit_and_a_deletion_end_the_long_pauses_of_what_went_before_and_keep_the_doubt() {
        let wish = |text: &str| Some(Wish::of(&json!(text)));
        let edited = LeanObject { generation: Some(4), ..bare_object() };
        let deleting = LeanObject { deleting: true, ..bare_object() };
        for (after, wish_after) in [(edited, wish("b")), (deleting, wish("a"))] {
            let mut memory = ObjectMemory::new(at(0), None);
            memory.observe(&bare_object(), wish("a"), 10, at(0));
            for _ in 0..8 {
                memory.begin(at(1000), None);
                memory.finish(&doubtful(None), at(1000));
            }
            assert_eq!(memory.ready_at(0, at(1001)), at(1300));
            memory.observe(&after, wish_after, 10, at(1001));
            assert_eq!(memory.ready_at(0, at(1001)), at(1018));
            assert!(memory.is_in_doubt(), "the key of the next try is the same");
        }
    }

    #[test]
    fn an_ineffective_correction_backs_off_by_unhealed_even_after_a_restart() {
        let memory = ObjectMemory::new(at(100), None);
        assert_eq!(memory.ready_at(0, at(100)), at(100));
        assert_eq!(memory.ready_at(1, at(100)), at(100));
        assert_eq!(memory.ready_at(4, at(100)), at(118));
    }

    #[test]
    fn doubtful_outcomes_follow_the_series_and_obey_retry_after() {
        let mut memory = ObjectMemory::new(at(0), None);
        for _ in 0..7 {
            memory.begin(at(1000), None);
            memory.finish(&doubtful(None), at(1000));
        }
        assert_eq!(memory.ready_at(0, at(5000)), at(1300));
        memory.finish(&doubtful(Some(900)), at(1000));
        assert_eq!(memory.ready_at(0, at(5000)), at(1900));
        memory.settle();
        assert!(!memory.is_in_doubt());
        assert_eq!(memory.ready_at(0, at(5000)), at(1000));
    }

    #[test]
    fn the_first_retry_request_seen_is_old_and_none_is_no_request() {
        let mut memory = ObjectMemory::new(at(0), Some("a"));
        assert!(!memory.retry_is_requested(Some("a")));
        assert!(!memory.retry_is_requested(None));
        assert!(memory.retry_is_requested(Some("b")));
        memory.begin(at(1), Some("b"));
        memory.finish(&Outcome::Applied, at(1));
        assert!(!memory.retry_is_requested(Some("b")));
    }

    #[test]
    fn a_retry_that_was_called_off_is_still_asked_for() {
        let mut memory = ObjectMemory::new(at(0), None);
        memory.begin(at(1), Some("b"));
        assert!(memory.retry_is_requested(Some("b")), "it has not ended");
        memory.call_off();
        memory.finish(&Outcome::Applied, at(2));
        assert!(memory.retry_is_requested(Some("b")));
    }

    #[test]
    fn five_lost_races_in_a_row_are_followed_by_a_pause_and_a_landed_write_ends_the_row() {
        let mut memory = ObjectMemory::new(at(0), None);
        assert_eq!(memory.races_ready_at(), None);
        for lost in 1..=races::AT_ONCE {
            memory.lose_race(at(10));
            assert_eq!(memory.races_ready_at(), Some(at(if lost < races::AT_ONCE { 10 } else { 11 })));
        }
        memory.land_write();
        assert_eq!(memory.races_ready_at(), None);
    }

    #[test]
    fn refused_writes_back_off_to_five_minutes() {
        let mut memory = ObjectMemory::new(at(0), None);
        assert_eq!(memory.writes_ready_at(), None);
        assert!(memory.refuse_write(at(10)));
        assert_eq!(memory.writes_ready_at(), Some(at(12)));
        for _ in 0..40 {
            assert!(!memory.refuse_write(at(10)), "the same trouble is no news");
        }
        assert_eq!(memory.writes_ready_at(), Some(at(310)));
        memory.land_write();
        assert_eq!(memory.writes_ready_at(), None);
        assert!(memory.refuse_write(at(400)));
    }
}
