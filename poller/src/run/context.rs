//! The state that all parts of the poller share for one term of leadership. `app` creates it.

use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use drift_api::names::POLLER_MANAGER;
use drift_api::object::field_paths::FieldPaths;
use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_kube::access::rights::RightsNeeded;
use drift_kube::cleanup::{CleanedObjects, CollectorContext, NotedSelections};
use drift_kube::client::ObjectClient;
use drift_kube::client::ResolvedKind;
use drift_kube::config::Configuration;
use drift_kube::events::EventWriter;
use drift_kube::kinds::KindSearch;
use drift_kube::lease::Leadership;
use drift_kube::object_writer::{CallSlots, ObjectWriter};
use drift_kube::subscriptions::KindWatches;
use drift_kube::telemetry::health::Health;
use drift_kube::under_way::UnderWay;
use drift_kube::watch::HeardVersions;
use tokio::sync::watch;

use crate::engine::writes::slow_lane::SlowLane;
use crate::run::attestation::AttestationList;
use crate::run::hint_inbox::webhooks::Webhooks;
use crate::run::metrics::Metrics;
use crate::run::page::Board;
use crate::run::page::unnamed::UnnamedEntries;
use crate::run::reads::outside::Outside;

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
    /// The way to the external systems.
    pub outside: Outside,
    /// The limit of calls to the API server over all targets.
    pub slots: CallSlots,
    /// The lane for writes that nobody waits for.
    pub slow_lane: Arc<Mutex<SlowLane>>,
    /// The rights that targets need.
    pub rights: RightsNeeded,
    /// Events for people.
    pub events: EventWriter,
    /// Counters.
    pub metrics: Metrics,
    /// Objects that were cleaned.
    pub cleaned: CleanedObjects,
    /// The heartbeats of the actors.
    pub health: Health,
    /// The leadership of this process, checked before each write.
    pub leadership: Leadership,
    /// The list of targets that are attested, on the Lease.
    pub attestations: AttestationList,
    /// The targets on the Lease's notes, noted before anything is written for them.
    pub notes: NotedSelections,
    /// The watches of this term.
    pub watches: KindWatches,
    /// Up to where changes of what targets read in the cluster were heard.
    pub heard: HeardVersions,
    /// Routes queries of the status page to the targets.
    pub board: Board,
    /// The entries of collections without an object.
    pub unnamed: UnnamedEntries,
    /// The Secrets that are labelled for us.
    pub secrets: Arc<ArcSwap<LabelledSecrets>>,
    /// The targets that take requests which bring hints; `None` where none are taken.
    pub webhooks: Option<Webhooks>,
}

impl Context {
    /// The same for a term of leadership that begins.
    #[must_use]
    pub fn for_term(&self) -> Arc<Self> {
        Arc::new(Self { watches: KindWatches::default(), ..self.clone() })
    }

    /// Returns the reader and writer of a kind's objects.
    #[must_use]
    pub fn writer(&self, kind: ResolvedKind, fields: FieldPaths) -> ObjectWriter {
        let objects = ObjectClient::new(self.client.clone(), POLLER_MANAGER);
        let (leadership, slots) = (self.leadership.clone(), self.slots.clone());
        ObjectWriter { objects, kind, fields, leadership, slots }
    }

    /// Returns the context of the orphan collector. No part of this program claims an object for itself.
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
