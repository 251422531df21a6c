//! The commands of `kubectl-drift`: what they say of a live cluster is what is there, and their exit codes tell it.

use anyhow::{Context as _, Result, ensure};
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use kube::api::DeleteParams;
use serde_json::{Value, json};

/// A poller without a controller, so that drift stays: `web` is to be created, `good` stands outside as it is desired.
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
        ensure!(rows[0] == ["NAMESPACE", "NAME", "DRIFT", "SINCE", "REASON", "FIELDS", "CORRECTED", "NEXT"], "{all:?}");
        let namespace = world.objects_namespace();
        ensure!(rows[1][..3] == [namespace, "Proxy/good", "False"] && rows[1][4] == "InSync", "{all:?}");
        ensure!(rows[2][..3] == [namespace, "Proxy/web", "True"] && rows[2][4] == "NotCreated", "{all:?}");
        let is_uncorrected = all.complaints.starts_with("warning: no drift-controller holds the Lease ");
        ensure!(is_uncorrected && all.complaints.lines().count() == 1, "{all:?}");
        ensure!(!all.output.contains('\u{1b}'), "{all:?}");

        let drifted = get(&["proxies", "--drifted", "-o", "json"]).await?;
        let items: Value = serde_json::from_str(&drifted.output)?;
        ensure!(drifted.code == 1 && items["items"].as_array().is_some_and(|items| items.len() == 1), "{drifted:?}");
        ensure!(items["items"][0]["name"] == "web" && items["items"][0]["target"] == target.name(), "{drifted:?}");
        let named = get(&["proxies", "-l", "tier!=prod", "--drifted", "-o", "name"]).await?;
        ensure!(named.code == 1 && named.output == format!("proxy.{}/web\n", world.group()), "{named:?}");
        let labelled = get(&["proxies", "-l", "tier=prod"]).await?;
        ensure!(labelled.code == 0 && labelled.complaints.contains("no objects found in "), "{labelled:?}");
        let unknown = get(&["--unknown", "-o", "wide"]).await?;
        ensure!(
            unknown.code == 0 && unknown.complaints.contains("nothing is unknown: 1 object in sync, 1 drifted"),
            "{unknown:?}"
        );
        let foreign = get(&["services"]).await?;
        ensure!(foreign.code == 3 && foreign.complaints.contains("there are targets about proxies"), "{foreign:?}");
        let nowhere = world.run_command(&["get", "-A", "--targets-namespace", "default"]).await?;
        ensure!(nowhere.code == 3 && nowhere.complaints.contains("has no good target"), "{nowhere:?}");

        kubectl_gets_the_same(world).await?;

        let mut watch = world.start_command("get-watch", &[&["get", "-w", "--drifted"], &place[..]].concat()).await?;
        let printed = || std::fs::read_to_string(watch.log()).context("reading what get prints");
        let last_line_has = async |words: [&str; 2]| {
            wait::until(format!("get -w to end with {words:?}"), wait::DEADLINE, async || {
                let text = printed()?;
                let last = text.lines().last().unwrap_or_default();
                Ok(if words.iter().all(|word| last.contains(word)) { Seen::Met(()) } else { Seen::Instead(text) })
            })
            .await
        };
        last_line_has(["Proxy/web ", "NotCreated"]).await?;
        world.patch_proxy("web", json!({"metadata": {"annotations": {"driftpoller.dev/paused": "true"}}})).await?;
        last_line_has(["Proxy/web ", "Paused"]).await?;
        world.delete_proxy("web").await?;
        last_line_has(["Proxy/web ", "Gone"]).await?;
        ensure!(!printed()?.contains("Proxy/good"), "{}", printed()?);
        watch.kill().await?;
        world.wait_until_gone("web").await?;
        let good = get(&["-o", "yaml"]).await?;
        ensure!(good.code == 0 && good.output.contains("reason: InSync"), "{good:?}");
        Ok(())
    })
    .await
}

