//! Name, manifest, turn and end of a correction's Job.

use drift_api::condition::{CorrectedReason, DesiredHash, ObservedReason};
use drift_language::{Job, JobProgress, JobStage};

use super::*;
use crate::engine::fixtures::{Scene, job_of};

#[test]
fn a_job_belongs_to_its_object() {
    let job = job_of(|_, _| {}).unwrap();
    assert_eq!((job.namespace.as_str(), job.deadline), ("team-a", Duration::from_secs(60)));
    assert!(job.name.starts_with("orders-update-8-") && job.name.len() <= 63, "{}", job.name);
    let metadata = &job.manifest["metadata"];
    assert_eq!(
        metadata["ownerReferences"],
        json!([{"apiVersion": "demo.example/v1", "kind": "Role", "name": "orders", "uid": "u-1"}])
    );
    let labels = json!({"app.kubernetes.io/managed-by": "drift-controller", "driftpoller.dev/object": "u-1", "driftpoller.dev/target": "tools"});
    assert_eq!(metadata["labels"], labels);
    let pod = &job.manifest["spec"]["template"];
    assert_eq!(pod["metadata"]["labels"]["app"], "tool");
    assert_eq!(pod["metadata"]["labels"]["driftpoller.dev/target"], "tools", "for a NetworkPolicy");
    assert_eq!(pod["spec"]["containers"][0]["args"], json!(["8", "true"]));
}

#[test]
fn a_correction_has_one_name() {
    let name = |change: fn(&mut LeanObject, &mut Correction)| job_of(change).unwrap().name;
    let one = name(|_, _| {});
    assert_eq!(one, name(|object, _| object.resource_version = "9".into()));
    assert_eq!(one, name(|_, correction| correction.was_in_doubt = true));
    assert_ne!(one, name(|object, _| object.id.uid = "u-2".into()), "an object made anew");
    assert_ne!(one, name(|_, correction| correction.generation = Some(4)));
    assert_ne!(one, name(|_, correction| correction.number = 9));
    assert_ne!(one, name(|_, correction| correction.correct_hash += 1), "another text of correct");
    let edited = |_: &mut LeanObject, correction: &mut Correction| {
        (correction.generation, correction.desired_hash) = (None, Some(DesiredHash::of(&json!("another"))));
    };
    assert_ne!(name(|_, correction| correction.generation = None), name(edited), "a kind without generation");
    let resumed = name(|_, correction| {
        (correction.number, correction.resumes) = (9, true);
        correction.before.correction = 8;
    });
    assert_eq!(one, resumed, "what a process that is no more began");
    let long = name(|object, correction| {
        object.id.name = "a.name.with-dots.and-too-many-letters-for-a-label".into();
        correction.number = u64::MAX;
    });
    assert!(long.starts_with("a-name-with-dots-and-too-update-") && long.len() <= 63, "{long}");
    assert!(job_of(|object, _| object.id.namespace = None).is_err(), "nowhere to run");
}

#[test]
fn only_what_surely_ran_nothing_did_nothing() {
    let job = job_of(|_, _| {}).unwrap();
    let judge = |end: &JobEnd| job.judge(&JobReply::Ended(end.clone()));
    assert_eq!(judge(&JobEnd::Complete), StepOutcome::Accepted);
    for (end, nothing) in [
        (failed("DeadlineExceeded", None), false),
        (JobEnd::Gone, false),
        (JobEnd::Lasting, false),
        (JobEnd::NeverStarted { ran_nothing: true }, true),
        (JobEnd::NeverStarted { ran_nothing: false }, false),
        (JobEnd::Foreign, true),
    ] {
        let StepOutcome::Refused { did_nothing, refusal } = judge(&end) else { unreachable!("{end:?}") };
        assert_eq!(did_nothing, nothing, "{end:?}");
        assert_eq!(refusal.code.short(), "the Job");
        assert!(refusal.because.unwrap().as_str().starts_with(&job.name));
    }
}

fn failed(reason: &str, came_to: Option<JobStage>) -> JobEnd {
    JobEnd::Failed { reason: reason.to_owned(), came_to }
}

