//! The sentences for people.

use super::{BreakerCounts, ObjectHold, ObjectReason, TargetHold};

impl TargetHold {
    /// The reason and the remedy, in a sentence without a full stop.
    #[must_use]
    pub fn sentence(self, target: &str) -> String {
        match self {
            Self::KindUnusable => format!(
                "the controller cannot use the kind of target {target} (KindUnusable): an Event on the target's ConfigMap names the cause"
            ),
            Self::RightsMissing => format!(
                "the controller lacks rights that target {target} needs (RightsMissing): an Event on the target's ConfigMap lists the rules, \
                 and `kubectl drift rbac` prints them"
            ),
            Self::TargetFormer => format!(
                "no ConfigMap has the text of target {target} any more (TargetFormer): only its deletions go on; apply the ConfigMap \
                 again, or remove the target with `kubectl drift forget {target}`"
            ),
            Self::TargetTaken => format!(
                "another ConfigMap has another text of target {target}, or of its objects (TargetTaken): delete one of the two; Events \
                 on both ConfigMaps name them"
            ),
            Self::BreakerOpen(counts) => {
                let BreakerCounts { drifted, judged, limit } = counts;
                let remedy = counts.remedy();
                format!(
                    "the breaker of target {target} is open (BreakerOpen): {drifted} of {judged} objects drifted, and \
                     maxDriftedPercent was {limit}; {remedy}"
                )
            }
            Self::Limited { waiting } => format!(
                "the limits of target {target} are used up (Limited): {waiting} objects wait for a free slot; `correct.limits` sets how many \
                 corrections run at once and begin in a minute"
            ),
        }
    }
}

impl ObjectHold {
    /// The reason and the time of the next try, in a sentence without a full stop.
    #[must_use]
    pub fn sentence(&self) -> String {
        let cause = match self.why {
            ObjectReason::Delayed => "the controller backs off after the last correction of the object",
            ObjectReason::Unsendable => {
                "the correction could not be sent: a Secret is missing or may not be used, or a template fails; driftCorrected and the \
                 controller's log name the cause"
            }
            ObjectReason::JobUnfinished => "a Job of an earlier correction of the object has not ended",
            ObjectReason::JobNotTakenUp => {
                "the correction's Job is not taken up: it is suspended, or no Job controller runs"
            }
            ObjectReason::JobWithoutPod => "the correction's Job has no Pod: a quota or an admission rule refuses it",
            ObjectReason::JobPodNotReady => "the Pod of the correction's Job is not ready: it has no node, or no image",
            ObjectReason::WriteRefused => {
                "the API server refuses the controller's writes to the object; an Event on the object names the cause"
            }
            ObjectReason::RaceLost => "another writer keeps overtaking the controller's writes to the object",
            ObjectReason::WriteUndone => "another writer keeps undoing the controller's writes to the object",
            ObjectReason::ScopeIncomplete => {
                "the objects of another target of the same scope are not known to the controller; its /readyz names the target. That ends \
                 once the target's ConfigMap is back, or after `kubectl drift forget` of it"
            }
            ObjectReason::ReadUnproved => {
                "no poll shows the resource of any object of the target, so one create is open at a time; the others follow once a poll \
                 finds one. If none does, correct the read: the object with the open create says more"
            }
            ObjectReason::NewerVersion => {
                "a newer version of the programs wrote a condition of the object, in words that this version does not know: nothing is \
                 sent or written for it until both programs have that version"
            }
        };
        let next = self.until.map(|until| format!("; next try at {}", until.strftime("%Y-%m-%d %H:%M:%S UTC")));
        format!("{cause} ({}){}", self.why.as_str(), next.unwrap_or_default())
    }
}
