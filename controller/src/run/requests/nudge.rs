//! The nudge of a correction, sent to the API server as we write to objects.
//!
//! What it is and what the answer means is the engine's to say. This file must not know of conditions or claims.

use drift_api::names::NUDGE_MANAGER;
use drift_api::object::ObjectId;
use drift_kube::client::CallError;
use drift_kube::object_writer::{CallSlot, ObjectWriter};

use crate::engine::rendering::api_refusal::ApiRefusal;
use crate::engine::rendering::nudge::{Nudge, NudgeReply};

/// A nudge, and how it is sent.
#[derive(Debug)]
pub(super) struct NudgeRequest<'a> {
    pub(super) nudge: Nudge,
    object: ObjectId,
    pub(super) writer: &'a ObjectWriter,
}

impl<'a> NudgeRequest<'a> {
    pub(super) const fn new(nudge: Nudge, object: ObjectId, writer: &'a ObjectWriter) -> Self {
        Self { nudge, object, writer }
    }

    /// Sends it.
    pub(super) async fn send(&self, slot: &CallSlot) -> NudgeReply {
        match self.writer.merge(slot, &self.object, self.nudge.patch(), NUDGE_MANAGER).await {
            Ok(object) => NudgeReply::Taken(Box::new(object)),
            Err(error) if error.is_about_another() => NudgeReply::OfAnother,
            Err(error) => {
                tracing::warn!(object = %self.object, "a nudge is not accepted: {error}");
                NudgeReply::Refused(refusal_of(&error))
            }
        }
    }
}

/// What a call that failed says, for the engine.
pub(super) fn refusal_of(error: &CallError) -> ApiRefusal {
    let sentence = error.to_string();
    // The status is said beside it.
    let status = error.code();
    let sentence = match status.and_then(|status| sentence.strip_prefix(&status.to_string())) {
        Some(rest) => rest.trim_start().to_owned(),
        None => sentence,
    };
    ApiRefusal { status, sentence, retry_after: error.retry_after() }
}
