//! The environment of a program: its client, namespace, name and health, and the watches and tasks that both programs
//! start in the same way.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use prometheus_client::registry::Registry;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::access::rights::{Need, RightsNeeded};
use crate::access::{AccessReviews, Right, watch_access};
use crate::cleanup::MissingTargets;
use crate::client::{ClientNotes, ConnectError, KubeconfigSettings, client_noting};
use crate::config::LastGood;
use crate::config::{ConfigSettings, ConfigWatch, Configuration};
use crate::events::{EventWriter, event_writer, lease_reference};
use crate::kinds::KindSearch;
use crate::lease::{Leadership, LeaseHandle};
use crate::lease::{LeaseSettings, lease};
use crate::process::tasks;
use crate::program::settings::HomeSettings;
use crate::resources::ResourceClient;
use crate::telemetry::document_counts::DocumentCounts;
use crate::telemetry::health::Health;
use crate::watch::{ReadableSecrets, SecretWatch};
use drift_api::names::CREDENTIAL_LABEL;
use drift_api::secrets::labelled_secrets::LabelledSecrets;

/// The base of every part of a program.
#[derive(Clone)]
pub struct Site {
    /// Cancelled by the shutdown signal.
    pub stop: CancellationToken,
    /// Cancelled after a panic of a background task. The program then ends, and is restarted.
    pub failed: CancellationToken,
    /// The API client.
    pub client: kube::Client,
    /// Our own namespace.
    pub namespace: String,
    /// Our name among the replicas.
    pub instance: String,
    /// The health that `/readyz` and `/livez` show.
    pub health: Health,
    /// The field manager, also the reporter of Events.
    pub manager: &'static str,
    documents: DocumentCounts,
    cluster: KubeconfigSettings,
    notes: ClientNotes,
}

impl Site {
    /// Creates the environment of one process in this cluster. No request is sent.
    ///
    /// # Errors
    /// Fails if there is no usable configuration.
    pub async fn connect(
        cluster: KubeconfigSettings,
        settings: &HomeSettings,
        manager: &'static str,
    ) -> Result<Self, ConnectError> {
        let notes = ClientNotes::default();
        let client = client_noting(cluster.configuration().await?, manager, notes.clone())?;
        Ok(Self {
            stop: CancellationToken::new(),
            failed: CancellationToken::new(),
            namespace: settings.namespace(&client),
            instance: settings.instance(),
            client,
            health: Health::default(),
            manager,
            documents: DocumentCounts::default(),
            cluster,
            notes,
        })
    }

    /// Runs a task in the background.
    pub fn spawn<F>(&self, name: &'static str, task: F) -> JoinHandle<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        tasks::spawn(name, self.failed.clone(), task)
    }

    /// Registers the counts of the requests to the API server.
    pub(super) fn register_requests(&self, registry: &mut Registry) {
        self.notes.requests.register(registry);
    }

    /// Creates a client for cluster objects as external resources, with separate connections. Its requests are counted
    /// too. A 403 of such an object shows in its condition.
    ///
    /// # Errors
    /// Same as [`connect`](Self::connect).
    pub async fn connect_resources(&self) -> Result<ResourceClient, ConnectError> {
        ResourceClient::noting(self.cluster.configuration().await?, self.manager, self.counting_notes())
    }

    /// Returns notes that count requests and check no rights after a 403.
    fn counting_notes(&self) -> ClientNotes {
        ClientNotes { requests: self.notes.requests.clone(), ..ClientNotes::default() }
    }

    /// Checks the required rights in a loop. `at_home` is required until the [`Need`] is dropped.
    pub(super) fn watch_rights(&self, at_home: Vec<Right>) -> (RightsNeeded, Need) {
        let rights = RightsNeeded::default();
        let need = rights.need(at_home);
        let part = self.health.part("rights");
        let (needed, missing) = rights.to_be_asked();
        let reviews = AccessReviews::new(self.client.clone(), missing, part);
        let watching = watch_access(reviews, needed, self.notes.forbidden.clone(), self.stop.clone());
        self.spawn("rights", watching);
        (rights, need)
    }