/// The plugin of kubectl lists what the program lists.
async fn kubectl_gets_the_same(world: &World) -> Result<()> {
    let help = world.run_kubectl_drift(&["get", "--help"]).await?;
    ensure!(help.code == 0 && help.output.contains("Usage: kubectl drift get "), "{help:?}");
    let kubeconfig = world.control_plane().admin_kubeconfig().display().to_string();
    let cluster = ["get", "-A", "--targets-namespace", world.programs_namespace(), "--kubeconfig", &kubeconfig];
    let plugin = world.run_kubectl_drift(&cluster).await?;
    ensure!(plugin.code == 1 && plugin.output.contains(" Proxy/web "), "{plugin:?}");
    let elsewhere = world.run_kubectl_drift(&[&cluster[..], &["--context", "elsewhere"]].concat()).await?;
    ensure!(elsewhere.code == 3 && elsewhere.complaints.contains("elsewhere"), "{elsewhere:?}");
    let place = ["--targets-namespace", world.programs_namespace(), "--kubeconfig", &kubeconfig];
    let objects = ["-n", world.objects_namespace()];
    for (words, expected) in [
        ([&["get"], &place[..], &[""]].concat(), "proxies\n"),
        ([&["explain"], &place[..], &objects, &["proxies/w"]].concat(), "proxies/web\n"),
        ([&["suspend"], &place[..], &[""]].concat(), "proxies\n"),
    ] {
        let offered = world.complete_kubectl_drift(&words).await?;
        ensure!(offered.code == 0 && offered.output.starts_with(expected), "{words:?}: {offered:?}");
    }
    Ok(())
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
            "was there before this object",
            "no controller holds its Lease",
        ] {
            ensure!(differs.output.contains(expected), "{expected}: {differs:?}");
        }
        let missing = explain(&["proxy/web"]).await?;
        ensure!(missing.code == 1 && missing.output.contains("the external resource is not there"), "{missing:?}");
        let sent = format!("would send  POST {}/proxies", toxiproxy.url());
        ensure!(missing.output.contains(&sent), "{missing:?}");
        let told = explain(&["proxy/web", "-o", "json"]).await?;
        let told: Value = serde_json::from_str(&told.output)?;
        ensure!(told["verdict"]["reason"] == "NotCreated" && told["action"] == "create", "{told}");

        let file = world.folder().join("tried.yaml");
        std::fs::write(&file, target.clone().with("/spec/compare/desired/upstream", json!("127.0.0.1:10")).text()?)?;
        let file = file.display().to_string();
        let tried = explain(&["proxy/good", "-f", &file]).await?;
        ensure!(tried.code == 0, "{tried:?}");
        explain_shows_an_invalid_answer(world, (&target, &toxiproxy)).await?;
        explain_reads_with_a_projected_token(world, &target).await?;
        let silent = target.with("/spec/read/http/url", json!("http://127.0.0.1:1/x")).text()?;
        std::fs::write(&file, silent)?;
        let unread = explain(&["proxy/good", "-f", &file]).await?;
        ensure!(unread.code == 2 && unread.output.contains("\n            cause: no connection: "), "{unread:?}");
        let verdict = "verdict     driftObserved Unknown/ExternalUnreachable: ";
        ensure!(unread.output.contains(verdict) && unread.complaints.is_empty(), "{unread:?}");
        let told = explain(&["proxy/good", "-f", &file, "-o", "yaml"]).await?;
        ensure!(told.output.contains("causes:\n- \"no connection: "), "{told:?}");
        std::fs::write(&file, "kind: PollTarget")?;
        let bad = explain(&["proxy/good", "-f", &file]).await?;
        ensure!(bad.code == 3 && bad.complaints.contains("apiVersion"), "{bad:?}");
        let nobody = explain(&["proxy/nobody"]).await?;
        ensure!(nobody.code == 3 && nobody.complaints.contains("there is no Proxy nobody"), "{nobody:?}");
        Ok(())
    })
    .await
}

