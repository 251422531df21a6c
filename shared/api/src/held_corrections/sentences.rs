//! The sentences for people.

use super::{BreakerCounts, Held, ObjectHold, TargetHold};

/// The place of the target's name in a cause.
const ANY_TARGET: &str = "the target";

impl TargetHold {
    /// The reason in a sentence about any target.
    #[must_use]
    pub const fn cause(self) -> &'static str {
        match self {
            Self::KindUnusable => "the controller cannot use the kind of the target",
            Self::RightsMissing => "the controller lacks rights that the target needs",
            Self::TargetFormer => Held::TargetFormer.cause(),
            Self::TargetTaken => Held::TargetTaken.cause(),
            Self::BreakerOpen(_) => Held::BreakerOpen.cause(),
            Self::Limited { .. } => Held::Limited.cause(),
        }
    }

    /// The reason and the remedy, in a sentence without a full stop.
    #[must_use]
    pub fn sentence(self, target: &str) -> String {
        let remedy = match self {
            Self::KindUnusable => "an Event on the target's ConfigMap names the cause".to_owned(),
            Self::RightsMissing => {
                "an Event on the target's ConfigMap lists the rules, and `kubectl drift rbac` prints them".to_owned()
            }
            Self::TargetFormer => format!(
                "only its deletions go on; apply the ConfigMap again, or remove the target with `kubectl drift forget {target}`"
            ),
            Self::TargetTaken => "delete one of the two; Events on both ConfigMaps name them".to_owned(),
            Self::BreakerOpen(counts) => {
                let BreakerCounts { drifted, judged, limit } = counts;
                let remedy = counts.remedy();
                format!("{drifted} of {judged} objects drifted, and maxDriftedPercent was {limit}; {remedy}")
            }
            Self::Limited { waiting } => format!(
                "{waiting} objects wait for a free slot; `correct.limits` sets how many corrections run at once and begin in \
                 a minute"
            ),
        };
        let cause = self.cause().replacen(ANY_TARGET, &format!("target {target}"), 1);
        format!("{cause} ({}): {remedy}", self.as_str())
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