    /// Competes for a Lease until `stop`, which must follow the end of all work. Then the Lease is released. It
    /// runs on its own thread with its own client, so that work never delays a renewal, and only while the work
    /// has a heartbeat.
    pub fn hold_lease(
        &self,
        name: String,
        on_take: BTreeMap<String, String>,
        stop: &CancellationToken,
    ) -> (LeaseHandle, JoinHandle<()>) {
        let settings = LeaseSettings {
            namespace: self.namespace.clone(),
            name,
            instance: self.instance.clone(),
            manager: self.manager,
            on_take,
            part: self.health.part("lease"),
        };
        let (lease, task) = lease(settings, stop.clone());
        self.spawn("turning", task.turning().keep());
        let failed = self.failed.clone();
        let (cluster, manager) = (self.cluster.clone(), self.manager);
        // A 403 of the Lease has its own line in `/readyz`.
        let notes = self.counting_notes();
        let connect = move |config| client_noting(config, manager, notes);
        let hold = async move || match cluster.configuration().await.and_then(connect) {
            Ok(client) => task.run(client).await,
            Err(error) => {
                tracing::error!(cause = %error, "no client for the Lease");
                failed.cancel();
            }
        };
        let held = tasks::spawn_thread("lease", self.failed.clone(), hold);
        (lease, self.spawn("lease", held))
    }

    /// Watches the Secrets that are labelled for this program.
    pub(super) fn watch_secrets(&self, credential: &str) -> Arc<ArcSwap<LabelledSecrets>> {
        let part = self.health.part("secrets");
        let (watch, secrets) =
            SecretWatch::new(self.client.clone(), &self.namespace, CREDENTIAL_LABEL, credential, Some(part));
        self.spawn("secrets", watch.run(self.stop.clone()));
        secrets
    }

    /// Watches the Secrets that corrections may send, for each requested namespace of objects.
    #[must_use]
    pub fn readable_secrets(&self) -> ReadableSecrets {
        ReadableSecrets::new(self.client.clone(), self.failed.clone(), self.stop.clone())
    }

    /// Watches the active targets. Events report invalid documents while `teller` leads. Both programs read the same
    /// documents, so only one of them gets a `teller`.
    pub fn watch_configuration(
        &self,
        teller: Option<(EventWriter, Leadership)>,
        registry: &mut Registry,
    ) -> watch::Receiver<Arc<Configuration>> {
        let settings = ConfigSettings {
            client: self.client.clone(),
            namespace: self.namespace.clone(),
            judge: LastGood::new(self.client.clone()),
            teller,
            part: self.health.part("configuration"),
            documents: self.documents.clone(),
        };
        self.documents.register(registry);
        let (watch, configuration) = ConfigWatch::new(settings);
        self.spawn("configuration", watch.run(self.stop.clone()));
        configuration
    }

    /// Creates the search for the kinds of the targets, counted with their documents.
    #[must_use]
    pub fn search_kinds(&self) -> KindSearch {
        KindSearch::new(self.client.clone(), self.health.clone(), self.documents.clone())
    }

    /// Creates a writer of Events, whose task ends with `stop`.
    pub(super) fn write_events(
        &self,
        registry: &mut Registry,
        stop: CancellationToken,
    ) -> (EventWriter, JoinHandle<()>) {
        let (events, task) = event_writer(self.client.clone(), self.manager, &self.instance, registry);
        (events, self.spawn("events", task.run(stop)))
    }

    /// Creates the reports of missing targets that are noted on the program's Lease.
    pub(super) fn tell_of_missing(&self, registry: &mut Registry, events: &EventWriter, lease: &str) -> MissingTargets {
        let lease = lease_reference(&self.namespace, lease);
        MissingTargets::register(registry, self.health.clone(), events.clone(), lease)
    }
}
