//! Texts about a Job for people: a closed set of sentences, and the reason given by Kubernetes.
//!
//! The reason that blocks a Pod is in its Events, whose texts are arbitrary. People with access find them by
//! the Job's name.

use drift_language::JobStage;

use super::JobEnd;

/// Reason given by Kubernetes if a Job exceeds its `activeDeadlineSeconds`.
const OUT_OF_TIME: &str = "DeadlineExceeded";

/// Describes the end of a Job. Ends with a dedicated outcome have no text here.
pub(super) fn of_end(end: &JobEnd) -> String {
    match end {
        JobEnd::Failed { reason, came_to } => {
            let with = if reason.is_empty() { String::new() } else { format!(" with {reason}") };
            // A Job that ended by itself may have run between two checks.
            let came_to = came_to.filter(|_| reason == OUT_OF_TIME);
            format!("it failed{with}{}", never_ran(came_to))
        }
        JobEnd::NeverStarted { .. } => "it was not taken up in time, and was deleted".to_owned(),
        JobEnd::Gone => "it was gone before its end was seen".to_owned(),
        JobEnd::Lasting => "it did not end in time, and is being deleted".to_owned(),
        JobEnd::Foreign => "a Job of that name belongs to something else".to_owned(),
        JobEnd::Complete | JobEnd::Unseen(_) => String::new(),
    }
}

const fn never_ran(came_to: Option<JobStage>) -> &'static str {
    match came_to {
        Some(JobStage::NotTakenUp) => ", and was not seen to be taken up",
        Some(JobStage::WithoutPod) => ", and no Pod of it was seen",
        Some(JobStage::PodNotReady) => ", and its Pod was never seen ready",
        Some(JobStage::Running) | None => "",
    }
}
