//! Objects that wait because the objects of another target of the scope are not listed.

use std::collections::HashSet;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;

use super::Target;
use crate::engine::corrections::Held;
use crate::engine::effect::{Effect, Report};
use crate::engine::shared_state::SharedState;

/// Time that a scope may be incomplete before its objects report it. At a start, all lists are read within seconds. A
/// ConfigMap that a GitOps tool deletes and recreates returns sooner.
const REPORT_AFTER: Duration = Duration::from_secs(60);

/// Reports about an incomplete scope.
#[derive(Debug, Default)]
pub(super) struct ScopeWait {
    /// Start of the incomplete state, for claims and for deletions.
    since: [Option<Moment>; 2],
    /// Reported objects; the flag is true if the object was being deleted.
    reported: HashSet<(Uid, bool)>,
}

impl<P: SharedState> Target<P> {
    /// Reports each waiting object once. Called at each housekeeping, because no input arrives meanwhile.
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
