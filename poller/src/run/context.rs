//! State that all parts of the poller share for one term of leadership. `app` creates it.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use drift_api::names::POLLER_MANAGER;
use drift_api::object::field_paths::FieldPaths;
use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_kube::{
    CallSlots, CleanedObjects, CollectorContext, Configuration, EventWriter, Health, HeardVersions, KindSearch,
    KindWatches, Leadership, NotedSelections, ObjectClient, ObjectWriter, ResolvedKind, RightsNeeded, UnderWay,
};
use tokio::sync::watch;

use crate::run::attestation::AttestationList;
use crate::run::hint_inbox::webhooks::Webhooks;
use crate::run::metrics::Metrics;
use crate::run::page::Board;
use crate::run::page::unnamed::UnnamedEntries;
use crate::run::reads::outside::Outside;

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
    /// Clients for external systems.
    pub outside: Outside,
    /// Limit of calls to the API server, across all targets.
    pub slots: CallSlots,
    /// Time without a target that selects an object, or without a live text of its target, before it counts as left.
    pub patience: Duration,
    /// Permissions that targets need.
    pub rights: RightsNeeded,
    /// Writer of Events for people.
    pub events: EventWriter,
    /// Counters of this program.
    pub metrics: Metrics,
    /// Counter of cleaned objects.
    pub cleaned: CleanedObjects,
    /// Heartbeats of the actors.
    pub health: Health,
    /// Leadership of this process, checked before each write.
    pub leadership: Leadership,
    /// List of attested targets for the Lease.
    pub attestations: AttestationList,
    /// Targets in the annotation of the Lease. They are recorded before anything is written for them.
    pub notes: NotedSelections,
    /// Watches of the current term.
    pub watches: KindWatches,
    /// Resource versions up to which changes of the cluster objects that targets read were received.
    pub heard: HeardVersions,
    /// Routes queries of the status page to the targets.
    pub board: Board,
    /// Entries of collections that have no object.
    pub unnamed: UnnamedEntries,
    /// Secrets that are labelled for the poller.
    pub secrets: Arc<ArcSwap<LabelledSecrets>>,
    /// Targets that accept webhooks; `None` if webhooks are disabled.
    pub webhooks: Option<Webhooks>,
}

impl Context {
    /// Returns the context for a new term of leadership.
    #[must_use]
    pub fn for_term(&self) -> Arc<Self> {
        Arc::new(Self { watches: self.watches.anew(), ..self.clone() })
    }

    /// Returns the reader and writer of a kind's objects.
    #[must_use]
    pub fn writer(&self, kind: ResolvedKind, fields: FieldPaths) -> ObjectWriter {
        let objects = ObjectClient::new(self.client.clone(), POLLER_MANAGER);
        let (leadership, slots) = (self.leadership.clone(), self.slots.clone());
        ObjectWriter { objects, kind, fields, leadership, slots, reports: None }
    }

    /// Returns the context of the orphan collector. No other part of the poller locks objects.
    #[must_use]
    pub fn collector(&self) -> CollectorContext {
        CollectorContext {
            client: self.client.clone(),
            noted: self.notes.clone(),
            configuration: self.configuration.clone(),
            watches: self.watches.clone(),
            under_way: UnderWay::default(),
            cleaned: self.cleaned.clone(),
        }
    }
}
