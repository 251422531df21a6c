//! The targets that have a text, with access by kind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::client::KindName;
use drift_language::{Target, TargetState};

/// The targets that have a text, and the proofs that others were removed.
#[derive(Clone, Copy, Debug)]
pub struct ActiveTargets<'a> {
    /// Every target with a text by its name.
    pub targets: &'a BTreeMap<String, Arc<Target>>,
    /// The states of targets. One with a text and without a state is live.
    pub states: &'a BTreeMap<String, TargetState>,
    /// The ConfigMaps in which every document is valid.
    pub whole: &'a BTreeSet<String>,
    /// The targets that a person forgot, each with the hashes of the notes.
    pub forgotten: &'a BTreeMap<String, String>,
}

impl<'a> ActiveTargets<'a> {
    /// The targets of a kind.
    pub fn of_kind(self, kind: &'a KindName) -> impl Iterator<Item = &'a Arc<Target>> + Clone {
        self.targets.values().filter(move |target| kind.is_of(&target.objects))
    }

    /// Returns the state of a target by the ConfigMaps. `None` if they have no text of it.
    #[must_use]
    pub fn state_of(self, target: &str) -> Option<TargetState> {
        let live = || self.targets.contains_key(target).then_some(TargetState::Live);
        self.states.get(target).copied().or_else(live)
    }

    /// Returns true if a person forgot the target as it has this note.
    #[must_use]
    pub fn forgets(self, target: &str, note_hash: &str) -> bool {
        self.forgotten.get(target).is_some_and(|hashes| hashes.split(' ').any(|hash| hash == note_hash))
    }
}
