//! State that all parts of the controller share for one term of leadership. `app` creates it.

use std::sync::Arc;

use drift_api::names::CONTROLLER_MANAGER;
use drift_api::object::field_paths::FieldPaths;
use drift_kube::{
    CallSlots, CleanedObjects, CollectorContext, Configuration, EventWriter, Health, Identities, JobClient, KindSearch,
    KindWatches, Leadership, NotedSelections, ObjectClient, ObjectWriter, ResolvedKind, ResourceClient, RightsNeeded,
    UnderWay, WriteError,
};
use drift_systems::{Databases, HostGate, HttpSender};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::engine::decide::attestation::Attestations;
use crate::run::handover::Handovers;
use crate::run::metrics::Metrics;
use crate::run::published_holds::PublishedHolds;
use crate::run::requests::{FRESH_LEASE, RequestSender};
use crate::run::secrets::Secrets;

/// State that all parts of the program share.
#[derive(Clone)]
pub struct Context {
    /// Our own namespace, which contains the targets' ConfigMaps.
    pub home: String,
    /// The name of this installation in reports.
    pub installation: String,
    /// Client of the API server.
    pub client: kube::Client,
    /// Resolves the kinds of targets.
    pub kinds: KindSearch,
    /// Targets that are currently active.
    pub configuration: watch::Receiver<Arc<Configuration>>,
    /// Attestations of the poller.
    pub attestations: watch::Receiver<Attestations>,
    /// Sender of HTTP requests to external systems.
    pub sender: HttpSender,
    /// Connections to databases.
    pub databases: Databases,
    /// Secrets that corrections send.
    pub secrets: Secrets,
    /// Client for cluster objects that are external resources.
    pub resources: ResourceClient,
    /// Limits for each host, across all targets.
    pub gate: Arc<HostGate>,
    /// Limit of calls to the API server, across all targets.
    pub slots: CallSlots,
    /// Permissions that targets need.
    pub rights: RightsNeeded,
    /// Writer of Events for people.
    pub events: EventWriter,
    /// Counters of this program.
    pub metrics: Metrics,
    /// The holds on the Lease. Open breakers outlive a term.
    pub holds: PublishedHolds,
    /// Counter of cleaned objects.
    pub cleaned: CleanedObjects,
    /// Heartbeats of the actors.
    pub health: Health,
    /// Leadership of this process.
    pub leadership: Leadership,
    /// Cancelled when the current term of leadership ends.
    pub term: CancellationToken,
    /// Cancelled when the program shuts down.
    pub stop: CancellationToken,
    /// Cancelled when a task panics, which ends the program.
    pub failed: CancellationToken,
    /// Tasks that outlive their actor: a running correction ends, and its outcome is recorded.
    pub jobs: TaskTracker,
    /// Objects with running work.
    pub under_way: UnderWay,
    /// Targets in the annotation of the Lease. They are recorded before anything is written for them.
    pub notes: NotedSelections,
    /// Watches of the current term.
    pub watches: KindWatches,
    /// Owners of external resources in the current term.
    pub identities: Identities,
    /// State that ended actors leave behind. It is dropped with the term, because another leader may act
    /// between two terms.
    pub handovers: Handovers,
}

impl Context {
    /// Returns the context for a new term of leadership.
    #[must_use]
    pub fn for_term(&self, term: CancellationToken) -> Arc<Self> {
        let (watches, identities, handovers) = (self.watches.anew(), Identities::default(), Handovers::default());
        let holds = self.holds.next_term(&self.leadership.found_annotations());
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
        ObjectWriter { objects, kind, fields, leadership, slots, reports: None }
    }

    /// Checks if objects may be written now. Called before each step.
    ///
    /// # Errors
    /// [`WriteError::NotLeading`] if writes are not allowed.
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