/// A read with a token from a folder of this machine, and its answer.
async fn explain_reads_with_a_projected_token(world: &World, target: &Target) -> Result<()> {
    let tokens = world.folder().join("tokens");
    let file = world.folder().join("projected.yaml");
    let auth = json!({"serviceAccountToken": {"name": "outside"}});
    std::fs::write(&file, target.clone().with("/spec/read/http/auth", auth).text()?)?;
    let (tokens_folder, file) = (tokens.display().to_string(), file.display().to_string());
    let tried = ["explain", "proxy/web", "-f", &file, "--projected-tokens", &tokens_folder, "--show-answer"];
    let place = ["-n", world.objects_namespace(), "--targets-namespace", world.programs_namespace()];
    let explain = async |more: &[&str]| world.run_command(&[&tried, &place[..], more].concat()).await;
    let without = explain(&[]).await?;
    ensure!(without.code == 2 && without.output.contains("tokens/outside does not exist"), "{without:?}");
    std::fs::create_dir(&tokens)?;
    std::fs::write(tokens.join("outside"), "a-token")?;
    let with = explain(&[]).await?;
    let shown = "answered    status 404\n            content-type: text/plain; charset=utf-8\n            {\"error\":";
    ensure!(with.code == 1 && with.output.contains(shown) && !with.output.contains("a-token"), "{with:?}");
    let told: Value = serde_json::from_str(&explain(&["-o", "json"]).await?.output)?;
    ensure!(told["answers"][0]["status"] == 404 && told["answers"][0]["cut"] == false, "{told}");
    Ok(())
}

/// The status, the content type and the beginning of an answer that is no JSON.
async fn explain_shows_an_invalid_answer(world: &World, (target, toxiproxy): (&Target, &Toxiproxy)) -> Result<()> {
    let lost = target.clone().with("/spec/read/http/url", json!(format!("{}/nothing", toxiproxy.url())));
    let file = world.folder().join("lost.yaml");
    std::fs::write(&file, lost.text()?)?;
    let file = file.display().to_string();
    let place = ["-n", world.objects_namespace(), "--targets-namespace", world.programs_namespace()];
    let invalid = world.run_command(&[&["explain", "proxy/good", "-f", &file], &place[..]].concat()).await?;
    for expected in
        ["Unknown/ResponseInvalid", "cause: the answer was status 404, text/plain, ", "cause: the body begins: 404 "]
    {
        ensure!(invalid.code == 2 && invalid.output.contains(expected), "{expected}: {invalid:?}");
    }
    Ok(())
}

/// The same objects, with ConfigMaps that a manifest makes as what is outside.
fn by_manifest(target: &Target) -> Target {
    let read = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "made", "observed": "${resource.?data}"});
    let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"upstream": "${desired.upstream}"}});
    target
        .clone()
        .named("made")
        .with("/spec/read", json!({"kubernetes": read}))
        .with("/spec/compare", json!({"desired": {"upstream": "${self.spec.upstream}"}}))
        .without("/spec/base")
        .without("/spec/insecure")
        .with("/spec/correct", json!({"mode": "Correct", "kubernetes": {"manifest": manifest}}))
}

