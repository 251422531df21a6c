//! The commands of `drift-poller`: what they say of a live cluster is what is there, and their exit codes tell it.

use anyhow::{Result, ensure};
use drift_e2e::toxiproxy::Toxiproxy;
use drift_e2e::world::{Target, World};
use serde_json::{Value, json};

/// A poller without a controller, so that drift stays: `web` is to be created, `good` stands outside as it is wished.
async fn observed(world: &World) -> Result<(Toxiproxy, Target)> {
    let toxiproxy = world.start_toxiproxy().await?;
    let target = Target::shipped(world, toxiproxy.url())?;
    world.apply_target(&target).await?;
    world.start_poller().await?;
    let listen = world.free_listen_address()?;
    toxiproxy.create("good", &listen, "127.0.0.1:9").await?;
    world.create_proxy("good", json!({"listen": listen, "upstream": "127.0.0.1:9"})).await?;
    world.create_some_proxy("web").await?;
    world.wait_for_verdict("good", "False", "InSync").await?;
    world.wait_for_verdict("web", "True", "NotCreated").await?;
    Ok((toxiproxy, target))
}

#[tokio::test]
async fn get_lists_what_stands_on_objects() -> Result<()> {
    World::run("get", async |world| {
        let (_toxiproxy, target) = observed(world).await?;
        let place = ["-n", world.objects_namespace(), "--targets-namespace", world.programs_namespace()];
        let get = async |arguments: &[&str]| world.run_command(&[&["get"], arguments, &place].concat()).await;

        let all = get(&[]).await?;
        let rows: Vec<Vec<&str>> = all.output.lines().map(|line| line.split_whitespace().collect()).collect();
        ensure!(all.code == 1 && rows.len() == 3, "{all:?}");
        ensure!(rows[0] == ["NAMESPACE", "NAME", "DRIFT", "SINCE", "REASON", "FIELDS", "CORRECTED"], "{all:?}");
        let namespace = world.objects_namespace();
        ensure!(rows[1][..3] == [namespace, "Proxy/good", "False"] && rows[1][4] == "InSync", "{all:?}");
        ensure!(rows[2][..3] == [namespace, "Proxy/web", "True"] && rows[2][4] == "NotCreated", "{all:?}");
        ensure!(all.complaints.is_empty() && !all.output.contains('\u{1b}'), "{all:?}");

        let drifted = get(&["proxies", "--drifted", "-o", "json"]).await?;
        let items: Value = serde_json::from_str(&drifted.output)?;
        ensure!(drifted.code == 1 && items["items"].as_array().is_some_and(|items| items.len() == 1), "{drifted:?}");
        ensure!(items["items"][0]["name"] == "web" && items["items"][0]["target"] == target.name(), "{drifted:?}");
        let unknown = get(&["--unknown", "-o", "wide"]).await?;
        ensure!(unknown.code == 0 && unknown.complaints.starts_with("no objects found in "), "{unknown:?}");
        let foreign = get(&["services"]).await?;
        ensure!(foreign.code == 3 && foreign.complaints.contains("there are targets about proxies"), "{foreign:?}");
        let nowhere = world.run_command(&["get", "-A", "--targets-namespace", "default"]).await?;
        ensure!(nowhere.code == 3 && nowhere.complaints.contains("has no good target"), "{nowhere:?}");

        let help = world.run_kubectl_drift(&["get", "--help"]).await?;
        ensure!(help.code == 0 && help.output.contains("Usage: kubectl drift get "), "{help:?}");
        let kubeconfig = world.control_plane().admin_kubeconfig().display().to_string();
        let cluster = ["get", "-A", "--targets-namespace", world.programs_namespace(), "--kubeconfig", &kubeconfig];
        let plugin = world.run_kubectl_drift(&cluster).await?;
        ensure!(plugin.code == 1 && plugin.output.contains(" Proxy/web "), "{plugin:?}");
        let elsewhere = world.run_kubectl_drift(&[&cluster[..], &["--context", "elsewhere"]].concat()).await?;
        ensure!(elsewhere.code == 3 && elsewhere.complaints.contains("elsewhere"), "{elsewhere:?}");

        world.delete_proxy("web").await?;
        world.wait_until_gone("web").await?;
        let good = get(&["-o", "yaml"]).await?;
        ensure!(good.code == 0 && good.output.contains("reason: InSync"), "{good:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn explain_says_what_a_poll_finds_and_what_holds() -> Result<()> {
    World::run("explain", async |world| {
        let (toxiproxy, target) = observed(world).await?;
        let place = ["-n", world.objects_namespace(), "--targets-namespace", world.programs_namespace()];
        let explain = async |arguments: &[&str]| world.run_command(&[&["explain"], arguments, &place].concat()).await;
        let good = explain(&["proxy/good"]).await?;
        ensure!(good.code == 0 && good.output.contains("there is nothing to correct"), "{good:?}");

        toxiproxy.update("good", json!({"upstream": "127.0.0.1:10"})).await?;
        let differs = explain(&["Proxy/good"]).await?;
        ensure!(differs.code == 1 && differs.complaints.is_empty(), "{differs:?}");
        for expected in [
            &format!("asked       GET {}/proxies/good", toxiproxy.url()),
            "\"upstream\": \"127.0.0.1:10\"",
            "differs     /upstream desired \"127.0.0.1:9\", observed \"127.0.0.1:10\"",
            "verdict     driftObserved True/FieldsDiffer: 1 field differs",
            "stands      driftObserved ",
            "was not made for this object",
            "no controller holds its Lease",
        ] {
            ensure!(differs.output.contains(expected), "{expected}: {differs:?}");
        }
        let missing = explain(&["proxy/web"]).await?;
        ensure!(missing.code == 1 && missing.output.contains("the external resource is not there"), "{missing:?}");

        let file = world.folder().join("tried.yaml");
        std::fs::write(&file, target.with("/spec/compare/desired/upstream", json!("127.0.0.1:10")).text()?)?;
        let file = file.display().to_string();
        let tried = explain(&["proxy/good", "-f", &file]).await?;
        ensure!(tried.code == 0, "{tried:?}");
        std::fs::write(&file, "kind: PollTarget")?;
        let bad = explain(&["proxy/good", "-f", &file]).await?;
        ensure!(bad.code == 3 && bad.complaints.contains("apiVersion"), "{bad:?}");
        let nobody = explain(&["proxy/nobody"]).await?;
        ensure!(nobody.code == 3 && nobody.complaints.contains("there is no Proxy nobody"), "{nobody:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn check_knows_what_the_cluster_has() -> Result<()> {
    World::run("check live", async |world| {
        let target = Target::shipped(world, "http://127.0.0.1:9")?;
        world.apply_target(&target).await?;
        world.create_some_proxy("one").await?;
        world.create_some_proxy("other").await?;
        let check = async || world.run_command(&["check", "--from-cluster", "-n", world.programs_namespace()]).await;
        let good = check().await?;
        ensure!(good.code == 0 && good.complaints.is_empty(), "{good:?}");
        ensure!(good.output.contains(", 2 objects / 3s = 0.67 requests/s to 127.0.0.1:9\n"), "{good:?}");

        let misspelt = target.clone().with("/spec/compare/desired/listen", json!("${self.spec.lisen}"));
        let auth = json!({"bearer": {"secretRef": {"name": "reader", "key": "token"}}});
        let secretive = target.clone().named("secretive").with("/spec/read/http/auth", auth);
        let secretive = secretive.with("/spec/objects/namespaces", json!(["elsewhere"]));
        let foreign = target.named("services").with("/spec/objects/apiVersion", json!("v1"));
        let foreign = foreign.with("/spec/objects/kind", json!("Service")).with("/spec/identity", json!("x"));
        let foreign = foreign.with("/spec/compare/desired", json!({"a": "${self.spec.type}"})).without("/spec/correct");
        let texts = [&misspelt, &secretive, &foreign].map(Target::text);
        let [misspelt, secretive, foreign] = texts;
        let (misspelt, secretive, foreign) = (misspelt?, secretive?, foreign?);
        world.apply_target_texts("drift-targets", &[("a", &misspelt), ("b", &secretive), ("c", &foreign)]).await?;
        let bad = check().await?;
        ensure!(bad.code == 3, "{bad:?}");
        for expected in [
            "has no field spec.lisen, which a template reads: did you mean `listen`?",
            "--> configmap/drift-targets/a:",
            "Secret reader does not exist",
            "the ServiceAccount drift-poller lacks rights that this target needs",
            "resources: [services], verbs: [get, list, watch]",
        ] {
            ensure!(bad.complaints.contains(expected), "{expected}: {bad:?}");
        }
        ensure!(!bad.complaints.contains("resources: [proxies]"), "rights that are there: {bad:?}");
        world.apply_credential("reader", "poller", json!({"token": "hunter2"})).await?;
        let known = check().await?;
        ensure!(!known.complaints.contains("Secret reader") && !format!("{known:?}").contains("hunter2"), "{known:?}");
        Ok(())
    })
    .await
}