#[test]
fn a_failure_says_how_far_it_came() {
    let job = job_of(|_, _| {}).unwrap();
    let table = [
        (failed("", None), "it failed"),
        (failed("BackoffLimitExceeded", Some(JobStage::Running)), "it failed with BackoffLimitExceeded"),
        (
            failed("DeadlineExceeded", Some(JobStage::NotTakenUp)),
            "it failed with DeadlineExceeded, and was not seen to be taken up",
        ),
        (
            failed("DeadlineExceeded", Some(JobStage::WithoutPod)),
            "it failed with DeadlineExceeded, and no Pod of it was seen",
        ),
        (
            failed("DeadlineExceeded", Some(JobStage::PodNotReady)),
            "it failed with DeadlineExceeded, and its Pod was never seen ready",
        ),
    ];
    for (end, words) in table {
        let StepOutcome::Refused { refusal, .. } = job.judge(&JobReply::Ended(end.clone())) else {
            unreachable!("{end:?}")
        };
        assert_eq!(refusal.because, Some(RefusalReason::own(format!("{}: {words}", job.name))), "{end:?}");
    }
}

#[test]
fn a_job_that_cannot_be_seen_is_in_doubt() {
    let job = job_of(|_, _| {}).unwrap();
    let refusal = |status| ApiRefusal { status: Some(status), sentence: "why".to_owned(), retry_after: None };
    for status in [401, 403, 404, 429, 500] {
        let unseen = job.judge(&JobReply::Ended(JobEnd::Unseen(refusal(status))));
        let StepOutcome::Indefinite(Uncertainty { why, .. }) = unseen else { unreachable!("{unseen:?}") };
        assert_eq!(why, Doubt::JobUnseen, "{status}: it may run on");
    }
    let turned_away = job.judge(&JobReply::Refused(refusal(403)));
    assert!(matches!(turned_away, StepOutcome::Indefinite(Uncertainty { why: Doubt::RightMissing, .. })));
}

#[test]
fn it_is_looked_before_anything_is_written() {
    let plan = CorrectionJob::plan(Action::Create);
    assert_eq!((plan.writes(0), plan.writes(1), plan.deletion), (false, true, 0));
    assert_eq!((CorrectionJob::step(0), CorrectionJob::step(1)), (Some(JobStep::Look), Some(JobStep::Run)));
    assert_eq!(CorrectionJob::plan(Action::Delete).deletion, 2);
    let job = job_of(|_, _| {}).unwrap();
    assert_eq!(job.judge(&JobReply::Clear), StepOutcome::Accepted);
    assert!(matches!(job.judge(&JobReply::Occupied), StepOutcome::NotNow { .. }));
}

/// Returns a running Job of the object.
fn running(name: &str) -> Job {
    Job {
        name: name.to_owned(),
        uid: format!("uid of {name}"),
        resource_version: "7".to_owned(),
        owners: vec!["u-1".to_owned()],
        deleting: false,
        suspended: false,
        generation: Some(1),
        progress: JobProgress::Open(JobStage::Running),
        ended_at: None,
    }
}

#[test]
fn two_jobs_of_an_object_never_run_at_once() {
    let job = job_of(|_, _| {}).unwrap();
    let other = running("other");
    let held = Job { suspended: true, progress: JobProgress::Open(JobStage::NotTakenUp), ..other.clone() };
    let waits = Turn::After(Vec::new());
    let table = [
        ("no other", vec![], Turn::Now),
        ("it runs", vec![other.clone()], waits.clone()),
        ("it is taken up soon", vec![Job { suspended: false, ..held.clone() }], waits.clone()),
        ("it is held", vec![held.clone()], Turn::After(vec![held.clone()])),
        ("it was held in the middle", vec![Job { suspended: true, ..other.clone() }], waits.clone()),
        ("its Pod has not gone", vec![Job { deleting: true, ..held.clone() }], waits.clone()),
        ("it has ended", vec![Job { progress: JobProgress::Complete, ..other.clone() }], Turn::Now),
        ("the label is anybody's", vec![Job { owners: vec!["u-2".to_owned()], ..other.clone() }], Turn::Now),
        ("nobody's", vec![Job { owners: Vec::new(), ..held.clone() }], Turn::Now),
        ("one of many", vec![running(&job.name), other], waits),
    ];
    for (why, found, expected) in table {
        assert_eq!(job.turn(&found), expected, "{why}");
    }
}

