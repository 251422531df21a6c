//! Takes our finalizer off an object without deleting anything outside, and says so.
//!
//! This file must not know why an object is let go.

use drift_cluster::client::WriteError;
use drift_cluster::object_writer::ObjectWriter;
use drift_cluster::process::kill_point::{KillPoint, reach};
use drift_model::object::{LeanObject, ObjectId};

use crate::core::finalizer::release_patch;
use crate::notices::Announcer;

/// Lets go objects of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Releaser<'a> {
    /// Writes to objects.
    pub writer: &'a ObjectWriter,
    /// Says what happened.
    pub announcer: &'a Announcer,
}

impl Releaser<'_> {
    /// Takes the finalizer off an object as it was read; `left_behind` says that the external resource stays.
    ///
    /// # Errors
    /// [`WriteError`].
    pub async fn release(&self, object: &LeanObject, left_behind: bool) -> Result<LeanObject, WriteError> {
        let patch = release_patch(object).ok_or(WriteError::Moved)?;
        let call = self.writer.slots.enter().await;
        reach(KillPoint::ControllerBeforeRelease);
        let written = self.writer.patch(&call, object, patch).await;
        reach(KillPoint::ControllerAfterRelease);
        // An object that was only waiting for us is gone with the write.
        if left_behind && matches!(written, Ok(_) | Err(WriteError::Gone)) {
            self.announcer.left_behind(&self.writer.kind, object);
        }
        written
    }

    /// Takes the finalizer off an object that no target selects, as it is now. Whether nothing is left to do here: what
    /// the API server refuses is for the clean-up, which tries again with growing pauses.
    pub async fn let_go(&self, id: &ObjectId) -> bool {
        let call = self.writer.slots.enter().await;
        let live = match self.writer.read(&call, id).await {
            Ok(Some(live)) if live.has_finalizer() => live,
            Ok(_) => return true,
            Err(_) => return false,
        };
        drop(call);
        reach(KillPoint::ControllerAfterLiveRead);
        match self.release(&live, true).await {
            Ok(_) | Err(WriteError::Gone) => true,
            Err(WriteError::Refused(sentence)) => {
                self.announcer.write_refused(&self.writer.kind, &live, &sentence);
                true
            }
            Err(WriteError::Moved | WriteError::Unavailable(_) | WriteError::NotLeading) => false,
        }
    }
}
