//! Jobs at the API server, and their effects in a cluster: Pods that write outside, their ends, and the removal after a
//! time.

use std::collections::BTreeMap;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;
use drift_language::{Job, JobProgress, JobStage};
use serde_json::{Value, json};

use crate::calls::{Clock, Scene};
use crate::ledger::owns;
use crate::watch::uid_of;

/// The minimum `ttlSecondsAfterFinished` of a target, used by these histories.
pub(crate) const TTL: Duration = Duration::from_secs(600);

/// Time from a Job's creation to its Pod's write, and to its end. Long enough for any event in between.
const WRITES_AFTER: Duration = Duration::from_secs(4);
const ENDS_AFTER: Duration = Duration::from_secs(15);

/// The work of a Job's Pod.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) action: String,
    pub(crate) resource: String,
    pub(crate) value: i64,
}

#[derive(Clone, Debug)]
struct KeptJob {
    shown: Job,
    work: Work,
    begun: Moment,
    wrote: bool,
    ended: Option<Moment>,
}

/// All Jobs of the cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jobs {
    kept: BTreeMap<String, KeptJob>,
    version: u64,
    /// True while Pods are neither created nor removed.
    pub(crate) stands_still: bool,
    /// True while a queue holds new Jobs.
    pub(crate) holds: bool,
}

/// An event for all unfinished Jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobEvent {
    /// The cluster stops or resumes the creation of Pods.
    StandStill(bool),
    /// A queue holds new Jobs, or releases them.
    Hold(bool),
    /// Pods do their work without ending.
    Write,
    /// Pods end without doing their work.
    Fail,
    /// Another writer deletes them.
    Remove,
}

impl Jobs {
    /// Creates a Job. Returns `None` if the name exists.
    pub(crate) fn create(&mut self, manifest: &Value, now: Moment) -> Option<Job> {
        self.version += 1;
        let mut manifest = manifest.clone();
        manifest["metadata"]["uid"] = json!(format!("job-{}", self.version));
        manifest["metadata"]["generation"] = json!(1);
        manifest["spec"]["suspend"] = json!(self.holds);
        let name = manifest["metadata"]["name"].as_str()?.to_owned();
        if self.kept.contains_key(&name) {
            return None;
        }
        let shown = Job { resource_version: self.version.to_string(), ..Job::read(&manifest) };
        let work = work_of(&manifest);
        self.kept.insert(name, KeptJob { shown: shown.clone(), work, begun: now, wrote: false, ended: None });
        Some(shown)
    }

    pub(crate) fn read(&self, name: &str) -> Option<Job> {
        self.kept.get(name).map(|job| job.shown.clone())
    }

    pub(crate) fn all(&self) -> Vec<Job> {
        self.kept.values().map(|job| job.shown.clone()).collect()
    }

    /// Deletes a Job. Returns true if it was still at that version.
    pub(crate) fn delete(&mut self, job: &Job) -> bool {
        let is_same = |kept: &&mut KeptJob| kept.shown.resource_version == job.resource_version;
        let Some(kept) = self.kept.get_mut(&job.name).filter(is_same) else { return false };
        change(&mut self.version, kept, |job| job.deleting = true);
        true
    }

    /// Returns the unfinished Jobs.
    pub(crate) fn open(&self) -> impl Iterator<Item = &str> {
        self.kept.values().filter(|job| job.shown.is_running()).map(|job| job.shown.name.as_str())
    }
}

/// Applies a change to a Job, which gives it a new version.
fn change(version: &mut u64, kept: &mut KeptJob, edit: impl FnOnce(&mut Job)) {
    *version += 1;
    edit(&mut kept.shown);
    kept.shown.resource_version = version.to_string();
}

fn work_of(manifest: &Value) -> Work {
    let env = manifest.pointer("/spec/template/spec/containers/0/env").and_then(Value::as_array);
    let text = |name: &str| {
        let variable = env.and_then(|env| env.iter().find(|variable| variable["name"] == name));
        variable.and_then(|variable| variable["value"].as_str()).unwrap_or_default().to_owned()
    };
    Work { action: text("ACTION"), resource: text("RESOURCE"), value: text("VALUE").parse().unwrap_or_default() }
}

