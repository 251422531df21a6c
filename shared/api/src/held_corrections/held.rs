//! Reasons for doing nothing for an object: the controller's guards, the label of its metric, the entries on its Lease
//! and the sentences of commands all use this one set.

use crate::condition::{CorrectedReason, ObservedReason, closed_text};

macro_rules! words {
    ($($(#[$doc:meta])* $variant:ident => $cause:expr;)+) => {
        /// Reason why nothing is done now. First those of the controller's guards, in the order in which each is first
        /// asked for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Held { $($(#[$doc])* $variant,)+ }

        impl Held {
            /// All reasons in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the word for it on every surface: metric, Lease, tables, JSON and sentences.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)+ }
            }

            /// Returns the reason and what ends it: a sentence without a full stop, and without what is only known of
            /// one object.
            #[must_use]
            pub const fn cause(self) -> &'static str {
                match self { $(Self::$variant => $cause,)+ }
            }
        }
    };
}

words! {
    /// The first full list is not read yet.
    NotListed =>
        "the controller has not read the first list of the kind";
    /// A newer version of one of the programs wrote a condition of the object.
    NewerVersion =>
        "a newer version of the programs wrote a condition of the object, in words that this version does not know: nothing is \
        sent or written for it until both programs have that version";
    /// The target only observes.
    Observing =>
        "the target only observes: its `correct.mode` is Observe";
    /// An id that a step stored was changed or removed by another writer.
    StoredIdChanged =>
        "another writer changed or removed an id in its status: set it back, or give the resource up by \
        `kubectl drift give-up KIND/NAME`";
    /// A template of the target fails for this object.
    TemplateFails =>
        closed_text(ObservedReason::RuleError);
    /// The target is suspended, as a whole or for this object.
    Suspended =>
        closed_text(ObservedReason::Suspended);
    /// The object is paused.
    Paused =>
        "the object is paused by its annotation driftpoller.dev/paused";
    /// A requirement of the target is not met.
    NotAllowed =>
        closed_text(ObservedReason::NotAllowed);
    /// Another object, of any target, has the identity.
    IdentityTaken =>
        "another object has the external resource";
    /// Two or more objects claim the identity.
    IdentityContested =>
        "other objects claim the external resource too";
    /// The object gives up the identity that it names.
    GivenUp =>
        "the object gives up the external resource that it names";
    /// Objects that may have claimed the identity are not listed yet.
    ScopeIncomplete =>
        "the objects of another target of the same scope are not known to the controller; its /readyz names the target. That ends \
        once the target's ConfigMap is back, or after `kubectl drift forget TARGET`";
    /// The verdict is Unknown.
    VerdictUnknown =>
        "the poll gave no result, and the controller corrects only drift that a poll found";
    /// The target has no action for the verdict's reason.
    NoAction =>
        "the target has no steps for the action";
    /// The poller does not attest the target.
    NotAttested =>
        "the poller does not attest the verdict";
    /// The breaker of the target is open.
    BreakerOpen =>
        "the breaker of the target is open";
    /// The external resource is not ours and the target does not adopt.
    NotOurs =>
        "the external resource was not made for this object, and `correct.existing` is Refuse";
    /// The identity was edited.
    IdentityChanged =>
        "the object's identity or the target's scope was edited, and the resource that the object owns still exists";
    /// The last correction is not yet verified by a poll.
    NotVerified =>
        "a poll verifies the last correction first";
    /// The result of the last create is unknown, and the read cannot show it or does not find it.
    CreationInDoubt =>
        "the last create may have made a resource that the read does not find: look in the external system, and correct \
        the read, delete what is there, or run `kubectl drift retry KIND/NAME`";
    /// Too many consecutive corrections healed nothing.
    AttemptsExhausted =>
        "the last corrections healed nothing: one try an hour, or at once by `kubectl drift retry KIND/NAME`";
    /// The correction awaits the approval of a person.
    AwaitingApproval =>
        "the correction awaits approval: `kubectl drift approve KIND/NAME` shows and approves it";
    /// The correction could not be sent, because a Secret is missing or unusable, or a template fails. It
    /// is retried later.
    Unsendable =>
        "the correction could not be sent: a Secret is missing or may not be used, or a template fails; driftCorrected and the \
        controller's log name the cause";
    /// The delay after the last correction is not over.
    Delayed =>
        "the controller backs off after the last correction of the object";
    /// A Job of the object for an earlier request has not ended.
    JobUnfinished =>
        "a Job of an earlier correction of the object has not ended";
    /// The target's windows are closed.
    OutsideWindow =>
        "the windows of the target are closed";
    /// The target's windows for deletions are closed.
    OutsideDeletionWindow =>
        "the windows of the target for deletions are closed";
    /// The read shows no resource of the target, and another create waits to be found.
    ReadUnproved =>
        "no poll shows the resource of any object of the target, so one create is open at a time; the others follow once a poll \
        finds one. If none does, correct the read: the object with the open create says more";
    /// The target's limits are used up.
    Limited =>
        "the limits of the target are used up";
    /// The object has no verdict of the poller.
    NoVerdict =>
        "the object has no verdict of the poller yet";
    /// The verdict is about another spec.
    VerdictOutdated =>
        "driftObserved speaks of an older spec; the next poll renews it";
    /// The verdict is in sync.
    InSync =>
        "it is in sync: there is nothing to correct";
    /// The object is being deleted and does not have our finalizer.
    Deleting =>
        "the object is being deleted and does not have the finalizer of these programs";
    /// No ConfigMap has the target's text any more.
    TargetFormer =>
        "no ConfigMap has the text of the target any more";
    /// Another ConfigMap has another text of the target.
    TargetTaken =>
        "another ConfigMap has another text of the target, or of its objects";
    /// The API server refuses our writes to this object. They are retried later.
    WriteRefused =>
        "the API server refuses the controller's writes to the object; an Event on the object names the cause";
    /// Another writer keeps overtaking our writes to this object. They are retried later.
    RaceLost =>
        "another writer keeps overtaking the controller's writes to the object";
    /// Another writer keeps undoing our writes to this object. They are retried later.
    WriteUndone =>
        "another writer keeps undoing the controller's writes to the object";
    /// Another target owns the object.
    ClaimedTwice =>
        "another target selects the object too, and owns it";
    /// The Job of the correction was not started: it is suspended, or no Job controller is running.
    JobNotTakenUp =>
        "the correction's Job is not taken up: it is suspended, or no Job controller runs";
    /// The Job of the correction has no Pod, because a quota or an admission rule refuses it.
    JobWithoutPod =>
        "the correction's Job has no Pod: a quota or an admission rule refuses it";
    /// The Pod of the correction's Job is not ready, because it has no node or no image.
    JobPodNotReady =>
        "the Pod of the correction's Job is not ready: it has no node, or no image";
}

