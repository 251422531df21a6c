//! The Secrets in objects' namespaces that their owners allow corrections to send, watched for
//! each requested namespace.
//!
//! The API server only shows them if the user granted the right. Otherwise there are none. A requested namespace is
//! watched until the program ends, over the connection that all watches share.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tokio_util::sync::CancellationToken;

use crate::process::tasks;
use crate::watch::SecretWatch;
use drift_api::names::{READABLE_LABEL, TRUE};
use drift_api::secrets::labelled_secrets::LabelledSecrets;

/// The Secrets in objects' namespaces, by namespace.
#[derive(Clone)]
pub struct ReadableSecrets {
    client: kube::Client,
    failed: CancellationToken,
    stop: CancellationToken,
    watched: Arc<Mutex<BTreeMap<String, Watched>>>,
}

/// The Secrets of one namespace.
struct Watched {
    /// The keys whose values are kept.
    keys: BTreeSet<String>,
    secrets: Arc<ArcSwap<LabelledSecrets>>,
    stop: CancellationToken,
}

impl ReadableSecrets {
    /// Creates the store. Watches end with `stop`.
    #[must_use]
    pub fn new(client: kube::Client, failed: CancellationToken, stop: CancellationToken) -> Self {
        Self { client, failed, stop, watched: Arc::default() }
    }

    /// Returns the current Secrets of a namespace, with the values of these keys. The first call starts their watch. A
    /// call with an additional key restarts it.
    #[must_use]
    pub fn of<'k>(&self, namespace: &str, keys: impl Iterator<Item = &'k str>) -> Arc<LabelledSecrets> {
        let mut keys: BTreeSet<_> = keys.map(str::to_owned).collect();
        let mut all = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watched) = all.get(namespace) {
            if keys.is_subset(&watched.keys) {
                return watched.secrets.load_full();
            }
            keys.extend(watched.keys.iter().cloned());
            watched.stop.cancel();
        }
        let (watch, secrets) = SecretWatch::new(self.client.clone(), namespace, READABLE_LABEL, TRUE, None);
        let (known, stop) = (secrets.load_full(), self.stop.child_token());
        let watch = watch.of_tenants(keys.clone());
        all.insert(namespace.to_owned(), Watched { keys, secrets, stop: stop.clone() });
        tasks::spawn("readable secrets", self.failed.clone(), watch.run(stop));
        known
    }

    /// Returns all current Secrets, by namespace. Two results with different pointers show a change between them.
    #[must_use]
    pub fn all(&self) -> BTreeMap<String, Arc<LabelledSecrets>> {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.iter().map(|(namespace, watched)| (namespace.clone(), watched.secrets.load_full())).collect()
    }
}

impl fmt::Debug for ReadableSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ReadableSecrets")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;
    use crate::client::fake_api::{client, reply};

    #[tokio::test(start_paused = true)]
    async fn a_further_key_is_read_too() {
        let (client, log) = client(|sent| {
            Box::pin(async move {
                if sent.uri.contains("watch=true") {
                    return std::future::pending().await;
                }
                let (a, b) = (STANDARD.encode("1"), STANDARD.encode("2"));
                let secret = json!({"metadata": {"name": "s"}, "data": {"a": a, "b": b}});
                reply(200, &json!({"metadata": {"resourceVersion": "1"}, "items": [secret]}))
            })
        });
        let stop = CancellationToken::new();
        let readable = ReadableSecrets::new(client, CancellationToken::new(), stop.clone());
        let known = async |keys: &[&'static str]| {
            while !readable.of("there", keys.iter().copied()).are_listed() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            let secrets = readable.of("there", keys.iter().copied());
            ["a", "b"].map(|key| secrets.secret("s").unwrap().text("s", key).is_ok())
        };
        assert_eq!(known(&["a"]).await, [true, false]);
        assert_eq!(known(&["b"]).await, [true, true], "and the first one stays");
        assert_eq!(known(&["a"]).await, [true, true]);
        tokio::time::sleep(Duration::from_secs(600)).await;
        let lists = log.lines().iter().filter(|line| !line.contains("watch=true")).count();
        assert_eq!(lists, 2, "{:?}", log.lines());
        stop.cancel();
    }
}
