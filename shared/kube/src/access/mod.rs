//! Checks that our ServiceAccount has the rights that the configuration needs, before work fails.
//!
//! A missing right would appear as a watch that never lists or a condition that is never written. Here it is a line in
//! `/readyz` and the log with the rule to add. The program continues with the rights that it has. The callers decide
//! which rights are needed.

pub mod missing;
mod of_account;
pub mod rights;
pub mod roles;
pub mod target_rights;

pub use of_account::{Account, missing_rights_of};

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::core::{Request, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::access::missing::rules;
use crate::client;
use crate::client::{CALL_DEADLINE, CallError, MISSING_RIGHT};
use crate::process::clock;
use crate::telemetry::health::HealthPart;

/// Interval of checks while rights are missing: a person is probably adding them.
const RECHECK_MISSING: Duration = Duration::from_secs(30);

/// Interval of checks of all rights. Each right is a request, and a large installation has thousands of rights. In
/// between, a lost right shows at the first request that needs it.
const RECHECK_ALL: Duration = Duration::from_secs(600);

/// Minimum interval of the checks that responses with status 403 cause. An admission policy may cause them for ever.
const BETWEEN_REFUSALS: Duration = Duration::from_secs(60);

/// One required right.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Right {
    /// The verb, for example `patch`.
    pub verb: &'static str,
    /// The API group. Empty for the core group.
    pub group: String,
    /// The plural resource name.
    pub resource: String,
    /// For example `status`. Empty for the resource itself.
    pub subresource: &'static str,
    /// The only object that it is needed for. `None` for any.
    pub name: Option<String>,
    /// The namespace. `None` for all, or for a cluster-scoped resource.
    pub namespace: Option<String>,
}

impl Right {
    /// The resource name in a rule: `proxies/status`.
    fn resource_name(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.clone()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }

    fn review(&self) -> SelfSubjectAccessReview {
        let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(self.attributes()), ..Default::default() };
        SelfSubjectAccessReview { spec, ..Default::default() }
    }

    /// Returns the attributes of an access review.
    fn attributes(&self) -> ResourceAttributes {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        ResourceAttributes {
            verb: some(self.verb),
            group: some(&self.group),
            resource: some(&self.resource),
            subresource: some(self.subresource),
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            ..ResourceAttributes::default()
        }
    }
}

/// Returns true if the message of the API server is about a right that our ServiceAccount lacks.
#[must_use]
pub fn lacks_right(refusal: &str) -> bool {
    refusal.contains(MISSING_RIGHT)
}

/// Adds the command that prints the roles to the message of the API server about a right that our ServiceAccount lacks.
/// The message itself names the ServiceAccount, the verb and the resource.
#[must_use]
pub fn with_roles(refusal: &str) -> Cow<'_, str> {
    if lacks_right(refusal) {
        Cow::Owned(format!("{refusal}; `kubectl drift rbac` prints the role that grants it"))
    } else {
        Cow::Borrowed(refusal)
    }
}

async fn is_allowed(client: &kube::Client, right: &Right) -> Result<bool, CallError> {
    let review = send_review(client, SelfSubjectAccessReview::url_path(&(), None), &right.review()).await?;
    Ok(review.status.is_some_and(|status| status.allowed))
}

/// Sends an access review to the API server.
async fn send_review<R: Serialize + DeserializeOwned>(
    client: &kube::Client,
    path: String,
    review: &R,
) -> Result<R, CallError> {
    let body = serde_json::to_vec(review).map_err(|error| CallError::Transport(error.to_string()))?;
    client::request(client, CALL_DEADLINE, Request::new(path).create(&PostParams::default(), body)?).await
}

/// Access reviews of our own rights, and their last results.
pub struct AccessReviews {
    client: kube::Client,
    missing: watch::Sender<BTreeSet<Right>>,
    part: HealthPart,
    /// Rights that the last review found granted.
    granted: BTreeSet<Right>,
    /// The messages of the last checks, in the log already.
    said: Option<Vec<String>>,
}

impl AccessReviews {
    /// Creates the reviews before the first check. They report missing rights in `missing`, `part` and the log.
    #[must_use]
    pub const fn new(client: kube::Client, missing: watch::Sender<BTreeSet<Right>>, part: HealthPart) -> Self {
        Self { client, missing, part, granted: BTreeSet::new(), said: None }
    }

