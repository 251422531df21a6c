//! The limits of a target's corrections: the number at once, and the number begun in a minute.
//!
//! Deletions count like corrections, because they put the same load on the external system. One deletion may begin
//! while corrections hold every place, so no deletion waits for a long correction. A Job releases its place once it is
//! created: it runs by itself, and may wait hours for a Pod. From then on it counts only among the Jobs of its
//! namespace, so that the Jobs of one tenant do not block another tenant.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use drift_api::collections::shared_text::SharedText;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_language::CorrectLimits;

/// The interval of `perMinute`.
const MINUTE: Duration = Duration::from_secs(60);

/// Interval between two tries of an object whose attempts are exhausted.
pub const RETRY_EVERY: Duration = Duration::from_secs(3600);

/// Answer to "may one more correction begin?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// A correction may begin now.
    Free,
    /// A correction may begin after a running one ends.
    AfterAnEnd,
    /// A correction may begin at this time.
    From(Moment),
}

/// Properties of a correction that decide which places it may take. Corrections with equal properties share a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    /// Namespace of the object.
    pub namespace: Option<SharedText>,
    /// True if the object is being deleted.
    pub deletes: bool,
    /// True if a Job performs the correction.
    pub by_job: bool,
}

impl Line {
    /// Returns the line of an object; `by_job` is true if its target corrects with Jobs.
    #[must_use]
    pub fn of(object: &LeanObject, by_job: bool) -> Self {
        Self { namespace: object.id.namespace.clone(), deletes: object.deleting, by_job }
    }
}

/// Usage of a target's limits.
#[derive(Debug, Default)]
pub struct LimitUsage {
    /// Start times, oldest first.
    begun: VecDeque<Moment>,
    places: Places,
    /// Jobs of each namespace, from creation to completion.
    jobs: HashMap<Option<SharedText>, Places>,
}

/// Taken places. Each taker holds one more reference.
#[derive(Debug, Default)]
struct Places {
    all: Arc<()>,
    deletions: Arc<()>,
}

/// A correction that begins: its place and its start time.
#[derive(Debug)]
#[must_use = "the place is free again when this is dropped"]
pub struct Place {
    begun: Moment,
    taken: Option<Taken>,
}

/// Counts a running correction while this value lives, even after the target was edited.
#[derive(Debug)]
#[must_use = "the place is free again when this is dropped"]
pub struct Taken {
    place: Option<TakenPlace>,
    _job: Option<TakenPlace>,
}

#[derive(Debug)]
struct TakenPlace {
    _all: Arc<()>,
    _deletion: Option<Arc<()>>,
}

impl Place {
    /// Passes the place to the execution of the correction. It is free again once the execution drops it.
    pub fn hand_over(&mut self) -> Option<Taken> {
        self.taken.take()
    }
}

impl Taken {
    /// Releases the place for a Job that was created. Returns true the first time.
    pub fn begin_job(&mut self) -> bool {
        self.place.take().is_some()
    }
}

impl Places {
    fn take(&self, deletes: bool) -> TakenPlace {
        TakenPlace { _all: self.all.clone(), _deletion: deletes.then(|| self.deletions.clone()) }
    }

    /// Allows one deletion beside any number of corrections.
    fn have_room(&self, concurrent: usize, deletes: bool) -> bool {
        taken(&self.all) < concurrent || deletes && taken(&self.deletions) == 0
    }
}

fn taken(references: &Arc<()>) -> usize {
    Arc::strong_count(references) - 1
}

impl LimitUsage {
    /// Returns the room for one more correction now. A namespace may have as many Jobs as the target has places.
    #[must_use]
    pub fn room(&self, limits: &CorrectLimits, line: &Line, now: Moment) -> Room {
        let concurrent = limits.concurrent as usize;
        let jobs = if line.by_job { self.jobs.get(&line.namespace) } else { None };
        if [Some(&self.places), jobs].into_iter().flatten().any(|places| !places.have_room(concurrent, line.deletes)) {
            return Room::AfterAnEnd;
        }
        let recent = self.begun.len() - self.begun.partition_point(|begun| now.is_past(*begun, MINUTE));
        let over = recent.checked_sub(limits.per_minute as usize);
        let blocking = over.and_then(|over| self.begun.get(self.begun.len() - recent + over));
        blocking.map_or(Room::Free, |begun| Room::From(*begun + MINUTE))
    }

    /// Takes a place for a correction that begins.
    pub fn begin(&mut self, line: &Line, now: Moment) -> Place {
        while self.begun.front().is_some_and(|begun| now.is_past(*begun, MINUTE)) {
            self.begun.pop_front();
        }
        self.begun.push_back(now);
        self.jobs.retain(|_, places| taken(&places.all) > 0);
        let jobs = line.by_job.then(|| &*self.jobs.entry(line.namespace.clone()).or_default());
        let taken =
            Taken { place: Some(self.places.take(line.deletes)), _job: jobs.map(|jobs| jobs.take(line.deletes)) };
        Place { begun: now, taken: Some(taken) }
    }

