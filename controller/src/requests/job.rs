//! The Job of a correction, begun or found again, and followed to its end.
//!
//! The API server alone is asked. While a Job runs nothing is held but the object and the target's place for one correction; when
//! the program ends it stops following, and whoever comes after finds the Job by its name. What a Job is and what its end
//! means is the core's to say. This file must not know of conditions or claims.

use std::time::Duration;

use drift_cluster::client::CallError;
use drift_cluster::jobs::{Job, JobClient, JobProgress};
use drift_cluster::object_writer::CallSlots;
use drift_cluster::process::clock;
use drift_model::moment::Moment;

use super::nudge::refusal_of;
use crate::core::job::{CorrectionJob, JobEnd};

/// How often a Job is looked at in its first minute: most of what a command line changes takes seconds.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// And from then on: what takes minutes may be seen to end some seconds late.
const LOOK_SELDOM_EVERY: Duration = Duration::from_secs(10);
/// When a Job counts as a long one.
const LONG_AFTER: Duration = Duration::from_secs(60);
/// How long beyond its deadline a Job may take to start and to be ended: a busy cluster schedules within this.
const MARGIN: Duration = Duration::from_secs(120);

/// The Job of a correction, and how it is begun and followed.
#[derive(Debug)]
pub(super) struct JobRequest<'a> {
    pub(super) job: CorrectionJob,
    client: &'a JobClient,
    slots: &'a CallSlots,
}

impl<'a> JobRequest<'a> {
    pub(super) const fn new(job: CorrectionJob, client: &'a JobClient, slots: &'a CallSlots) -> Self {
        Self { job, client, slots }
    }

    /// Begins it, or finds it begun, and follows it to its end.
    pub(super) async fn run(&self) -> JobEnd {
        match self.try_run().await {
            Ok(end) => end,
            Err(error) => {
                tracing::warn!(job = self.job.name, namespace = self.job.namespace, "a Job of a correction: {error}");
                JobEnd::Refused(refusal_of(&error))
            }
        }
    }

    async fn try_run(&self) -> Result<JobEnd, CallError> {
        if !self.others_have_ended().await? {
            return Ok(JobEnd::Busy);
        }
        let began = clock::now();
        match self.begin().await? {
            Some(job) if job.owner.as_deref() == Some(&self.job.object) => self.follow(job, began).await,
            Some(_) => Ok(JobEnd::Foreign),
            None => Ok(JobEnd::Gone),
        }
    }

    /// Waits until no other Job of the object runs: one that was begun for a former spec, or before the deletion.
    async fn others_have_ended(&self) -> Result<bool, CallError> {
        let began = clock::now();
        loop {
            let slot = self.slots.enter().await;
            let jobs = self.client.with_label(&self.job.namespace, &self.job.label()).await?;
            drop(slot);
            if !jobs.iter().any(|job| job.is_running() && job.name != self.job.name) {
                return Ok(true);
            }
            if clock::now().is_past(began, self.job.deadline + MARGIN) {
                return Ok(false);
            }
            pause(began).await;
        }
    }

    /// Begins the Job; one of its name is the one that an earlier try began.
    async fn begin(&self) -> Result<Option<Job>, CallError> {
        let _slot = self.slots.enter().await;
        match self.client.create(&self.job.namespace, &self.job.manifest).await {
            Err(error) if error.code() == Some(409) => self.read_now().await,
            created => created.map(Some),
        }
    }

    async fn read_now(&self) -> Result<Option<Job>, CallError> {
        match self.client.read(&self.job.namespace, &self.job.name).await {
            Err(error) if error.code() == Some(404) => Ok(None),
            read => read.map(Some),
        }
    }

    async fn follow(&self, mut job: Job, began: Moment) -> Result<JobEnd, CallError> {
        loop {
            match job.progress {
                JobProgress::Complete => return Ok(JobEnd::Complete),
                JobProgress::Failed(reason) => return Ok(JobEnd::Failed(reason)),
                JobProgress::Running { started } if clock::now().is_past(began, self.job.deadline + MARGIN) => {
                    return self.give_up(&job, started).await;
                }
                JobProgress::Running { .. } => pause(began).await,
            }
            let slot = self.slots.enter().await;
            match self.read_now().await {
                Ok(Some(read)) if read.uid == job.uid => job = read,
                Ok(_) => return Ok(JobEnd::Gone),
                // It runs on, whether we see it or not.
                Err(error) if error.is_passing() && !clock::now().is_past(began, self.job.deadline + MARGIN) => {
                    tracing::debug!(job = self.job.name, "not seen: {error}");
                }
                Err(error) => return Err(error),
            }
            drop(slot);
        }
    }

    /// Kubernetes should have ended it long ago: it must not begin when nobody looks any more.
    async fn give_up(&self, job: &Job, started: bool) -> Result<JobEnd, CallError> {
        let _slot = self.slots.enter().await;
        match self.client.delete(&self.job.namespace, job).await {
            Err(error) if error.code() != Some(404) => Err(error),
            _ if started => Ok(JobEnd::Gone),
            _ => Ok(JobEnd::NeverStarted),
        }
    }
}

async fn pause(began: Moment) {
    let is_long = clock::now().is_past(began, LONG_AFTER);
    tokio::time::sleep(if is_long { LOOK_SELDOM_EVERY } else { LOOK_EVERY }).await;
}
