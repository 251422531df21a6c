//! The sentences for people.

use super::{BreakerCounts, ObjectHold, TargetHold};

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
        let next = self.until.map(|until| format!("; next try at {}", until.strftime("%Y-%m-%d %H:%M:%S UTC")));
        format!("{} ({}){}", self.why.cause(), self.why.as_str(), next.unwrap_or_default())
    }
}
