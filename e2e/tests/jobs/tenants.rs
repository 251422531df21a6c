//! A tenant whose Jobs never get a Pod blocks only its own corrections, and no deletion.

use anyhow::{Context as _, Result, ensure};
use drift_api::names::FINALIZER;
use drift_e2e::programs::Program;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{World, is_verified};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};

use super::{Cluster, grant_jobs, target};

/// The objects of a tenant, in their own namespace.
struct Tenant<'w> {
    world: &'w World,
    namespace: String,
    proxies: Api<DynamicObject>,
    cluster: Cluster<'w>,
}

impl Tenant<'_> {
    async fn create(&self, name: &str) -> Result<()> {
        let spec = json!({"listen": self.world.free_listen_address()?, "upstream": "127.0.0.1:9"});
        let metadata = json!({"name": name, "namespace": self.namespace});
        let version = format!("{}/v1", self.world.group());
        let object = json!({"apiVersion": version, "kind": "Proxy", "metadata": metadata, "spec": spec});
        self.world.apply(&object).await.map(drop)
    }

    async fn wait_for(&self, name: &str, what: &str, wanted: impl Fn(Option<&Value>) -> bool) -> Result<()> {
        wait::until(format!("{name}: {what}"), wait::DEADLINE, async || {
            let object = self.proxies.get_opt(name).await?.map(serde_json::to_value).transpose()?;
            Ok(if wanted(object.as_ref()) { Seen::Met(()) } else { Seen::Instead(format!("{object:?}")) })
        })
        .await
    }

    /// Removes the finalizers, because the controller has stopped.
    async fn let_go(&self) -> Result<()> {
        for object in self.proxies.list(&Default::default()).await? {
            let name = object.metadata.name.context("an object without name")?;
            let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            self.proxies.patch(&name, &PatchParams::default(), &patch).await?;
        }
        Ok(())
    }
}

async fn wait_until_limited(controller: &Program, name: &str) -> Result<()> {
    wait::until(format!("{name} to wait for the limits"), wait::DEADLINE, async || {
        let held = controller.metrics().await?.sum("drift_controller_held", &[("why", "Limited")]);
        Ok(if held > 0.0 { Seen::Met(()) } else { Seen::Instead(held.to_string()) })
    })
    .await
}

async fn story(own: &Cluster<'_>, tenant: &Tenant<'_>, controller: &Program) -> Result<()> {
    let world = own.world;
    tenant.create("old").await?;
    tenant.cluster.complete("create").await?;
    tenant.wait_for("old", "in sync", |object| object.is_some_and(is_verified)).await?;

    tenant.create("stuck").await?;
    let stuck = tenant.cluster.begun("create").await?;
    tenant.create("behind").await?;
    wait_until_limited(controller, "behind").await?;

    world.create_some_proxy("web").await?;
    own.complete("create").await?;
    world.wait_until_verified("web").await?;
    world.delete_proxy("web").await?;
    own.complete("delete").await?;
    world.wait_until_gone("web").await?;

    tenant.proxies.delete("old", &Default::default()).await?;
    tenant
        .wait_for("old", "being deleted", |object| {
            object.map(|object| &object["metadata"]).is_some_and(|metadata| {
                metadata["deletionTimestamp"].is_string() && metadata["finalizers"][0] == FINALIZER
            })
        })
        .await?;
    tenant.cluster.complete("delete").await?;
    tenant.wait_for("old", "gone", |object| object.is_none()).await?;

    let open = tenant.cluster.open().await?;
    ensure!(open == [stuck["metadata"]["name"].as_str().unwrap_or_default()], "the tenant's Jobs: {open:?}");
    wait_until_limited(controller, "behind").await
}

#[tokio::test]
async fn stuck_jobs_of_a_tenant_hold_up_no_other() -> Result<()> {
    World::run("job tenants", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        grant_jobs(world, &["create", "delete", "get", "list"]).await?;
        let namespace = format!("{}-tenant", world.objects_namespace());
        let one = target(world, toxiproxy.url())?
            .with("/spec/correct/limits/concurrent", json!(1))
            .with("/spec/objects/namespaces", json!([world.objects_namespace(), namespace]));
        world.apply_target(&one).await?;
        world.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})).await?;
        world.start_poller().await?;
        let controller = world.start_controller().await?;
        let cluster = |namespace: &str| -> Result<Cluster<'_>> {
            let jobs = world.api("batch/v1", "Job", Some(namespace))?;
            Ok(Cluster { world, jobs, outside: toxiproxy.api() })
        };
        let proxies = world.api(&format!("{}/v1", world.group()), "Proxy", Some(&namespace))?;
        let tenant = Tenant { world, proxies, cluster: cluster(&namespace)?, namespace };
        let told = story(&cluster(world.objects_namespace())?, &tenant, &controller).await;
        controller.stop().await?;
        tenant.let_go().await?;
        told
    })
    .await
}
