//! `kubectl drift plan`: what a change would do outside, without a write, and without a Secret for a stranger.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_api::names::APPROVED_ANNOTATION;
use drift_e2e::systems::outside::{Answer, Outside};
use drift_e2e::world::{Ended, Target, World, condition, message};
use serde_json::{Value, json};

/// A credential, and an observed value, that occur nowhere else.
const CANARY: &str = "canary-7d1e0c55";

/// Time without a write while nothing is approved: several polls.
const QUIET: Duration = Duration::from_secs(4);

/// The account of a pipeline: it may read objects and targets, and no Secret.
const PIPELINE: &str = "pipeline";

/// Writes documents to one file of the world.
fn file(world: &World, name: &str, documents: &[String]) -> Result<PathBuf> {
    let path = world.folder().join(name);
    std::fs::write(&path, documents.join("\n---\n")).context("writing a file to plan")?;
    Ok(path)
}

fn object(world: &World, name: &str, spec: &Value) -> Value {
    let api_version = format!("{}/v1", world.group());
    json!({"apiVersion": api_version, "kind": "Proxy", "metadata": {"name": name, "namespace": world.objects_namespace()},
        "spec": spec})
}

async fn plan(world: &World, file: &Path, more: &[&str]) -> Result<Ended> {
    let file = file.display().to_string();
    let place = ["plan", "-f", &file, "--targets-namespace", world.programs_namespace()];
    world.run_command(&[&place, more].concat()).await
}

fn parsed(ended: &Ended) -> Result<Value> {
    serde_json::from_str(&ended.output).with_context(|| format!("{ended:?}"))
}

/// The poller, an external system that has `web` as it is desired, and the specification of `web`. All reads need the
/// Secret `reader`.
async fn begin(world: &World) -> Result<(Outside, Target, Value)> {
    let outside = world.start_outside().await?;
    world.apply_credential("reader", "poller", json!({"token": CANARY})).await?;
    let spec = json!({"listen": "127.0.0.1:80", "upstream": "127.0.0.1:9"});
    let answer = json!({"listen": "127.0.0.1:80", "upstream": "127.0.0.1:9", "enabled": true, "owner": CANARY});
    outside.on("GET", "/proxies/web", Answer::json(200, &answer));
    let target = Target::shipped(world, outside.url())?.polled_when_asked();
    let target =
        target.with("/spec/read/http/auth", json!({"bearer": {"secretRef": {"name": "reader", "key": "token"}}}));
    let target = target.with("/spec/insecure", json!(true));
    world.apply_target(&target).await?;
    world.start_poller().await?;
    world.create_proxy("web", spec.clone()).await?;
    world.wait_for_verdict("web", "False", "InSync").await?;
    Ok((outside, target, spec))
}

/// The version of each object of the world.
async fn versions(world: &World) -> Result<Vec<Value>> {
    Ok(world.all_proxies().await?.iter().map(|one| one["metadata"]["resourceVersion"].clone()).collect())
}

/// Lets the account of a pipeline read objects, targets and Leases.
async fn allow_pipeline(world: &World) -> Result<Vec<String>> {
    let (objects, programs) = (world.objects_namespace(), world.programs_namespace());
    let user = format!("system:serviceaccount:{programs}:{PIPELINE}");
    let rules = [
        (objects, json!([{"apiGroups": [world.group()], "resources": ["proxies"], "verbs": ["get", "list"]}])),
        (
            programs,
            json!([
                {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
                {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]},
            ]),
        ),
    ];
    for (namespace, rules) in rules {
        let metadata = json!({"name": PIPELINE, "namespace": namespace});
        let api_version = "rbac.authorization.k8s.io/v1";
        world.apply(&json!({"apiVersion": api_version, "kind": "Role", "metadata": metadata, "rules": rules})).await?;
        world
            .apply(&json!({
                "apiVersion": api_version, "kind": "RoleBinding", "metadata": metadata,
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": PIPELINE},
                "subjects": [{"kind": "ServiceAccount", "name": PIPELINE, "namespace": programs}],
            }))
            .await?;
    }
    Ok(vec!["--as".to_owned(), user])
}

