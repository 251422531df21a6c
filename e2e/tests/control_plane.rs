//! The control plane that all other tests use.

use anyhow::{Context as _, Result, ensure};
use drift_e2e::binaries::Kubernetes;
use drift_e2e::cluster::control_plane::ControlPlane;
use drift_e2e::world::World;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ListParams, PostParams};
use kube::{Api, Error};
use serde_json::json;

#[tokio::test]
async fn the_shared_control_plane_has_its_version() -> Result<()> {
    let version = ControlPlane::shared().await?.admin_client().await?.apiserver_version().await?;
    ensure!(version.git_version == Kubernetes::chosen()?.version()?, "{version:?}");
    Ok(())
}

#[tokio::test]
async fn a_service_account_has_only_shipped_rights() -> Result<()> {
    World::run("rights", async |world| {
        let namespace = world.programs_namespace();
        let access = world.control_plane().service_account(namespace, "drift-poller").await?;
        let client = access.client().await?;
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        maps.list(&ListParams::default()).await.context("listing its own ConfigMaps")?;
        let secrets: Api<Secret> = Api::namespaced(client.clone(), "kube-system");
        let refused = secrets.list(&ListParams::default()).await;
        ensure!(matches!(&refused, Err(Error::Api(status)) if status.code == 403), "{refused:?}");
        let own = serde_json::from_value(json!({"metadata": {"name": "mine"}}))?;
        let refused = maps.create(&PostParams::default(), &own).await;
        ensure!(matches!(&refused, Err(Error::Api(status)) if status.code == 403), "{refused:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_killed_api_server_keeps_its_data() -> Result<()> {
    World::run_alone("killed api server", async |world| {
        world.create_proxy("kept", json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})).await?;
        let plane = world.control_plane();
        plane.kill_api_server().await?;
        ensure!(world.proxy("kept").await.is_err(), "a killed API server answered");
        plane.start_api_server_again().await?;
        // It is ready a little before it serves custom kinds.
        world.wait_for_proxy("kept", "there", |_| true).await.map(drop)
    })
    .await
}
