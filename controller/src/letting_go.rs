//! Takes our finalizer off an object without deleting anything outside, and says so.
//!
//! This file must not know why an object is let go.

use drift_cluster::client::WriteError;
use drift_cluster::process::kill_point::{KillPoint, reach};
use drift_model::object::{LeanObject, ObjectId};

use crate::notices::Announcer;
use crate::pen::Pen;

/// Lets go objects of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Releaser<'a> {
    /// Writes to objects.
    pub pen: &'a Pen,
    /// Says what happened.
    pub announcer: &'a Announcer,
}

impl Releaser<'_> {
    /// Takes the finalizer off an object as it was read; `left_behind` says that the external resource stays.
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn release(&self, object: &LeanObject, left_behind: bool) -> Result<LeanObject, WriteError> {
        let written = self.pen.release_finalizer(object).await;
        // An object that was only waiting for us is gone with the write.
        if left_behind && matches!(written, Ok(_) | Err(WriteError::Gone)) {
            self.announcer.left_behind(&self.pen.kind, object);
        }
        written
    }

    /// Takes the finalizer off an object that no target selects, as it is now. Whether nothing is left to do here: what
    /// the API server refuses is for the clean-up, which tries again with growing pauses.
    pub async fn let_go(&self, id: &ObjectId) -> bool {
        let live = match self.pen.read(id).await {
            Ok(Some(live)) if live.has_finalizer() => live,
            Ok(_) => return true,
            Err(_) => return false,
        };
        reach(KillPoint::ControllerAfterLiveRead);
        match self.release(&live, true).await {
            Ok(_) | Err(WriteError::Gone) => true,
            Err(WriteError::Refused(sentence)) => {
                self.announcer.write_refused(&self.pen.kind, &live, &sentence);
                true
            }
            Err(WriteError::Moved | WriteError::Unavailable(_) | WriteError::NotLeading) => false,
        }
    }
}
