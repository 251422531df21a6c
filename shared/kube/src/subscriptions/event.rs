//! The events of a target's objects.

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;

/// One thing that a target is told.
#[derive(Clone, Debug)]
pub enum ObjectEvent {
    /// An object of the target as it is now.
    Seen(Box<LeanObject>),
    /// An object that the target selects is another's, first by name. Said once.
    Skipped(Box<LeanObject>),
    /// An object is the target's no more, nor skipped: deleted, no longer matching, or another's.
    Left(Uid),
    /// All objects of the target were `Seen` or `Skipped`. Said once.
    Listed,
    /// All watches of the target's objects gave a sign of life (event, bookmark or list) at `since` or later; sent at most
    /// every few seconds.
    Alive {
        /// The oldest of the last signs.
        since: Moment,
    },
}
