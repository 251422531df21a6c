//! What is to be done about the Jobs of an object that are there: before one of a correction begins, and while it runs.
//!
//! Two Jobs of one object would write outside at once. So one begins only when no other may still do anything, and whoever waits for
//! that is decided anew meanwhile.

use std::time::Duration;

use drift_api::requests::job::{Job, JobProgress, JobStage};

use super::{CorrectionJob, JobEnd};

/// How long beyond its deadline a Job may take to start and to be ended, and then to be gone once it was deleted: a busy cluster
/// schedules within this, and a Pod's grace period is shorter.
const MARGIN: Duration = Duration::from_secs(120);
/// When people are told that a Job has not come to run: a Pod that has a node, and whose image is there, runs within seconds, and half
/// a minute is what somebody waits who looks at it.
const STANDS_STILL_AFTER: Duration = Duration::from_secs(30);

/// Whether a Job may begin, or be followed where it has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It may.
    Now,
    /// Only after others are gone, or have ended. These of them are to be deleted: what holds them would hold the object.
    After(Vec<Job>),
}

/// What follows from a look at a Job that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Course {
    /// It came to this.
    Ended(JobEnd),
    /// It is looked at again; how far it has come, where it should have come further by now.
    Open(Option<JobStage>),
    /// Kubernetes should have ended it long ago: it is to be deleted, lest it begins when nobody looks any more.
    Overdue,
}

impl CorrectionJob {
    /// Judges by all Jobs that are there with the object's label. Anybody may write a label, so only what the object owns
    /// counts.
    #[must_use]
    pub fn turn(&self, found: &[Job]) -> Turn {
        let of_object = found.iter().filter(|job| job.is_owned_by(&self.object));
        let before =
            of_object.filter(|job| if job.name == self.name { self.is_outdated(job) } else { job.is_running() });
        let before: Vec<&Job> = before.collect();
        if before.is_empty() {
            return Turn::Now;
        }
        let held = before.into_iter().filter(|job| !job.deleting && (job.name == self.name || job.is_held_unstarted()));
        Turn::After(held.cloned().collect())
    }

    /// Returns true if a Job of our own name is none that this verdict asked for: numbers begin anew where both conditions were taken
    /// away. One that is being deleted before its end is none that could be followed.
    fn is_outdated(&self, job: &Job) -> bool {
        match (&job.ended_at, &self.asked_at) {
            (Some(ended), Some(asked)) => asked.is_later_than(&ended.as_str().into()),
            (Some(_), None) => false,
            (None, _) => job.is_running() && job.deleting,
        }
    }

    /// Judges a Job that was begun so long ago, and was seen to come so far.
    #[must_use]
    pub fn course(&self, job: &Job, came_to: Option<JobStage>, ran_for: Duration) -> Course {
        let allowed = self.deadline + MARGIN;
        match &job.progress {
            JobProgress::Complete => Course::Ended(JobEnd::Complete),
            JobProgress::Failed(reason) => Course::Ended(JobEnd::Failed { reason: reason.clone(), came_to }),
            JobProgress::Open(_) if ran_for >= allowed + MARGIN => Course::Ended(JobEnd::Lasting),
            JobProgress::Open(_) if ran_for >= allowed && !job.deleting => Course::Overdue,
            JobProgress::Open(_) => Course::Open(came_to.filter(|_| ran_for >= STANDS_STILL_AFTER)),
        }
    }

    /// Returns true if a Job that cannot be looked at for the moment is to be looked at again, so long after it was begun.
    #[must_use]
    pub fn is_awaited(&self, ran_for: Duration) -> bool {
        ran_for < self.deadline + MARGIN + MARGIN
    }
}
