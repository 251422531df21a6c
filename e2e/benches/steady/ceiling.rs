//! Measures the API server's ceiling of status patches, the limit in a storm.
//!
//! The patches match those of the programs: the account of one program, the same concurrency and the same size.

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

/// The cost of a status patch at the API server's limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ceiling {
    /// Time between two patches.
    pub(crate) each: Duration,
    /// Processor time of the API server and etcd.
    pub(crate) processor: Duration,
}

/// Patches the status of this many objects, from the programs' core. Returns the elapsed time.
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
    // A separate thread, because a thread of the runtime would stay on that core.
    std::thread::spawn(move || send.send(on_its_core()));
    receive.await.context("the thread that patches ended")?
}

/// Patches a condition of the size of a verdict: that of the program that does not run. It has no claim and no number
/// of a correction, which the poller would answer with a poll and a write.
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