#[tokio::test]
async fn a_plan_shows_what_an_edited_object_changes() -> Result<()> {
    World::run("plan-object", async |world| {
        let (outside, _, spec) = begin(world).await?;
        outside.on("GET", "/proxies/fresh", Answer::status(404));
        let before = versions(world).await?;

        let same = file(world, "same.yaml", &[object(world, "web", &spec).to_string()])?;
        let planned = plan(world, &same, &[]).await?;
        ensure!(planned.code == 0, "{planned:?}");
        ensure!(planned.output == "0 would change, 1 stay the same, 0 unknown, 0 not asked\n", "{planned:?}");

        let edited = json!({"listen": "127.0.0.1:80", "upstream": "127.0.0.1:4711"});
        let edited = file(world, "edited.yaml", &[object(world, "web", &edited).to_string()])?;
        let planned = plan(world, &edited, &[]).await?;
        ensure!(planned.code == 1 && planned.complaints.is_empty(), "{planned:?}");
        for expected in [
            &format!("Proxy {}/web by target proxies (edited object)", world.objects_namespace()),
            "differs     /upstream\n",
            &format!("would send  POST {}/proxies/…\n", outside.url()),
            "held",
            "NotOurs",
        ] {
            ensure!(planned.output.contains(expected), "{expected}: {planned:?}");
        }
        for value in ["127.0.0.1:4711", "127.0.0.1:9", CANARY] {
            ensure!(!planned.output.contains(value), "{value}: {planned:?}");
        }
        let planned = plan(world, &edited, &["--values"]).await?;
        let values = "/upstream desired \"127.0.0.1:4711\", observed \"127.0.0.1:9\"";
        ensure!(planned.code == 1 && planned.output.contains(values), "{planned:?}");
        ensure!(!planned.output.contains(CANARY), "{planned:?}");

        let fresh = file(world, "fresh.yaml", &[object(world, "fresh", &spec).to_string()])?;
        let planned = parsed(&plan(world, &fresh, &["-o", "json"]).await?)?;
        let one = &planned["objects"][0];
        ensure!(one["new"] == true && one["result"] == "Changes" && one["action"] == "create", "{planned}");
        ensure!(one["requests"] == json!([format!("POST {}/proxies", outside.url())]), "{planned}");
        ensure!(one["hash"].as_str().is_some_and(|hash| hash.len() == 32), "{planned}");

        ensure!(versions(world).await? == before && outside.writes() == 0, "{:?}", outside.requests());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_edited_target_is_planned_for_live_objects() -> Result<()> {
    World::run("plan-target", async |world| {
        let (outside, target, spec) = begin(world).await?;
        outside.on("GET", "/proxies/other", Answer::status(404));
        world.create_proxy("other", spec).await?;
        world.wait_for_verdict("other", "True", "NotCreated").await?;
        let before = versions(world).await?;
        let edited = target.clone().with("/spec/compare/desired/owner", json!("ours"));
        let edited = file(world, "target.yaml", &[edited.text()?])?;
        let planned = plan(world, &edited, &["-o", "json"]).await?;
        ensure!(planned.code == 1 && !planned.output.contains(CANARY), "{planned:?}");
        let json = parsed(&planned)?;
        let one =
            json["objects"].as_array().into_iter().flatten().find(|one| one["name"] == "web").context("no web")?;
        ensure!(one["fields"] == json!(["/owner"]) && one["targetEdited"] == true, "{json}");
        ensure!(json["targets"][0]["result"] == "Asked" && json["targets"][0]["objects"] == 2, "{json}");
        let cut = plan(world, &edited, &["--limit", "1"]).await?;
        ensure!(cut.output.contains("target proxies: 1 live objects planned, 1 left out"), "{cut:?}");
        ensure!(versions(world).await? == before && outside.writes() == 0, "{:?}", outside.requests());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_stranger_spends_no_secret() -> Result<()> {
    World::run("plan-stranger", async |world| {
        let (outside, target, spec) = begin(world).await?;
        let evil = world.start_outside().await?;
        evil.on("GET", "/proxies/web", Answer::json(200, &json!({"listen": "x"})));
        let before = versions(world).await?;
        outside.forget_requests();
        let pipeline = allow_pipeline(world).await?;
        let pipeline: Vec<&str> = pipeline.iter().map(String::as_str).collect();

        let edited = json!({"listen": "127.0.0.1:80", "upstream": "127.0.0.1:4711"});
        let url = format!("{}/proxies/${{self.metadata.name}}", evil.url());
        let stolen = target.clone().with("/spec/read/http/url", json!(url));
        let renamed = target.clone().named("mine");
        let unguarded = target.clone().with("/spec/allowNetworks", json!(["10.0.0.0/8"]));
        for (name, target) in [("stolen.yaml", &stolen), ("renamed.yaml", &renamed), ("unguarded.yaml", &unguarded)] {
            let file = file(world, name, &[object(world, "web", &edited).to_string(), target.text()?])?;
            let planned = plan(world, &file, &pipeline).await?;
            let refused = planned.output.contains("read changed: not asked");
            ensure!(planned.code == 2 && refused, "{name}: {planned:?}");
            ensure!(!planned.complaints.contains("Secret"), "{name}: {planned:?}");
            ensure!(evil.requests().is_empty() && outside.requests().is_empty(), "{name}: {:?}", evil.requests());
        }

        let edited = file(world, "ask.yaml", &[stolen.text()?])?;
        let refused = plan(world, &edited, &[&["--ask-edited"], &pipeline[..]].concat()).await?;
        ensure!(refused.complaints.contains("Secret reader cannot be read"), "{refused:?}");
        ensure!(evil.requests().is_empty(), "{:?}", evil.requests());
        let asked = plan(world, &edited, &["--ask-edited"]).await?;
        ensure!(asked.code == 1 && evil.requests().len() == 1, "{asked:?} {:?}", evil.requests());
        ensure!(!asked.output.contains(CANARY), "{asked:?}");

        // The object alone, by the live target: the pipeline needs the Secret, and nothing else.
        let own = file(world, "own.yaml", &[object(world, "web", &spec).to_string()])?;
        let planned = plan(world, &own, &pipeline).await?;
        ensure!(planned.code == 2 && planned.output.contains("CredentialUnusable"), "{planned:?}");
        ensure!(versions(world).await? == before && outside.writes() == 0, "{:?}", outside.requests());
        Ok(())
    })
    .await
}

/// Waits until an object awaits approval of an update.
async fn awaits(world: &World, name: &str, upstream: &str) -> Result<()> {
    let is_waiting = |object: &Value| {
        let is_current = condition(object, "driftCorrected")
            .is_some_and(|written| written["observedGeneration"] == object["metadata"]["generation"]);
        is_current
            && object["spec"]["upstream"] == upstream
            && message(object, "driftCorrected").contains("update of /upstream awaits approval ")
    };
    world.wait_for_proxy(name, "an update that awaits approval", is_waiting).await.map(drop)
}

#[tokio::test]
async fn a_plan_approves_only_what_stays_the_same() -> Result<()> {
    World::run("plan-approve", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        let target = Target::shipped(world, outside.url())?.with("/spec/interval", json!("1s"));
        let target = target.with("/spec/correct/mode", json!("Approve"));
        world.apply_target(&target.with("/spec/correct/existing", json!("Adopt"))).await?;
        let mut listens = Vec::new();
        for name in ["same", "moved"] {
            let listen = world.free_listen_address()?;
            toxiproxy.create(name, &listen, "127.0.0.1:9").await?;
            world.create_proxy(name, json!({"listen": listen, "upstream": "127.0.0.1:9"})).await?;
            listens.push(listen);
        }
        world.start_both().await?;
        for name in ["same", "moved"] {
            world.wait_for_verdict(name, "False", "InSync").await?;
        }
        let spec = |number: usize, upstream: &str| json!({"listen": listens[number], "upstream": upstream});
        let same = object(world, "same", &spec(0, "127.0.0.1:10"));
        let moved = object(world, "moved", &spec(1, "127.0.0.1:10"));
        let change = file(world, "change.yaml", &[same.to_string(), moved.to_string()])?;
        let planned = plan(world, &change, &["-o", "json"]).await?;
        ensure!(planned.code == 1, "{planned:?}");
        let stored = world.folder().join("plan.json");
        std::fs::write(&stored, &planned.output)?;

        // The change is merged, and one object is edited once more.
        world.apply(&same).await?;
        world.apply(&object(world, "moved", &spec(1, "127.0.0.1:11"))).await?;
        awaits(world, "same", "127.0.0.1:10").await?;
        awaits(world, "moved", "127.0.0.1:11").await?;
        let stored = stored.display().to_string();
        let place = ["approve", "--plan", &stored, "--targets-namespace", world.programs_namespace()];
        let unasked = world.run_command(&place).await?;
        ensure!(unasked.code == 1 && unasked.complaints.contains("not approved: answer y"), "{unasked:?}");
        world.nothing_is_written_for(QUIET).await?;
        let approved = world.run_command(&[&place[..], &["--yes"]].concat()).await?;
        ensure!(approved.code == 1, "{approved:?}");
        let moved = format!("Proxy {}/moved: not approved: its plan differs now", world.objects_namespace());
        ensure!(approved.output.contains(&moved), "{approved:?}");
        ensure!(approved.output.contains("/same: approved: "), "{approved:?}");
        world.wait_until_healed_by("same", 1).await?;
        let moved = world.proxy("moved").await?.context("no object moved")?;
        ensure!(moved["metadata"]["annotations"][APPROVED_ANNOTATION].is_null(), "{moved}");
        ensure!(outside.count("POST") == 1, "{:?}", outside.requests());
        Ok(())
    })
    .await
}