#[test]
fn an_end_of_before_the_verdict_is_none() {
    let asked = |time: &str| {
        job_of(|object, _| {
            let scene = Scene::new().observed(ObservedReason::FieldsDiffer);
            object.conditions = scene.object.conditions;
            object.conditions.observed.as_mut().unwrap().condition.last_transition_time = time.into();
        })
        .unwrap()
    };
    let job = asked("2026-01-01T00:00:10Z");
    let ended = |progress: &JobProgress, time: &str| Job {
        progress: progress.clone(),
        ended_at: Some(time.to_owned()),
        ..running(&job.name)
    };
    for progress in [JobProgress::Complete, JobProgress::Failed("x".to_owned())] {
        let (before, after) = (ended(&progress, "2026-01-01T00:00:09Z"), ended(&progress, "2026-01-01T00:00:10Z"));
        assert_eq!(job.turn(std::slice::from_ref(&before)), Turn::After(vec![before.clone()]));
        assert_eq!(job.turn(&[Job { deleting: true, ..before }]), Turn::After(Vec::new()), "its name is not free yet");
        assert_eq!(job.turn(&[after]), Turn::Now, "a process that is no more began it for this verdict");
    }
    assert_eq!(job.turn(&[running(&job.name)]), Turn::Now, "it is followed");
    let going = Job { deleting: true, ..running(&job.name) };
    assert_eq!(job.turn(&[going]), Turn::After(Vec::new()), "it cannot be followed to an end");
}

#[test]
fn a_job_that_was_announced_is_followed_to_its_end() {
    // The Job ended a second before the current verdict. Either the verdict was Unknown meanwhile, or the clocks
    // differ.
    let turn = |change: fn(&mut Correction)| {
        let job = job_of(|object, correction| {
            object.conditions = Scene::new().object.conditions;
            object.conditions.observed.as_mut().unwrap().condition.last_transition_time = "2026-01-01T00:00:10Z".into();
            change(correction);
        })
        .unwrap();
        let ended_at = Some("2026-01-01T00:00:09Z".to_owned());
        job.turn(&[Job { progress: JobProgress::Complete, ended_at, ..running(&job.name) }])
    };
    assert!(matches!(turn(|_| {}), Turn::After(_)), "numbers began anew");
    let interrupted = |correction: &mut Correction| {
        (correction.number, correction.resumes) = (9, true);
        correction.before.correction = 8;
    };
    assert_eq!(turn(interrupted), Turn::Now, "a process that is no more announced it");
    let unseen = |correction: &mut Correction| {
        correction.was_begun = true;
        correction.before.reason = Some(CorrectedReason::CorrectionStarted);
    };
    assert_eq!(turn(unseen), Turn::Now, "its end was not seen");
}

#[test]
fn a_job_that_lasts_too_long_is_deleted() {
    let job = job_of(|_, _| {}).unwrap();
    let ran = Some(JobStage::Running);
    let course = |job_now: &Job, seconds: u64| job.course(job_now, ran, Duration::from_secs(seconds));
    let (runs, deleting) = (running(&job.name), Job { deleting: true, ..running(&job.name) });
    assert_eq!(course(&runs, 29), Course::Open(None), "nobody asks yet");
    assert_eq!(course(&runs, 179), Course::Open(ran));
    assert_eq!(course(&runs, 180), Course::Overdue);
    assert_eq!(course(&deleting, 180), Course::Open(ran), "until it is gone");
    assert_eq!(course(&deleting, 300), Course::Ended(JobEnd::Lasting));
    assert_eq!(course(&Job { progress: JobProgress::Complete, ..deleting }, 300), Course::Ended(JobEnd::Complete));
    assert!(job.is_awaited(Duration::from_secs(299)) && !job.is_awaited(Duration::from_secs(300)));
}
