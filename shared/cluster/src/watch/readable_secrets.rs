//! The Secrets beside objects that their owners let corrections send, kept up to date for each namespace that is asked for.
//!
//! Only where the user granted it the API server shows them: where it does not, there are none. A namespace that was asked
//! for once is watched until the program ends, over the connection that all watches share. This file must not know what the
//! Secrets are used for, and nothing here shows a value.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tokio_util::sync::CancellationToken;

use crate::process::tasks;
use crate::watch::SecretWatch;
use drift_model::labelled_secrets::LabelledSecrets;
use drift_model::names::{READABLE_LABEL, TRUE};

/// The Secrets beside objects, by namespace.
#[derive(Clone)]
pub struct ReadableSecrets {
    client: kube::Client,
    failed: CancellationToken,
    stop: CancellationToken,
    watched: Arc<Mutex<BTreeMap<String, Arc<ArcSwap<LabelledSecrets>>>>>,
}

impl ReadableSecrets {
    /// None yet; watches end with `stop`.
    #[must_use]
    pub fn new(client: kube::Client, failed: CancellationToken, stop: CancellationToken) -> Self {
        Self { client, failed, stop, watched: Arc::default() }
    }

    /// Those of a namespace as they are known now; the first who asks begins their watch.
    #[must_use]
    pub fn of(&self, namespace: &str) -> Arc<LabelledSecrets> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(secrets) = watched.get(namespace) {
            return secrets.load_full();
        }
        let (watch, secrets) = SecretWatch::new(self.client.clone(), namespace, (READABLE_LABEL, TRUE), None);
        let known = secrets.load_full();
        watched.insert(namespace.to_owned(), secrets);
        tasks::spawn("readable secrets", self.failed.clone(), watch.run(self.stop.clone()));
        known
    }

    /// All that is known now, by namespace: two that are not the same tell that something changed between them.
    #[must_use]
    pub fn all(&self) -> BTreeMap<String, Arc<LabelledSecrets>> {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.iter().map(|(namespace, secrets)| (namespace.clone(), secrets.load_full())).collect()
    }
}

impl fmt::Debug for ReadableSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ReadableSecrets")
    }
}
