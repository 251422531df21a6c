//! Objects that wait because the objects of another target of the scope are not known.

use std::collections::HashSet;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;

use super::Target;
use crate::engine::corrections::held::Held;
use crate::engine::effect::{Effect, Report};
use crate::engine::shared_state::SharedState;

/// The time that a scope may be incomplete before its objects report it: at a start all lists are read within seconds, and a
/// ConfigMap that a GitOps tool deletes comes back in less.
const REPORT_AFTER: Duration = Duration::from_secs(60);

/// The reports about a scope that is incomplete.
#[derive(Debug, Default)]
pub(super) struct ScopeWait {
    since: Option<Moment>,
    /// The objects with a report, and whether they were being deleted.
    reported: HashSet<(Uid, bool)>,
}

impl<P: SharedState> Target<P> {
    /// Reports once on each object that has to wait; asked at each housekeeping, since nothing happens meanwhile.
    pub(super) fn report_scope_wait(&mut self, now: Moment) {
        let Some(awaited) = self.program.awaited() else {
            self.scope_wait = ScopeWait::default();
            return;
        };
        let since = *self.scope_wait.since.get_or_insert(now);
        if now < since + REPORT_AFTER {
            return;
        }
        for uid in self.held.held_for(Held::ScopeIncomplete) {
            let Some(object) = self.objects.object(uid) else { continue };
            if self.scope_wait.reported.insert((uid.clone(), object.deleting)) {
                let report = Report::ScopeIncomplete(Box::new(object.clone()), awaited.clone());
                self.effects.push(Effect::Report(report));
            }
        }
    }
}
