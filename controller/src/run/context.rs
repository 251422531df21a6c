//! The state that all parts of the controller share for one term of leadership. `app` creates it.

use std::sync::Arc;

use drift_api::names::CONTROLLER_MANAGER;
use drift_api::object::field_paths::FieldPaths;
use drift_kube::access::rights::RightsNeeded;
use drift_kube::cleanup::{CleanedObjects, CollectorContext, NotedSelections};
use drift_kube::client::ResolvedKind;
use drift_kube::client::{ObjectClient, WriteError};
use drift_kube::config::Configuration;
use drift_kube::events::EventWriter;
use drift_kube::identities::Identities;
use drift_kube::jobs::JobClient;
use drift_kube::kinds::KindSearch;
use drift_kube::lease::Leadership;
use drift_kube::object_writer::{CallSlots, ObjectWriter};
use drift_kube::resources::ResourceClient;
use drift_kube::subscriptions::KindWatches;
use drift_kube::telemetry::health::Health;
use drift_kube::under_way::UnderWay;
use drift_systems::{Databases, HostGate, HttpSender};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::engine::decide::attestation::Attestations;
use crate::run::handover::Handovers;
use crate::run::held_objects::Board;
use crate::run::metrics::Metrics;
use crate::run::published_holds::PublishedHolds;
use crate::run::requests::{FRESH_LEASE, RequestSender};
use crate::run::secrets::Secrets;

/// The state that all parts of the program share.
#[derive(Clone)]
pub struct Context {
    /// Our own namespace, where the targets' ConfigMaps are.
    pub home: String,
    /// The API server.
    pub client: kube::Client,
    /// Finds the kinds of targets.
    pub kinds: KindSearch,
    /// The active targets.
    pub configuration: watch::Receiver<Arc<Configuration>>,
    /// The poller's attestations.
    pub attestations: watch::Receiver<Attestations>,
    /// The way to the external systems.
    pub sender: HttpSender,
    /// The connections to databases.
    pub databases: Databases,
    /// The Secrets that corrections send.
    pub secrets: Secrets,
    /// The objects of the cluster that are external resources.
    pub resources: ResourceClient,
    /// The limits of one host over all targets.
    pub gate: Arc<HostGate>,
    /// The limit of calls to the API server over all targets.
    pub slots: CallSlots,
    /// The rights that targets need.
    pub rights: RightsNeeded,
    /// Events for people.
    pub events: EventWriter,
    /// Counters.
    pub metrics: Metrics,
    /// Routes queries about held objects to the targets.
    pub board: Board,
    /// The holds on the Lease; of this term.
    pub holds: PublishedHolds,
    /// Objects that were cleaned.
    pub cleaned: CleanedObjects,
    /// The heartbeats of the actors.
    pub health: Health,
    /// The leadership of this process.
    pub leadership: Leadership,
    /// Cancelled when we do not any more; of this term.
    pub term: CancellationToken,
    /// Cancelled when the program is to end.
    pub stop: CancellationToken,
    /// Cancelled when a job panics: the program ends.
    pub failed: CancellationToken,
    /// Work that outlives its actor: a correction in flight ends, and its outcome is noted.
    pub jobs: TaskTracker,
    /// The objects that are worked on.
    pub under_way: UnderWay,
    /// The targets on the Lease's notes, noted before anything is written for them.
    pub notes: NotedSelections,
    /// The watches of this term.
    pub watches: KindWatches,
    /// The owners of external resources, for this term.
    pub identities: Identities,
    /// What actors leave behind; of this term only, since another leader may have acted between two.
    pub handovers: Handovers,
}

impl Context {
    /// The same for a term of leadership that begins.
    #[must_use]
    pub fn for_term(&self, term: CancellationToken) -> Arc<Self> {
        let (watches, identities, handovers) = (KindWatches::default(), Identities::default(), Handovers::default());
        let holds = PublishedHolds::default();
        Arc::new(Self { term, watches, identities, handovers, holds, ..self.clone() })
    }

    /// Returns the sender of requests to external systems.
    #[must_use]
    pub fn request_sender(&self) -> RequestSender {
        RequestSender {
            sender: self.sender.clone(),
            databases: self.databases.clone(),
            jobs: JobClient::new(self.client.clone(), CONTROLLER_MANAGER),
            resources: self.resources.clone(),
            leadership: self.leadership.clone(),
            term: self.term.clone(),
            stop: self.stop.clone(),
            gate: self.gate.clone(),
        }
    }

    /// Returns the reader and writer of a kind's objects.
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

    /// Returns the context of the orphan collector.
    #[must_use]
    pub fn collector(&self) -> CollectorContext {
        CollectorContext {
            client: self.client.clone(),
            noted: self.notes.clone(),
            configuration: self.configuration.clone(),
            watches: self.watches.clone(),
            under_way: self.under_way.clone(),
            cleaned: self.cleaned.clone(),
        }
    }
}
