//! The commands for pipelines: a poll whose verdict is printed, and a check that waits until each target is active.

use std::time::Instant;

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

/// Grants the verifier the right to list the objects of the live targets, as `rbac` prints it.
async fn grant_list(world: &World) -> Result<()> {
    let namespace = world.programs_namespace();
    let command = ["rbac", "--from-cluster", "-n", namespace, "--name", "kinds", "--verify-account", "drift-verify"];
    let printed = world.run_command(&command).await?;
    ensure!(printed.code == 0, "{printed:?}");
    for document in manifests::parse_stream(&printed.output)? {
        if document["metadata"]["name"] == "drift-verify-kinds" {
            ensure!(document["rules"].is_null() || document["rules"][0]["verbs"] == json!(["list"]), "{document}");
            world.apply(&document).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn check_waits_for_a_first_poll() -> Result<()> {
    World::run("check first poll", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let kubeconfig = verifier(world).await?;
        let namespace = world.programs_namespace();
        let command = ["check", "--from-cluster", "--wait", "-n", namespace, "--timeout"];
        let check =
            async |timeout: &str, more: &[&str]| world.run_command(&[&command[..], &[timeout], more].concat()).await;
        let verify = async |timeout: &str| check(timeout, &["--kubeconfig", &kubeconfig]).await;
        let auth = json!({"bearer": {"secretRef": {"name": "reader", "key": "token"}}});
        let target = Target::shipped(world, toxiproxy.url())?.with("/spec/read/http/auth", auth);
        world.apply_target(&target).await?;
        let _poller = world.start_poller().await?;

        let empty = check("30s", &[]).await?;
        ensure!(empty.code == 3 && empty.complaints.contains("Secret reader does not exist"), "{empty:?}");
        ensure!(empty.output.contains(", no object yet\n"), "{empty:?}");
        let listen = world.free_listen_address()?;
        world.create_proxy("web", json!({"listen": listen, "upstream": "127.0.0.1:9"})).await?;
        let unread = check("10s", &[]).await?;
        let expected = "no object has been read, 1 of 1 are CredentialUnusable: ";
        ensure!(unread.code == 3 && unread.complaints.contains(expected), "{unread:?}");
        let unseen = verify("30s").await?;
        ensure!(unseen.code == 2 && unseen.complaints.contains("you may not list proxies"), "{unseen:?}");
        grant_list(world).await?;
        let unread = verify("5s").await?;
        ensure!(unread.code == 3 && unread.complaints.contains(expected), "{unread:?}");
        ensure!(
            unread.output.contains("; 0 of 1 read (1 CredentialUnusable); you may not get its Secrets"),
            "{unread:?}"
        );

        world.apply_credential("reader", "poller", json!({"token": "hunter2"})).await?;
        let missing = verify("60s").await?;
        let expected = "none of its 1 read objects exists in the external system";
        ensure!(missing.code == 0 && missing.complaints.contains(expected), "{missing:?}");
        toxiproxy.create("web", &listen, "127.0.0.1:9").await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        let good = verify("60s").await?;
        ensure!(good.code == 0 && good.complaints.is_empty(), "{good:?}");
        ensure!(
            good.output.contains("; 1 of 1 read; you may not get its Secrets, which were not looked at: reader of"),
            "{good:?}"
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn check_waits_until_each_target_is_active() -> Result<()> {
    World::run("check wait", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let kubeconfig = verifier(world).await?;
        let check = async |timeout: &str| {
            let command = ["check", "--from-cluster", "--wait", "--timeout", timeout, "--kubeconfig", &kubeconfig];
            world.run_command(&[&command[..], &["-n", world.programs_namespace()]].concat()).await
        };
        let target = Target::shipped(world, toxiproxy.url())?;
        let none = check("1s").await?;
        ensure!(none.code == 3 && none.complaints.contains("has no ConfigMap with the label"), "{none:?}");
        world.apply_target(&target).await?;
        grant_list(world).await?;
        let listen = world.free_listen_address()?;
        toxiproxy.create("web", &listen, "127.0.0.1:9").await?;
        world.create_proxy("web", json!({"listen": listen, "upstream": "127.0.0.1:9"})).await?;
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

#[tokio::test]
async fn check_looks_once_at_a_proven_target() -> Result<()> {
    World::run("check proven target", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let gate = world.start_api_gate().await?;
        let kubeconfig = world.folder().join("gate.kubeconfig");
        world.control_plane().administrator().through(gate.url()).write(&kubeconfig)?;
        let with_secret = |name: &str| -> Result<Target> {
            let auth = json!({"bearer": {"secretRef": {"name": name, "key": "token"}}});
            Ok(Target::shipped(world, toxiproxy.url())?.with("/spec/read/http/auth", auth))
        };
        world.apply_credential("present", "poller", json!({"token": "hunter2"})).await?;
        let waiting = with_secret("missing")?.named("waiting").with("/spec/objects/namespaces", json!(["elsewhere"]));
        world.apply_targets(&[with_secret("present")?, waiting]).await?;
        let _poller = world.start_poller().await?;
        let listen = world.free_listen_address()?;
        toxiproxy.create("web", &listen, "127.0.0.1:9").await?;
        world.create_proxy("web", json!({"listen": listen, "upstream": "127.0.0.1:9"})).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;

        let since = Instant::now();
        let kubeconfig = kubeconfig.display().to_string();
        let command = ["check", "--from-cluster", "--wait", "--timeout", "10s", "--kubeconfig", &kubeconfig];
        let ended = world.run_command(&[&command[..], &["-n", world.programs_namespace()]].concat()).await?;
        ensure!(ended.code == 3 && ended.complaints.contains("Secret missing does not exist"), "{ended:?}");
        ensure!(ended.output.contains("; 1 of 1 read\n"), "{ended:?}");
        let asked = gate.asked_since(since);
        let reads =
            |secret: &str| asked.iter().filter(|asked| asked.uri.contains(&format!("/secrets/{secret}"))).count();
        ensure!(reads("missing") > 1, "one look only: {asked:?}");
        ensure!(reads("present") == 1, "{asked:?}");
        Ok(())
    })
    .await
}
