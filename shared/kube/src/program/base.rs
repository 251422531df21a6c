//! The parts that both programs create in the same way, and the order in which they end.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use prometheus_client::registry::Registry;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::access::Right;
use crate::access::rights::{Need, RightsNeeded, rights_at_home};
use crate::cleanup::{MissingTargets, NotedSelections};
use crate::config::Configuration;
use crate::events::EventWriter;
use crate::lease::{LeaseHandle, show_leader};
use crate::program::program_environment::Site;
use crate::subscriptions::KindWatches;
use crate::telemetry::metrics::{self, ShownMetrics};
use drift_api::secrets::labelled_secrets::LabelledSecrets;

/// Time for Events that are still queued at shutdown. The Lease is already being released meanwhile, and only people
/// who read Events depend on them.
const TELL_DEADLINE: Duration = Duration::from_secs(1);

/// The differences between the two programs.
#[derive(Debug)]
pub struct ProgramSettings {
    /// The name in metrics.
    pub name: &'static str,
    /// The name of the Lease that the leader holds.
    pub lease: String,
    /// The label value of its Secrets.
    pub credential: &'static str,
    /// Annotations that a new leader writes to the Lease.
    pub on_take: BTreeMap<String, String>,
    /// Rights in its own namespace that the other program does not need.
    pub more_rights: Vec<Right>,
    /// True if it reports invalid documents as Events. Both programs read the same documents, so only one does.
    pub reports_documents: bool,
}

/// The common parts of a running program.
pub struct Base {
    /// The environment of the process.
    pub site: Site,
    /// The Lease that the leader holds.
    pub lease: LeaseHandle,
    /// The writer of Events.
    pub events: EventWriter,
    /// The rights that the program needs.
    pub rights: RightsNeeded,
    /// The Secrets that are labelled for this program.
    pub secrets: Arc<ArcSwap<LabelledSecrets>>,
    /// The active targets.
    pub configuration: watch::Receiver<Arc<Configuration>>,
    name: &'static str,
    missing: MissingTargets,
    lease_stop: CancellationToken,
    lease_task: JoinHandle<()>,
    /// Separate from the shutdown signal, because Events are still sent while the program drains.
    events_stop: CancellationToken,
    events_task: JoinHandle<()>,
    _home_rights: Need,
}

impl Base {
    /// Starts the common parts. The returned registry has their metrics.
    #[must_use]
    pub fn assemble(site: &Site, own: ProgramSettings) -> (Self, Registry) {
        let mut registry = metrics::registry(own.name);
        site.register_requests(&mut registry);
        let (events_stop, lease_stop) = (CancellationToken::new(), CancellationToken::new());
        let (events, events_task) = site.write_events(&mut registry, events_stop.clone());
        let at_home = rights_at_home(&site.namespace, &own.lease).into_iter().chain(own.more_rights);
        let (rights, home_rights) = site.watch_rights(at_home.collect());
        rights.register(&mut registry);
        let missing = site.tell_of_missing(&mut registry, &events, &own.lease);
        let (lease, lease_task) = site.hold_lease(own.lease, own.on_take, &lease_stop);
        show_leader(&mut registry, lease.leadership());
        let secrets = site.watch_secrets(own.credential);
        let teller = own.reports_documents.then(|| (events.clone(), lease.leadership()));
        let configuration = site.watch_configuration(teller, &mut registry);
        let base = Self {
            site: site.clone(),
            lease,
            events,
            rights,
            secrets,
            configuration,
            name: own.name,
            missing,
            lease_stop,
            lease_task,
            events_stop,
            events_task,
            _home_rights: home_rights,
        };
        (base, registry)
    }

    /// Returns what `/metrics` shows: the metrics of the program and of its process.
    #[must_use]
    pub fn shown_metrics(&self, registry: Registry) -> ShownMetrics {
        ShownMetrics::new(self.name, registry)
    }

    /// Works during each term of holding the Lease, until shutdown or a failed part. Then everything is told to stop.
    pub async fn lead(&self, work: impl AsyncFnMut(CancellationToken)) {
        let leadership = self.lease.leadership();
        tokio::select! {
            () = leadership.in_each_term(&self.site.stop, work) => {}
            () = self.site.failed.cancelled() => {}
        }
        self.site.stop.cancel();
    }

    /// Keeps the notes, the signs of missing targets and the watches of a term up to date, until one of them fails.
    pub async fn keep_term(&self, notes: &NotedSelections, watches: &KindWatches) {
        let Site { client, health, .. } = &self.site;
        let configuration = || self.configuration.clone();
        // Boxed, because the future of a term would be large with it.
        let hearing = Box::pin(watches.run(client.clone(), health.clone(), configuration()));
        tokio::select! {
            () = notes.keep(&self.lease) => {}
            () = self.missing.follow(configuration(), notes.clone()) => {}
            () = hearing => {}
        }
    }

    /// Ends the common parts after all work: releases the Lease, so that the next leader need not wait for its expiry,
    /// and sends the queued Events. Returns the exit code.
    pub async fn end(self) -> ExitCode {
        self.lease_stop.cancel();
        self.events_stop.cancel();
        let telling = tokio::time::timeout(TELL_DEADLINE, self.events_task);
        // The Lease task bounds its own release.
        let _ = tokio::join!(self.lease_task, telling);
        if self.site.failed.is_cancelled() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}
