//! What the actor of a target's former text leaves to that of the next.
//!
//! It must not know what is in it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use drift_target::{ObjectSelection, Target};

use crate::core::roster::Handover;

type HandoversByTarget = HashMap<String, (Arc<Target>, Handover)>;

/// What actors left, by target name. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Handovers(Arc<Mutex<HandoversByTarget>>);

impl Handovers {
    /// What the actor before left, and whether a person edited the target's limits since.
    #[must_use]
    pub fn take(&self, target: &Target) -> (Handover, bool) {
        let mut handovers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match handovers.remove(&target.name) {
            Some((before, handover)) if is_same_kind(&before.objects, &target.objects) => {
                (handover, before.correct.limits != target.correct.limits)
            }
            _ => (Handover::default(), false),
        }
    }

    /// An actor ended; a target that is not in force any more leaves no claims.
    pub fn leave(&self, target: Arc<Target>, mut handover: Handover, is_in_force: bool) {
        if !is_in_force {
            handover.forget_claims();
        }
        let mut handovers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        handovers.insert(target.name.clone(), (target, handover));
    }
}

/// Whether two selections speak of one kind, in whatever version.
fn is_same_kind(one: &ObjectSelection, other: &ObjectSelection) -> bool {
    one.is_of(other.group(), &other.kind)
}
