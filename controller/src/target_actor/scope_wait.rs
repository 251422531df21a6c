//! Objects that wait because the objects of another target of the scope are not known.

use std::collections::HashSet;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;

use super::TargetActor;
use crate::core::held::Held;

/// How long a scope may be incomplete before its objects tell: at a start all lists are read within seconds, and a ConfigMap
/// that a GitOps tool deletes comes back in less.
const TELL_AFTER: Duration = Duration::from_secs(60);

/// What was told of a scope that is incomplete.
#[derive(Debug, Default)]
pub(super) struct ScopeWait {
    since: Option<Moment>,
    /// The objects that told, with whether they were being deleted.
    told: HashSet<(Uid, bool)>,
}

impl TargetActor {
    /// Tells once on each object that has to wait; asked at each housekeeping, since nothing happens meanwhile.
    pub(super) fn tell_of_scope_wait(&mut self, now: Moment) {
        let Some(awaited) = self.identities.awaited() else {
            self.scope_wait = ScopeWait::default();
            return;
        };
        let since = *self.scope_wait.since.get_or_insert(now);
        if now < since + TELL_AFTER {
            return;
        }
        for uid in self.held_counts.held_for(Held::ScopeIncomplete) {
            let Some(object) = self.roster.object(uid) else { continue };
            if self.scope_wait.told.insert((uid.clone(), object.deleting)) {
                self.executor.announcer.scope_incomplete(&self.executor.writer.kind, object, &awaited);
            }
        }
    }
}