impl Held {
    /// The reasons that last until a person acts, the most urgent first. The status page sorts by them, and alerts name them.
    pub const BY_PERSON: &[Self] = &[
        Self::IdentityContested,
        Self::IdentityTaken,
        Self::CreationInDoubt,
        Self::StoredIdChanged,
        Self::NewerVersion,
        Self::WriteRefused,
        Self::WriteUndone,
        Self::ClaimedTwice,
        Self::AttemptsExhausted,
        Self::BreakerOpen,
        Self::Unsendable,
        Self::NotOurs,
        Self::IdentityChanged,
    ];

    /// Parses the word for a reason. `None` for any other word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|why| why.as_str() == word)
    }

    /// Returns true if a person has to act before the reason ends.
    #[must_use]
    pub fn needs_a_person(self) -> bool {
        Self::BY_PERSON.contains(&self)
    }

    /// Returns true if the controller's Lease lists the reason: its readers do not see it elsewhere, and it does not hold
    /// the whole target.
    #[must_use]
    pub const fn is_published(self) -> bool {
        matches!(
            self,
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
                | Self::NewerVersion
        )
    }

    /// Returns the reason with which `driftCorrected` says the same; `None` if it does not.
    #[must_use]
    pub fn recorded_as(self) -> Option<CorrectedReason> {
        CorrectedReason::parse(self.as_str())
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
    fn a_remedy_is_a_whole_command() {
        for cause in Held::ALL.iter().map(|why| why.cause()) {
            let ends = cause.split("`kubectl drift ").skip(1).filter_map(|rest| rest.split_once('`'));
            let whole = ends.filter(|(command, _)| command.ends_with(" KIND/NAME") || command.ends_with(" TARGET"));
            assert_eq!(whole.count(), cause.matches("kubectl drift").count(), "{cause}");
            assert!(!cause.contains("a retry") && !cause.contains("unsuspend `"), "{cause}");
        }
    }

    #[test]
    fn every_published_reason_is_noteworthy() {
        assert!(Held::ALL.iter().filter(|why| why.is_published()).all(|why| why.is_noteworthy()));
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
