//! The active targets, with access by kind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::client::KindName;
use drift_language::Target;

/// The active targets, and the ConfigMaps that exist and parse completely.
#[derive(Clone, Copy, Debug)]
pub struct ActiveTargets<'a> {
    /// Every target by its name.
    pub targets: &'a BTreeMap<String, Arc<Target>>,
    /// The ConfigMaps in which every document is valid.
    pub whole: &'a BTreeSet<String>,
}

impl<'a> ActiveTargets<'a> {
    /// The targets of a kind.
    pub fn of_kind(self, kind: &'a KindName) -> impl Iterator<Item = &'a Arc<Target>> + Clone {
        self.targets.values().filter(move |target| kind.is_of(&target.objects))
    }
}
