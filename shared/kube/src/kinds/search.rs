//! Resolves the kinds of targets, with retries until they are usable, and reports the unusable ones.
//!
//! A target without a usable kind does nothing at all. So it is visible everywhere: in the metric of documents, in
//! `/readyz`, and in events that the caller reports. The program stays ready, because its other targets work.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::client::ResolvedKind;
use crate::kinds::{KindError, SuitableKind, find_lossy_version, resolve_kind};
use crate::telemetry::document_counts::DocumentCounts;
use crate::telemetry::health::Health;
use drift_language::Target;
use kube::core::ApiResource;
use tokio_util::sync::CancellationToken;

/// Retry interval for an unusable kind, and interval between two looks at the stored version of a usable one. CRDs are
/// rarely installed or edited, and 15 seconds are short for a person who just did.
pub const LOOK_UP_AGAIN: Duration = Duration::from_secs(15);

/// Failed look-ups of a kind before it is reported. The schema of a new kind or version is published some seconds after
/// the kind itself.
pub(crate) const UNTOLD_LOOKS: u32 = 4;

/// Retry interval before the report.
pub(crate) const LOOK_UP_SOON: Duration = Duration::from_secs(1);

/// A change of a target's kind to report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KindNews {
    /// It is unusable, with a sentence that says what to change.
    Unusable(String),
    /// It is usable again, after a report.
    Usable,
}

/// Resolves kinds for the targets of one program. Cheap to clone.
#[derive(Clone)]
pub struct KindSearch {
    client: kube::Client,
    health: Health,
    documents: DocumentCounts,
    /// Targets with reported and unresolved trouble. They outlive a target's task, which an edit replaces.
    told: Arc<Mutex<BTreeSet<String>>>,
}

impl KindSearch {
    /// Creates a search that reports trouble to this health board and these counts.
    #[must_use]
    pub fn new(client: kube::Client, health: Health, documents: DocumentCounts) -> Self {
        Self { client, health, documents, told: Arc::default() }
    }

    /// Resolves the kind of a target, with retries until it is usable. Reports each change of its problem, and the end.
    pub async fn find(&self, target: &Target, say: impl Fn(KindNews)) -> SuitableKind {
        let mut shown = None;
        let kind = find_kind(&self.client, target, |error| {
            let sentence = error.to_string();
            // An old line is removed only after its successor is set.
            let remark = self.health.remark(format!("target {}", target.name), sentence.clone());
            shown = Some((remark, self.documents.waiting()));
            self.note(&target.name, true);
            say(KindNews::Unusable(sentence));
        })
        .await;
        drop(shown);
        if self.note(&target.name, false) {
            say(KindNews::Usable);
        }
        kind
    }

    /// Cancels a round of [`in_rounds`] once a write through the version of this kind would change other fields of stored
    /// objects. Runs until the future is dropped, so that the work of the round ends by itself.
    pub async fn end_when_lossy(&self, kind: &ResolvedKind, round: &CancellationToken) {
        self.until_lossy(kind).await;
        round.cancel();
        std::future::pending::<()>().await;
    }

    /// Waits until a write through the version of this kind would change other fields of stored objects: its
    /// CustomResourceDefinition was edited. While the cluster does not say, nothing is known to have changed.
    async fn until_lossy(&self, kind: &ResolvedKind) {
        let ApiResource { api_version, kind, .. } = &kind.resource;
        loop {
            tokio::time::sleep(LOOK_UP_AGAIN).await;
            match find_lossy_version(&self.client, api_version, kind).await {
                Ok(Some(_)) => return,
                Ok(None) => {}
                Err(error) => tracing::debug!(kind, cause = %error, "the versions of a kind cannot be looked at"),
            }
        }
    }

    /// Records reported trouble of a target. Returns true if that is a change.
    fn note(&self, target: &str, trouble: bool) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if trouble { told.insert(target.to_owned()) } else { told.remove(target) }
    }
}

