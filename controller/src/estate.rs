//! What the actor of a target's former text leaves to that of the next.
//!
//! It must not know what is in it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use drift_target::{ObjectSelection, Target};

use crate::core::roster::Heritage;

type Heritages = HashMap<String, (Arc<Target>, Heritage)>;

/// What actors left, by target name. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Estate(Arc<Mutex<Heritages>>);

impl Estate {
    /// What the actor before left, and whether a person edited the target's limits since.
    #[must_use]
    pub fn inherit(&self, target: &Target) -> (Heritage, bool) {
        let mut estate = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match estate.remove(&target.name) {
            Some((before, heritage)) if is_same_kind(&before.objects, &target.objects) => {
                (heritage, before.correct.limits != target.correct.limits)
            }
            _ => (Heritage::default(), false),
        }
    }

    /// An actor ended; a target that is not in force any more leaves no claims.
    pub fn bequeath(&self, target: Arc<Target>, mut heritage: Heritage, is_in_force: bool) {
        if !is_in_force {
            heritage.forget_claims();
        }
        let mut estate = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        estate.insert(target.name.clone(), (target, heritage));
    }
}

/// Whether two selections speak of one kind, in whatever version.
fn is_same_kind(one: &ObjectSelection, other: &ObjectSelection) -> bool {
    one.is_of(other.group(), &other.kind)
}
