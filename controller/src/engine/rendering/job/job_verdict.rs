//! Decisions about existing Jobs of an object: before a Job of a correction begins, and while it runs.
//!
//! Two running Jobs of one object would write at the same time. So a Job begins only if no other Job can still act, and
//! a waiting correction is decided anew meanwhile.

use std::time::Duration;

use drift_language::{Job, JobProgress, JobStage};

use super::{CorrectionJob, JobEnd};

/// Time beyond its deadline for a Job to start and end, and again to disappear after its deletion. A busy cluster
/// schedules within this time, and a Pod's grace period is shorter.
const MARGIN: Duration = Duration::from_secs(120);
/// Time before a Job that does not run is reported. A Pod with a node and a pulled image runs within seconds, and a
/// person who watches waits about half a minute.
const STANDS_STILL_AFTER: Duration = Duration::from_secs(30);

/// Turn of a Job to begin, or to be followed if it has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The Job may begin now.
    Now,
    /// The Job may begin after others are gone or have ended. Of those, delete these: whatever blocks them would
    /// block the object.
    After(Vec<Job>),
}

/// Result of a look at a Job that was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Course {
    /// The Job ended with this result.
    Ended(JobEnd),
    /// The Job is checked again. The stage is set if it should have progressed further.
    Open(Option<JobStage>),
    /// Kubernetes should have ended it long ago. Delete it, so that it does not start unobserved.
    Overdue,
}

impl CorrectionJob {
    /// Judges by all Jobs with the object's label. Other parties may set the label, so only Jobs that the
    /// object owns count.
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

    /// Returns true if a Job of our own name is not the one that this verdict requires: numbers start over if both
    /// conditions were removed. A Job that is being deleted before its end cannot be followed either.
    fn is_outdated(&self, job: &Job) -> bool {
        match (&job.ended_at, &self.asked_at) {
            (Some(ended), Some(asked)) => asked.is_later_than(&ended.as_str().into()),
            (Some(_), None) => false,
            (None, _) => job.is_running() && job.deleting,
        }
    }

    /// Judges a Job by its last seen stage and by the time since its creation.
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

    /// Returns true if a Job that cannot be read for the moment is checked again, given the time since its creation.
    #[must_use]
    pub fn is_awaited(&self, ran_for: Duration) -> bool {
        ran_for < self.deadline + MARGIN + MARGIN
    }
}
