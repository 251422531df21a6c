//! Why nothing is done for an object: the closed set of words that a metric counts by.
//!
//! This file knows only the words.

use drift_api::requests::job::JobStage;

macro_rules! words {
    ($($(#[$doc:meta])* $variant:ident => $word:literal,)+) => {
        /// Why nothing is done now.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Held { $($(#[$doc])* $variant,)+ }

        impl Held {
            /// Every word.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The label of the metric.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }
    };
}

words! {
    /// No verdict of the poller stands.
    NoVerdict => "no_verdict",
    /// The verdict says in sync.
    InSync => "in_sync",
    /// The poller cannot tell.
    VerdictUnknown => "verdict_unknown",
    /// The verdict speaks of another spec.
    VerdictOutdated => "verdict_outdated",
    /// The last correction is not verified by a poll yet.
    NotVerified => "not_verified",
    /// The target only observes.
    Observing => "observing",
    /// The target is suspended, as a whole or for this object.
    Suspended => "suspended",
    /// The object is paused.
    Paused => "paused",
    /// A template of the target cannot be evaluated for this object.
    TemplateFails => "template_fails",
    /// A requirement of the target does not hold.
    NotAllowed => "not_allowed",
    /// Another object, of whatever target, has the identity.
    IdentityTaken => "identity_taken",
    /// Two or more objects claim the identity.
    IdentityContested => "identity_contested",
    /// The object gives up the identity that it names.
    GivenUp => "given_up",
    /// Objects that may have claimed the identity are not known yet.
    ScopeIncomplete => "scope_incomplete",
    /// Another target owns the object.
    ClaimedTwice => "claimed_twice",
    /// The external resource is not ours and the target does not adopt.
    NotOurs => "not_ours",
    /// The identity was edited.
    IdentityChanged => "identity_changed",
    /// The target has no action for the verdict's reason.
    NoAction => "no_action",
    /// The poller does not attest the target.
    NotAttested => "not_attested",
    /// The breaker of the target is open.
    BreakerOpen => "breaker_open",
    /// Too many corrections in a row healed nothing.
    AttemptsExhausted => "attempts_exhausted",
    /// The pause since the last correction is not over.
    Delayed => "delayed",
    /// The correction could not be sent: a Secret is missing or may not be used, or a template fails; tried again later.
    Unsendable => "unsendable",
    /// A Job of the object that was begun for something else has not ended.
    JobUnfinished => "job_unfinished",
    /// The Job of the correction is not taken up: something holds it, or nothing controls Jobs.
    JobNotTakenUp => "job_not_taken_up",
    /// The Job of the correction has no Pod: a quota or an admission rule refuses it.
    JobWithoutPod => "job_without_pod",
    /// The Pod of the correction's Job is not ready: it has no node, or no image.
    JobPodNotReady => "job_pod_not_ready",
    /// The target's limits are used up.
    Limited => "limited",
    /// The first full list is not read yet.
    NotListed => "not_listed",
    /// The API server refuses our writes to this object; tried again later.
    WriteRefused => "write_refused",
    /// Another writer keeps overtaking our writes to this object; tried again later.
    RaceLost => "race_lost",
    /// Another writer keeps undoing our writes to this object; tried again later.
    WriteUndone => "write_undone",
    /// The object is being deleted and there is nothing of ours on it.
    Deleting => "deleting",
}

impl Held {
    /// Why nothing comes of a Job that has come so far; `None` where it runs.
    #[must_use]
    pub const fn of_job(stage: JobStage) -> Option<Self> {
        match stage {
            JobStage::NotTakenUp => Some(Self::JobNotTakenUp),
            JobStage::WithoutPod => Some(Self::JobWithoutPod),
            JobStage::PodNotReady => Some(Self::JobPodNotReady),
            JobStage::Running => None,
        }
    }

    /// Returns true if a person looking for uncorrected drift wants to see it; the others are the normal course.
    #[must_use]
    pub const fn is_noteworthy(self) -> bool {
        !matches!(self, Self::NoVerdict | Self::InSync | Self::VerdictUnknown | Self::Observing | Self::Deleting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_reasons_share_a_word() {
        let words: std::collections::BTreeSet<_> = Held::ALL.iter().map(|held| held.as_str()).collect();
        assert_eq!(words.len(), Held::ALL.len());
    }
}
