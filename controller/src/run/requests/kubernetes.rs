//! Sends the manifests of a correction to the API server, over separate connections like any host.

use std::time::Duration;

use drift_api::object::cluster_resource::ResourceError;
use drift_kube::access::with_roles;
use drift_kube::resources::ResourceClient;
use drift_language::STEP_TIMEOUT;
use drift_systems::HostReply;
use serde_json::Value;

use super::{SendContext, Subject};
use crate::engine::execution::Event;
use crate::engine::rendering::kubernetes::{pinned, reply_of};
use crate::engine::rendering::{Judged, ManifestReply, ManifestStep, Manifests, Reply};

/// Maximum reads of an object that changes between its read and its write. Its own controller writes its status in
/// bursts of a few.
const MOST_RACES: u32 = 5;

/// Delay if the API server asks for one without a duration.
const DEFAULT_PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn send(mut context: SendContext<'_>, manifests: &Manifests, step: &ManifestStep) -> Event {
    let client = &context.sender.resources;
    let Some(place) = context.take_place(client.host()).await else { return Event::NotSent };
    let carrying_out = tokio::time::timeout(STEP_TIMEOUT, carry_out(client, manifests, step));
    let Some(done) = context.sender.while_leading(carrying_out).await else { return Event::CutOff };
    let (reply, heard) = match done {
        Err(_) | Ok(Err(ResourceError::TimedOut)) => {
            context.note(&place, HostReply::TimedOut);
            return Event::Replied(Reply::TimedOut { is_sent: true });
        }
        Ok(Ok(reply)) => (reply, Some(HostReply::Answer)),
        Ok(Err(error)) => {
            let Subject { target, kind, namespace, name, uid, correction } = context.subject();
            let resource = &manifests.resource;
            let cause = with_roles(&error.to_string()).into_owned();
            tracing::warn!(
                target,
                kind,
                namespace,
                name,
                uid,
                correction,
                %resource,
                cause,
                "a correction is not accepted"
            );
            (reply_of(&error), heard(&error))
        }
    };
    heard.into_iter().for_each(|heard| context.note(&place, heard));
    Event::Replied(Reply::Manifest(reply))
}

async fn carry_out(
    client: &ResourceClient,
    manifests: &Manifests,
    step: &ManifestStep,
) -> Result<ManifestReply, ResourceError> {
    let resource = &manifests.resource;
    if let ManifestStep::Create(manifest) = step {
        let made = client.create(resource, manifest).await?;
        return Ok(made.map_or(ManifestReply::AlreadyExists, |_| ManifestReply::Done));
    }
    let mut races = 0;
    loop {
        let found = client.get(resource, STEP_TIMEOUT).await?;
        let (uid, version) = match manifests.judge_found(step, found.as_ref()) {
            Judged::Ours { uid, resource_version } => (uid, resource_version),
            Judged::Reply(reply) => return Ok(reply),
        };
        races += 1;
        let answer = match step {
            ManifestStep::Apply(manifest) => {
                client.apply(resource, &pinned(manifest, &uid, &version)).await.map(|_| ManifestReply::Done)
            }
            _ => client.delete(resource, &uid).await.map(|left| of_deletion(&left)),
        };
        match answer {
            Err(ResourceError::Refused { status: 409, .. }) if races < MOST_RACES => {}
            Err(ResourceError::Refused { status: 404, .. }) => return Ok(ManifestReply::Gone),
            answer => return answer,
        }
    }
}

/// Judges the response to a deletion. The API server returns a Status once the object is gone, and the object while its
/// finalizers or grace period are running.
fn of_deletion(left: &Value) -> ManifestReply {
    if left["kind"] == "Status" { ManifestReply::Done } else { ManifestReply::Underway }
}

/// Returns what a failure reveals about the API server's host.
fn heard(error: &ResourceError) -> Option<HostReply> {
    Some(match error {
        ResourceError::NoNamespace(_) => return None,
        ResourceError::TimedOut => HostReply::TimedOut,
        ResourceError::Unreachable(_) => HostReply::Unreachable,
        ResourceError::Refused { status: 429, retry_after, .. } => {
            HostReply::AskedToWait(retry_after.unwrap_or(DEFAULT_PAUSE))
        }
        _ => HostReply::Answer,
    })
}