    /// Checks the rights that are not known to be granted. Returns true if all are granted. After an error, the rights
    /// that were not checked keep their last result.
    async fn check(&mut self, needed: &BTreeSet<Right>) -> bool {
        self.granted.retain(|right| needed.contains(right));
        let unknown: Vec<_> = needed.difference(&self.granted).cloned().collect();
        let mut missing: BTreeSet<_> = self.missing.borrow().intersection(needed).cloned().collect();
        let mut sentences = Vec::new();
        for right in unknown {
            match is_allowed(&self.client, &right).await {
                Ok(true) => {
                    missing.remove(&right);
                    self.granted.insert(right);
                }
                Ok(false) => drop(missing.insert(right)),
                Err(error) => {
                    sentences.push(format!("rights cannot be asked for: {error}"));
                    break;
                }
            }
        }
        if !missing.is_empty() {
            sentences.insert(0, format!("missing: {}", rules(&missing)));
        }
        self.missing.send_replace(missing);
        let are_granted = sentences.is_empty();
        self.said = Some(say(&self.part, self.said.take(), sentences));
        are_granted
    }
}

/// Checks the rights that are currently `needed`: all of them at intervals and after a notification of `forbidden`, and
/// more often the missing and the new ones.
pub async fn watch_access(
    mut reviews: AccessReviews,
    mut needed: watch::Receiver<BTreeSet<Right>>,
    forbidden: Arc<Notify>,
    stop: CancellationToken,
) {
    let work = async {
        let mut checked_all = clock::now();
        let mut next = checked_all + RECHECK_ALL;
        loop {
            let rights = needed.borrow_and_update().clone();
            let are_granted = reviews.check(&rights).await;
            let again = tokio::time::sleep(RECHECK_MISSING);
            tokio::pin!(again);
            loop {
                tokio::select! {
                    () = forbidden.notified() => next = next.min(checked_all + BETWEEN_REFUSALS),
                    () = tokio::time::sleep_until(clock::instant_of(next)) => {
                        reviews.granted.clear();
                        checked_all = clock::now();
                        next = checked_all + RECHECK_ALL;
                        break;
                    }
                    () = &mut again, if !are_granted => break,
                    changed = needed.changed() => match changed {
                        Ok(()) => break,
                        Err(_) => std::future::pending().await,
                    },
                }
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = work => {}
    }
}

/// Logs each message once, and sets all of them in the health part.
fn say(part: &HealthPart, before: Option<Vec<String>>, sentences: Vec<String>) -> Vec<String> {
    let before = before.unwrap_or_default();
    for sentence in sentences.iter().filter(|sentence| !before.contains(sentence)) {
        tracing::warn!(rights = sentence, "the program lacks rights");
    }
    if sentences.is_empty() {
        if !before.is_empty() {
            tracing::info!("every right that is needed is there");
        }
        part.ready();
    } else {
        part.not_ready(sentences.join("; "));
    }
    sentences
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::fake_api::{Log, answering, reply};
    use crate::telemetry::health::Health;
    use serde_json::json;
    use std::sync::Mutex;

    fn right(namespace: Option<&str>) -> Right {
        Right {
            verb: "patch",
            group: "demo.example".to_owned(),
            resource: "proxies".to_owned(),
            subresource: "status",
            name: None,
            namespace: namespace.map(str::to_owned),
        }
    }

    #[test]
    fn a_refusal_for_a_missing_right_names_the_command() {
        let forbidden = "403 Forbidden: proxies.demo.example \"a\" is forbidden: User \"system:serviceaccount:drift-system:drift-poller\" \
                         cannot patch resource \"proxies/status\" in API group \"demo.example\"";
        let expected = format!("{forbidden}; `kubectl drift rbac` prints the role that grants it");
        assert_eq!(with_roles(forbidden), expected);
        for other in ["403 Forbidden: the admission policy strong denies it", "422 Invalid: spec.a (FieldValueInvalid)"]
        {
            assert_eq!(with_roles(other), other);
        }
    }

    /// The path of each review.
    const REVIEW: &str = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews?";

    /// Answers reviews. Only the rights in the given namespaces are granted.
    fn api(granted: &Arc<Mutex<Vec<&'static str>>>) -> (kube::Client, Log) {
        let granted = Arc::clone(granted);
        answering(move |sent| {
            let mut attributes = sent.json()["spec"]["resourceAttributes"].clone();
            let namespace = attributes["namespace"].take();
            let expected = json!({"verb": "patch", "group": "demo.example", "resource": "proxies", "subresource": "status",
                "namespace": null});
            let is_granted = granted.lock().unwrap().iter().any(|one| namespace == *one);
            reply(201, &json!({"spec": {}, "status": {"allowed": attributes == expected && is_granted}}))
        })
    }

    /// A watch of the rights in the namespaces `a` and `b`.
    struct Bench {
        granted: Arc<Mutex<Vec<&'static str>>>,
        log: Log,
        health: Health,
        seen: watch::Receiver<BTreeSet<Right>>,
        forbidden: Arc<Notify>,
    }

    impl Bench {
        fn missing(&self) -> BTreeSet<Right> {
            self.seen.borrow().clone()
        }
    }

    /// Runs a watch during `looking`. At first the rights in these namespaces are granted.
    async fn watching(granted: &[&'static str], looking: impl AsyncFnOnce(&Bench)) {
        let granted = Arc::new(Mutex::new(granted.to_vec()));
        let (client, log) = api(&granted);
        let (health, forbidden) = (Health::default(), Arc::new(Notify::new()));
        let (_needed, receiver) = watch::channel(BTreeSet::from([right(Some("a")), right(Some("b"))]));
        let missing = watch::Sender::new(BTreeSet::new());
        let seen = missing.subscribe();
        let reviews = AccessReviews::new(client, missing, health.part("access"));
        let watching = watch_access(reviews, receiver, forbidden.clone(), CancellationToken::new());
        let bench = Bench { granted, log, health, seen, forbidden };
        tokio::select! {
            () = watching => {}
            () = looking(&bench) => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_right_that_comes_is_noticed_without_a_restart() {
        watching(&["b"], async |bench| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let rule = "missing: to a Role in namespace a add {apiGroups: [\"demo.example\"], resources: [proxies/status], verbs: [patch]}";
            assert_eq!(bench.health.parts()[0].trouble.as_deref(), Some(rule));
            assert_eq!(bench.missing(), BTreeSet::from([right(Some("a"))]));
            bench.granted.lock().unwrap().push("a");
            tokio::time::sleep(RECHECK_MISSING).await;
            assert!(bench.health.is_ready() && bench.missing().is_empty());
            // Only the missing one is asked for again.
            assert_eq!(bench.log.lines(), [REVIEW; 3]);
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn granted_rights_are_checked_again_after_a_403() {
        watching(&["a", "b"], async |bench| {
            tokio::time::sleep(RECHECK_ALL - Duration::from_secs(1)).await;
            assert_eq!(bench.log.lines(), [REVIEW; 2], "nothing is asked while nothing is refused");
            bench.granted.lock().unwrap().pop();
            bench.forbidden.notify_one();
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(bench.missing(), BTreeSet::from([right(Some("b"))]));
            bench.granted.lock().unwrap().push("b");
            tokio::time::sleep(RECHECK_MISSING).await;
            assert_eq!(bench.log.lines(), [REVIEW; 5]);
            // Refusals that no right explains cost one check of all rights a minute.
            let begun = bench.log.lines().len();
            for _ in 0..600 {
                bench.forbidden.notify_one();
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            let asked = bench.log.lines().len() - begun;
            assert!((18..=22).contains(&asked), "{asked}");
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_missing_right_hides_no_other_loss() {
        watching(&["b"], async |bench| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            bench.granted.lock().unwrap().clear();
            for _ in 0..70 {
                bench.forbidden.notify_one();
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            assert_eq!(bench.missing().len(), 2);
            assert!(bench.log.lines().len() <= 8, "{}", bench.log.lines().len());
        })
        .await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_takes_back_no_result() {
        let answers = Arc::new(Mutex::new(vec![false]));
        let (client, _log) = answering(move |_| match answers.lock().unwrap().pop() {
            Some(allowed) => reply(201, &json!({"spec": {}, "status": {"allowed": allowed}})),
            None => reply(500, &json!({"kind": "Status", "code": 500})),
        });
        let missing = watch::Sender::new(BTreeSet::new());
        let seen = missing.subscribe();
        let health = Health::default();
        let mut reviews = AccessReviews::new(client, missing, health.part("access"));
        assert!(!reviews.check(&BTreeSet::from([right(Some("a")), right(Some("b"))])).await);
        assert_eq!(*seen.borrow(), BTreeSet::from([right(Some("a"))]));
        let trouble = health.parts()[0].trouble.clone().unwrap();
        assert!(
            trouble.starts_with("missing: to a Role") && trouble.contains("rights cannot be asked for"),
            "{trouble}"
        );
    }
}
