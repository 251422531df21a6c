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
use std::time::Duration;

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::core::{Request, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::client;
use crate::client::{CALL_DEADLINE, CallError, MISSING_RIGHT};
use crate::telemetry::health::HealthPart;

/// Interval of checks while rights are missing: a person is probably adding them.
const RECHECK_MISSING: Duration = Duration::from_secs(30);

/// Interval of checks while no right is missing: a dozen small requests a minute, and a revoked right quickly
/// shows in `/readyz`.
const RECHECK_PRESENT: Duration = Duration::from_secs(60);

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

    /// Returns the message about the missing right, with the rule to add.
    #[must_use]
    pub fn missing(&self) -> String {
        let (verb, group, resource) = (self.verb, &self.group, self.resource_name());
        let named = self.name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        let shown = if group.is_empty() { resource.clone() } else { format!("{resource} ({group})") };
        let (place, role) = match &self.namespace {
            Some(namespace) => (format!("in namespace {namespace}"), format!("a Role in namespace {namespace}")),
            None => ("in all namespaces".to_owned(), "a ClusterRole".to_owned()),
        };
        format!(
            "may not {verb} {shown}{named} {place}: add {{apiGroups: [\"{group}\"], resources: [{resource}], verbs: [{verb}]}} to {role}"
        )
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

/// Checks each right and returns the missing ones.
///
/// # Errors
/// Fails if the API server does not answer. The rights are then unknown.
pub async fn missing_rights(client: &kube::Client, rights: &BTreeSet<Right>) -> Result<Vec<Right>, CallError> {
    let mut missing = Vec::new();
    for right in rights {
        if !is_allowed(client, right).await? {
            missing.push(right.clone());
        }
    }
    Ok(missing)
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
    let unsendable = |problem: String| CallError::Transport(problem);
    let body = serde_json::to_vec(review).map_err(|error| unsendable(error.to_string()))?;
    let request =
        Request::new(path).create(&PostParams::default(), body).map_err(|error| unsendable(error.to_string()))?;
    client::request(client, CALL_DEADLINE, request).await
}

/// Checks the rights that are currently `needed` in a loop. Reports missing ones in `part`, the log and `missing`.
pub async fn watch_access(
    client: kube::Client,
    mut needed: watch::Receiver<BTreeSet<Right>>,
    missing: watch::Sender<BTreeSet<Right>>,
    part: HealthPart,
    stop: CancellationToken,
) {
    let work = async {
        let mut said = None;
        loop {
            let rights = needed.borrow_and_update().clone();
            let sentences = match missing_rights(&client, &rights).await {
                Ok(found) => {
                    let sentences = found.iter().map(Right::missing).collect();
                    missing.send_replace(found.into_iter().collect());
                    sentences
                }
                Err(error) => vec![format!("rights cannot be asked for: {error}")],
            };
            let pause = if sentences.is_empty() { RECHECK_PRESENT } else { RECHECK_MISSING };
            said = Some(say(&part, said, sentences));
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                changed = needed.changed() => if changed.is_err() { std::future::pending().await },
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
        tracing::warn!("{sentence}");
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
    use crate::client::fake_api::{answering, reply};
    use crate::telemetry::health::Health;
    use serde_json::json;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

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
    fn a_missing_right_says_what_to_add() {
        assert_eq!(
            right(None).missing(),
            "may not patch proxies/status (demo.example) in all namespaces: add {apiGroups: [\"demo.example\"], resources: [proxies/status], verbs: [patch]} to a ClusterRole"
        );
        assert!(right(Some("team-a")).missing().ends_with("to a Role in namespace team-a"));
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

    #[tokio::test(start_paused = true)]
    async fn a_right_that_comes_is_noticed_without_a_restart() {
        let granted = Arc::new(AtomicBool::new(false));
        let allowed = Arc::clone(&granted);
        let (client, log) = answering(move |sent| {
            let attributes = sent.json()["spec"]["resourceAttributes"].clone();
            let is_it = attributes
                == json!({"verb": "patch", "group": "demo.example", "resource": "proxies", "subresource": "status", "namespace": "a"});
            reply(201, &json!({"spec": {}, "status": {"allowed": is_it && allowed.load(Ordering::SeqCst)}}))
        });
        let health = Health::default();
        let (_needed, receiver) = watch::channel(BTreeSet::from([right(Some("a"))]));
        let missing = watch::Sender::new(BTreeSet::new());
        let seen = missing.subscribe();
        let watching = watch_access(client, receiver, missing, health.part("access"), CancellationToken::new());
        let looking = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert!(health.parts()[0].trouble.as_ref().unwrap().starts_with("may not patch"));
            assert_eq!(*seen.borrow(), BTreeSet::from([right(Some("a"))]));
            granted.store(true, Ordering::SeqCst);
            tokio::time::sleep(RECHECK_MISSING).await;
            assert!(health.is_ready() && seen.borrow().is_empty());
            assert_eq!(log.lines(), ["POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews?"; 2]);
        };
        tokio::select! {
            () = watching => {}
            () = looking => {}
        }
    }
}
