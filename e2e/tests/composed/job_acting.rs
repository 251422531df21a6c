//! A correction by a Job, as the shell runs it: it is created or found again, and checked until it has ended.
//!
//! The core interprets each check. It decides nothing.

use std::sync::Arc;
use std::time::Duration;

use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_controller::engine::corrections::correction::Correction;
use drift_controller::engine::rendering::api_refusal::ApiRefusal;
use drift_controller::engine::rendering::job::{CorrectionJob, Course, JobEnd, JobReply, JobStep, Turn};
use drift_language::{Job, JobStage, Target};

use crate::calls::Scene;
use crate::outside::Fault;
use crate::targets::Text;

/// Interval between two checks.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// The object and the reason of a correction.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) object: &'a LeanObject,
    pub(crate) correction: &'a Correction,
    pub(crate) text: Text,
    pub(crate) target: &'a Arc<Target>,
    /// Time of the decision, or `None` if a request was sent already.
    pub(crate) decided_at: Option<Moment>,
}

/// The Job of a correction.
pub(crate) struct JobActing {
    job: CorrectionJob,
    followed: Option<Followed>,
}

struct Followed {
    job: Job,
    came_to: Option<JobStage>,
    began: Moment,
    deleted: Option<JobEnd>,
}

impl JobActing {
    pub(crate) const fn new(job: CorrectionJob) -> Self {
        Self { job, followed: None }
    }

    /// Returns the time of the next check, or `None` before the Job is created.
    pub(crate) fn looks_again_at(&self, now: Moment) -> Option<Moment> {
        self.followed.as_ref().map(|_| now + LOOK_EVERY)
    }

    /// Performs a step.
    pub(crate) fn send(&mut self, step: JobStep, asked: Asked<'_>, fault: Fault, scene: &mut Scene<'_>) -> JobReply {
        let reply = match (self.followed.take(), step) {
            (Some(followed), _) => self.follow(followed, fault, scene),
            (None, JobStep::Run) => self.begin(asked, fault, scene),
            (None, JobStep::Look) => self.look(fault, scene),
        };
        reply.unwrap_or_else(JobReply::Refused)
    }

    fn look(&self, fault: Fault, scene: &mut Scene<'_>) -> Result<JobReply, ApiRefusal> {
        let jobs = &mut scene.api.jobs;
        let found = call(fault, || jobs.all())?;
        let Turn::After(held) = self.job.turn(&found) else { return Ok(JobReply::Clear) };
        for job in &held {
            jobs.delete(job);
        }
        Ok(JobReply::Occupied)
    }

    fn begin(&mut self, asked: Asked<'_>, fault: Fault, scene: &mut Scene<'_>) -> Result<JobReply, ApiRefusal> {
        if !self.job.was_begun {
            let created = call(fault, || {
                let created = scene.api.jobs.create(&self.job.manifest, scene.clock.moment)?;
                scene.ledger.note_job(&self.job.name, asked, scene.outside, scene.api);
                scene.outside.may_come_of(asked.correction, &asked.object.id.uid);
                Some(created)
            });
            if matches!(fault, Fault::LostBefore | Fault::ServerError) {
                // Without a response it is unknown if the Job was created.
                scene.outside.may_come_of(asked.correction, &asked.object.id.uid);
            }
            if let Some(created) = created? {
                return Ok(self.take_up(created, scene));
            }
        }
        let fault = if self.job.was_begun { fault } else { Fault::None };
        Ok(match call(fault, || scene.api.jobs.read(&self.job.name)) {
            Ok(Some(job)) => self.take_up(job, scene),
            Ok(None) => JobReply::Ended(JobEnd::Gone),
            Err(refusal) => JobReply::Ended(JobEnd::Unseen(refusal)),
        })
    }

    fn take_up(&mut self, job: Job, scene: &mut Scene<'_>) -> JobReply {
        let came_to = job.stage();
        self.judge(Followed { job, came_to, began: scene.clock.moment, deleted: None }, scene)
    }

    fn follow(&mut self, mut followed: Followed, fault: Fault, scene: &mut Scene<'_>) -> Result<JobReply, ApiRefusal> {
        let ran_for = scene.clock.moment.saturating_since(followed.began);
        match call(fault, || scene.api.jobs.read(&self.job.name)) {
            Ok(Some(job)) if job.uid == followed.job.uid => {
                followed.came_to = followed.came_to.max(job.stage());
                followed.job = job;
            }
            Ok(_) => return Ok(JobReply::Ended(followed.deleted.unwrap_or(JobEnd::Gone))),
            Err(refusal) if is_passing(&refusal) && self.job.is_awaited(ran_for) => {
                self.followed = Some(followed);
                return Ok(JobReply::Open(None));
            }
            Err(refusal) => return Ok(JobReply::Ended(JobEnd::Unseen(refusal))),
        }
        Ok(self.judge(followed, scene))
    }

    fn judge(&mut self, mut followed: Followed, scene: &mut Scene<'_>) -> JobReply {
        let ran_for = scene.clock.moment.saturating_since(followed.began);
        let stage = match self.job.course(&followed.job, followed.came_to, ran_for) {
            Course::Ended(end) => return JobReply::Ended(end),
            Course::Open(stage) => stage,
            Course::Overdue => {
                let ran_nothing = followed.job.surely_never_had_a_pod();
                let was_taken_up = followed.job.stage() != Some(JobStage::NotTakenUp);
                let end = if was_taken_up { JobEnd::Gone } else { JobEnd::NeverStarted { ran_nothing } };
                followed.deleted = Some(end).filter(|_| scene.api.jobs.delete(&followed.job)).or(followed.deleted);
                followed.came_to
            }
        };
        self.followed = Some(followed);
        JobReply::Open(stage)
    }
}

/// Calls the API server, which may fail.
fn call<T>(fault: Fault, does: impl FnOnce() -> T) -> Result<T, ApiRefusal> {
    let status = match fault {
        Fault::None | Fault::Maintenance | Fault::Empty | Fault::Page => return Ok(does()),
        Fault::LostBefore => None,
        Fault::LostAfter | Fault::Late => {
            does();
            None
        }
        Fault::ServerError => Some(503),
        Fault::Unauthorized => Some(401),
        Fault::Forbidden => Some(403),
        Fault::RateLimited => Some(429),
        Fault::Refused => Some(422),
    };
    Err(ApiRefusal { status, sentence: "why".to_owned(), retry_after: None })
}

const fn is_passing(refusal: &ApiRefusal) -> bool {
    matches!(refusal.status, None | Some(429 | 503))
}