/// Applies an event to the Jobs.
pub(crate) fn apply(event: JobEvent, scene: &mut Scene<'_>) {
    let jobs = &mut scene.api.jobs;
    match event {
        JobEvent::StandStill(stands_still) => return jobs.stands_still = stands_still,
        JobEvent::Hold(holds) => {
            jobs.holds = holds;
            for kept in jobs.kept.values_mut().filter(|kept| kept.shown.suspended && !holds) {
                change(&mut jobs.version, kept, |job| (job.suspended, job.generation) = (false, Some(2)));
            }
            return;
        }
        JobEvent::Write | JobEvent::Fail | JobEvent::Remove => {}
    }
    let names: Vec<String> = scene.api.jobs.open().map(str::to_owned).collect();
    for name in names {
        match event {
            JobEvent::Remove => {
                if let Some(job) = scene.api.jobs.read(&name) {
                    scene.api.jobs.delete(&job);
                    scene.ledger.jobs.note_removed(&name);
                }
            }
            JobEvent::Write => drop(write(&name, scene)),
            _ => end(&name, false, scene),
        }
    }
}

/// Advances the cluster: Pods run to their end, and expired Jobs are removed.
pub(crate) fn go_on(scene: &mut Scene<'_>) {
    if scene.api.jobs.kept.is_empty() {
        return;
    }
    let now = scene.clock.moment;
    let owners: Vec<Uid> = scene.api.objects.values().map(uid_of).collect();
    let is_owned = |job: &Job| owners.iter().any(|owner| job.is_owned_by(owner));
    let stands_still = scene.api.jobs.stands_still;
    scene.api.jobs.kept.retain(|_, kept| {
        let is_old = kept.ended.is_some_and(|ended| now.is_past(ended, TTL));
        if is_old {
            scene.ledger.jobs.note_expired(&kept.shown.name);
        }
        is_owned(&kept.shown) && !is_old && (stands_still || !kept.shown.deleting)
    });
    if stands_still {
        return;
    }
    let begun =
        scene.api.jobs.kept.values().filter(|kept| kept.shown.is_running() && now.is_past(kept.begun, WRITES_AFTER));
    let due: Vec<_> = begun.map(|kept| (kept.shown.name.clone(), now.is_past(kept.begun, ENDS_AFTER))).collect();
    for (name, ends) in due {
        if let Some(done) = write(&name, scene).filter(|done| ends || !done) {
            end(&name, done, scene);
        }
    }
}

/// Does the Pod's work once. Returns true if it succeeded, or `None` if no Pod runs.
fn write(name: &str, scene: &mut Scene<'_>) -> Option<bool> {
    let Scene { api, outside, ledger, .. } = scene;
    let kept = api.jobs.kept.get_mut(name).filter(|kept| !kept.shown.suspended && !kept.shown.deleting)?;
    if kept.wrote {
        return Some(true);
    }
    let owner = api.objects.values().find(|object| kept.shown.is_owned_by(&uid_of(object)))?;
    let has = owns(owner).as_deref() == Some(&kept.work.resource);
    kept.wrote = outside.run(&kept.work, &uid_of(owner), has);
    let wrote = kept.wrote;
    change(&mut api.jobs.version, kept, |job| job.progress = JobProgress::Open(JobStage::Running));
    ledger.jobs.note_ran(name);
    Some(wrote)
}

fn end(name: &str, done: bool, scene: &mut Scene<'_>) {
    let Clock { moment, .. } = scene.clock;
    let ended_at = scene.clock.wall();
    let jobs = &mut scene.api.jobs;
    let may_end = |kept: &&mut KeptJob| !kept.shown.suspended && !kept.shown.deleting;
    let Some(kept) = jobs.kept.get_mut(name).filter(may_end) else { return };
    kept.ended = Some(moment);
    let failed = || JobProgress::Failed("BackoffLimitExceeded".to_owned());
    let progress = if done { JobProgress::Complete } else { failed() };
    change(&mut jobs.version, kept, |job| (job.progress, job.ended_at) = (progress, Some(ended_at)));
    scene.ledger.jobs.note_ran(name);
    scene.ledger.jobs.note_ended(name);
}
