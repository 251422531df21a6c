//! The proof that the read of a target finds what its creates make.
//!
//! A read with a wrong address finds nothing, and the create of each object would make a resource that no poll shows.
//! While no poll shows the resource of any object, one create is open at a time.

use drift_api::condition::{ConditionStatus, CurrentVerdict, ObservedReason};

/// Part of one object in the proof.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadEvidence {
    /// True if the last poll that succeeded found the resource of the object.
    pub is_found: bool,
    /// True if the object has a create that no poll has found.
    pub is_open: bool,
}

impl ReadEvidence {
    /// Returns the part after this verdict. A failed poll shows nothing new. A poll that found nothing does, also if that
    /// is Unknown.
    #[must_use]
    pub fn after(self, current: Option<&CurrentVerdict>, is_open: bool) -> Self {
        let is_found = match current.map(|current| current.reason) {
            Some(reason) if reason.is_presence() => true,
            Some(ObservedReason::AllMissing | ObservedReason::AbsenceContradicted) => false,
            Some(reason) if reason.status() == ConditionStatus::Unknown => self.is_found,
            _ => false,
        };
        Self { is_found, is_open }
    }
}

/// Numbers of a target's objects.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadProof {
    found: usize,
    open: usize,
}

impl ReadProof {
    /// Replaces the part of one object.
    pub fn replace(&mut self, before: ReadEvidence, after: ReadEvidence) {
        self.found += usize::from(after.is_found);
        self.found -= usize::from(before.is_found);
        self.open += usize::from(after.is_open);
        self.open -= usize::from(before.is_open);
    }

    /// Returns true if a poll shows the resource of an object.
    #[must_use]
    pub const fn is_proved(&self) -> bool {
        self.found > 0
    }

    /// Returns true if the object with this part may be created. A create that is open already has its own rules.
    /// `is_creating` is true if the create of another object is under way.
    #[must_use]
    pub const fn permits(&self, own: ReadEvidence, is_creating: bool) -> bool {
        self.is_proved() || own.is_open || self.open == 0 && !is_creating
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drift_api::condition::Tag;

    fn after(before: ReadEvidence, reason: ObservedReason) -> bool {
        let current = CurrentVerdict { reason, tag: Tag::default(), generation: Some(1) };
        before.after(Some(&current), false).is_found
    }

    #[test]
    fn only_the_last_poll_with_a_result_counts() {
        use ObservedReason::{
            AbsenceContradicted, AllMissing, ExternalMissing, FieldsDiffer, InSync, NotCreated, PollTimedOut, Settling,
        };
        let (found, absent) = (ReadEvidence { is_found: true, is_open: false }, ReadEvidence::default());
        for reason in [InSync, FieldsDiffer, Settling] {
            assert!(after(absent, reason), "{reason}");
        }
        for reason in [NotCreated, ExternalMissing, AllMissing, AbsenceContradicted] {
            assert!(!after(found, reason), "{reason}");
        }
        assert!(after(found, PollTimedOut) && !after(absent, PollTimedOut));
        assert!(!found.after(None, false).is_found);
    }

    #[test]
    fn open_creates_do_not_hold_each_other() {
        let (mut proof, open) = (ReadProof::default(), ReadEvidence { is_found: false, is_open: true });
        let fresh = ReadEvidence::default();
        assert!(proof.permits(fresh, false) && !proof.permits(fresh, true));
        (0..2).for_each(|_| proof.replace(fresh, open));
        assert!(proof.permits(open, true) && !proof.permits(fresh, false));
        proof.replace(open, ReadEvidence { is_found: true, is_open: false });
        assert!(proof.permits(fresh, true));
    }
}
