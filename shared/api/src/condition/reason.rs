//! The closed sets of reasons of both conditions.
//!
//! A reason is what alerts and people select on, so no code invents one in passing.
//! This file knows only the words and which status each belongs to.

use crate::condition::ConditionStatus;

macro_rules! reasons {
    ($(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident => $status:ident,)+ }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$inner])* $variant,)+ }

        impl $name {
            /// Every reason, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The word as it stands in the condition.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)+ }
            }

            /// The status that this reason always comes with.
            #[must_use]
            pub const fn status(self) -> ConditionStatus {
                match self { $(Self::$variant => ConditionStatus::$status,)+ }
            }

            /// The reason of that word; `None` for a word that is not ours.
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
    /// Why `driftObserved` has its status.
    ObservedReason {
        /// The external resource is as the object says.
        InSync => False,
        /// Absent, and never seen in sync at this generation.
        NotCreated => True,
        /// Present but different, and never seen in sync at this generation.
        NotUpdated => True,
        /// Absent, after having been in sync at this generation.
        ExternalMissing => True,
        /// Different, after having been in sync at this generation.
        FieldsDiffer => True,
        /// No poll of this object was ever completed.
        NotYetPolled => Unknown,
        /// The deadline of the poll passed.
        PollTimedOut => Unknown,
        /// No connection: DNS, connect, TLS or reset.
        ExternalUnreachable => Unknown,
        /// The external system refused our credential, or the credential is missing.
        Unauthorized => Unknown,
        /// The external system asked us to slow down.
        RateLimited => Unknown,
        /// The external system answered with an error, a redirect or a status that the target does not accept.
        ExternalError => Unknown,
        /// The answer is not what the target says it should be.
        ResponseInvalid => Unknown,
        /// The external system says that it is still working on an earlier change.
        Settling => Unknown,
        /// A template of the target cannot be evaluated for this object.
        RuleError => Unknown,
        /// A requirement of the target does not hold for this object.
        NotAllowed => Unknown,
        /// The target is suspended, as a whole or for this object.
        Suspended => Unknown,
    }
}

reasons! {
    /// Why `driftCorrected` has its status.
    CorrectedReason {
        /// The claim is laid; the first create or adopting update follows.
        CorrectionStarted => Unknown,
        /// The external system accepted the correction.
        CorrectionApplied => True,
        /// The correction was refused, or nobody knows whether it was done.
        CorrectionFailed => False,
        /// So many corrections in a row changed nothing that only one an hour is tried.
        AttemptsExhausted => False,
        /// The external resource was there before and the target does not adopt.
        NotOurs => False,
        /// The object's identity was edited; the resource of the old identity is still outside.
        IdentityChanged => False,
        /// Another object has the external resource, by its claim or as the oldest that names it.
        IdentityTaken => False,
        /// Two or more objects claim the external resource, and none of them is corrected.
        IdentityContested => False,
        /// The external resource is nobody else's any more; a poll comes before anything is done.
        IdentityFree => Unknown,
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

    /// Returns true if this Unknown was decided without asking the external system, so that it needs no confirmation.
    #[must_use]
    pub const fn needs_no_read(self) -> bool {
        matches!(self, Self::RuleError | Self::NotAllowed | Self::Suspended | Self::NotYetPolled)
    }
}

impl CorrectedReason {
    /// Returns true if another object keeps this one from its external resource.
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
