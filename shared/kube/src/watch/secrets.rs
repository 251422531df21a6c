//! The Secrets of one namespace that their owners labelled for this program, kept up to date.
//!
//! Requests read them without waiting, because the whole set is replaced as one value.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Secret;
use kube::api::GetParams;
use kube::core::{Request, Resource};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::client;
use crate::client::{CALL_DEADLINE, CallError, WholeObjects};
use crate::process::clock;
use crate::telemetry::health::HealthPart;
use crate::watch::collection::{Change, Collection, NumberedChange, follow};
use crate::watch::store::{Effect, Store};
use drift_api::names::{CREDENTIAL_LABEL, HOSTS_ANNOTATION};
use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets, SecretVersion};

/// Maximum queued changes between the watch and this task.
const BUFFER: usize = 16;

/// Maximum size of a value in tenants' Secrets: the largest keys or certificate chains in use take about ten KiB.
const MOST_VALUE_BYTES: usize = 64 * 1024;

/// Maximum size of all tenants' Secrets of one namespace: thousands of passwords. Tenants write them, and the memory
/// limit of the program is 128 MiB.
const MOST_NAMESPACE_BYTES: usize = 1024 * 1024;

/// Pause before omitted Secrets are listed again. Tenants control how often space becomes free.
const ROOM_PAUSE: Duration = Duration::from_secs(30);

/// Bytes of a Secret in addition to its keys and values: name, version and map nodes.
const SECRET_BYTES: usize = 256;

/// The watch of the Secrets of one namespace.
pub struct SecretWatch {
    client: kube::Client,
    collection: Collection,
    /// The health part that is not ready without them, if any.
    part: Option<HealthPart>,
    /// The only used keys, if tenants write the Secrets. Their values have size limits.
    keys: Option<BTreeSet<String>>,
    store: Store<Arc<LabelledSecret>>,
    published: Arc<ArcSwap<LabelledSecrets>>,
    is_failing: bool,
    /// True if some are omitted, which the log reports.
    is_full: bool,
    /// The time of the next list, after space became free for omitted Secrets.
    list_at: Option<Instant>,
}

impl SecretWatch {
    /// Creates a watch of the Secrets in `namespace` with this label name and value, which must be run. `part` is ready
    /// after the first list. Without a `part` nothing waits for them: if they cannot be listed, none can be used.
    #[must_use]
    pub fn new(
        client: kube::Client,
        namespace: &str,
        label: &str,
        value: &str,
        part: Option<HealthPart>,
    ) -> (Self, Arc<ArcSwap<LabelledSecrets>>) {
        let path = Secret::url_path(&(), Some(namespace));
        let collection = Collection { path, label_selector: Some(format!("{label}={value}")), heard: None };
        let published = Arc::new(ArcSwap::default());
        let readers = Arc::clone(&published);
        let (keys, store, is_failing, is_full) = (None, Store::weighed(bytes_of), false, false);
        (Self { client, collection, part, keys, store, published, is_failing, is_full, list_at: None }, readers)
    }

    /// Creates a watch of tenants' Secrets, which keeps only the values of these keys, within limits.
    #[must_use]
    pub fn of_tenants(self, keys: BTreeSet<String>) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// Follows them until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let following = async {
            loop {
                let (sender, receiver) = mpsc::channel(BUFFER);
                let followed = follow(self.client.clone(), self.collection.clone(), WholeObjects, 0, sender);
                tokio::select! {
                    () = followed => return,
                    () = self.keep(receiver) => {}
                }
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = following => {}
        }
    }

    /// Applies changes until a new list is needed.
    async fn keep(&mut self, mut changes: mpsc::Receiver<NumberedChange>) {
        loop {
            let heard = match self.list_at {
                Some(at) => tokio::time::timeout_at(at, changes.recv()).await.ok().flatten(),
                None => changes.recv().await,
            };
            let Some((_, change)) = heard else {
                self.list_at = None;
                return;
            };
            self.hear(change);
        }
    }

    fn hear(&mut self, change: Change) {
        let left_out = Cell::new(None);
        let keys = self.keys.as_ref();
        if matches!(change, Change::ListBegan) {
            (self.is_full, self.list_at) = (false, None);
        }
        let is_listed = matches!(change, Change::ListEnded(_));
        let before = self.store.bytes();
        let effect = self.store.hear(change, |object, others| {
            let secret = Arc::new(kept(object, keys));
            let has_room = keys.is_none() || others + bytes_of(&secret) <= MOST_NAMESPACE_BYTES;
            if !has_room {
                left_out.set(Some(text_of(object, "name")));
            }
            has_room.then_some(secret)
        });
        if let Some(name) = left_out.take() {
            self.tell_that_full(&name);
        }
        if self.is_full && !is_listed && self.store.bytes() < before {
            self.list_at.get_or_insert_with(|| clock::instant_of(clock::now() + ROOM_PAUSE));
        }
        match effect {
            Effect::Changed => {
                self.published.store(Arc::new(LabelledSecrets::of(self.store.present().clone())));
                self.recover();
            }
            Effect::Same => self.recover(),
            Effect::Pending => {}
            Effect::Failing(text) => {
                if !self.is_failing {
                    tracing::warn!(path = self.collection.path, cause = text, "Secrets cannot be watched");
                }
                self.is_failing = true;
                let known = self.published.load();
                match &self.part {
                    Some(part) => part.not_ready(format!("Secrets cannot be watched: {text}")),
                    None if known.are_listed() && !known.are_refused() => {}
                    None => self.published.store(Arc::new(LabelledSecrets::refused(text))),
                }
            }
        }
    }

    fn tell_that_full(&mut self, name: &str) {
        if !std::mem::replace(&mut self.is_full, true) {
            let (path, kib) = (&self.collection.path, MOST_NAMESPACE_BYTES / 1024);
            tracing::warn!(
                path,
                name,
                most_kib = kib,
                "this Secret and further ones count as missing: those of the namespace take too much"
            );
        }
    }

    fn recover(&mut self) {
        self.is_failing = false;
        self.part.iter().for_each(HealthPart::ready);
    }
}

