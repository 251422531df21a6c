//! A target from its document to its actor: its kind is resolved and checked, its objects are watched, and its
//! permissions are checked.
//!
//! A missing or unsuitable kind delays only its own target. The target reports the cause and retries, because the CRD
//! may be installed or fixed. The memory of the previous actor is passed to the next one.

use std::sync::Arc;

use drift_kube::access::target_rights::{rights_of_controller, rights_on_resource};
use drift_kube::kinds::{SuitableKind, in_rounds};
use drift_kube::{KindNews, Right, RightsNews};
use drift_language::{Destination, Source, Target};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::engine::objects::object_store::Handover;
use crate::run::context::Context;
use crate::run::executor::Executor;
use crate::run::metrics::of_target;
use crate::run::notices::Announcer;
use crate::run::target_actor::TargetActor;

/// Buffered watch events for the actor. Further events wait in the connection to the API server.
const EVENT_BUFFER: usize = 1024;

/// Runs one target until it is stopped.
pub async fn work(context: Arc<Context>, target: Arc<Target>, stop: CancellationToken) {
    let metrics = context.metrics.clone();
    let labels = of_target(&target.name);
    let holds = context.holds.begin(&target.name);
    in_rounds(&stop, |round| {
        // Without a resolved kind the target is unattested, which the metric must show too.
        metrics.attested.get_or_create(&labels).set(0);
        work_until_stopped(&context, &target, round)
    })
    .await;
    drop(holds);
    if !is_active(&context, &target) {
        context.holds.forget(&target.name);
        context.handovers.retire(&target.name);
    }
    // An alert on an unattested target must not outlive the target.
    metrics.attested.remove(&labels);
    metrics.breaker_open.remove(&labels);
}

/// Works on a target until `stop`, which it cancels itself if the kind becomes unusable.
async fn work_until_stopped(context: &Arc<Context>, target: &Arc<Target>, stop: CancellationToken) {
    let announcer = Announcer::new(context.events.clone(), target, &context.home);
    let found = tokio::select! {
        () = stop.cancelled() => return,
        found = context.kinds.find(target, |news| {
            context.holds.set_kind_unusable(&target.name, matches!(news, KindNews::Unusable(_)));
            announcer.kind(news);
        }) => found,
    };
    let SuitableKind { kind: found, generation_place } = found;
    let fields = target.all_fields.clone().with_generation_in(generation_place);
    context.holds.set_kind_unusable(&target.name, false);
    let _note = tokio::select! {
        () = stop.cancelled() => return,
        note = context.notes.hold(target) => note,
    };
    let mut needed = rights_of_controller(target, &found);
    needed.extend(rights_outside(context, target).await);
    let mut missing = context.rights.follow_missing(needed.clone());
    let _rights = context.rights.need(needed);
    let (teller, holds) = (announcer.clone(), context.holds.clone());
    let telling = async {
        loop {
            let news = missing.next().await;
            holds.set_rights_missing(&teller.target, matches!(news, RightsNews::Missing(_)));
            teller.rights(&news);
        }
    };
    let kind = found.clone();
    let (sender, receiver) = mpsc::channel(EVENT_BUFFER);
    let subscription = context.watches.subscribe(target, &found, &fields);
    let executor = Executor {
        writer: context.writer(found, fields).keeping(target.objects.conditions, &context.installation),
        requests: context.request_sender(),
        secrets: context.secrets.clone(),
        announcer,
        target: target.clone(),
        metrics: context.metrics.clone(),
    };
    let left_open = || context.holds.left_open(target).map(Handover::with_open_breaker);
    let handover = context.handovers.take(target).or_else(left_open).unwrap_or_default();
    let actor = TargetActor::new(executor, context.clone(), handover);
    let working = async { tokio::join!(subscription.pass_on(sender), actor.run(receiver, stop.clone())) };
    let ((), handover) = tokio::select! {
        done = working => done,
        never = telling => never,
        () = context.kinds.end_when_lossy(&kind, &stop) => return,
    };
    context.handovers.leave(target.clone(), handover);
}

fn is_active(context: &Context, target: &Target) -> bool {
    context.configuration.borrow().targets.contains_key(&target.name)
}

/// Returns the permissions on the cluster objects that are external resources. If their kind is not served, the
/// permissions are unknown, and the corrections report the failure.
async fn rights_outside(context: &Context, target: &Target) -> Vec<Right> {
    let (Source::Kubernetes(read), Some(Destination::Kubernetes(_)), true) =
        (&target.read.source, &target.correct.destination, target.correct.mode.corrects())
    else {
        return Vec::new();
    };
    match context.resources.resolve(&read.kind.api_version, &read.kind.name).await {
        Ok(kind) => rights_on_resource(target, read.namespace.as_deref(), &kind),
        Err(error) => {
            let (target, kind) = (&target.name, &*read.kind.name);
            tracing::warn!(target, kind, cause = %error, "rights on the kind are not known");
            Vec::new()
        }
    }
}
