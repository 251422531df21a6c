//! Reasons for doing nothing for an object: the controller's guards, the label of its metric, the entries on its Lease
//! and the sentences of commands all use this one set.

use crate::condition::CorrectedReason;
use crate::requests::job::JobStage;

macro_rules! words {
    ($($(#[$doc:meta])* $variant:ident => $word:literal,)+) => {
        /// Reason why nothing is done now. First those of the controller's guards, in the order in which each is first
        /// asked for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Held { $($(#[$doc])* $variant,)+ }

        impl Held {
            /// All reasons in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the label of the metric.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// Returns the word for tables, sentences and the Lease.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)+ }
            }
        }
    };
}

words! {
    /// The first full list is not read yet.
    NotListed => "not_listed",
    /// A newer version of one of the programs wrote a condition of the object.
    NewerVersion => "newer_version",
    /// The target only observes.
    Observing => "observing",
    /// An id that a step stored was changed or removed by another writer.
    StoredIdChanged => "stored_id_changed",
    /// A template of the target fails for this object.
    TemplateFails => "template_fails",
    /// The target is suspended, as a whole or for this object.
    Suspended => "suspended",
    /// The object is paused.
    Paused => "paused",
    /// A requirement of the target is not met.
    NotAllowed => "not_allowed",
    /// Another object, of any target, has the identity.
    IdentityTaken => "identity_taken",
    /// Two or more objects claim the identity.
    IdentityContested => "identity_contested",
    /// The object gives up the identity that it names.
    GivenUp => "given_up",
    /// Objects that may have claimed the identity are not listed yet.
    ScopeIncomplete => "scope_incomplete",
    /// The verdict is Unknown.
    VerdictUnknown => "verdict_unknown",
    /// The target has no action for the verdict's reason.
    NoAction => "no_action",
    /// The poller does not attest the target.
    NotAttested => "not_attested",
    /// The breaker of the target is open.
    BreakerOpen => "breaker_open",
    /// The external resource is not ours and the target does not adopt.
    NotOurs => "not_ours",
    /// The identity was edited.
    IdentityChanged => "identity_changed",
    /// The last correction is not yet verified by a poll.
    NotVerified => "not_verified",
    /// The result of the last create is unknown, and the read cannot show it or does not find it.
    CreationInDoubt => "creation_in_doubt",
    /// Too many consecutive corrections healed nothing.
    AttemptsExhausted => "attempts_exhausted",
    /// The correction awaits the approval of a person.
    AwaitingApproval => "awaiting_approval",
    /// The correction could not be sent, because a Secret is missing or unusable, or a template fails. It
    /// is retried later.
    Unsendable => "unsendable",
    /// The delay after the last correction is not over.
    Delayed => "delayed",
    /// A Job of the object for an earlier request has not ended.
    JobUnfinished => "job_unfinished",
    /// The target's windows are closed.
    OutsideWindow => "outside_window",
    /// The read shows no resource of the target, and another create waits to be found.
    ReadUnproved => "read_unproved",
    /// The target's limits are used up.
    Limited => "limited",
    /// The object has no verdict of the poller.
    NoVerdict => "no_verdict",
    /// The verdict is about another spec.
    VerdictOutdated => "verdict_outdated",
    /// The verdict is in sync.
    InSync => "in_sync",
    /// The object is being deleted and does not have our finalizer.
    Deleting => "deleting",
    /// No ConfigMap has the target's text any more.
    TargetFormer => "target_former",
    /// Another ConfigMap has another text of the target.
    TargetTaken => "target_taken",
    /// The API server refuses our writes to this object. They are retried later.
    WriteRefused => "write_refused",
    /// Another writer keeps overtaking our writes to this object. They are retried later.
    RaceLost => "race_lost",
    /// Another writer keeps undoing our writes to this object. They are retried later.
    WriteUndone => "write_undone",
    /// Another target owns the object.
    ClaimedTwice => "claimed_twice",
    /// The Job of the correction was not started: it is suspended, or no Job controller is running.
    JobNotTakenUp => "job_not_taken_up",
    /// The Job of the correction has no Pod, because a quota or an admission rule refuses it.
    JobWithoutPod => "job_without_pod",
    /// The Pod of the correction's Job is not ready, because it has no node or no image.
    JobPodNotReady => "job_pod_not_ready",
}

impl Held {
    /// Returns the reason why a Job makes no progress in this stage; `None` if it runs.
    #[must_use]
    pub const fn of_job(stage: JobStage) -> Option<Self> {
        match stage {
            JobStage::NotTakenUp => Some(Self::JobNotTakenUp),
            JobStage::WithoutPod => Some(Self::JobWithoutPod),
            JobStage::PodNotReady => Some(Self::JobPodNotReady),
            JobStage::Running => None,
        }
    }

    /// The reason for readers of the controller's Lease; `None` if they see it elsewhere, or it holds the whole target.
    #[must_use]
    pub const fn published(self) -> Option<Self> {
        match self {
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
            | Self::NewerVersion => Some(self),
            _ => None,
        }
    }

    /// Returns the reason with which `driftCorrected` says the same; `None` if it does not.
    #[must_use]
    pub fn recorded_as(self) -> Option<CorrectedReason> {
        CorrectedReason::parse(self.word())
    }

    /// Returns true if a try follows from the time alone.
    #[must_use]
    pub const fn has_next_try(self) -> bool {
        matches!(self, Self::Delayed | Self::Unsendable | Self::WriteRefused | Self::RaceLost | Self::WriteUndone)
    }

    /// Returns true if the reason matters to a person who looks for uncorrected drift. The other reasons
    /// are normal operation.
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

    #[test]
    fn a_label_is_the_word_in_small_letters() {
        for why in Held::ALL {
            assert_eq!(why.as_str().replace('_', ""), why.word().to_lowercase());
        }
    }

    #[test]
    fn every_published_reason_is_noteworthy() {
        assert!(Held::ALL.iter().filter(|why| why.published().is_some()).all(|why| why.is_noteworthy()));
    }

    #[test]
    fn the_record_tells_the_holds_that_last() {
        let told: Vec<_> = Held::ALL.iter().filter_map(|why| why.recorded_as()).map(CorrectedReason::as_str).collect();
        let expected = [
            "StoredIdChanged",
            "IdentityTaken",
            "IdentityContested",
            "NotOurs",
            "IdentityChanged",
            "CreationInDoubt",
            "AttemptsExhausted",
            "AwaitingApproval",
        ];
        assert_eq!(told, expected);
    }
}
