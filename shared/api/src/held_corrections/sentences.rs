//! The sentences for people.

use super::{BreakerCounts, Held, ObjectHold, TargetHold};

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
        format!("{} ({}){}", self.why.cause(), self.why.word(), next.unwrap_or_default())
    }
}

impl Held {
    /// The reason and what ends it, in a sentence without a full stop and without what is only known of one object.
    #[must_use]
    pub const fn cause(self) -> &'static str {
        match self {
            Self::NotListed => "the controller has not read the first list of the kind",
            Self::Observing => "the target only observes: its `correct.mode` is Observe",
            Self::StoredIdChanged => {
                "another writer changed or removed an id in its status: set it back, or give the resource up"
            }
            Self::TemplateFails => "a template of the target fails for the object",
            Self::Suspended => "the target is suspended",
            Self::Paused => "the object is paused by its annotation driftpoller.dev/paused",
            Self::NotAllowed => "a requirement of the target does not hold for the object",
            Self::IdentityTaken => "another object has the external resource",
            Self::IdentityContested => "other objects claim the external resource too",
            Self::GivenUp => "the object gives up the external resource that it names",
            Self::VerdictUnknown => "the poll gave no result, and the controller corrects only drift that a poll found",
            Self::NoAction => "the target has no steps for the action",
            Self::NotAttested => "the poller does not attest the verdict",
            Self::BreakerOpen => "the breaker of the target is open",
            Self::NotOurs => "the external resource was not made for this object, and `correct.existing` is Refuse",
            Self::IdentityChanged => {
                "the object's identity or the target's scope was edited, and the resource that the object owns still exists"
            }
            Self::NotVerified => "a poll verifies the last correction first",
            Self::CreationInDoubt => {
                "the last create may have made a resource that the read does not find: look in the external system, and correct \
                 the read, delete what is there, or request a retry"
            }
            Self::AttemptsExhausted => "the last corrections changed nothing: one try an hour, or a retry request",
            Self::AwaitingApproval => {
                "the correction awaits approval: `kubectl drift approve KIND/NAME` shows and approves it"
            }
            Self::OutsideWindow => "the windows of the target are closed",
            Self::Limited => "the limits of the target are used up",
            Self::NoVerdict => "the object has no verdict of the poller yet",
            Self::VerdictOutdated => "driftObserved speaks of an older spec; the next poll renews it",
            Self::InSync => "it is in sync: there is nothing to correct",
            Self::Deleting => "the object is being deleted and does not have the finalizer of these programs",
            Self::TargetFormer => "no ConfigMap has the target of the object any more",
            Self::TargetTaken => "another ConfigMap has another text of the target, or of its objects",
            Self::ClaimedTwice => "another target selects the object too, and owns it",
            Self::Delayed
            | Self::Unsendable
            | Self::JobUnfinished
            | Self::JobNotTakenUp
            | Self::JobWithoutPod
            | Self::JobPodNotReady
            | Self::WriteRefused
            | Self::RaceLost
            | Self::WriteUndone
            | Self::ScopeIncomplete
            | Self::ReadUnproved
            | Self::NewerVersion => self.published_cause(),
        }
    }

    /// The same for the reasons that the controller's Lease lists.
    const fn published_cause(self) -> &'static str {
        match self {
            Self::Delayed => "the controller backs off after the last correction of the object",
            Self::Unsendable => {
                "the correction could not be sent: a Secret is missing or may not be used, or a template fails; driftCorrected and the \
                 controller's log name the cause"
            }
            Self::JobUnfinished => "a Job of an earlier correction of the object has not ended",
            Self::JobNotTakenUp => "the correction's Job is not taken up: it is suspended, or no Job controller runs",
            Self::JobWithoutPod => "the correction's Job has no Pod: a quota or an admission rule refuses it",
            Self::JobPodNotReady => "the Pod of the correction's Job is not ready: it has no node, or no image",
            Self::WriteRefused => {
                "the API server refuses the controller's writes to the object; an Event on the object names the cause"
            }
            Self::RaceLost => "another writer keeps overtaking the controller's writes to the object",
            Self::WriteUndone => "another writer keeps undoing the controller's writes to the object",
            Self::ScopeIncomplete => {
                "the objects of another target of the same scope are not known to the controller; its /readyz names the target. That ends \
                 once the target's ConfigMap is back, or after `kubectl drift forget` of it"
            }
            Self::ReadUnproved => {
                "no poll shows the resource of any object of the target, so one create is open at a time; the others follow once a poll \
                 finds one. If none does, correct the read: the object with the open create says more"
            }
            _ => {
                "a newer version of the programs wrote a condition of the object, in words that this version does not know: nothing is \
                 sent or written for it until both programs have that version"
            }
        }
    }
}
