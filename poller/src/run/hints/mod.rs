//! External hints, with one module for each source.
//!
//! The engine decides on their effect.

mod listen;
mod server;
mod shared_secret;
mod watch;

use std::sync::Arc;

use drift_language::{HintSource, Target, WebhookHints};
use tokio::sync::mpsc;

use crate::engine::hints::Hint;
use crate::run::context::Context;

use crate::run::hint_inbox::Inbox;
pub use server::{BindError, HintContext, HintServer};

/// Returns both ends of a target's hint queue.
pub(crate) fn inbox(context: &Context, target: &Arc<Target>) -> (Inbox, mpsc::Receiver<Hint>) {
    Inbox::new(target, context.metrics.clone(), context.outside.troubles.clone())
}

/// Receives hints from all sources of the target while it is polled. Never returns.
pub(crate) async fn hear(context: &Context, inbox: Inbox) {
    let hear_one = async |source: &HintSource| match source {
        HintSource::Listen(listen) => listen::hear(&context.outside, listen, &inbox).await,
        HintSource::Webhook(hints) => take_requests(context, hints, &inbox).await,
        HintSource::Watch => watch::hear(context, &inbox).await,
    };
    futures::future::join_all(inbox.target.hints.iter().map(hear_one)).await;
    std::future::pending().await
}

/// Accepts webhooks for the target while it is polled.
async fn take_requests(context: &Context, hints: &Arc<WebhookHints>, inbox: &Inbox) {
    let Some(webhooks) = &context.webhooks else {
        inbox.tell("hints.webhook: no requests are taken; start drift-poller with --hints-address");
        return;
    };
    let _listed = webhooks.list(&inbox.target.name, hints, inbox);
    shared_secret::tell_of_missing(&context.secrets, hints, inbox).await;
}
