//! Sends the nudge of a correction to the API server, like other writes to objects.
//!
//! The engine renders the nudge and judges the response.

use drift_api::names::NUDGE_MANAGER;
use drift_api::object::ObjectId;
use drift_kube::access::with_roles;
use drift_kube::{CallError, CallSlot, ObjectWriter};

use super::{SendContext, Sending, Sent, SystemRequests};
use crate::engine::StepAnswer;
use crate::engine::rendering::{ApiRefusal, Nudge, NudgeReply, Plan, Unrenderable};

/// A nudge with its writer.
#[derive(Debug)]
pub(super) struct NudgeRequest<'a> {
    nudge: Nudge,
    object: ObjectId,
    writer: &'a ObjectWriter,
}

impl<'a> NudgeRequest<'a> {
    pub(super) const fn new(nudge: Nudge, object: ObjectId, writer: &'a ObjectWriter) -> Self {
        Self { nudge, object, writer }
    }

    async fn merge(&self, slot: &CallSlot, target: &str) -> NudgeReply {
        match self.writer.merge(slot, &self.object, self.nudge.patch(), NUDGE_MANAGER).await {
            Ok(object) => NudgeReply::Taken(Box::new(object)),
            Err(error) if error.is_about_another() => NudgeReply::OfAnother,
            Err(error) => {
                let (namespace, name) = (self.object.namespace.as_deref(), &*self.object.name);
                let kind = &*self.writer.kind.resource.kind;
                tracing::warn!(
                    target,
                    kind,
                    namespace,
                    name,
                    "a nudge is not accepted: {}",
                    with_roles(&error.to_string())
                );
                NudgeReply::Refused(refusal_of(&error))
            }
        }
    }
}

impl SystemRequests for NudgeRequest<'_> {
    fn plan(&self) -> Plan {
        Nudge::plan()
    }

    fn make_ready(&mut self, _index: usize) -> Result<bool, Unrenderable> {
        Ok(true)
    }

    fn send<'s>(&'s mut self, _index: usize, context: SendContext<'s>) -> Sending<'s> {
        Box::pin(async move {
            let slot = tokio::select! {
                biased;
                () = context.sender.term.cancelled() => return Sent::NotSent,
                slot = self.writer.slots.enter() => slot,
            };
            if !context.sender.may_send(context.begins) {
                return Sent::NotSent;
            }
            let Some(reply) = context.sender.while_leading(self.merge(&slot, context.target)).await else {
                return Sent::CutOff;
            };
            let answer = StepAnswer::of(self.nudge.judge(&reply));
            let object = if let NudgeReply::Taken(object) = reply { Some(object) } else { None };
            Sent::Answered(StepAnswer { object, ..answer })
        })
    }
}

/// Converts a failed call for the engine.
pub(super) fn refusal_of(error: &CallError) -> ApiRefusal {
    let sentence = error.reason();
    // The status is shown separately.
    let status = error.code();
    let sentence = match status.and_then(|status| sentence.strip_prefix(&status.to_string())) {
        Some(rest) => rest.trim_start().to_owned(),
        None => sentence,
    };
    ApiRefusal { status, sentence, retry_after: error.retry_after() }
}
