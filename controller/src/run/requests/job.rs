//! Creates or finds the Job of a correction, and follows it to its end.
//!
//! Only the API server is called. The function does not wait for other Jobs of the object: the object is decided anew
//! after them. At shutdown the Job is no longer followed, and the next process finds it by its name. The engine defines
//! the Job, its turn and the meaning of its end.

use std::time::Duration;

use drift_api::timing::moment::Moment;
use drift_kube::access::with_roles;
use drift_kube::process::clock;
use drift_kube::{CallError, CallSlots, JobClient};
use drift_language::{Job, JobStage};

use super::nudge::refusal_of;
use super::{SendContext, Subject};
use crate::engine::execution::Event;
use crate::engine::rendering::{CorrectionJob, Course, JobEnd, JobReply, JobStep, Reply, Turn};

/// Interval of Job checks in the first minute. Most commands take seconds.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Interval of Job checks after the first minute. The end of a long Job may be detected some seconds late.
const LOOK_SELDOM_EVERY: Duration = Duration::from_secs(10);
/// Age from which a Job counts as long.
const LONG_AFTER: Duration = Duration::from_secs(60);

/// The Job of a correction, with the clients that create and follow it.
struct JobRequest<'a> {
    job: &'a CorrectionJob,
    subject: Subject<'a>,
    step: JobStep,
    client: &'a JobClient,
    slots: &'a CallSlots,
    /// Returns true if the Lease is fresh. Asked right before each write, because the wait for a call may take long.
    may_write: &'a (dyn Fn() -> bool + Send + Sync),
    /// The followed Job, once it was created or found.
    followed: &'a mut Option<FollowedJob>,
}

/// A Job that is being followed.
#[derive(Debug)]
pub struct FollowedJob {
    /// Job as last seen.
    job: Job,
    /// Furthest stage that was seen.
    came_to: Option<JobStage>,
    /// Time at which we created or found it.
    began: Moment,
    /// End of a Job that we deleted.
    deleted: Option<JobEnd>,
}

impl FollowedJob {
    fn new(job: Job) -> Self {
        let came_to = job.stage();
        Self { job, came_to, began: clock::now(), deleted: None }
    }

    fn see(&mut self, job: Job) {
        self.came_to = self.came_to.max(job.stage());
        self.job = job;
    }

    fn ran_for(&self) -> Duration {
        clock::now().saturating_since(self.began)
    }

    async fn pause(&self) {
        let is_long = clock::now().is_past(self.began, LONG_AFTER);
        tokio::time::sleep(if is_long { LOOK_SELDOM_EVERY } else { LOOK_EVERY }).await;
    }
}