    /// Removes a correction that was called off before anything was sent.
    pub fn call_off(&mut self, place: Place) {
        if let Some(index) = self.begun.iter().rposition(|begun| *begun == place.begun) {
            self.begun.remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: CorrectLimits = CorrectLimits { concurrent: 2, per_minute: 3, max_drifted_percent: 20, attempts: 10 };
    const MANY: CorrectLimits = CorrectLimits { per_minute: 1_000, ..LIMITS };

    fn at(seconds: u64) -> Moment {
        Moment::from_start(Duration::from_secs(seconds))
    }

    fn update() -> Line {
        Line { namespace: Some("team-a".into()), deletes: false, by_job: false }
    }

    fn deletion() -> Line {
        Line { deletes: true, ..update() }
    }

    fn job_in(namespace: &str) -> Line {
        Line { namespace: Some(namespace.into()), by_job: true, ..update() }
    }

    /// A Job that was created and has not ended.
    fn begun(usage: &mut LimitUsage, line: &Line) -> Option<Taken> {
        let mut taken = usage.begin(line, at(0)).hand_over();
        assert_eq!(taken.as_mut().map(Taken::begin_job), Some(true));
        assert_eq!(taken.as_mut().map(Taken::begin_job), Some(false), "it is given back once");
        taken
    }

    #[test]
    fn no_more_than_concurrent_are_under_way() {
        let mut usage = LimitUsage::default();
        let first = usage.begin(&update(), at(0));
        assert_eq!(usage.room(&LIMITS, &update(), at(0)), Room::Free);
        let _second = usage.begin(&update(), at(0));
        assert_eq!(usage.room(&LIMITS, &update(), at(0)), Room::AfterAnEnd);
        drop(first);
        assert_eq!(usage.room(&LIMITS, &update(), at(0)), Room::Free);
    }

    #[test]
    fn one_deletion_has_a_place_of_its_own() {
        let mut usage = LimitUsage::default();
        let _updates = [usage.begin(&update(), at(0)), usage.begin(&update(), at(0))];
        assert_eq!(usage.room(&MANY, &deletion(), at(0)), Room::Free);
        let first = usage.begin(&deletion(), at(0));
        assert_eq!(usage.room(&MANY, &deletion(), at(0)), Room::AfterAnEnd);
        drop(first);
        assert_eq!(usage.room(&MANY, &deletion(), at(0)), Room::Free);
        assert_eq!(usage.room(&MANY, &update(), at(0)), Room::AfterAnEnd);
    }

    #[test]
    fn begun_jobs_hold_up_their_own_namespace_alone() {
        let mut usage = LimitUsage::default();
        let jobs = [begun(&mut usage, &job_in("stuck")), begun(&mut usage, &job_in("stuck"))];
        assert_eq!(usage.room(&MANY, &job_in("stuck"), at(0)), Room::AfterAnEnd);
        assert_eq!(usage.room(&MANY, &job_in("other"), at(0)), Room::Free);
        let deleting_job = Line { deletes: true, ..job_in("stuck") };
        assert_eq!(usage.room(&MANY, &deleting_job, at(0)), Room::Free);
        let deletion = begun(&mut usage, &deleting_job);
        assert_eq!(usage.room(&MANY, &deleting_job, at(0)), Room::AfterAnEnd);
        drop((jobs, deletion));
        assert_eq!(usage.room(&MANY, &job_in("stuck"), at(0)), Room::Free);
    }

    #[test]
    fn jobs_that_ended_are_forgotten() {
        let mut usage = LimitUsage::default();
        for number in 0..100 {
            drop(begun(&mut usage, &job_in(&number.to_string())));
        }
        assert_eq!(usage.jobs.len(), 1, "the last one goes with the next");
    }

    #[test]
    fn a_job_about_to_begin_holds_a_place() {
        let mut usage = LimitUsage::default();
        let _starting = [usage.begin(&job_in("a"), at(0)), usage.begin(&job_in("b"), at(0))];
        assert_eq!(usage.room(&MANY, &job_in("c"), at(0)), Room::AfterAnEnd);
    }

    #[test]
    fn a_place_handed_over_is_free_in_the_end() {
        let limits = CorrectLimits { concurrent: 1, ..LIMITS };
        let mut usage = LimitUsage::default();
        let mut place = usage.begin(&update(), at(0));
        let taken = place.hand_over();
        assert_eq!(usage.room(&limits, &update(), at(0)), Room::AfterAnEnd);
        drop(taken);
        assert_eq!(usage.room(&limits, &update(), at(0)), Room::Free, "while its outcome is still being noted");
        usage.call_off(place);
    }

    #[test]
    fn no_more_than_per_minute_begin_in_any_minute() {
        let mut usage = LimitUsage::default();
        for second in [0, 10, 20] {
            assert_eq!(usage.room(&LIMITS, &update(), at(second)), Room::Free);
            drop(usage.begin(&update(), at(second)));
        }
        assert_eq!(usage.room(&LIMITS, &update(), at(30)), Room::From(at(60)));
        assert_eq!(usage.room(&LIMITS, &update(), at(60)), Room::Free);
        drop(usage.begin(&update(), at(60)));
        assert_eq!(usage.room(&LIMITS, &update(), at(61)), Room::From(at(70)));
        let none = CorrectLimits { per_minute: 1, ..LIMITS };
        assert_eq!(usage.room(&none, &update(), at(61)), Room::From(at(120)));
    }

    #[test]
    fn who_is_called_off_gives_its_beginning_back() {
        let mut usage = LimitUsage::default();
        let first = usage.begin(&update(), at(0));
        drop(usage.begin(&update(), at(10)));
        usage.call_off(first);
        drop(usage.begin(&update(), at(20)));
        drop(usage.begin(&update(), at(30)));
        assert_eq!(usage.room(&LIMITS, &update(), at(40)), Room::From(at(70)));
    }
}