/// Works in rounds until `stop`. A round that is cancelled alone has found its kind unusable, and the next one waits until
/// it is usable.
pub async fn in_rounds<F: Future<Output = ()>>(stop: &CancellationToken, work: impl Fn(CancellationToken) -> F) {
    loop {
        let round = stop.child_token();
        work(round.clone()).await;
        if stop.is_cancelled() || !round.is_cancelled() {
            return;
        }
    }
}

/// Resolves the kind of a target, with retries until it is usable. Reports each problem once, and only after some seconds.
pub async fn find_kind(client: &kube::Client, target: &Target, mut say: impl FnMut(&KindError)) -> SuitableKind {
    let mut said = None;
    for look in 0_u32.. {
        let may_be_new = look < UNTOLD_LOOKS;
        match resolve_kind(client, target).await {
            Ok(kind) => return kind,
            Err(error) if said.as_ref() == Some(&error) => {}
            // The schema is published some seconds after the installation or the fix.
            Err(_) if may_be_new => {}
            Err(error) => {
                say(&error);
                said = Some(error);
            }
        }
        tokio::time::sleep(if may_be_new { LOOK_UP_SOON } else { LOOK_UP_AGAIN }).await;
    }
    std::future::pending().await
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::client::fake_api::{client, refuse, reply};
    use crate::process::clock;
    use crate::telemetry::metrics;
    use serde_json::{Value, json};
    use std::sync::atomic::{AtomicBool, Ordering};

    const TEXT: &str = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: proxies}
spec:
  objects: {apiVersion: demo.example/v1, kind: Proxy}
  identity: x
  read: {http: {url: "http://h/x"}}
  compare: {desired: {a: 1}}