impl JobRequest<'_> {
    /// Returns true if the next step creates the Job. From then on it may run, followed or not.
    fn begins_job(&self) -> bool {
        self.step == JobStep::Run
    }

    /// Performs the current step. The step that creates the Job is repeated until the Job has ended, with one
    /// check each time.
    ///
    /// Returns `None` if nothing was written because the Lease is not fresh.
    async fn do_next(&mut self) -> Option<JobReply> {
        let done = match self.followed.take() {
            Some(followed) => return Some(self.follow(followed).await),
            None if self.begins_job() => self.begin().await,
            None => self.look().await,
        };
        done.unwrap_or_else(|error| {
            let cause = with_roles(&error.to_string()).into_owned();
            let Subject { target, kind, namespace, name, uid, correction } = self.subject;
            tracing::warn!(
                target,
                kind,
                namespace,
                name,
                uid,
                correction,
                job = self.job.name,
                cause,
                "a Job is not begun"
            );
            Some(JobReply::Refused(refusal_of(&error)))
        })
    }

    /// Checks if it is the Job's turn. Jobs that only block the object are deleted.
    async fn look(&self) -> Result<Option<JobReply>, CallError> {
        let _slot = self.slots.enter().await;
        let found = self.client.with_label(&self.job.namespace, &self.job.label()).await?;
        let Turn::After(held) = self.job.turn(&found) else { return Ok(Some(JobReply::Clear)) };
        if !held.is_empty() && !(self.may_write)() {
            return Ok(None);
        }
        for job in &held {
            let Subject { target, kind, namespace, name, uid, correction } = self.subject;
            tracing::info!(
                target,
                kind,
                namespace,
                name,
                uid,
                correction,
                job = job.name,
                "a Job that is not wanted any more is deleted"
            );
            match self.client.delete(&self.job.namespace, job).await {
                // The Job is gone or has changed, so it is checked again.
                Err(error) if !matches!(error.code(), Some(404 | 409)) => return Err(error),
                _ => {}
            }
        }
        let Subject { target, kind, namespace, name, uid, correction } = self.subject;
        tracing::debug!(
            target,
            kind,
            namespace,
            name,
            uid,
            correction,
            job = self.job.name,
            "another Job of the object has not ended"
        );
        Ok(Some(JobReply::Occupied))
    }

    /// Creates the Job. An existing Job of its name was created by an earlier try. A Job that was already created is
    /// only looked up: if it is gone, its result is unknown, and a poll follows first.
    async fn begin(&mut self) -> Result<Option<JobReply>, CallError> {
        let slots = self.slots;
        let _slot = slots.enter().await;
        if !self.job.was_begun {
            if !(self.may_write)() {
                return Ok(None);
            }
            match self.client.create(&self.job.namespace, &self.job.manifest).await {
                Err(error) if error.code() == Some(409) => {}
                created => return Ok(Some(self.take_up(created?).await)),
            }
        }
        Ok(Some(match self.read().await {
            Ok(Some(job)) => self.take_up(job).await,
            Ok(None) => JobReply::Ended(JobEnd::Gone),
            Err(error) => JobReply::Ended(JobEnd::Unseen(refusal_of(&error))),
        }))
    }

    async fn read(&self) -> Result<Option<Job>, CallError> {
        match self.client.read(&self.job.namespace, &self.job.name).await {
            Err(error) if error.code() == Some(404) => Ok(None),
            read => read.map(Some),
        }
    }

    async fn take_up(&mut self, job: Job) -> JobReply {
        if !job.is_owned_by(&self.job.object) {
            return JobReply::Ended(JobEnd::Foreign);
        }
        self.judge(FollowedJob::new(job)).await
    }

    /// Checks the Job once more, after a delay.
    async fn follow(&mut self, mut followed: FollowedJob) -> JobReply {
        followed.pause().await;
        let slots = self.slots;
        let _slot = slots.enter().await;
        match self.read().await {
            Ok(Some(job)) if job.uid == followed.job.uid => followed.see(job),
            Ok(_) => return JobReply::Ended(followed.deleted.unwrap_or(JobEnd::Gone)),
            // The Job continues, whether we can read it or not.
            Err(error) if error.is_passing() && self.job.is_awaited(followed.ran_for()) => {
                let Subject { target, kind, namespace, name, uid, correction } = self.subject;
                tracing::debug!(
                    target,
                    kind,
                    namespace,
                    name,
                    uid,
                    correction,
                    job = self.job.name,
                    cause = %error,
                    "a Job is not seen"
                );
                *self.followed = Some(followed);
                return JobReply::Open(None);
            }
            Err(error) => {
                let cause = with_roles(&error.to_string()).into_owned();
                let Subject { target, kind, namespace, name, uid, correction } = self.subject;
                tracing::warn!(
                    target,
                    kind,
                    namespace,
                    name,
                    uid,
                    correction,
                    job = self.job.name,
                    cause,
                    "a Job is not seen"
                );
                return JobReply::Ended(JobEnd::Unseen(refusal_of(&error)));
            }
        }
        self.judge(followed).await
    }

    /// Judges the state of the Job. The caller holds a call slot.
    async fn judge(&mut self, mut followed: FollowedJob) -> JobReply {
        let stage = match self.job.course(&followed.job, followed.came_to, followed.ran_for()) {
            Course::Ended(end) => return JobReply::Ended(end),
            Course::Open(stage) => stage,
            Course::Overdue => {
                followed.deleted = self.delete_overdue(&followed.job).await.or(followed.deleted);
                followed.came_to
            }
        };
        *self.followed = Some(followed);
        JobReply::Open(stage)
    }

    /// Deletes the Job. Returns its end once it is gone; `None` if the deletion failed and is retried.
    async fn delete_overdue(&self, job: &Job) -> Option<JobEnd> {
        if !(self.may_write)() {
            return None;
        }
        if let Err(error) = self.client.delete(&self.job.namespace, job).await {
            let Subject { target, kind, namespace, name, uid, correction } = self.subject;
            tracing::debug!(
                target,
                kind,
                namespace,
                name,
                uid,
                correction,
                job = self.job.name,
                cause = %error,
                "a Job is not deleted"
            );
            return None;
        }
        let was_taken_up = job.stage() != Some(JobStage::NotTakenUp);
        Some(if was_taken_up {
            JobEnd::Gone
        } else {
            JobEnd::NeverStarted { ran_nothing: job.surely_never_had_a_pod() }
        })
    }
}

/// Performs a step of the Job. At shutdown, a running Job is left to the next process: it may take hours, and its name
/// is known.
pub(super) async fn send(
    context: SendContext<'_>,
    job: &CorrectionJob,
    step: JobStep,
    followed: &mut Option<FollowedJob>,
) -> Event {
    let (sender, subject) = (context.sender, context.subject());
    // A look at a running Job needs no fresh Lease, but each write does.
    let may_write = || sender.may_send(context.begins);
    let may_send = if context.begins { sender.may_begin() } else { !sender.term.is_cancelled() };
    if !may_send {
        return Event::NotSent;
    }
    let (client, slots) = (&sender.jobs, &context.writer.slots);
    let mut request = JobRequest { job, subject, step, client, slots, may_write: &may_write, followed };
    let reply = tokio::select! {
        biased;
        () = sender.stop.cancelled() => None,
        reply = sender.while_leading(request.do_next()) => reply,
    };
    match reply {
        Some(Some(reply)) => Event::Replied(Reply::Job(reply)),
        Some(None) => Event::NotSent,
        None if request.begins_job() => Event::CutOff,
        None => Event::NotSent,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
