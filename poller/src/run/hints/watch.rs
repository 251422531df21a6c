//! Watches the kind that `read.kubernetes` reads, in all namespaces that the target's objects may name.
//!
//! The engine maps a change to its objects. Without permissions, the missing ones are reported and the watch is
//! retried. Regular polls continue meanwhile.

use drift_kube::access::target_rights::rights_to_read;
use drift_kube::kinds::LOOK_UP_AGAIN;
use drift_kube::watch::hear_of_changes;
use drift_kube::{ResolvedKind, ResourceNews};
use drift_language::KubernetesRead;
use tokio::sync::mpsc;

use crate::engine::hints::Hint;
use crate::run::context::Context;
use crate::run::hint_inbox::Inbox;
use crate::run::notices::follow_rights;

/// Buffer of changes before the actor's larger queue.
const BUFFER: usize = 1;

/// Name of this source of hints.
const WATCH: &str = "watch";

/// Watches until it is dropped.
pub(super) async fn hear(context: &Context, inbox: &Inbox) {
    let target = &inbox.target;
    let Some(read) = target.watched_read() else { return };
    inbox.say_connected(WATCH, false);
    let (kind, mut was_missing) = find_kind(context, read, inbox).await;
    let namespaces = read.namespace.as_ref().map_or(target.objects.namespaces.as_slice(), std::slice::from_ref);
    // The watch continues at the version that the target's previous version reached.
    let targets = context.configuration.borrow().targets.clone();
    context.heard.retain(|name| targets.contains_key(name));
    let (sender, mut changes) = mpsc::channel(BUFFER);
    let telling = async {
        while let Some(news) = changes.recv().await {
            // Changes may have been missed while no watch was possible.
            if news == ResourceNews::Watched && std::mem::take(&mut was_missing) {
                inbox.pass_on(Hint::Everything).await;
            }
            take(inbox, news).await;
        }
    };
    tokio::select! {
        () = hear_of_changes(&context.client, &kind, namespaces, &target.name, &context.heard, sender) => {}
        () = follow_rights(context, target, rights_to_read(target, read.namespace.as_deref(), &kind)) => {}
        () = telling => {}
    }
}

async fn take(inbox: &Inbox, news: ResourceNews) {
    match news {
        ResourceNews::Changed(changed) => inbox.pass_on(Hint::ClusterObject(changed)).await,
        ResourceNews::Missed => inbox.pass_on(Hint::Everything).await,
        ResourceNews::Watched => inbox.say_connected(WATCH, true),
        ResourceNews::Failing(text) => {
            inbox.say_connected(WATCH, false);
            inbox.tell(&text);
        }
    }
}

/// Resolves the kind. The flag is true if it was missing at first.
async fn find_kind(context: &Context, read: &KubernetesRead, inbox: &Inbox) -> (ResolvedKind, bool) {
    let mut was_missing = false;
    loop {
        match context.outside.resources.resolve(&read.kind.api_version, &read.kind.name).await {
            Ok(kind) => return (kind, was_missing),
            Err(error) => inbox.tell(&error.to_string()),
        }
        was_missing = true;
        tokio::time::sleep(LOOK_UP_AGAIN).await;
    }
}
