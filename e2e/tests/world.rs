//! Tests of the World: it counts writes, records histories, and reports the last state on timeout.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use drift_e2e::programs::Which;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, Writes};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

fn spec() -> Value {
    json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})
}

fn status(reason: &str) -> Value {
    json!({"status": {"conditions": [{
        "type": "driftObserved", "status": "True", "reason": reason, "message": "m",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}})
}

#[tokio::test]
async fn writes_are_counted_by_what_they_touch() -> Result<()> {
    World::run("counting", async |world| {
        ensure!(world.writes().await? == Writes::default(), "a fresh world has writes: {:?}", world.writes().await?);
        world.create_proxy("a", spec()).await?;
        world.patch_proxy_status("a", status("First")).await?;
        world.patch_proxy_status("a", status("Second")).await?;
        world.patch_proxy("a", json!({"spec": {"upstream": "127.0.0.1:3"}})).await?;
        ensure!(world.patch_proxy("missing", json!({})).await.is_err());
        let writes = world.writes().await?;
        ensure!(writes == Writes { status: 2, objects: 2, refused: 1 }, "{writes:?}");
        world.nothing_is_written_for(Duration::from_millis(500)).await?;
        // Repeatedly, because the start of the count is not visible.
        let disturbance = async {
            let mut beat = tokio::time::interval(Duration::from_millis(100));
            for number in 0_u64.. {
                beat.tick().await;
                world.patch_proxy_status("a", status(&format!("Number{number}"))).await?;
            }
            anyhow::Ok(())
        };
        let disturbed = tokio::select! {
            counted = world.nothing_is_written_for(Duration::from_secs(1)) => counted,
            stopped = disturbance => stopped.and_then(|()| bail!("the disturbance ended")),
        };
        let error = format!("{:#}", disturbed.err().context("a write went unnoticed")?);
        ensure!(error.contains(" s there were") && error.contains("\"patch\""), "{error}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn the_audit_says_which_program_wrote_what() -> Result<()> {
    World::run("audit", async |world| {
        world.create_proxy("a", spec()).await?;
        ensure!(world.writes_by(Which::Poller)?.is_empty());
        let access = world.control_plane().service_account(world.programs_namespace(), "drift-poller").await?;
        let resource =
            kube::api::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(world.group(), "v1", "Proxy"));
        let api: Api<kube::api::DynamicObject> =
            Api::namespaced_with(access.client().await?, world.objects_namespace(), &resource);
        api.patch_status("a", &PatchParams::default(), &Patch::Merge(status("X"))).await?;
        let refused = api.patch("a", &PatchParams::default(), &Patch::Merge(json!({"spec": {"enabled": false}}))).await;
        ensure!(refused.is_err(), "the poller may write more than the status");
        // A write is logged after its response is sent.
        wait::until("both writes to be noted", wait::DEADLINE, async || {
            let records = world.writes_by(Which::Poller)?;
            let seen: Vec<_> = records.iter().map(|one| (one.subresource.as_str(), one.accepted())).collect();
            let both = seen == [("status", true), ("", false)];
            Ok(if both { Seen::Met(()) } else { Seen::Instead(format!("{records:?}")) })
        })
        .await
    })
    .await
}

#[tokio::test]
async fn a_history_keeps_what_stood_briefly() -> Result<()> {
    World::run("history", async |world| {
        world.create_proxy("a", spec()).await?;
        let history = world.watch_object("a").await?;
        for reason in ["First", "Second", "Third"] {
            world.patch_proxy_status("a", status(reason)).await?;
        }
        history.wait_for_transitions("driftObserved", &[("True", "First"), ("True", "Third")]).await?;
        ensure!(history.transitions("driftObserved").await? == ["-", "True/First", "True/Second", "True/Third"]);
        world.delete_proxy("a").await?;
        world.wait_until_gone("a").await
    })
    .await
}

#[tokio::test]
async fn a_failed_wait_says_what_was_there() -> Result<()> {
    let failed = World::run("failing", async |world| {
        world.create_proxy("a", spec()).await?;
        world.proxy_stays("a", "to have no spec", Duration::from_secs(1), |object| object["spec"].is_null()).await
    })
    .await;
    let error = format!("{:#}", failed.err().context("it held")?);
    ensure!(error.contains("upstream: 127.0.0.1:2") && error.contains("logs in"), "{error}");
    ensure!(!error.contains("managedFields"), "{error}");
    Ok(())
}

#[tokio::test]
async fn the_shipped_target_is_rewritten_for_the_world() -> Result<()> {
    World::run("target", async |world| {
        let target = Target::shipped(world, "http://127.0.0.1:1")?.with("/spec/confirm/absent", json!(1));
        let text = target.without("/spec/correct/http/delete").named("other").text()?;
        let read: Value = serde_saphyr::from_str(&text)?;
        let version = format!("{}/v1", world.group());
        ensure!(read["spec"]["objects"]["apiVersion"] == version.as_str(), "{text}");
        ensure!(read["spec"]["objects"]["namespaces"] == json!([world.objects_namespace()]), "{text}");
        ensure!(read["spec"]["read"]["http"]["url"] == "http://127.0.0.1:1/proxies/${self.metadata.name}", "{text}");
        ensure!(read["spec"]["confirm"]["absent"] == 1 && read["metadata"]["name"] == "other", "{text}");
        ensure!(read["spec"]["correct"]["http"].get("delete").is_none(), "{text}");
        ensure!(!text.contains("drift-demo"), "{text}");
        Ok(())
    })
    .await
}
