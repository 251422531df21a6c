//! The commands for pipelines: a poll whose verdict is printed, and a check that waits until each target is active.

use anyhow::{Context as _, Result, ensure};
use drift_e2e::manifests;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use serde_json::{Value, json};

#[tokio::test]
async fn a_requested_poll_is_waited_for_and_printed() -> Result<()> {
    World::run("poll wait", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        // No regular poll can answer.
        let target = Target::shipped(world, toxiproxy.url())?.with("/spec/interval", json!("1h"));
        world.apply_target(&target).await?;
        let poller = world.start_poller().await?;
        let listen = world.free_listen_address()?;
        toxiproxy.create("web", &listen, "127.0.0.1:9").await?;
        world.create_proxy("web", json!({"listen": listen, "upstream": "127.0.0.1:9"})).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        let (kind, namespace) = (format!("proxies.{}/web", world.group()), world.objects_namespace());
        let poll = async |more: &[&str]| {
            world.run_command(&[&["poll", &kind, "-n", namespace, "--wait"], more].concat()).await
        };
        let request = async || -> Result<Value> {
            let web = world.proxy("web").await?.context("no Proxy web")?;
            Ok(web["metadata"]["annotations"]["driftpoller.dev/poll-requested-at"].clone())
        };

        for _ in 0..2 {
            let good = poll(&[]).await?;
            let expected = format!("Proxy {namespace}/web: False InSync: the external resource matches the spec\n");
            ensure!(good.code == 0 && good.output == expected && good.complaints.is_empty(), "{good:?}");
            let message = world.wait_for_verdict("web", "False", "InSync").await?.to_string();
            let mark = format!("[polled {}] [desired ", request().await?.as_str().unwrap_or_default());
            ensure!(message.contains(&mark), "{mark}: {message}");
        }
        toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
        let bad = poll(&[]).await?;
        ensure!(bad.code == 1 && bad.output.contains("web: True FieldsDiffer: 1 field differs: /upstream"), "{bad:?}");

        world.apply_target(&target.clone().with("/spec/suspend", json!(true))).await?;
        world.wait_for_verdict("web", "Unknown", "Suspended").await?;
        let unknown = poll(&[]).await?;
        ensure!(unknown.code == 2 && unknown.output.contains("web: Unknown Suspended: "), "{unknown:?}");

        poller.kill().await?;
        let silent = poll(&["--timeout", "1s"]).await?;
        let expected = "web: no answer to the requested poll within the timeout: check that drift-poller runs";
        ensure!(silent.code == 2 && silent.complaints.contains(expected), "{silent:?}");
        Ok(())
    })
    .await
}

/// Applies the rights of the component `verify`, and returns the path of a kubeconfig with them.
async fn verifier(world: &World) -> Result<String> {
    let folder = manifests::folder().join("components/verify");
    let rendered = manifests::render(&world.control_plane().binaries().kubectl, &folder)?;
    for document in manifests::parse_stream(&rendered.replace(manifests::NAMESPACE, world.programs_namespace()))? {
        if document["kind"] != "Job" {
            world.apply(&document).await?;
        }
    }
    let path = world.folder().join("verify.kubeconfig");
    world.control_plane().service_account(world.programs_namespace(), "drift-verify").await?.write(&path)?;
    Ok(path.display().to_string())
}

#[tokio::test]
async fn check_waits_until_each_target_is_active() -> Result<()> {
    World::run("check wait", async |world| {
        let kubeconfig = verifier(world).await?;
        let check = async |timeout: &str| {
            let command = ["check", "--from-cluster", "--wait", "--timeout", timeout, "--kubeconfig", &kubeconfig];
            world.run_command(&[&command[..], &["-n", world.programs_namespace()]].concat()).await
        };
        let target = Target::shipped(world, "http://127.0.0.1:9")?;
        let none = check("1s").await?;
        ensure!(none.code == 3 && none.complaints.contains("has no ConfigMap with the label"), "{none:?}");
        world.apply_target(&target).await?;
        world.create_some_proxy("web").await?;
        let idle = check("1s").await?;
        let expected = format!("target {} is not active: drift-poller does not attest it on the Lease", target.name());
        ensure!(idle.code == 3 && idle.complaints.contains(&expected), "{idle:?}");

        let (waited, started) = tokio::join!(check("30s"), world.start_poller());
        let (good, _poller) = (waited?, started?);
        ensure!(good.code == 0 && good.complaints.is_empty(), "{good:?}");
        ensure!(good.output.ends_with("1 good target, 0 errors, 0 warnings\n"), "{good:?}");

        // The API server takes both texts, and the poller keeps the last good one.
        world.apply_target(&target.clone().with("/spec/intervall", json!("1m"))).await?;
        let wrong = check("30s").await?;
        let expected = "unknown key `intervall` in spec: did you mean `interval`?";
        ensure!(wrong.code == 3 && wrong.complaints.contains(expected), "{wrong:?}");
        world.apply_target(&target.clone().with("/spec/compare/desired/listen", json!("${self.spec.lisen}"))).await?;
        wait::until("the check to name the field", wait::DEADLINE, async || {
            let unfit = check("1s").await?;
            let is_named = ["is not active: drift-poller still uses an earlier text", "has no field spec.lisen"];
            let is_met = unfit.code == 3 && is_named.iter().all(|words| unfit.complaints.contains(words));
            Ok(if is_met { Seen::Met(()) } else { Seen::Instead(format!("{unfit:?}")) })
        })
        .await?;
        world.apply_target(&target).await?;
        let mended = check("30s").await?;
        ensure!(mended.code == 0 && mended.complaints.is_empty(), "{mended:?}");
        Ok(())
    })
    .await
}
