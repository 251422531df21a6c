//! Sends the nudge of a correction to the API server, like other writes to objects.

use drift_api::names::NUDGE_MANAGER;
use drift_kube::access::with_roles;
use drift_kube::{CallError, CallSlot};
use serde_json::Value;

use super::{SendContext, Subject};
use crate::engine::execution::Event;
use crate::engine::rendering::{ApiRefusal, NudgeReply, Reply};

pub(super) async fn send(context: SendContext<'_>, patch: &Value) -> Event {
    let slot = tokio::select! {
        biased;
        () = context.sender.term.cancelled() => return Event::NotSent,
        slot = context.writer.slots.enter() => slot,
    };
    if !context.sender.may_send(context.begins) {
        return Event::NotSent;
    }
    match context.sender.while_leading(merge(&context, &slot, patch)).await {
        Some(reply) => Event::Replied(Reply::Nudge(reply)),
        None => Event::CutOff,
    }
}

async fn merge(context: &SendContext<'_>, slot: &CallSlot, patch: &Value) -> NudgeReply {
    let (writer, object) = (context.writer, context.object);
    match writer.merge(slot, object, patch, NUDGE_MANAGER).await {
        Ok(object) => NudgeReply::Taken(Box::new(object)),
        Err(error) if error.is_about_another() => NudgeReply::OfAnother,
        Err(error) => {
            let Subject { target, kind, namespace, name, uid, correction } = context.subject();
            let cause = with_roles(&error.to_string()).into_owned();
            tracing::warn!(target, kind, namespace, name, uid, correction, cause, "a nudge is not accepted");
            NudgeReply::Refused(refusal_of(&error))
        }
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
