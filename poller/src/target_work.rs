//! A target from its text to its actor: its kind is looked up and checked, its objects are watched, its rights noted.
//!
//! A kind that is missing or unsuitable delays only its own target, says why, and is looked up again, since the CRD
//! may come or be mended. It must not know how objects are judged.

use std::sync::Arc;

use drift_cluster::access::Right;
use drift_cluster::access::rights::{RightsNeeded, rights_on, rights_to_tell};
use drift_cluster::cleanup::NotedSelections;
use drift_cluster::client::ObjectClient;
use drift_cluster::kinds::{KindSearch, ResolvedKind};
use drift_cluster::lease::Leadership;
use drift_cluster::object_writer::{CallSlots, ObjectWriter};
use drift_target::Target;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::actor::{Shared, TargetActor};
use crate::metrics::of_target;

/// Watch events that wait for the actor; more wait in the connection, where the API server keeps them.
const EVENT_BUFFER: usize = 1024;
/// What a target's work needs beside what its actor shares.
#[derive(Clone)]
pub struct Workplace {
    /// Our own namespace, where the targets' ConfigMaps are.
    pub home: String,
    /// The API server.
    pub client: kube::Client,
    /// Where the kinds of targets are looked up.
    pub kinds: KindSearch,
    /// The way to single objects.
    pub objects: ObjectClient,
    /// The limit of calls over all targets.
    pub call_slots: CallSlots,
    /// Whether we lead, asked before each write.
    pub leadership: Leadership,
    /// Where the rights that are needed are noted.
    pub rights: RightsNeeded,
    /// Where targets are noted before anything is written for them.
    pub notes: NotedSelections,
    /// What all actors share.
    pub shared: Shared,
}

/// Works on one target until it is stopped.
pub async fn work(place: Workplace, target: Arc<Target>, stop: CancellationToken) {
    let vouched = place.shared.metrics.vouched.clone();
    let labels = of_target(&target.name);
    // Until there is a kind nobody vouches, which is to be seen too.
    vouched.get_or_create(&labels).set(0);
    work_until_stopped(place, target, stop).await;
    // An alert on a target that nobody vouches for must not outlive the target.
    vouched.remove(&labels);
}

async fn work_until_stopped(place: Workplace, target: Arc<Target>, stop: CancellationToken) {
    let say = |news| crate::notices::tell_of_kind(&place.shared.events, &target, &place.home, news);
    let found = tokio::select! {
        () = stop.cancelled() => return,
        () = place.shared.identities.follow_missing_kind(&place.client, &target) => return,
        kind = place.kinds.find(&target, say) => kind,
    };
    let _note = tokio::select! {
        () = stop.cancelled() => return,
        note = place.notes.hold(&target) => note,
    };
    let _rights = place.rights.need(rights(&target, &found));
    let (sender, receiver) = mpsc::channel(EVENT_BUFFER);
    let subscription = place.shared.watches.subscribe(&target, &found, &target.poll_fields);
    let writer = ObjectWriter {
        objects: place.objects.clone(),
        kind: found,
        fields: target.poll_fields.clone(),
        slots: place.call_slots.clone(),
        leadership: place.leadership.clone(),
    };
    let actor = TargetActor::new(target, place.shared.clone(), writer);
    tokio::join!(subscription.pass_on(sender), actor.run(receiver, stop.clone()),);
}

/// What the poller must be allowed to do for a target.
fn rights(target: &Target, kind: &ResolvedKind) -> Vec<Right> {
    let mut rights = rights_on(kind, &target.objects, &["get", "list", "watch"], "");
    rights.extend(rights_on(kind, &target.objects, &["patch"], "status"));
    rights.extend(rights_to_tell(&target.objects));
    rights
}
