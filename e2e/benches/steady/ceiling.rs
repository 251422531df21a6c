//! How many status patches the API server takes from somebody who does nothing else: the limit that a storm is held against.
//!
//! Made as the programs make theirs: by the account of one of them, as many at once, and as large.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use drift_api::condition::CorrectedReason;
use drift_api::names;
use drift_e2e::programs::Which;
use drift_e2e::world::World;
use drift_kube::object_writer::CONCURRENT_CALLS;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::json;

use crate::cores::Cores;
use crate::load;

/// What a status patch takes where the API server is the limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ceiling {
    /// Time from one to the next.
    pub(crate) each: Duration,
    /// Processor time of the API server and etcd.
    pub(crate) processor: Duration,
}

/// Patches the status of so many objects, from the core that programs run on; gives how long it took.
///
/// # Errors
/// When the API server refuses one.
pub(crate) async fn of_status_patches(world: &World, objects: usize, cores: Cores) -> Result<Duration> {
    let access = world.control_plane().service_account(world.programs_namespace(), Which::Controller.name()).await?;
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(world.group(), "v1", "Proxy"));
    let namespace = world.objects_namespace().to_owned();
    let patch = async move || -> Result<Duration> {
        let proxies: Api<DynamicObject> = Api::namespaced_with(access.client().await?, &namespace, &kind);
        let began = Instant::now();
        let patches = (0..objects).map(|number| patch_one(&proxies, number));
        futures::stream::iter(patches).buffer_unordered(CONCURRENT_CALLS).try_for_each(|()| async { Ok(()) }).await?;
        Ok(began.elapsed())
    };
    let on_its_core = move || -> Result<Duration> {
        cores.put_this_thread_on_the_last()?;
        tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(patch())
    };
    let (send, receive) = tokio::sync::oneshot::channel();
    // A thread of its own: one of the runtime's would stay on that core.
    std::thread::spawn(move || send.send(on_its_core()));
    receive.await.context("the thread that patches ended")?
}

/// As large as a verdict: the condition of the program that does not run. It has no number of a correction, which the poller would answer with
/// a poll and a write, and no claim.
async fn patch_one(proxies: &Api<DynamicObject>, number: usize) -> Result<()> {
    let condition = json!({
        "type": names::DRIFT_CORRECTED,
        "status": "True",
        "reason": CorrectedReason::CorrectionApplied.as_str(),
        "message": format!("the external system accepted what the benchmark wrote; 1 field differed: /upstream, observed \"elsewhere:{number}\""),
        "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let patch: json_patch::Patch =
        serde_json::from_value(json!([{"op": "add", "path": "/status/conditions/-", "value": condition}]))?;
    let patched = proxies.patch_status(&load::name(number), &PatchParams::default(), &Patch::Json::<()>(patch)).await;
    patched.map(drop).context("patching the status")
}
