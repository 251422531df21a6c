//! The commands of `kubectl-drift` announce the same result of a deletion as the controller then decides.

use std::sync::Arc;

use drift_api::identity::Ownership;
use drift_api::object::LeanObject;
use drift_controller::engine::corrections::correction::Correction;
use drift_controller::engine::{self, SharedState as _};
use drift_language::Target;
use drift_poller::engine::object::deletion::{Ending, ending_of};

use crate::shared::Shared;

/// Compares both results for a decision: a correction, or the removal of the finalizer that leaves the resource behind or
/// not. Returns their difference.
pub(crate) fn compare(
    target: &Arc<Target>,
    engine: &engine::Target<Shared>,
    object: &LeanObject,
    (correction, leaves): (Option<&Correction>, Option<bool>),
) -> Option<String> {
    let ending = Some(ending_of(target, object)).filter(|_| object.deleting);
    let agree = match (&ending, correction) {
        (Some(Ending::NotHeldByUs), _) => false,
        // Another writer removed the note or wrote another owner of the resource, and this process knows better.
        (Some(Ending::LeftBehind(_)), Some(correction)) => {
            let note = object.conditions.correction_status().in_scope(target.scope.id);
            correction.before.claim != note.claim
        }
        (Some(Ending::Deleted), None) => leaves != Some(true) || knows_more(engine, object),
        _ => true,
    };
    let action = correction.map(|correction| correction.action);
    (!agree).then(|| format!("people are told of another end: {} {ending:?}, done {action:?} {leaves:?}", object.id))
}

/// Returns true if the controller knows facts that are not on the object: other objects' claims, another writer's work,
/// or that every step was skipped.
fn knows_more(engine: &engine::Target<Shared>, object: &LeanObject) -> bool {
    let (objects, uid) = (engine.objects(), &object.id.uid);
    let rights = objects.claimant(uid).map(|claimant| engine.program.rights(uid, &claimant)).unwrap_or_default();
    let memory = objects.memory_of(uid);
    let remembers = memory.is_some_and(|memory| memory.deletion_skipped || memory.lost_status(object).is_some());
    rights.shared || matches!(rights.ownership, Ownership::Contested(_)) || remembers
}
