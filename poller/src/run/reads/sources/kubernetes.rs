//! Reads of other cluster objects: one request over separate connections, with a slot at the kind's place like
//! at any host.
//!
//! The engine judges objects and failures.

use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::object::cluster_resource::{ClusterResource, ResourceError};
use drift_kube::process::clock;
use drift_language::KubernetesRead;
use drift_systems::HostReply;
use serde_json::Value;

use super::{ReadResult, SourceOf};
use crate::engine::Postponed;
use crate::engine::judgement::observation::Observation;
use crate::engine::poll::cluster_resource::{failure_of, observe_resource, refusal};

/// Delay if the API server asks for one without a duration.
const DEFAULT_PAUSE: Duration = Duration::from_secs(1);

/// Reads the cluster object that is the external resource of this object.
pub(super) async fn look_at_one(
    source: &SourceOf<'_, KubernetesRead>,
    uid: &Uid,
    view: &Value,
    resource: &ClusterResource,
) -> Result<ReadResult<Observation>, Postponed> {
    let SourceOf { outside, target, read } = source;
    let permit = source.enter(&outside.resources.place_of(resource)).await?;
    let (answer, took) = source.run(outside.resources.get(resource, target.timeout)).await;
    let answer = answer.unwrap_or(Err(ResourceError::TimedOut));
    let heard = heard(&answer);
    if let Some(heard) = heard {
        outside.gate.note(&permit, uid, heard, clock::now());
    }
    if let Err(error) = &answer {
        outside.troubles.note(target, &trouble(error, resource), clock::now());
    }
    let told = answer.is_err();
    let observed = match answer {
        Ok(resource) => observe_resource(read, view, resource.as_ref()),
        Err(error) => Err(failure_of(&error, resource)),
    };
    let pause = heard.and_then(HostReply::asked_pause);
    Ok(ReadResult { told, pause, ..ReadResult::new(Ok(observed), took) })
}

/// Returns the report of the response about the API server's host.
fn heard(answer: &Result<Option<Value>, ResourceError>) -> Option<HostReply> {
    Some(match answer {
        Err(ResourceError::NoNamespace(_)) => return None,
        Err(ResourceError::TimedOut) => HostReply::TimedOut,
        Err(ResourceError::Unreachable(_)) => HostReply::Unreachable,
        Err(ResourceError::Refused { status: 429, retry_after, .. }) => {
            HostReply::AskedToWait(retry_after.unwrap_or(DEFAULT_PAUSE))
        }
        Err(ResourceError::Refused { status: 503, retry_after: Some(pause), .. }) => HostReply::AskedToWait(*pause),
        _ => HostReply::Answer,
    })
}

/// Returns the cause for the log, without values of the object. For a missing permission it names the permission.
fn trouble(error: &ResourceError, resource: &ClusterResource) -> String {
    match error {
        ResourceError::Refused { status: status @ (401 | 403), .. } => refusal(*status, resource),
        other => other.to_string(),
    }
}
