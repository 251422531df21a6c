//! The Job of a correction, begun or found again, and followed to its end.
//!
//! The API server alone is asked. Nobody waits here for other Jobs of the object: it is decided anew after them, as it is then.
//! When the program ends it stops following, and whoever comes after finds the Job by its name. What a Job is, when its turn
//! comes and what its end means is the core's to say. This file must not know of conditions or claims.

use std::time::Duration;

use drift_cluster::client::CallError;
use drift_cluster::jobs::JobClient;
use drift_cluster::object_writer::CallSlots;
use drift_cluster::process::clock;
use drift_model::job::{Job, JobProgress};
use drift_model::moment::Moment;

use super::nudge::refusal_of;
use crate::core::job::{CorrectionJob, Course, JobEnd, JobReply, JobStep, Turn};

/// How often a Job is looked at in its first minute: most of what a command line changes takes seconds.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// And from then on: what takes minutes may be seen to end some seconds late.
const LOOK_SELDOM_EVERY: Duration = Duration::from_secs(10);
/// When a Job counts as a long one.
const LONG_AFTER: Duration = Duration::from_secs(60);

/// The Job of a correction, and how it is begun and followed.
#[derive(Debug)]
pub(super) struct JobRequest<'a> {
    pub(super) job: CorrectionJob,
    client: &'a JobClient,
    slots: &'a CallSlots,
    /// What is to be done next.
    next: Option<JobStep>,
}

impl<'a> JobRequest<'a> {
    pub(super) const fn new(job: CorrectionJob, client: &'a JobClient, slots: &'a CallSlots) -> Self {
        Self { job, client, slots, next: None }
    }

    pub(super) const fn make_ready(&mut self, index: usize) -> bool {
        self.next = CorrectionJob::step(index);
        self.next.is_some()
    }

    /// Whether what is done next begins the Job: from then on it may run, whether it is followed or not.
    pub(super) fn begins_job(&self) -> bool {
        self.next == Some(JobStep::Run)
    }

    /// Does the step that is ready.
    pub(super) async fn send(&self) -> JobReply {
        let done = if self.begins_job() { self.run().await } else { self.look().await };
        done.unwrap_or_else(|error| {
            tracing::warn!(job = self.job.name, namespace = self.job.namespace, "a Job is not begun: {error}");
            JobReply::Refused(refusal_of(&error))
        })
    }

    /// Sees whether it is the Job's turn. What only holds the object up is deleted.
    async fn look(&self) -> Result<JobReply, CallError> {
        let _slot = self.slots.enter().await;
        let found = self.client.with_label(&self.job.namespace, &self.job.label()).await?;
        let Turn::After(held) = self.job.turn(&found) else { return Ok(JobReply::Clear) };
        for job in &held {
            tracing::info!(
                job = job.name,
                namespace = self.job.namespace,
                "a Job that is not wanted any more is deleted"
            );
            match self.client.delete(&self.job.namespace, job).await {
                // It is gone, or moved on: it is looked at again.
                Err(error) if !matches!(error.code(), Some(404 | 409)) => return Err(error),
                _ => {}
            }
        }
        tracing::debug!(job = self.job.name, namespace = self.job.namespace, "another Job of the object has not ended");
        Ok(JobReply::Occupied)
    }

    async fn run(&self) -> Result<JobReply, CallError> {
        let began = clock::now();
        let end = match self.begin().await? {
            Begun::Job(job) if job.is_owned_by(&self.job.object) => self.follow(*job, began).await,
            Begun::Job(_) => JobEnd::Foreign,
            Begun::Ended(end) => end,
        };
        Ok(JobReply::Ended(end))
    }

    /// Begins the Job; one of its name is the one that an earlier try began.
    async fn begin(&self) -> Result<Begun, CallError> {
        let _slot = self.slots.enter().await;
        match self.client.create(&self.job.namespace, &self.job.manifest).await {
            Err(error) if error.code() == Some(409) => {}
            created => return created.map(|job| Begun::Job(Box::new(job))),
        }
        Ok(match self.read().await {
            Ok(Some(job)) => Begun::Job(Box::new(job)),
            Ok(None) => Begun::Ended(JobEnd::Gone),
            Err(error) => Begun::Ended(JobEnd::Unseen(refusal_of(&error))),
        })
    }

    async fn read(&self) -> Result<Option<Job>, CallError> {
        match self.client.read(&self.job.namespace, &self.job.name).await {
            Err(error) if error.code() == Some(404) => Ok(None),
            read => read.map(Some),
        }
    }

    async fn follow(&self, mut job: Job, began: Moment) -> JobEnd {
        let mut deleted_unstarted = false;
        loop {
            match self.job.course(&job, clock::now().saturating_since(began)) {
                Course::Ended(end) => return end,
                Course::Overdue => deleted_unstarted |= self.delete_overdue(&job).await,
                Course::Runs => {}
            }
            pause(began).await;
            let slot = self.slots.enter().await;
            match self.read().await {
                Ok(Some(read)) if read.uid == job.uid => job = read,
                Ok(_) if deleted_unstarted => return JobEnd::NeverStarted,
                Ok(_) => return JobEnd::Gone,
                // It runs on, whether we see it or not.
                Err(error) if error.is_passing() && self.job.is_awaited(clock::now().saturating_since(began)) => {
                    tracing::debug!(job = self.job.name, "not seen: {error}");
                }
                Err(error) => {
                    tracing::warn!(job = self.job.name, namespace = self.job.namespace, "a Job is not seen: {error}");
                    return JobEnd::Unseen(refusal_of(&error));
                }
            }
            drop(slot);
        }
    }

    /// Gives whether it is certain that no Pod of it will ever begin. Where it cannot be deleted it is tried again.
    async fn delete_overdue(&self, job: &Job) -> bool {
        let _slot = self.slots.enter().await;
        let deleted = self.client.delete(&self.job.namespace, job).await;
        if let Err(error) = &deleted {
            tracing::debug!(job = self.job.name, "not deleted: {error}");
        }
        deleted.is_ok() && job.progress == JobProgress::Running { started: false }
    }
}

/// What came of beginning it.
enum Begun {
    Job(Box<Job>),
    Ended(JobEnd),
}

async fn pause(began: Moment) {
    let is_long = clock::now().is_past(began, LONG_AFTER);
    tokio::time::sleep(if is_long { LOOK_SELDOM_EVERY } else { LOOK_EVERY }).await;
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
