//! The API server restricts both accounts to their own condition and finalizer, even if their tokens are stolen.

use anyhow::{Result, ensure};
use drift_e2e::programs::Which;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::World;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

/// The part of an object that a write changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Object,
    Status,
}

/// Returns the Proxies of a world, with the token of one of the programs.
async fn proxies_as(world: &World, which: Which) -> Result<Api<DynamicObject>> {
    let access = world.control_plane().service_account(world.programs_namespace(), which.name()).await?;
    let kind = GroupVersionKind::gvk(world.group(), "v1", "Proxy");
    Ok(Api::namespaced_with(access.client().await?, world.objects_namespace(), &ApiResource::from_gvk(&kind)))
}

/// Returns the API server's rejection of a merge patch, or `None` if it accepts it.
async fn answer(proxies: &Api<DynamicObject>, place: Place, patch: &Value) -> Option<String> {
    let parameters = PatchParams::default();
    let patch = Patch::Merge(patch);
    let answer = match place {
        Place::Object => proxies.patch("web", &parameters, &patch).await,
        Place::Status => proxies.patch_status("web", &parameters, &patch).await,
    };
    answer.err().map(|error| error.to_string())
}

fn entry(kind: &str, status: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "Test", "message": "of a test",
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

fn conditions(entries: &[Value]) -> Value {
    json!({"status": {"conditions": entries}})
}

/// Creates an object with a foreign condition, finalizer and label, once the policies are active.
async fn furnish(world: &World) -> Result<()> {
    let metadata = json!({"finalizers": ["example.org/other"], "labels": {"team": "a"}});
    world.create_proxy_with("web", metadata, json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})).await?;
    world.patch_proxy_status("web", conditions(&[entry("Ready", "False")])).await?;
    for which in [Which::Poller, Which::Controller] {
        let proxies = proxies_as(world, which).await?;
        let mut probes = 0..;
        wait::until("the admission policies to be active", wait::DEADLINE, async || {
            // A different condition each time, because repeating an accepted one changes nothing and is allowed.
            let probe = format!("Probe{}", probes.next().unwrap_or(0));
            let forged = conditions(&[entry("Ready", "False"), entry(&probe, "True")]);
            let said = answer(&proxies, Place::Status, &forged).await.unwrap_or_else(|| "it was taken".to_owned());
            Ok(if said.contains("of the conditions") { Seen::Met(()) } else { Seen::Instead(said) })
        })
        .await?;
    }
    world.patch_proxy_status("web", conditions(&[entry("Ready", "False")])).await?;
    Ok(())
}

#[tokio::test]
async fn the_pollers_token_can_forge_its_condition_only() -> Result<()> {
    World::run("admission poller", async |world| {
        furnish(world).await?;
        let proxies = proxies_as(world, Which::Poller).await?;
        let others = "may change driftObserved only";
        let refused = [
            (Place::Status, conditions(&[entry("Ready", "True")]), others),
            (Place::Status, conditions(&[]), others),
            (Place::Status, conditions(&[entry("Ready", "False"), entry("driftCorrected", "True")]), others),
            (Place::Status, json!({"status": null}), others),
            (Place::Object, json!({"spec": {"upstream": "127.0.0.1:3"}}), "forbidden"),
            (Place::Object, json!({"metadata": {"finalizers": null}}), "forbidden"),
        ];
        for (place, patch, words) in refused {
            let said = answer(&proxies, place, &patch).await.unwrap_or_default();
            ensure!(said.contains(words), "{place:?} {patch}: {said:?}");
        }
        let own = conditions(&[entry("Ready", "False"), entry("driftObserved", "True")]);
        for patch in [own, conditions(&[entry("Ready", "False")])] {
            ensure!(answer(&proxies, Place::Status, &patch).await.is_none(), "its own condition was refused: {patch}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn the_controllers_token_can_forge_little() -> Result<()> {
    World::run("admission controller", async |world| {
        furnish(world).await?;
        let proxies = proxies_as(world, Which::Controller).await?;
        let others = "may change driftCorrected only";
        let (own, foreign) = ("driftpoller.dev/external", "example.org/other");
        let refused = [
            (Place::Status, conditions(&[entry("Ready", "True")]), others),
            (Place::Status, conditions(&[entry("Ready", "False"), entry("driftObserved", "True")]), others),
            (Place::Object, json!({"spec": {"upstream": "127.0.0.1:3"}}), "its condition and its finalizer only"),
            (Place::Object, json!({"metadata": {"labels": {"team": "b"}}}), "its finalizer only"),
            (Place::Object, json!({"metadata": {"annotations": {"a": "b"}}}), "its finalizer only"),
            (Place::Object, json!({"metadata": {"finalizers": null}}), "driftpoller.dev/external only"),
            (Place::Object, json!({"metadata": {"finalizers": [own]}}), "driftpoller.dev/external only"),
        ];
        for (place, patch, words) in refused {
            let said = answer(&proxies, place, &patch).await.unwrap_or_default();
            ensure!(said.contains(words), "{place:?} {patch}: {said:?}");
        }
        let taken = [
            (Place::Object, json!({"metadata": {"finalizers": [foreign, own]}})),
            (Place::Object, json!({"metadata": {"finalizers": [foreign]}})),
            (Place::Status, conditions(&[entry("Ready", "False"), entry("driftCorrected", "True")])),
            (Place::Status, conditions(&[entry("Ready", "False")])),
        ];
        for (place, patch) in taken {
            let refused = answer(&proxies, place, &patch).await;
            ensure!(refused.is_none(), "{place:?} {patch}: {refused:?}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn no_program_creates_the_other_ones_lease() -> Result<()> {
    World::run("admission leases", async |world| {
        for (which, other) in [(Which::Poller, Which::Controller), (Which::Controller, Which::Poller)] {
            let access = world.control_plane().service_account(world.programs_namespace(), which.name()).await?;
            let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("coordination.k8s.io", "v1", "Lease"));
            let leases: Api<DynamicObject> =
                Api::namespaced_with(access.client().await?, world.programs_namespace(), &kind);
            let create = async |name: &str| {
                // A dry run, so that nothing is kept.
                let parameters = PostParams { dry_run: true, ..PostParams::default() };
                leases.create(&parameters, &DynamicObject::new(name, &kind)).await.err().map(|error| error.to_string())
            };
            let words = "the Lease of its own name only";
            wait::until("the admission policy to be active", wait::DEADLINE, async || {
                let said = create(other.name()).await.unwrap_or_else(|| "it was taken".to_owned());
                Ok(if said.contains(words) { Seen::Met(()) } else { Seen::Instead(said) })
            })
            .await?;
            let (spare, own) = (create("drift-spare").await, create(which.name()).await);
            let is_refused = spare.as_ref().is_some_and(|said| said.contains(words));
            ensure!(is_refused && own.is_none(), "{}: {spare:?}, {own:?}", which.name());
        }
        Ok(())
    })
    .await
}
