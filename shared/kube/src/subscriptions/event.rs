//! The events of a target's objects.

use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::object::report::SeenReport;
use drift_api::timing::moment::Moment;

/// An event for a target.
#[derive(Clone, Debug)]
pub enum ObjectEvent {
    /// The current state of an object of the target.
    Seen(Box<LeanObject>),
    /// The report of one of its objects changed, or is gone.
    Reported(Uid, Box<SeenReport>),
    /// An object that the target selects belongs to another, first by name. Sent once.
    Skipped(Box<LeanObject>),
    /// An object no longer belongs to the target and is not skipped: deleted, no longer matching, or another's.
    Left(Uid),
    /// All objects of the target were `Seen` or `Skipped`. Sent once.
    Listed,
    /// All watches of the target's objects gave a sign of life (event, bookmark or list) at `since` or later. Sent at
    /// most every few seconds.
    Alive {
        /// The oldest of the last signs.
        since: Moment,
    },
}
