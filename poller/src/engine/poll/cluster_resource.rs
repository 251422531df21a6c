//! Converts a cluster object to an observation, and a failed read to the reason that people see.

use drift_api::condition::ObservedReason;
use drift_api::object::cluster_resource::{ClusterResource, ResourceError};
use drift_language::{KubernetesRead, Variables};
use serde_json::Value;

use crate::engine::judgement::observation::invalid;
use crate::engine::judgement::{Failure, Observation, ReadRules};

/// Returns the observation of the cluster object that is the external resource of `object`.
///
/// # Errors
/// Returns the reason why the observation is unknown.
pub fn observe_resource(
    read: &KubernetesRead,
    object: &Value,
    resource: Option<&Value>,
) -> Result<Observation, Failure> {
    match resource {
        None => Ok(Observation::Absent),
        Some(_) => ReadRules::from(&read.rules).observe(&Variables { resource, ..Variables::of_object(object) }),
    }
}

/// Converts a failed read of a resource. It never means absence.
#[must_use]
pub fn failure_of(error: &ResourceError, resource: &ClusterResource) -> Failure {
    let with = |reason, detail: &str| Failure::with(reason, detail);
    match error {
        ResourceError::NotServed { .. } => with(ObservedReason::ExternalError, "the cluster does not serve the kind"),
        ResourceError::NoNamespace(_) => {
            with(ObservedReason::RuleError, "read.kubernetes.namespace: the kind needs one, and the object has none")
        }
        // Only writes fail so.
        ResourceError::LossyVersion(_) => Failure::of(ObservedReason::ExternalError),
        ResourceError::Unreadable => invalid(&"not JSON"),
        ResourceError::TooLarge => invalid(&"too large"),
        ResourceError::TimedOut => Failure::of(ObservedReason::PollTimedOut),
        ResourceError::Unreachable(_) => Failure::of(ObservedReason::ExternalUnreachable),
        ResourceError::Refused { status: status @ (401 | 403), .. } => {
            let reason = if *status == 401 { ObservedReason::Unauthorized } else { ObservedReason::Forbidden };
            Failure { reason, text: refusal(*status, resource) }
        }
        ResourceError::Refused { status, .. } => of_status(*status),
    }
}

/// Describes why the API server refuses a read: our own account lacks a permission or is unknown. No
/// Secret is involved.
#[must_use]
pub fn refusal(status: u16, resource: &ClusterResource) -> String {
    match status {
        401 => format!("the API server does not know the poller's ServiceAccount by its token: status {status}"),
        _ => format!(
            "the poller's ServiceAccount lacks the right to get {} of {}: status {status}",
            resource.kind, resource.api_version
        ),
    }
}

fn of_status(status: u16) -> Failure {
    let reason = match status {
        429 => return Failure::of(ObservedReason::RateLimited),
        // Intermediate proxies respond in a form without a status.
        0 => return Failure::of(ObservedReason::ExternalError),
        _ => ObservedReason::ExternalError,
    };
    Failure::with(reason, &format!("status {status}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_language::Source;
    use serde_json::json;

    fn observed(rules: &str, resource: Option<&Value>) -> Result<Observation, String> {
        let text = format!(
            r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: t}}
spec:
  objects: {{apiVersion: demo.example/v1, kind: Database}}
  identity: "${{self.metadata.name}}"
  read:
    kubernetes:
      apiVersion: apps/v1
      kind: StatefulSet
      name: "db-${{self.metadata.name}}"
      {rules}
  compare: {{desired: {{replicas: 3}}}}
"#
        );
        let target = drift_language::fixtures::target(&text);
        let Source::Kubernetes(read) = &target.read.source else { return Err("no such read".to_owned()) };
        observe_resource(read, &json!({"metadata": {"name": "a"}}), resource).map_err(|failure| failure.text)
    }

    #[test]
    fn the_rules_are_asked_in_their_order() {
        let resource = json!({"metadata": {"name": "db-a"}, "spec": {"replicas": 3},
            "status": {"conditions": [{"type": "Ready", "status": "False"}]}});
        let invalid =
            |text: &str| Err(format!("the external system's answer is not what the target describes: {text}"));
        let settling = Err("the external system is still working on an earlier change".to_owned());
        assert_eq!(observed("", None), Ok(Observation::Absent));
        assert_eq!(observed("", Some(&resource)), Ok(Observation::Present(resource.clone())));
        let mapped = observed("observed: {replicas: \"${resource.spec.replicas}\"}", Some(&resource));
        assert_eq!(mapped, Ok(Observation::Present(json!({"replicas": 3}))));
        let gone = "absentWhen: \"${resource.spec.replicas == 3}\"\n      validWhen: \"${false}\"";
        assert_eq!(observed(gone, Some(&resource)), Ok(Observation::Absent));
        let wrong = "validWhen: \"${resource.spec.replicas == 2}\"\n      settlingWhen: \"${true}\"";
        assert_eq!(observed(wrong, Some(&resource)), invalid("validWhen is false"));
        let unready =
            "settlingWhen: \"${resource.status.conditions.exists(c, c.type == 'Ready' && c.status != 'True')}\"";
        assert_eq!(observed(unready, Some(&resource)), settling);
        let missing = observed("validWhen: \"${resource.spec.none == 1}\"", Some(&resource));
        assert_eq!(missing, invalid("read.kubernetes.validWhen: no field `none`"));
    }

    #[test]
    fn what_is_being_deleted_settles_unless_the_target_says_otherwise() {
        let resource = json!({"metadata": {"deletionTimestamp": "2026-11-22T00:00:00Z"}, "spec": {"replicas": 3}});
        assert!(observed("", Some(&resource)).is_err());
        assert!(observed("settlingWhen: \"${false}\"", Some(&resource)).is_ok());
    }

    #[test]
    fn no_failure_is_absence() {
        use ObservedReason::{
            ExternalError, ExternalUnreachable, Forbidden, PollTimedOut, RateLimited, ResponseInvalid, RuleError,
            Unauthorized,
        };
        let answered = |status| ResourceError::Refused { status, sentence: String::new(), retry_after: None };
        let resource =
            ClusterResource { api_version: "apps/v1".into(), kind: "X".into(), namespace: None, name: "a".to_owned() };
        let not_served = ResourceError::NotServed { api_version: "apps/v1".into(), kind: "X".into() };
        for (error, reason) in [
            (answered(401), Unauthorized),
            (answered(403), Forbidden),
            (answered(404), ExternalError),
            (answered(410), ExternalError),
            (answered(429), RateLimited),
            (answered(500), ExternalError),
            (answered(503), ExternalError),
            (answered(0), ExternalError),
            (not_served, ExternalError),
            (ResourceError::NoNamespace("X".into()), RuleError),
            (ResourceError::Unreadable, ResponseInvalid),
            (ResourceError::TooLarge, ResponseInvalid),
            (ResourceError::TimedOut, PollTimedOut),
            (ResourceError::Unreachable("x".to_owned()), ExternalUnreachable),
        ] {
            assert_eq!(failure_of(&error, &resource).reason, reason, "{error}");
        }
        let text = failure_of(&answered(403), &resource).text;
        assert_eq!(text, "the poller's ServiceAccount lacks the right to get X of apps/v1: status 403");
    }
}
