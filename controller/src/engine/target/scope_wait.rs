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
    /// Since when it is so for claims, and for deletions.
    since: [Option<Moment>; 2],
    /// The objects with a report, and whether they were being deleted.
    reported: HashSet<(Uid, bool)>,
}

impl<P: SharedState> Target<P> {
    /// Reports once on each object that has to wait; asked at each housekeeping, since nothing happens meanwhile.
    pub(super) fn report_scope_wait(&mut self, now: Moment) {
        for deletes in [false, true] {
            let since = &mut self.scope_wait.since[usize::from(deletes)];
            match self.program.awaited(deletes) {
                None => {
                    *since = None;
                    self.scope_wait.reported.retain(|(_, deleting)| *deleting != deletes);
                }
                Some(awaited) if now >= *since.get_or_insert(now) + REPORT_AFTER => {
                    self.report_waiting(deletes, &awaited);
                }
                Some(_) => {}
            }
        }
    }

    fn report_waiting(&mut self, deletes: bool, awaited: &str) {
        for uid in self.held.held_for(Held::ScopeIncomplete) {
            let Some(object) = self.objects.object(uid).filter(|object| object.deleting == deletes) else { continue };
            if self.scope_wait.reported.insert((uid.clone(), deletes)) {
                let report = Report::ScopeIncomplete(Box::new(object.clone()), awaited.to_owned());
                self.effects.push(Effect::Report(report));
            }
        }
    }
}
