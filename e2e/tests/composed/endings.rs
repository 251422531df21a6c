//! The commands of `kubectl-drift` announce the same result of a deletion as the controller then decides.

use std::sync::Arc;

use drift_api::identity::Ownership;
use drift_api::object::LeanObject;
use drift_controller::engine::execution::Write;
use drift_controller::engine::{self, Operation, SharedState as _, Work};
use drift_language::Target;
use drift_poller::engine::object::deletion::{Ending, ending_of};

use crate::shared::Shared;

/// Compares both results for a piece of work. Returns their difference.
pub(crate) fn compare(target: &Arc<Target>, engine: &engine::Target<Shared>, work: &Work) -> Option<String> {
    let object = &work.object;
    let ending = Some(ending_of(target, object)).filter(|_| object.deleting);
    let agree = match (&ending, &work.correction) {
        (Some(Ending::NotHeldByUs), _) => false,
        // Another writer removed the note or wrote another owner of the resource, and this process knows better.
        (Some(Ending::LeftBehind(_)), Some(correction)) => {
            let note = object.conditions.correction_status().in_scope(target.scope.id);
            correction.before.claim != note.claim
        }
        (Some(Ending::Deleted), None) => {
            let leaves = Operation::Write(Write::ReleaseFinalizer { left_behind: true });
            work.operation != leaves || knows_more(engine, object)
        }
        _ => true,
    };
    (!agree).then(|| format!("people are told of another end: {} {ending:?}, done {:?}", object.id, work.operation))
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
