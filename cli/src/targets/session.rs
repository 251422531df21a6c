//! The cluster as one command uses it: the client, the namespace of the targets, and the poller's Lease.

use std::collections::BTreeMap;

use drift_kube::client::KubeconfigSettings;
use drift_kube::config::{creation_times_of, documents_in, list_config_maps};
use drift_kube::process::clock;
use drift_language::Texts;
use k8s_openapi::api::coordination::v1::Lease;
use kube::core::Resource as _;
use serde_json::Value;

use crate::cluster::{TargetsSettings, connect, get, unanswered};
use crate::ending::CommandError;
use crate::targets::known::{LeaseNotes, LiveTargets};
use crate::targets::leases::Holder;
use crate::targets::notes_on;

/// A connection to the cluster, and the place of the targets in it.
pub(crate) struct Session<'s> {
    pub(crate) client: kube::Client,
    /// The settings of the connection.
    pub(crate) cluster: &'s KubeconfigSettings,
    /// Namespace of the programs and of the ConfigMaps with the targets.
    pub(crate) home: &'s str,
    poller_lease: &'s str,
}

impl<'s> Session<'s> {
    /// Connects to the cluster of the targets.
    ///
    /// # Errors
    /// If there is no usable configuration.
    pub(crate) async fn open(settings: &'s TargetsSettings) -> Result<Self, CommandError> {
        let TargetsSettings { targets_namespace, poller_lease, cluster } = settings;
        Self::at(cluster, targets_namespace, poller_lease).await
    }

    /// Connects to a cluster with its targets in this namespace.
    ///
    /// # Errors
    /// If there is no usable configuration.
    pub(crate) async fn at(
        cluster: &'s KubeconfigSettings,
        home: &'s str,
        poller_lease: &'s str,
    ) -> Result<Self, CommandError> {
        Ok(Self { client: connect(cluster).await?, cluster, home, poller_lease })
    }

    /// Reads the ConfigMaps with the targets.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) async fn target_maps(&self) -> Result<Vec<Value>, CommandError> {
        let listed = list_config_maps(&self.client, self.home).await;
        listed.map_err(|error| unanswered(&format!("the targets in namespace {}", self.home), &error))
    }

    /// Reads a program's Lease; `None` if there is none.
    ///
    /// # Errors
    /// A sentence, if it cannot be read.
    pub(crate) async fn lease(&self, name: &str) -> Result<Option<Value>, String> {
        let read = get(&self.client, &Lease::url_path(&(), Some(self.home)), name).await;
        read.map_err(|error| format!("the Lease {name} in namespace {} cannot be read: {error}", self.home))
    }

    /// Reads the poller's Lease.
    ///
    /// # Errors
    /// As [`lease`](Self::lease).
    pub(crate) async fn poller_lease(&self) -> Result<Option<Value>, String> {
        self.lease(self.poller_lease).await
    }

    /// Returns the notes on the poller's Lease, or why it could not be read.
    pub(crate) async fn notes(&self) -> LeaseNotes {
        match self.poller_lease().await {
            Ok(lease) => {
                let vacancy = Holder::Poller.vacancy(lease.as_ref(), (self.poller_lease, self.home), clock::wall());
                LeaseNotes { vacancy, ..notes_on(lease.as_ref()) }
            }
            Err(why) => LeaseNotes { unread: Some(why), ..LeaseNotes::default() },
        }
    }

    /// Returns the known targets, perhaps none, and the texts in their ConfigMaps.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) async fn targets_if_any(&self) -> Result<(LiveTargets, Texts), CommandError> {
        let (maps, notes) = futures::join!(self.target_maps(), self.notes());
        let maps = maps?;
        let (documents, created) = (documents_in(&maps), creation_times_of(&maps));
        Ok((LiveTargets::of(self.home, (&documents, &created), &notes), documents))
    }

    /// Returns the known targets.
    ///
    /// # Errors
    /// If they cannot be read, or nothing is known of any.
    pub(crate) async fn live_targets(&self) -> Result<LiveTargets, CommandError> {
        let (live, documents) = self.targets_if_any().await?;
        if live.good.is_empty() && live.by_last_good.is_empty() {
            let is_bare = documents.values().all(BTreeMap::is_empty);
            let hint =
                is_bare.then_some("name the one where the ConfigMaps are, labelled driftpoller.dev/targets: \"true\"");
            let why: Vec<&str> = hint.into_iter().chain(live.troubles.iter().map(String::as_str)).collect();
            let message = format!("namespace {} has no good target: {}", self.home, why.join("; "));
            return Err(CommandError::BadUsage(message));
        }
        Ok(live)
    }
}
