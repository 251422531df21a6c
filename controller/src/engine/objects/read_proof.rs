//! The proof that the read of a target finds what its creates make.
//!
//! A read with a wrong address finds nothing, and the create of each object would make a resource that nobody sees.
//! While no poll shows the resource of any object, one create is open at a time.

use drift_api::{ConditionStatus, CurrentVerdict};

/// Part of one object in the proof.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadEvidence {
    /// True if the last poll that succeeded found the resource of the object.
    pub is_found: bool,
    /// True if the object has a create that no poll has found.
    pub is_open: bool,
}

impl ReadEvidence {
    /// Returns the part after this verdict. A failed poll shows nothing new.
    #[must_use]
    pub fn after(self, current: Option<&CurrentVerdict>, is_open: bool) -> Self {
        let is_found = match current.map(|current| current.reason) {
            Some(reason) if reason.is_presence() => true,
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

    /// Returns true if the object with this part may be created. `is_creating` is true if the create of another object is
    /// under way.
    #[must_use]
    pub const fn permits(&self, own: ReadEvidence, is_creating: bool) -> bool {
        let others = if own.is_open { self.open - 1 } else { self.open };
        self.found > 0 || others == 0 && !is_creating
    }
}
