//! A target from its document to its actor: its kind is resolved and checked, its objects are watched, and its
//! permissions are checked.
//!
//! A missing or unsuitable kind delays only its own target. The target reports the cause and retries, because the CRD
//! may be installed or fixed.

use std::sync::Arc;

use drift_kube::access::target_rights::rights_of_poller;
use drift_kube::kinds::{SuitableKind, in_rounds};
use drift_language::Target;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::run::context::Context;
use crate::run::hints;
use crate::run::metrics::of_target;
use crate::run::notices::follow_rights;
use crate::run::target_actor::TargetActor;

/// Buffered watch events for the actor. Further events wait in the connection to the API server.
const EVENT_BUFFER: usize = 1024;

/// Runs one target until it is stopped.
pub async fn work(context: Arc<Context>, target: Arc<Target>, stop: CancellationToken) {
    let attested = context.metrics.attested.clone();
    let labels = of_target(&target.name);
    in_rounds(&stop, |round| {
        // Without a resolved kind the target is unattested, which the metric must show too.
        attested.get_or_create(&labels).set(0);
        work_until_stopped(&context, &target, round)
    })
    .await;
    // An alert on an unattested target must not outlive the target.
    attested.remove(&labels);
}

/// Works on a target until `stop`, which it cancels itself if the kind becomes unusable.
async fn work_until_stopped(context: &Arc<Context>, target: &Arc<Target>, stop: CancellationToken) {
    let say = |news| crate::run::notices::tell_of_kind(&context.events, target, &context.home, news);
    let found = tokio::select! {
        () = stop.cancelled() => return,
        found = context.kinds.find(target, say) => found,
    };
    let SuitableKind { kind: found, generation_place } = found;
    let fields = target.poll_fields.clone().with_generation_in(generation_place);
    let _note = tokio::select! {
        () = stop.cancelled() => return,
        note = context.notes.hold(target) => note,
    };
    let needed = rights_of_poller(target, &found);
    let kind = found.clone();
    let (sender, receiver) = mpsc::channel(EVENT_BUFFER);
    let (inbox, hinted) = hints::inbox(context, target);
    let subscription = context.watches.subscribe(target, &found, &fields);
    let writer = context.writer(found, fields).keeping(target.objects.conditions, &context.installation);
    let actor = TargetActor::new(target.clone(), context.clone(), writer);
    let working = async { tokio::join!(subscription.pass_on(sender), actor.run(receiver, hinted, stop.clone())) };
    tokio::select! {
        _ = working => {}
        () = follow_rights(context, target, needed) => {}
        // Boxed, because the future of a connection attempt is large.
        () = Box::pin(hints::hear(context, inbox)) => {}
        () = context.kinds.end_when_lossy(&kind, &stop) => {}
    }
}