"#;

    fn resources() -> Value {
        json!({"kind": "APIResourceList", "groupVersion": "demo.example/v1", "resources": [
            {"name": "proxies", "singularName": "proxy", "namespaced": true, "kind": "Proxy",
             "verbs": ["list", "watch", "patch"]}]})
    }

    fn schema() -> Value {
        let kind = json!({"x-kubernetes-preserve-unknown-fields": true,
            "x-kubernetes-group-version-kind": [{"group": "demo.example", "version": "v1", "kind": "Proxy"}]});
        json!({"paths": {"/apis/demo.example/v1/proxies/{name}/status": {"patch": {}}},
               "components": {"schemas": {"p": kind}}})
    }

    #[tokio::test(start_paused = true)]
    async fn a_schema_published_a_moment_later_is_found_silently() {
        let begun = clock::now();
        let (client, _) = client(move |sent| {
            let published = clock::now() - begun >= Duration::from_millis(2500);
            Box::pin(async move {
                match sent.uri.as_str() {
                    "/apis/demo.example/v1" => reply(200, &resources()),
                    "/openapi/v3/apis/demo.example/v1" if published => reply(200, &schema()),
                    _ => refuse(404, "NotFound", "404 page not found"),
                }
            })
        });
        let target = drift_language::fixtures::target(TEXT);
        let kind = find_kind(&client, &target, |error| panic!("told {error}")).await.kind;
        assert_eq!((kind.resource.plural.as_str(), clock::now() - begun), ("proxies", 3 * LOOK_UP_SOON));
    }

    #[tokio::test(start_paused = true)]
    async fn an_unusable_kind_is_told_once_each_way() {
        let installed = Arc::new(AtomicBool::new(false));
        let is_installed = installed.clone();
        let (client, _) = client(move |sent| {
            let installed = is_installed.load(Ordering::SeqCst);
            Box::pin(async move {
                match sent.uri.as_str() {
                    "/apis/demo.example/v1" if installed => reply(200, &resources()),
                    "/openapi/v3/apis/demo.example/v1" if installed => reply(200, &schema()),
                    _ => refuse(404, "NotFound", "404 page not found"),
                }
            })
        });
        let (health, documents) = (Health::default(), DocumentCounts::default());
        let mut registry = metrics::registry("poller");
        documents.register(&mut registry);
        documents.judged(1, 0, 0);
        let search = KindSearch::new(client, health.clone(), documents);
        let target = drift_language::fixtures::target(TEXT);
        let news = Mutex::new(Vec::new());
        let say = |one: KindNews| news.lock().unwrap().push(one);
        let waiting = |number: u8| {
            let wanted = format!("state=\"kind_unusable\"}} {number}");
            metrics::text(&registry).unwrap().lines().any(|line| line.ends_with(&wanted))
        };

        let first = tokio::time::timeout(4 * LOOK_UP_AGAIN, search.find(&target, say)).await;
        assert!(first.is_err(), "found a kind that is not there");
        assert!(waiting(0), "a target whose task ended waits no more");
        assert!(health.remarks().is_empty());
        let finding = async { search.find(&target, say).await };
        let installing = async {
            tokio::time::sleep(LOOK_UP_AGAIN / 2).await;
            assert!(waiting(1) && health.is_ready());
            assert!(health.remarks()[0].trouble.as_ref().unwrap().contains("install its CustomResourceDefinition"));
            installed.store(true, Ordering::SeqCst);
        };
        let (kind, ()) = tokio::join!(finding, installing);
        assert_eq!(kind.kind.resource.plural, "proxies");
        assert!(waiting(0) && health.remarks().is_empty());
        search.find(&target, say).await;
        let told = news.into_inner().unwrap();
        let is_trouble = |one: &KindNews| matches!(one, KindNews::Unusable(_));
        assert!(told.len() == 3 && told[..2].iter().all(is_trouble) && told[2] == KindNews::Usable, "{told:?}");
    }

    #[tokio::test]
    async fn only_a_round_that_is_cancelled_alone_is_followed_by_another() {
        // The tokens that each round cancels, and the number of rounds.
        for (stops, ends_round, rounds) in [(None, false, 1), (Some(1), false, 1), (Some(3), true, 3)] {
            let (stop, begun) = (&CancellationToken::new(), &std::cell::Cell::new(0));
            in_rounds(stop, async |round: CancellationToken| {
                begun.set(begun.get() + 1);
                if ends_round {
                    round.cancel();
                }
                if stops == Some(begun.get()) {
                    stop.cancel();
                }
            })
            .await;
            assert_eq!(begun.get(), rounds);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_edit_of_the_definition_is_noticed_soon() {
        let begun = clock::now();
        let (client, _) = client(move |sent| {
            let is_edited = clock::now() - begun > 2 * LOOK_UP_AGAIN;
            Box::pin(async move {
                let fields = |names: &[&str]| {
                    let fields = names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"})));
                    json!({"properties": {"spec": {"properties": Value::Object(fields.collect())}}})
                };
                let stored = if is_edited { fields(&["a", "b"]) } else { fields(&["a"]) };
                let version = |name: &str, storage: bool, schema: &Value| json!({"name": name, "served": !storage, "storage": storage, "schema": {"openAPIV3Schema": schema}});
                let mut kind = fields(&["a"]);
                kind["x-kubernetes-group-version-kind"] =
                    json!([{"group": "demo.example", "version": "v1", "kind": "Proxy"}]);
                match sent.uri.as_str() {
                    "/apis/demo.example/v1" => reply(200, &resources()),
                    "/apis/demo.example" => {
                        reply(200, &json!({"kind": "APIGroup", "name": "demo.example", "versions": []}))
                    }
                    "/openapi/v3/apis/demo.example/v1" => {
                        reply(200, &json!({"components": {"schemas": {"example.demo.v1.Proxy": kind}}}))
                    }
                    _ => reply(
                        200,
                        &json!({"kind": "CustomResourceDefinition", "spec": {"group": "demo.example", "scope": "Cluster",
                        "names": {"kind": "Proxy", "plural": "proxies"},
                        "versions": [version("v1", false, &fields(&["a"])), version("v2", true, &stored)]}}),
                    ),
                }
            })
        });
        let search = KindSearch::new(client.clone(), Health::default(), DocumentCounts::default());
        let kind = crate::kinds::discover_kind(&client, "demo.example/v1", "Proxy").await.unwrap().unwrap().kind;
        search.until_lossy(&kind).await;
        assert_eq!(clock::now() - begun, 3 * LOOK_UP_AGAIN);
    }
}