/// Reads one Secret now, with the value of its label. `None` if it does not exist.
///
/// # Errors
/// Fails if the API server does not answer or refuses.
pub async fn read_secret(
    client: &kube::Client,
    namespace: &str,
    name: &str,
) -> Result<Option<(Option<String>, LabelledSecret)>, CallError> {
    let request = Request::new(Secret::url_path(&(), Some(namespace))).get(name, &GetParams::default());
    match client::request::<Value>(client, CALL_DEADLINE, request?).await {
        Ok(object) => {
            let labels = object.pointer("/metadata/labels");
            let label = labels.and_then(|all| all.get(CREDENTIAL_LABEL)).and_then(Value::as_str);
            Ok(Some((label.map(str::to_owned), kept(&object, None))))
        }
        Err(error) if error.code() == Some(404) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the kept part of a Secret, for tenants' Secrets only these keys. A value that is not valid base64 cannot
/// come from an API server, and is left out.
fn kept(object: &Value, keys: Option<&BTreeSet<String>>) -> LabelledSecret {
    let hosts =
        object.pointer("/metadata/annotations").and_then(|all| all.get(HOSTS_ANNOTATION)).and_then(Value::as_str);
    let data = object.get("data").and_then(Value::as_object).into_iter().flatten();
    let data = data.filter(|(key, _)| keys.is_none_or(|keys| keys.contains(*key)));
    let data = data.filter_map(|(key, value)| Some((key.clone(), STANDARD.decode(value.as_str()?).ok()?)));
    let (large, data): (BTreeMap<_, _>, _) =
        data.partition(|(_, value)| keys.is_some() && value.len() > MOST_VALUE_BYTES);
    let secret = LabelledSecret::new(hosts, data);
    let secret = large.into_keys().fold(secret, |secret, key| secret.without_value(key, "larger than 64 KiB"));
    let (uid, resource_version) = (text_of(object, "uid"), text_of(object, "resourceVersion"));
    secret.in_version(SecretVersion { uid, resource_version })
}

fn text_of(object: &Value, field: &str) -> String {
    let value = object.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_str);
    value.unwrap_or_default().to_owned()
}

fn bytes_of(secret: &Arc<LabelledSecret>) -> usize {
    SECRET_BYTES + secret.bytes()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::fake_api::{client, reply};
    use crate::telemetry::health::Health;
    use secrecy::ExposeSecret;
    use serde_json::json;
    use std::sync::atomic::{AtomicBool, Ordering};

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
            SecretWatch::new(client, "here", CREDENTIAL_LABEL, "poller", Some(health.part("secrets")));
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
        let (watch, secrets) = SecretWatch::new(client, "there", CREDENTIAL_LABEL, "poller", None);
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

    #[tokio::test]
    async fn a_secret_without_its_label_is_withheld() {
        let (mut watch, secrets) = watch_of_nothing();
        watch.hear(Change::Changed(secret("h", "x")));
        assert!(secrets.load().secret("api").is_ok());
        watch.hear(Change::Deleted(secret("h", "x")));
        assert!(secrets.load().secret("api").is_err());
    }

    fn watch_of_nothing() -> (SecretWatch, Arc<ArcSwap<LabelledSecrets>>) {
        let (client, _) = client(|_| Box::pin(std::future::pending()));
        SecretWatch::new(client, "there", CREDENTIAL_LABEL, "poller", None)
    }

    fn of_tenant(name: &str, data: &[(&str, usize)]) -> Value {
        let data: serde_json::Map<_, _> =
            data.iter().map(|(key, bytes)| ((*key).to_owned(), STANDARD.encode("x".repeat(*bytes)).into())).collect();
        json!({"metadata": {"name": name}, "data": data})
    }

    #[tokio::test]
    async fn of_tenants_secrets_only_named_keys_are_kept() {
        let (watch, secrets) = watch_of_nothing();
        let mut watch = watch.of_tenants(BTreeSet::from(["a".to_owned(), "b".to_owned()]));
        let data = [("a", MOST_VALUE_BYTES), ("b", MOST_VALUE_BYTES + 1), ("c", 1)];
        watch.hear(Change::Changed(of_tenant("s", &data)));
        let secrets = secrets.load();
        let secret = secrets.secret("s").unwrap();
        assert_eq!(secret.text("s", "a").unwrap().expose_secret().len(), MOST_VALUE_BYTES);
        let why = |key: &str| secret.text("s", key).unwrap_err().to_string();
        assert_eq!(
            (why("b"), why("c")),
            ("Secret s key b is larger than 64 KiB".into(), "Secret s has no key c".into())
        );
    }

    #[tokio::test]
    async fn tenants_secrets_have_a_total() {
        let (watch, secrets) = watch_of_nothing();
        let mut watch = watch.of_tenants(BTreeSet::from(["a".to_owned()]));
        let names: Vec<String> = (0..100).map(|number| format!("s-{number:02}")).collect();
        watch.hear(Change::ListBegan);
        for name in &names {
            watch.hear(Change::Found(of_tenant(name, &[("a", MOST_VALUE_BYTES)]), String::new()));
        }
        watch.hear(Change::ListEnded(String::new()));
        let is_kept = |name: &str| secrets.load().secret(name).is_ok();
        assert_eq!(names.iter().filter(|name| is_kept(name)).count(), 15, "and 64 KiB for the rest");
        assert!(watch.is_full && is_kept("s-00") && !is_kept("s-15"));
        watch.hear(Change::Changed(of_tenant("s-00", &[("a", 1)])));
        watch.hear(Change::Changed(of_tenant("s-15", &[("a", MOST_VALUE_BYTES)])));
        assert!(is_kept("s-00") && is_kept("s-15"), "there is room again");
        for number in 0..10_000 {
            watch.hear(Change::Changed(of_tenant(&format!("t-{number}"), &[])));
        }
        let bytes: usize = watch.store.present().values().map(bytes_of).sum();
        assert!(bytes <= MOST_NAMESPACE_BYTES && bytes == watch.store.bytes(), "also of empty ones: {bytes}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_left_out_is_found_once_there_is_room() {
        let names: Vec<String> = (0..16).map(|number| format!("s-{number:02}")).collect();
        let is_first = Arc::new(AtomicBool::new(true));
        let (client, log) = client(move |sent| {
            let (names, is_first) = (names.clone(), Arc::clone(&is_first));
            Box::pin(async move {
                if !sent.uri.contains("watch=true") {
                    let there = if is_first.load(Ordering::SeqCst) { &names[..] } else { &names[1..] };
                    let items: Vec<_> = there.iter().map(|name| of_tenant(name, &[("a", MOST_VALUE_BYTES)])).collect();
                    return reply(200, &json!({"metadata": {"resourceVersion": "1"}, "items": items}));
                }
                if !is_first.swap(false, Ordering::SeqCst) {
                    return std::future::pending().await;
                }
                let deleted = json!({"type": "DELETED", "object": of_tenant("s-00", &[])});
                http::Response::new(format!("{deleted}\n").into())
            })
        });
        let (watch, secrets) = SecretWatch::new(client, "there", CREDENTIAL_LABEL, "poller", None);
        let stop = CancellationToken::new();
        let looking = async {
            while secrets.load().secret("s-15").is_err() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            assert!(secrets.load().secret("s-00").is_err());
            tokio::time::sleep(Duration::from_secs(600)).await;
            stop.cancel();
        };
        let limited = tokio::time::timeout(Duration::from_secs(3600), looking);
        let watch = watch.of_tenants(BTreeSet::from(["a".to_owned()]));
        let ((), looked) = tokio::join!(watch.run(stop.clone()), limited);
        looked.unwrap();
        let lists = log.lines().iter().filter(|line| !line.contains("watch=true")).count();
        assert_eq!(lists, 2, "{:?}", log.lines());
    }
}
