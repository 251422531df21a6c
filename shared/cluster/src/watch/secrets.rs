//! The Secrets of one namespace that their owners labelled for this program, kept up to date.
//!
//! Requests read them without waiting: the whole set is swapped as one value. This file must not know what the
//! Secrets are used for, and nothing here shows a value.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Secret;
use kube::api::GetParams;
use kube::core::{Request, Resource};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::client;
use crate::client::{CALL_DEADLINE, CallError, WholeObjects};
use crate::telemetry::health::Part;
use crate::watch::collection::{Change, Collection, Heard, follow};
use crate::watch::store::{Effect, Store};
use drift_model::labelled_secrets::{LabelledSecret, LabelledSecrets, SecretVersion};
use drift_model::names::{CREDENTIAL_LABEL, HOSTS_ANNOTATION};

/// Changes that wait between the connection and us.
const BUFFER: usize = 16;

/// The watch of the Secrets of one namespace.
pub struct SecretWatch {
    client: kube::Client,
    collection: Collection,
    /// What is not ready without them, where anything is.
    part: Option<Part>,
    store: Store<LabelledSecret>,
    published: Arc<ArcSwap<LabelledSecrets>>,
    is_failing: bool,
}

impl SecretWatch {
    /// Of the Secrets in `namespace` with this label, a name and a value; nothing happens until it runs. `part` is ready from the
    /// first list on. Without one nobody waits for them: where they cannot be listed, none can be used.
    #[must_use]
    pub fn new(
        client: kube::Client,
        namespace: &str,
        (label, value): (&str, &str),
        part: Option<Part>,
    ) -> (Self, Arc<ArcSwap<LabelledSecrets>>) {
        let path = Secret::url_path(&(), Some(namespace));
        let collection = Collection { path, label_selector: Some(format!("{label}={value}")), heard: None };
        let published = Arc::new(ArcSwap::default());
        let readers = Arc::clone(&published);
        (Self { client, collection, part, store: Store::default(), published, is_failing: false }, readers)
    }

    /// Follows them until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let (sender, receiver) = mpsc::channel(BUFFER);
        let following = follow(self.client.clone(), (self.collection.clone(), WholeObjects), 0, sender);
        tokio::select! {
            () = stop.cancelled() => {}
            () = following => {}
            () = self.keep(receiver) => {}
        }
    }

    async fn keep(&mut self, mut changes: mpsc::Receiver<Heard>) {
        while let Some((_, change)) = changes.recv().await {
            self.hear(change);
        }
    }

    fn hear(&mut self, change: Change) {
        match self.store.hear(change, kept) {
            Effect::Changed => {
                let secrets = self.store.present().iter();
                self.published.store(Arc::new(secrets.map(|(name, secret)| (name.clone(), secret.clone())).collect()));
                self.recover();
            }
            Effect::Same => self.recover(),
            Effect::Pending => {}
            Effect::Failing(text) => {
                if !self.is_failing {
                    tracing::warn!(path = self.collection.path, "Secrets cannot be watched: {text}");
                }
                self.is_failing = true;
                match &self.part {
                    Some(part) => part.not_ready(format!("Secrets cannot be watched: {text}")),
                    None if self.published.load().are_listed() => {}
                    None => self.published.store(Arc::new(LabelledSecrets::refused())),
                }
            }
        }
    }

    fn recover(&mut self) {
        self.is_failing = false;
        self.part.iter().for_each(Part::ready);
    }
}

