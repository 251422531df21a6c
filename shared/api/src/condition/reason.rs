//! The fixed sets of reasons of both conditions.
//!
//! Alerts and people select on reasons, so no code invents one. This file defines only the words and the
//! status of each.

use crate::condition::ConditionStatus;
use crate::held_corrections::Held;

macro_rules! reasons {
    ($(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident => $status:ident,)+ }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$inner])* $variant,)+ }

        impl $name {
            /// Every reason, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the word in the condition.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)+ }
            }

            /// Returns the status that belongs to this reason.
            #[must_use]
            pub const fn status(self) -> ConditionStatus {
                match self { $(Self::$variant => ConditionStatus::$status,)+ }
            }

            /// Parses a reason. `None` for a word that is not ours.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|reason| reason.as_str() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }
    };
}

reasons! {
    /// The reason of the status of `driftObserved`.
    ObservedReason {
        /// The external resource matches the object.
        InSync => False,
        /// Absent, and never found in sync at this generation.
        NotCreated => True,
        /// Present but different, and never found in sync at this generation.
        NotUpdated => True,
        /// Absent, after it was in sync at this generation.
        ExternalMissing => True,
        /// Different, after it was in sync at this generation.
        FieldsDiffer => True,
        /// No poll of this object was completed yet.
        NotYetPolled => Unknown,
        /// The poll missed its deadline.
        PollTimedOut => Unknown,
        /// No connection: DNS, connect, TLS or reset.
        ExternalUnreachable => Unknown,
        /// The external system rejected our credential, or asks for one.
        Unauthorized => Unknown,
        /// The external system does not allow our account this read.
        Forbidden => Unknown,
        /// Our credential cannot be used, so that no request was sent with it.
        CredentialUnusable => Unknown,
        /// The external system asked us to slow down.
        RateLimited => Unknown,
        /// The external system responded with an error, a redirect or a status that the target does not accept.
        ExternalError => Unknown,
        /// The answer is not what the target says it should be.
        ResponseInvalid => Unknown,
        /// The external system reports that it is still applying an earlier change.
        Settling => Unknown,
        /// The read finds nothing, and the external system refused to create the resource because it exists already.
        AbsenceContradicted => Unknown,
        /// The read finds none of the target's resources that it found before. Perhaps the read is wrong.
        AllMissing => Unknown,
        /// A template of the target cannot be evaluated for this object.
        RuleError => Unknown,
        /// The object does not meet a requirement of the target.
        NotAllowed => Unknown,
        /// The target is suspended, as a whole or for this object.
        Suspended => Unknown,
        /// No ConfigMap has the target's text any more, so that the object is not polled.
        TargetMissing => Unknown,
    }
}

reasons! {
    /// The reason of the status of `driftCorrected`.
    CorrectedReason {
        /// The claim is written. The first create or adopting update follows.
        CorrectionStarted => Unknown,
        /// The external system accepted the correction.
        CorrectionApplied => True,
        /// The correction was rejected, or its outcome is unknown.
        CorrectionFailed => False,
        /// So many consecutive corrections had no effect that only one per hour is tried.
        AttemptsExhausted => False,
        /// The target corrects only what a person approves, and the next correction has no approval.
        AwaitingApproval => Unknown,
        /// The object does not own the external resource: that already existed and the target does not adopt, or the object
        /// gave it up.
        NotOurs => False,
        /// The object's identity or the target's scope was edited. The owned resource still exists.
        IdentityChanged => False,
        /// Another object has the external resource, through its claim or as the oldest that names it.
        IdentityTaken => False,
        /// Two or more objects claim the external resource, and none of them is corrected.
        IdentityContested => False,
        /// The external resource no longer belongs to another object. A poll comes first.
        IdentityFree => Unknown,
        /// Nobody knows if the last create made the resource, and the read does not find it. Another create could make a
        /// second one: one is tried after an hour, and then a person decides.
        CreationInDoubt => False,
        /// An id that a step stored in the status was changed or removed by another writer. No request is sent, because
        /// it could reach another resource.
        StoredIdChanged => False,
        /// The deletion found nothing at its address, although the last poll found the resource. A poll that finds the
        /// resource absent ends it.
        DeletionUnclear => False,
    }
}

impl ObservedReason {
    /// Returns true if the external resource was in sync at this generation before it drifted, so that the drift is an incident.
    #[must_use]
    pub const fn is_incident(self) -> bool {
        matches!(self, Self::ExternalMissing | Self::FieldsDiffer)
    }

    /// Returns true if the external resource was found absent.
    #[must_use]
    pub const fn is_absence(self) -> bool {
        matches!(self, Self::ExternalMissing | Self::NotCreated)
    }

    /// Returns true if the external resource was found. A resource that is still settling exists too.
    #[must_use]
    pub const fn is_presence(self) -> bool {
        matches!(self, Self::InSync | Self::NotUpdated | Self::FieldsDiffer | Self::Settling)
    }

    /// Returns true if only an object whose resource was found before can have it.
    #[must_use]
    pub const fn implies_found(self) -> bool {
        self.is_presence() || matches!(self, Self::ExternalMissing)
    }

    /// Returns true if this Unknown was decided without a request to the external system, so that it
    /// needs no confirmation.
    #[must_use]
    pub const fn needs_no_read(self) -> bool {
        matches!(self, Self::RuleError | Self::NotAllowed | Self::Suspended | Self::TargetMissing | Self::NotYetPolled)
    }
}

impl CorrectedReason {
    /// Returns true if the object is not corrected again until a person acts.
    #[must_use]
    pub fn needs_a_person(self) -> bool {
        Held::parse(self.as_str()).is_some_and(Held::needs_a_person)
    }

    /// Returns true if another object blocks this one from its external resource.
    #[must_use]
    pub const fn is_held_by_another(self) -> bool {
        matches!(self, Self::IdentityTaken | Self::IdentityContested)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_found_by_its_own_word() {
        for reason in ObservedReason::ALL {
            assert_eq!(ObservedReason::parse(reason.as_str()), Some(*reason));
        }
        for reason in CorrectedReason::ALL {
            assert_eq!(CorrectedReason::parse(reason.as_str()), Some(*reason));
        }
        assert_eq!(ObservedReason::parse("Foreign"), None);
    }
}
