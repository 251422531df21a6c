//! A target from its text to its actor: its kind is looked up and checked, its objects are watched, its rights noted.
//!
//! A kind that is missing or unsuitable delays only its own target, says why, and is looked up again, since the CRD
//! may come or be mended. What the actor of a former text remembered is handed to the next. It must not know how
//! objects are decided.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use drift_cluster::access::Right;
use drift_cluster::access::rights::{RightsNeeded, rights_on, rights_to_tell};
use drift_cluster::client::{ObjectClient, WriteError};
use drift_cluster::events::EventWriter;
use drift_cluster::kinds::{KindSearch, ResolvedKind};
use drift_cluster::lease::Leadership;
use drift_cluster::object_writer::{CallSlots, ObjectWriter};
use drift_model::field_paths::FieldPaths;
use drift_model::names::CONTROLLER_MANAGER;
use drift_outside::{HostGate, HttpSender};
use drift_target::{Mode, ObjectSelection, Target};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::core::roster::Heritage;
use crate::executor::Executor;
use crate::metrics::of_target;
use crate::notices::Announcer;
use crate::requests::{FRESH_LEASE, RequestSender};
use crate::target_actor::{Shared, TargetActor};

/// Watch events that wait for the actor; more wait in the connection, where the API server keeps them.
const EVENT_BUFFER: usize = 1024;
/// What actors leave to those of the next text of their target, by target name.
type Estate = Arc<Mutex<HashMap<String, (Arc<Target>, Heritage)>>>;

/// What a target's work needs, for one term of leadership.
#[derive(Clone)]
pub struct Workplace {
    /// Our own namespace, where the targets' ConfigMaps are.
    pub home: String,
    /// The API server.
    pub client: kube::Client,
    /// Where the kinds of targets are looked up.
    pub kinds: KindSearch,
    /// The way to the external systems.
    pub sender: HttpSender,
    /// Whether we lead.
    pub leadership: Leadership,
    /// Cancelled when we do not any more.
    pub term: CancellationToken,
    /// Cancelled when the program is to end.
    pub stop: CancellationToken,
    /// What all targets together may do to one host.
    pub gate: Arc<HostGate>,
    /// The limit of calls over all targets.
    pub slots: CallSlots,
    /// Where the rights that are needed are noted.
    pub rights: RightsNeeded,
    /// Events for people.
    pub events: EventWriter,
    /// What all actors share.
    pub shared: Shared,
    /// What actors leave behind; of this term only, since another leader may have acted between two.
    pub estate: Estate,
}

impl Workplace {
    /// What carries out decisions for a target whose kind was found.
    #[must_use]
    pub fn executor(&self, target: &Arc<Target>, kind: ResolvedKind) -> Executor {
        Executor {
            writer: self.writer(kind, target.all_fields.clone()),
            requests: RequestSender {
                sender: self.sender.clone(),
                leadership: self.leadership.clone(),
                term: self.term.clone(),
                stop: self.stop.clone(),
                gate: self.gate.clone(),
            },
            announcer: Announcer::new(self.events.clone(), target, &self.home),
            target: target.clone(),
            metrics: self.shared.metrics.clone(),
        }
    }

    /// What reads and writes objects of a kind.
    #[must_use]
    pub fn writer(&self, kind: ResolvedKind, fields: FieldPaths) -> ObjectWriter {
        let objects = ObjectClient::new(self.client.clone(), CONTROLLER_MANAGER);
        let (leadership, slots) = (self.leadership.clone(), self.slots.clone());
        ObjectWriter { objects, kind, fields, leadership, slots }
    }

    /// Whether something may be written to objects now: as before a step.
    ///
    /// # Errors
    /// [`WriteError::NotLeading`] where it may not.
    pub fn ensure_may_act(&self) -> Result<(), WriteError> {
        let has_ended = self.stop.is_cancelled() || self.term.is_cancelled();
        let may_act = !has_ended && self.leadership.renewed_within(FRESH_LEASE);
        if may_act { Ok(()) } else { Err(WriteError::NotLeading) }
    }

    fn inherit(&self, target: &Target) -> (Heritage, bool) {
        let mut estate = self.estate.lock().unwrap_or_else(PoisonError::into_inner);
        match estate.remove(&target.name) {
            Some((before, heritage)) if is_same_kind(&before.objects, &target.objects) => {
                (heritage, before.correct.limits != target.correct.limits)
            }
            _ => (Heritage::default(), false),
        }
    }

    fn bequeath(&self, target: Arc<Target>, mut heritage: Heritage) {
        if !self.shared.configuration.borrow().targets.contains_key(&target.name) {
            heritage.forget_claims();
        }
        let mut estate = self.estate.lock().unwrap_or_else(PoisonError::into_inner);
        estate.insert(target.name.clone(), (target, heritage));
    }
}

/// Works on one target until it is stopped.
pub async fn work(place: Workplace, target: Arc<Target>, stop: CancellationToken) {
    let metrics = place.shared.metrics.clone();
    let labels = of_target(&target.name);
    // Until there is a kind nothing is vouched for, which is to be seen too.
    metrics.vouched.get_or_create(&labels).set(0);
    work_until_stopped(place, target, stop).await;
    // An alert on a target that nobody vouches for must not outlive the target.
    metrics.vouched.remove(&labels);
    metrics.breaker_open.remove(&labels);
}

async fn work_until_stopped(place: Workplace, target: Arc<Target>, stop: CancellationToken) {
    let announcer = Announcer::new(place.events.clone(), &target, &place.home);
    let found = tokio::select! {
        () = stop.cancelled() => return,
        () = place.shared.identities.follow_missing_kind(&place.client, &target) => return,
        kind = place.kinds.find(&target, |news| announcer.kind(news)) => kind,
    };
    let _note = tokio::select! {
        () = stop.cancelled() => return,
        note = place.shared.notes.hold(&target) => note,
    };
    let _rights = place.rights.need(rights(&target, &found));
    let (sender, receiver) = mpsc::channel(EVENT_BUFFER);
    let subscription = place.shared.watches.subscribe(&target, &found, &target.all_fields);
    let (heritage, limits_edited) = place.inherit(&target);
    let mut actor = TargetActor::new(place.executor(&target, found), place.shared.clone(), heritage);
    if limits_edited {
        actor.let_pass();
    }
    let ((), heritage) = tokio::join!(subscription.pass_on(sender), actor.run(receiver, stop.clone()));
    place.bequeath(target, heritage);
}

/// Whether two selections speak of one kind, in whatever version.
#[must_use]
pub fn is_same_kind(one: &ObjectSelection, other: &ObjectSelection) -> bool {
    one.is_of(other.group(), &other.kind)
}

/// What the controller must be allowed to do for a target. One that only observes is only watched; should it have to
/// take a finalizer off, the missing right shows then.
fn rights(target: &Target, kind: &ResolvedKind) -> Vec<Right> {
    let mut rights = rights_on(kind, &target.objects, &["get", "list", "watch"], "");
    if target.correct.mode == Mode::Correct {
        rights.extend(rights_on(kind, &target.objects, &["patch"], "status"));
        if target.correct.actions().delete {
            rights.extend(rights_on(kind, &target.objects, &["patch"], ""));
        }
        rights.extend(rights_to_tell(&target.objects));
    }
    rights
}