#[tokio::test]
async fn what_people_ask_of_objects_and_targets_is_set() -> Result<()> {
    World::run("requests", async |world| {
        let (_toxiproxy, target) = observed(world).await?;
        let kubeconfig = world.control_plane().admin_kubeconfig().display().to_string();
        let run = async |arguments: &[&str]| {
            world.run_kubectl_drift(&[arguments, &["--kubeconfig", &kubeconfig]].concat()).await
        };
        let namespace = world.objects_namespace();
        let ask = async |arguments: &[&str]| run(&[arguments, &["-n", namespace]].concat()).await;
        // Other tests have proxies of their own groups.
        let proxies = format!("proxies.{}", world.group());
        let [web, good] = ["web", "good"].map(|name| format!("proxy.{}/{name}", world.group()));
        let paused = async |name: &str| -> Result<Value> {
            let object = world.proxy(name).await?.unwrap_or_default();
            Ok(object["metadata"]["annotations"]["driftpoller.dev/paused"].clone())
        };

        let tried = ask(&["pause", &proxies, "--all", "--dry-run"]).await?;
        ensure!(tried.code == 0 && tried.output.matches("(dry run)").count() == 2, "{tried:?}");
        ensure!(paused("web").await?.is_null(), "a dry run pauses nothing");
        let pause = ask(&["pause", &web]).await?;
        let typed =
            format!("annotate proxies.{}/web -n {namespace} driftpoller.dev/paused=true --overwrite", world.group());
        ensure!(pause.code == 0 && pause.complaints.is_empty() && pause.output.contains(&typed), "{pause:?}");
        ensure!(paused("web").await? == "true" && paused("good").await?.is_null(), "web alone is paused");
        ensure!(ask(&["pause", &web]).await?.output.contains("is paused already"), "it is");
        let resume = ask(&["resume", &proxies, "web"]).await?;
        ensure!(resume.code == 0 && resume.output.contains("driftpoller.dev/paused-"), "{resume:?}");
        ensure!(paused("web").await?.is_null(), "web is resumed");
        // What is typed with kubectl does the same.
        let words: Vec<&str> = typed.split_whitespace().collect();
        world.control_plane().kubectl().run(&words).await?;
        ensure!(paused("web").await? == "true", "as printed");

        let poll = ask(&["poll", &web, &good]).await?;
        ensure!(poll.code == 0 && poll.output.matches("poll-requested-at=").count() == 4, "{poll:?}");
        let retry = ask(&["retry", &good]).await?;
        ensure!(retry.code == 0 && retry.complaints.contains("nothing of it waits"), "{retry:?}");
        let foreign = run(&["pause", "svc/kubernetes", "-n", "default", "--dry-run"]).await?;
        ensure!(foreign.code == 0 && foreign.complaints.contains("perhaps no target is about it"), "{foreign:?}");
        for (arguments, expected) in [
            (["pause", &format!("{proxies}/nobody")], "there is no Proxy nobody in namespace"),
            (["pause", "proxxies/web"], "the cluster has no kind proxxies"),
            (["pause", "proxies"], "which proxies? write proxies/NAME"),
        ] {
            let refused = ask(&arguments).await?;
            ensure!(refused.code == 3 && refused.complaints.contains(expected), "{refused:?}");
        }

        suspend_and_unsuspend(world, target.name()).await?;
        suspend_in_a_refused_text(world, &target).await?;
        know_of_the_last_good_text(world, &target).await
    })
    .await
}

/// The brake of the target, set and taken off, and what follows.
async fn suspend_and_unsuspend(world: &World, target: &str) -> Result<()> {
    let place = ["--targets-namespace", world.programs_namespace()];
    let brake = async |arguments: &[&str]| world.run_command(&[arguments, &place].concat()).await;
    let suspend = brake(&["suspend", target]).await?;
    ensure!(suspend.code == 0 && suspend.output.contains(": suspend: true (ConfigMap "), "{suspend:?}");
    ensure!(brake(&["suspend", target]).await?.output.contains("is suspended already"), "it is");
    world.wait_for_verdict("web", "Unknown", "Suspended").await?;
    let held =
        world.run_command(&[&["explain", "proxy/web", "-n", world.objects_namespace()], &place[..]].concat()).await?;
    let expected = format!(
        "held        the target is suspended (Suspended): no polls and no corrections until `kubectl drift unsuspend {target}`"
    );
    ensure!(held.code == 2 && held.output.contains(&expected), "{held:?}");
    let unsuspend = brake(&["unsuspend", target]).await?;
    ensure!(unsuspend.code == 0 && unsuspend.output.contains(": suspend: false ("), "{unsuspend:?}");
    world.wait_for_verdict("web", "True", "NotCreated").await?;
    let unknown = brake(&["suspend", "nobody"]).await?;
    ensure!(unknown.code == 3 && unknown.complaints.contains("there are: "), "{unknown:?}");
    Ok(())
}

/// A text that parses, and that the programs refuse for what its kind lacks: nobody is told that suspending it is done.
async fn suspend_in_a_refused_text(world: &World, target: &Target) -> Result<()> {
    world.apply_target(&target.clone().with("/spec/compare/desired/listen", json!("${self.spec.nothing}"))).await?;
    let place = ["--targets-namespace", world.programs_namespace()];
    let suspend = async |more: &[&str]| world.run_command(&[&["suspend", target.name()], more, &place].concat()).await;
    wait::until("suspend to know of the active text", wait::DEADLINE, async || {
        let tried = suspend(&["--dry-run"]).await?;
        Ok(if tried.code == 2 { Seen::Met(()) } else { Seen::Instead(format!("{tried:?}")) })
    })
    .await?;
    for said in [": suspend: true (ConfigMap ", "is suspended already"] {
        let refused = suspend(&[]).await?;
        let is_doubted = refused.complaints.contains("the poller goes by another text than the one in ConfigMap");
        ensure!(refused.code == 2 && refused.output.contains(said) && is_doubted, "{refused:?}");
    }
    world.wait_for_verdict("good", "False", "InSync").await?;
    let get =
        world.run_command(&[&["get", "proxies/good", "-n", world.objects_namespace()], &place[..]].concat()).await?;
    ensure!(get.code == 2 && get.output.contains(" InSync ") && get.complaints.contains("another text"), "{get:?}");
    Ok(())
}