/// One Secret at this moment, and for whom its owner labelled it; `None` where there is none.
///
/// # Errors
/// When the API server does not answer or refuses.
pub async fn read_secret(
    client: &kube::Client,
    namespace: &str,
    name: &str,
) -> Result<Option<(Option<String>, LabelledSecret)>, CallError> {
    let request = Request::new(Secret::url_path(&(), Some(namespace))).get(name, &GetParams::default());
    let request = request.map_err(|error| CallError::Transport(error.to_string()))?;
    match client::request::<Value>(client, CALL_DEADLINE, request).await {
        Ok(object) => {
            let labels = object.pointer("/metadata/labels");
            let label = labels.and_then(|all| all.get(CREDENTIAL_LABEL)).and_then(Value::as_str);
            Ok(Some((label.map(str::to_owned), kept(&object))))
        }
        Err(error) if error.code() == Some(404) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What is needed of a Secret. A value that is no base64 cannot come from an API server; it is left out.
fn kept(object: &Value) -> LabelledSecret {
    let hosts =
        object.pointer("/metadata/annotations").and_then(|all| all.get(HOSTS_ANNOTATION)).and_then(Value::as_str);
    let data = object.get("data").and_then(Value::as_object);
    let data: BTreeMap<_, _> = data
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), STANDARD.decode(value.as_str()?).ok()?)))
        .collect();
    let text = |field: &str| {
        let value = object.pointer("/metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    LabelledSecret::new(hosts, data)
        .in_version(SecretVersion { uid: text("uid"), resource_version: text("resourceVersion") })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::fake_api::{client, reply};
    use crate::telemetry::health::Health;
    use secrecy::ExposeSecret;
    use serde_json::json;
    use std::time::Duration;

    fn secret(hosts: &str, token: &str) -> Value {
        json!({"metadata": {"name": "api", "resourceVersion": "1", "annotations": {HOSTS_ANNOTATION: hosts}},
            "data": {"token": STANDARD.encode(token)}})
    }

    #[tokio::test(start_paused = true)]
    async fn a_labelled_secret_can_be_used_once_listed() {
        let (client, log) = client(|sent| {
            Box::pin(async move {
                if sent.uri.contains("watch=true") {
                    return std::future::pending().await;
                }
                let list = json!({"metadata": {"resourceVersion": "1"}, "items": [secret("h", "hunter2")]});
                reply(200, &list)
            })
        });
        let health = Health::default();
        let (watch, secrets) =
            SecretWatch::new(client, "here", (CREDENTIAL_LABEL, "poller"), Some(health.part("secrets")));
        let stop = CancellationToken::new();
        let looking = async {
            while !health.is_ready() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            let all = secrets.load();
            assert_eq!(all.credential("api", "token", "h:1").unwrap().expose_secret(), "hunter2");
            assert!(all.credential("api", "token", "other:1").is_err());
            assert!(!format!("{all:?}").contains("hunter2"));
            stop.cancel();
        };
        let limited = tokio::time::timeout(Duration::from_secs(5), looking);
        let ((), looked) = tokio::join!(watch.run(stop.clone()), limited);
        looked.unwrap();
        let expected =
            "GET /api/v1/namespaces/here/secrets?&labelSelector=driftpoller.dev%2Fcredential%3Dpoller&limit=500";
        assert_eq!(log.lines()[0], expected);
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_not_be_listed_counts_as_none() {
        let (client, _) = client(|_| Box::pin(async move { reply(403, &json!({"kind": "Status", "code": 403})) }));
        let (watch, secrets) = SecretWatch::new(client, "there", (CREDENTIAL_LABEL, "poller"), None);
        let stop = CancellationToken::new();
        let looking = async {
            while !secrets.load().are_listed() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            stop.cancel();
        };
        let limited = tokio::time::timeout(Duration::from_secs(60), looking);
        let ((), looked) = tokio::join!(watch.run(stop.clone()), limited);
        looked.unwrap();
        assert!(secrets.load().secret("api").is_err() && secrets.load().are_refused());
    }

    #[test]
    fn a_secret_without_its_label_is_withheld() {
        let mut store = Store::default();
        store.hear(Change::Changed(secret("h", "x")), kept);
        assert_eq!(store.present().len(), 1);
        store.hear(Change::Deleted(secret("h", "x")), kept);
        assert!(store.present().is_empty());
    }
}