/// A target whose text becomes wrong goes on, and commands say by what they know it.
async fn know_of_the_last_good_text(world: &World, target: &Target) -> Result<()> {
    world.apply_target(&target.clone().with("/spec/intervall", json!("1m"))).await?;
    let home = ["--targets-namespace", world.programs_namespace()];
    let place = [&["-n", world.objects_namespace()], &home[..]].concat();
    let get = wait::until("get to know of the last good text", wait::DEADLINE, async || {
        let get = world.run_command(&[&["get", "proxies", "-o", "json"], &place[..]].concat()).await?;
        let goes_on =
            "unknown key `intervall` in spec: did you mean `interval`?); the programs go on by the last good text";
        Ok(if get.complaints.contains(goes_on) { Seen::Met(get) } else { Seen::Instead(format!("{get:?}")) })
    });
    let get = get.await?;
    let told: Value = serde_json::from_str(&get.output)?;
    let web = told["items"].as_array().into_iter().flatten().find(|item| item["name"] == "web");
    let web = web.with_context(|| format!("web in {told}"))?;
    ensure!(get.code == 1 && told["problems"].as_array().is_some_and(|problems| problems.len() == 1), "{get:?}");
    ensure!(web["driftObserved"]["reason"] == "NotCreated" && web["next"] == "Paused", "{web}");
    ensure!(web["target"] == "unknown" && web["suspended"].is_null(), "{web}");
    let explain = world.run_command(&[&["explain", "proxy/web"], &place[..]].concat()).await?;
    ensure!(explain.code == 2 && explain.output.contains("stands      driftObserved True/NotCreated"), "{explain:?}");
    ensure!(explain.output.contains("go on by the last good text"), "{explain:?}");
    let suspend = world.run_command(&[&["suspend", target.name()], &home[..]].concat()).await?;
    ensure!(suspend.code == 3 && suspend.complaints.contains("nothing written there takes effect"), "{suspend:?}");
    Ok(())
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
        let complaints = good.complaints.matches("warning: ").count();
        let is_unpolled = good.complaints.starts_with("warning: no drift-poller holds the Lease ");
        ensure!(good.code == 2 && is_unpolled && complaints == 2, "no program runs: {good:?}");
        ensure!(good.output.contains(", 2 objects / 3s = 0.67 requests/s to 127.0.0.1:9\n"), "{good:?}");

        let misspelt = target.clone().with("/spec/compare/desired/listen", json!("${self.spec.lisen}"));
        let auth = json!({"bearer": {"secretRef": {"name": "reader", "key": "token"}}});
        let secretive = target.clone().named("secretive").with("/spec/read/http/auth", auth);
        let secretive = secretive.with("/spec/objects/namespaces", json!(["elsewhere"]));
        let foreign = target.clone().named("services").with("/spec/objects/apiVersion", json!("v1"));
        let foreign = foreign.with("/spec/objects/kind", json!("Service")).with("/spec/identity", json!("x"));
        let foreign = foreign.with("/spec/compare/desired", json!({"a": "${self.spec.type}"})).without("/spec/correct");
        let made = by_manifest(&target).with("/spec/objects/namespaces", json!(["further"]));
        let (misspelt, secretive, foreign, made) = (misspelt.text()?, secretive.text()?, foreign.text()?, made.text()?);
        let texts = [("a", &*misspelt), ("b", &*secretive), ("c", &*foreign), ("d", &*made)];
        world.apply_target_texts("drift-targets", &texts).await?;
        let bad = check().await?;
        for expected in [
            "has no field spec.lisen, which a template reads: did you mean `listen`?",
            "--> configmap/drift-targets/a:",
            "Secret reader does not exist",
            "the ServiceAccount drift-poller lacks rights that this target needs",
            "resources: [services], verbs: [get, list, watch]",
            "to a Role in namespace further add {apiGroups: [\"\"], resources: [configmaps], verbs: [get]}",
            "resources: [configmaps], verbs: [correct, create, get, patch]",
        ] {
            ensure!(bad.code == 3 && bad.complaints.contains(expected), "{expected}: {bad:?}");
        }
        ensure!(!bad.complaints.contains("resources: [proxies]"), "rights that are there: {bad:?}");
        ensure!(
            bad.complaints.lines().any(|line| line.ends_with("name: reader")),
            "the line of the reference: {bad:?}"
        );
        world.apply_credential("reader", "poller", json!({"token": "hunter2"})).await?;
        let known = check().await?;
        ensure!(!known.complaints.contains("error: Secret") && !format!("{known:?}").contains("hunter2"), "{known:?}");
        ensure!(
            known.complaints.contains("warning: Secret reader has no annotation driftpoller.dev/hosts"),
            "{known:?}"
        );

        // What could not be asked is neither good nor bad.
        world.apply_target(&target).await?;
        let accounts = world.api("v1", "ServiceAccount", Some(world.programs_namespace()))?;
        accounts.delete("drift-controller", &DeleteParams::default()).await?;
        let partial = check().await?;
        ensure!(
            partial.code == 2 && partial.complaints.contains("has no ServiceAccount drift-controller"),
            "{partial:?}"
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_draft_takes_its_kind_from_the_cluster() -> Result<()> {
    World::run("draft", async |world| {
        let file = world.folder().join("answer.json");
        std::fs::write(&file, r#"{"listen": "127.0.0.1:80", "id": 7}"#)?;
        let answer = file.display().to_string();
        let draft = async |kind: &str| world.run_command(&["draft", kind, "--answer", &answer]).await;
        let proxies = format!("proxies.{}", world.group());
        let drafted = draft(&proxies).await?;
        ensure!(drafted.code == 0 && drafted.output.contains("listen: \"${self.spec.listen}\""), "{drafted:?}");
        for kind in ["services", "nothing"] {
            let refused = draft(kind).await?;
            let expected = format!("no CustomResourceDefinition in the cluster defines the kind {kind}");
            ensure!(refused.code == 3 && refused.complaints.contains(&expected), "{refused:?}");
        }
        Ok(())
    })
    .await
}

/// A kind of this world whose conditions have such items.
async fn define_record(world: &World, items: Value) -> Result<()> {
    let conditions = json!({"type": "array", "items": items});
    let status = json!({"type": "object", "properties": {"conditions": conditions}});
    let size = json!({"size": {"type": "integer"}, "note": {"type": "string"}});
    let spec = json!({"type": "object", "required": ["size"], "properties": size});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    let version = json!({"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema}});
    let group = format!("records.{}", world.group());
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("records.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "versions": [version],
            "names": {"kind": "Record", "plural": "records", "singular": "record"}}});
    world.apply(&definition).await.map(drop)
}

#[tokio::test]
async fn check_knows_the_types_of_the_kind() -> Result<()> {
    World::run("check types", async |world| {
        let text = json!({"type": "string"});
        let items = json!({"type": "object", "properties": {"type": text, "status": text, "reason": text, "message": text,
            "observedGeneration": {"type": "integer"}, "lastTransitionTime": text}});
        define_record(world, items).await?;
        let objects = json!({"apiVersion": format!("records.{}/v1", world.group()), "kind": "Record",
            "namespaces": [world.objects_namespace()]});
        let target = |size: &str, note: &str| {
            let desired = json!({"size": format!("${{{size}}}"), "note": format!("${{{note}}}")});
            let target = Target::shipped(world, "http://127.0.0.1:9")?.with("/spec/objects", objects.clone());
            target.with("/spec/compare/desired", desired).without("/spec/correct").text()
        };
        let (file, kubeconfig) = (world.folder().join("target.yaml"), world.control_plane().admin_kubeconfig());
        let (path, kubeconfig) = (file.display().to_string(), kubeconfig.display().to_string());
        let check = ["check", &path, "--kubeconfig", &kubeconfig, "-n", world.programs_namespace()];
        // It builds the program where that was not done, for which no deadline is long enough.
        world.run_command(&["--version"]).await?;
        let said_of = async |text: String, expected: &str| {
            std::fs::write(&file, text)?;
            // The schema that the API server publishes follows a definition after a moment.
            wait::until(format!("check to say {expected}"), wait::DEADLINE, async || {
                let ended = world.run_command(&check).await?;
                let said = format!("{}{}", ended.output, ended.complaints);
                Ok(if said.contains(expected) { Seen::Met(said) } else { Seen::Instead(said) })
            })
            .await
        };
        let bad = said_of(target("self.spec.size == '2'", "self.spec.note")?, "which are never equal").await?;
        ensure!(bad.contains("write 2 without quotes"), "{bad}");
        ensure!(bad.contains("`self.spec.note` may be missing: "), "{bad}");
        ensure!(bad.contains("write `self.spec.?note.orValue(…)`, test `has(self.spec.note)` before, or add `note` to `required` of spec"), "{bad}");
        // Both accounts lack the rights on this kind, and nothing else is wrong.
        let good = target("self.spec.size == 2", "self.spec.?note.orValue('')")?;
        said_of(good, "0 good targets, 2 errors").await?;
        Ok(())
    })
    .await
}

#[tokio::test]
async fn check_tries_a_write_of_the_condition() -> Result<()> {
    World::run("check trial", async |world| {
        let text = json!({"type": "string"});
        let whole = json!({"type": "object", "properties": {"type": text, "status": text, "reason": text, "message": text,
            "observedGeneration": {"type": "integer"}, "lastTransitionTime": text}});
        define_record(world, whole.clone()).await?;
        let api_version = format!("records.{}/v1", world.group());
        let objects = json!({"apiVersion": api_version, "kind": "Record", "namespaces": [world.objects_namespace()]});
        let target = Target::shipped(world, "http://127.0.0.1:9")?
            .with("/spec/objects", objects)
            .with("/spec/compare/desired", json!({"size": "${self.spec.size}"}))
            .without("/spec/correct");
        let file = world.folder().join("target.yaml");
        std::fs::write(&file, target.text()?)?;
        let (file, kubeconfig) = (file.display().to_string(), world.control_plane().admin_kubeconfig());
        let kubeconfig = kubeconfig.display().to_string();
        let place = ["--kubeconfig", &kubeconfig, "-n", world.programs_namespace()];
        // It builds the program where that was not done, for which no deadline is long enough.
        world.run_command(&["--version"]).await?;
        let checked_until = async |expected: &str| {
            // The schema that the API server publishes follows a definition after a moment.
            wait::until(format!("check to say {expected}"), wait::DEADLINE, async || {
                let ended = world.run_command(&[&["check", &file], &place[..]].concat()).await?;
                let said = format!("{}{}", ended.output, ended.complaints);
                Ok(if said.contains(expected) { Seen::Met(said) } else { Seen::Instead(said) })
            })
            .await
        };
        checked_until("no object yet, so that no write of the condition could be tried").await?;

        let metadata = json!({"name": "one", "namespace": world.objects_namespace()});
        world.apply(&json!({"apiVersion": api_version, "kind": "Record", "metadata": metadata, "spec": {"size": 1}})).await?;
        let kept = checked_until(", 1 object / 3s").await?;
        ensure!(!kept.contains("of a condition") && !kept.contains("is refused"), "{kept}");

        let mut refusing = whole.clone();
        refusing["x-kubernetes-validations"] = json!([{"rule": "self.reason != 'FieldsDiffer'", "message": "not that one"}]);
        define_record(world, refusing).await?;
        let refused = checked_until("a write of the condition is refused").await?;
        ensure!(refused.contains("status.conditions[0]") && refused.contains("without changing it"), "{refused}");

        let mut pruning = whole;
        pruning["properties"].as_object_mut().context("no properties")?.remove("message");
        define_record(world, pruning).await?;
        let lost = checked_until("loses the field message of a condition that is written").await?;
        let line = "add message: {type: string} at .spec.versions[name=v1].schema.openAPIV3Schema";
        ensure!(lost.contains(line), "{lost}");
        let api = world.api(&api_version, "Record", Some(world.objects_namespace()))?;
        let object = serde_json::to_value(api.get("one").await?)?;
        ensure!(object["status"].is_null(), "nothing was written: {object}");
        Ok(())
    })
    .await
}
