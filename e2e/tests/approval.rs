//! Mode Approve: drift waits, a person approves exactly one correction, and nothing else passes.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use drift_api::names::{APPROVED_ANNOTATION, WINDOW_OPEN_UNTIL_ANNOTATION};
use drift_e2e::cluster::kubectl::Kubectl;
use drift_e2e::manifests;
use drift_e2e::systems::outside::Outside;
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, describe, message, note};
use kube::api::DeleteParams;
use serde_json::{Value, json};

/// Time without a write while a correction awaits approval: several polls.
const QUIET: Duration = Duration::from_secs(4);

fn external_writes(outside: &Outside) -> usize {
    outside.count("POST") + outside.count("DELETE")
}

/// Waits until `web` awaits the approval of another correction than `former`. Returns its hash.
async fn awaited(world: &World, what: &str, former: &str) -> Result<String> {
    let awaits = |object: &Value| {
        let (_, hash) = message(object, "driftCorrected").split_once(" awaits approval ")?;
        hash.split([' ', ';']).next().map(str::to_owned)
    };
    let is_new = |object: &Value| {
        note(object).text.starts_with(&format!("{what} awaits approval "))
            && awaits(object).is_some_and(|hash| hash != former)
    };
    let object = world.wait_for_proxy("web", "a correction that awaits approval", is_new).await?;
    ensure!(describe(&object, "driftCorrected") == "Unknown/AwaitingApproval", "{object}");
    awaits(&object).context("no hash")
}

/// Starts both programs, with the object `web` that awaits approval.
async fn begin(world: &World) -> Result<(Toxiproxy, Outside)> {
    let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
    let target = Target::shipped(world, outside.url())?.with("/spec/interval", json!("1s"));
    world.apply_target(&target.with("/spec/correct/mode", json!("Approve"))).await?;
    world.start_both().await?;
    let listen = world.free_listen_address()?;
    world.create_proxy("web", json!({"listen": listen, "upstream": "127.0.0.1:9"})).await?;
    Ok((toxiproxy, outside))
}

async fn approve(world: &World, hash: &str) -> Result<()> {
    let annotations = json!({APPROVED_ANNOTATION: hash});
    world.patch_proxy("web", json!({"metadata": {"annotations": annotations}})).await.map(drop)
}

#[tokio::test]
async fn an_approval_lets_exactly_one_correction_pass() -> Result<()> {
    World::run("approval", async |world| {
        let (toxiproxy, outside) = begin(world).await?;
        let create = awaited(world, "create", "").await?;
        world.nothing_is_written_for(QUIET).await?;
        ensure!(external_writes(&outside) == 0, "{:?}", outside.requests());

        approve(world, &create).await?;
        world.wait_until_healed_by("web", 1).await?;
        ensure!(external_writes(&outside) == 1, "{:?}", outside.requests());

        // The same drift twice: the approval of the first is used up.
        toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
        let first = awaited(world, "update of /upstream", &create).await?;
        // A changed observation voids the hash.
        toxiproxy.update("web", json!({"upstream": "127.0.0.1:11"})).await?;
        let second = awaited(world, "update of /upstream", &first).await?;
        approve(world, &first).await?;
        world.nothing_is_written_for(QUIET).await?;
        ensure!(external_writes(&outside) == 1, "{:?}", outside.requests());
        approve(world, &second).await?;
        world.wait_until_healed_by("web", 2).await?;
        toxiproxy.update("web", json!({"upstream": "127.0.0.1:11"})).await?;
        awaited(world, "update of /upstream", &second).await?;
        world.nothing_is_written_for(QUIET).await?;
        ensure!(external_writes(&outside) == 2, "{:?}", outside.requests());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn the_command_approves_what_it_shows() -> Result<()> {
    World::run("approve", async |world| {
        let (toxiproxy, outside) = begin(world).await?;
        let hash = awaited(world, "create", "").await?;
        let place = ["-n", world.objects_namespace(), "--targets-namespace", world.programs_namespace()];
        let run = async |arguments: &[&str]| world.run_command(&[arguments, &place].concat()).await;

        let got = run(&["get", "proxies"]).await?;
        ensure!(got.output.trim_end().ends_with("AwaitingApproval"), "{got:?}");
        let explained = run(&["explain", "proxy/web"]).await?;
        ensure!(explained.output.contains(&format!("awaits approval {hash}")), "{explained:?}");
        ensure!(
            explained.output.contains(&format!("kubectl drift approve proxy.{}/web", world.group())),
            "{explained:?}"
        );

        let shown = run(&["approve", "proxy/web"]).await?;
        ensure!(shown.code == 1 && shown.complaints.contains("not approved"), "{shown:?}");
        ensure!(shown.output.contains(&hash) && shown.output.contains("would send  POST"), "{shown:?}");
        ensure!(external_writes(&outside) == 0, "{:?}", outside.requests());
        let approved = run(&["approve", "proxy/web", "--yes"]).await?;
        ensure!(approved.code == 0 && approved.output.contains("approved: "), "{approved:?}");
        world.wait_until_healed_by("web", 1).await?;
        let idle = run(&["approve", "proxy/web", "--yes"]).await?;
        ensure!(idle.code == 1 && idle.output.contains("nothing awaits approval"), "{idle:?}");

        world.delete_proxy("web").await?;
        awaited(world, "delete", &hash).await?;
        let shown = run(&["approve", "proxy/web", "--yes"]).await?;
        ensure!(shown.code == 0 && shown.output.contains("DELETE"), "{shown:?}");
        world.wait_until_gone("web").await?;
        ensure!(toxiproxy.proxy("web").await?.is_none());
        Ok(())
    })
    .await
}

/// Requires that nothing more was sent for a while, that a new approval is asked for, and that its approval lets the
/// correction pass.
async fn asks_again(world: &World, outside: &Outside, (what, former): (&str, &str)) -> Result<()> {
    let sent = external_writes(outside);
    let again = awaited(world, what, former).await?;
    world.nothing_is_written_for(QUIET).await?;
    ensure!(external_writes(outside) == sent, "{:?}", outside.requests());
    approve(world, &again).await
}

/// Windows that are closed, so that an approved correction waits.
fn closed_windows() -> Value {
    json!([{"cron": "0 0 29 2 *", "duration": "1m"}])
}

/// Opens the windows of the object by hand.
async fn open_windows(world: &World) -> Result<()> {
    let annotations = json!({WINDOW_OPEN_UNTIL_ANNOTATION: "2100-01-01T00:00:00Z"});
    world.patch_proxy("web", json!({"metadata": {"annotations": annotations}})).await.map(drop)
}

#[tokio::test]
async fn a_label_swapped_after_the_approval_is_not_sent() -> Result<()> {
    World::run("label swap", async |world| {
        let (_toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        // The approved correction waits for the window, and the label changes meanwhile.
        let owner = json!({"x-owner": "${self.metadata.labels.owner}"});
        let target = Target::shipped(world, outside.url())?
            .with("/spec/interval", json!("1s"))
            .with("/spec/correct/mode", json!("Approve"))
            .with("/spec/correct/windows", closed_windows())
            .with("/spec/correct/http/create/0/headers", owner);
        world.apply_target(&target).await?;
        world.start_both().await?;
        let spec = json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"});
        world.create_proxy_with("web", json!({"labels": {"owner": "alice"}}), spec).await?;
        let alice = awaited(world, "create", "").await?;
        approve(world, &alice).await?;
        world.nothing_is_written_for(QUIET).await?;

        world.patch_proxy("web", json!({"metadata": {"labels": {"owner": "root"}}})).await?;
        open_windows(world).await?;
        asks_again(world, &outside, ("create", &alice)).await?;
        world.wait_until_healed_by("web", 1).await?;
        let sent = outside.requests_to("POST", "/proxies");
        let owners: Vec<_> = sent.iter().map(|request| request.header("x-owner")).collect();
        ensure!(owners == [Some("root")], "{owners:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_id_swapped_before_a_deletion_deletes_nothing() -> Result<()> {
    World::run("id swap", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        let target = Target::shipped(world, outside.url())?
            .with("/spec/interval", json!("1s"))
            // The kind has no other field that an operator writes.
            .with(
                "/spec/correct/http/delete/0/url",
                json!(format!("{}/proxies/${{self.status.observedGeneration == 1 ? 'web' : 'victim'}}", outside.url())),
            )
            .with("/spec/correct/mode", json!("Approve"))
            .with("/spec/correct/deletionWindows", closed_windows());
        world.apply_target(&target).await?;
        world.start_both().await?;
        let spec = json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"});
        world.create_proxy("web", spec).await?;
        let created = awaited(world, "create", "").await?;
        approve(world, &created).await?;
        world.wait_until_healed_by("web", 1).await?;
        let id = async |number: u32| {
            let status = json!({"status": {"observedGeneration": number}});
            world.patch_proxy_status("web", status).await.map(drop)
        };
        id(1).await?;
        toxiproxy.create("victim", &world.free_listen_address()?, "127.0.0.1:9").await?;
        world.delete_proxy("web").await?;
        let own = awaited(world, "delete", "").await?;
        approve(world, &own).await?;

        id(2).await?;
        open_windows(world).await?;
        let swapped = awaited(world, "delete", &own).await?;
        world.nothing_is_written_for(QUIET).await?;
        ensure!(outside.count("DELETE") == 0, "{:?}", outside.requests());
        // The id is put back, and the first approval is for exactly that.
        id(1).await?;
        world.wait_until_gone("web").await?;
        let is_there = (toxiproxy.proxy("web").await?.is_some(), toxiproxy.proxy("victim").await?.is_some());
        ensure!(is_there == (false, true) && swapped != own, "{is_there:?}");
        Ok(())
    })
    .await
}

/// The component as shipped, under a name of this world and for its kinds only.
fn component(world: &World) -> Result<Vec<Value>> {
    let folder = manifests::folder().join("components/approvers");
    let rendered = manifests::render(&world.control_plane().binaries().kubectl, &folder)?;
    let rendered = rendered.replace("name: drift-approvers", &format!("name: {}-approvers", world.objects_namespace()));
    let rendered = rendered
        .replace("policyName: drift-approvers", &format!("policyName: {}-approvers", world.objects_namespace()));
    let mut documents = manifests::parse_stream(&rendered)?;
    let rule = json!({"apiGroups": [world.group()], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]});
    for binding in documents.iter_mut().filter(|document| document["kind"] == "ValidatingAdmissionPolicyBinding") {
        binding["spec"]["matchResources"] = json!({"resourceRules": [rule]});
    }
    Ok(documents)
}

#[tokio::test]
async fn the_component_limits_approvals_to_a_group() -> Result<()> {
    World::run("approvers", async |world| {
        let (namespace, rbac) = (world.objects_namespace(), "rbac.authorization.k8s.io/v1");
        let metadata = json!({"name": "people", "namespace": namespace});
        let rule = json!({"apiGroups": [world.group()], "resources": ["proxies"], "verbs": ["get", "patch"]});
        let people = ["alice", "bob"].map(|name| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}));
        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "people"});
        world.apply(&json!({"apiVersion": rbac, "kind": "Role", "metadata": metadata, "rules": [rule]})).await?;
        let binding =
            json!({"apiVersion": rbac, "kind": "RoleBinding", "metadata": metadata, "roleRef": role, "subjects": people});
        world.apply(&binding).await?;
        world.create_some_proxy("web").await?;
        let documents = component(world)?;
        for document in &documents {
            world.apply(document).await?;
        }
        let binaries = world.control_plane().binaries();
        let kubectl =
            Kubectl::new(&binaries.kubectl, world.control_plane().admin_kubeconfig().to_owned(), world.folder());
        let kind = format!("proxies.{}", world.group());
        let annotate = async |word: &str, who: &[&str]| {
            kubectl.run(&[&["annotate", "--overwrite", &kind, "web", "-n", namespace, word][..], who].concat()).await
        };
        let (bob, alice) = (["--as=bob"], ["--as=alice", "--as-group=drift-approvers"]);
        let approval = |hash: &str| format!("{APPROVED_ANNOTATION}={hash}");
        let mut tried = 0;
        // The API server takes up a new policy within seconds.
        wait::until("the policy to refuse bob", wait::DEADLINE, async || {
            tried += 1;
            Ok(match annotate(&approval(&tried.to_string()), &bob).await {
                Err(error) if format!("{error:#}").contains("only members of the group drift-approvers") => Seen::Met(()),
                other => Seen::Instead(format!("{other:?}")),
            })
        })
        .await?;
        annotate(&approval("b"), &alice).await?;
        annotate("example.org/other=1", &bob).await?;
        annotate(&format!("{APPROVED_ANNOTATION}-"), &bob).await?;
        for document in &documents {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let api = world.api("admissionregistration.k8s.io/v1", &text(&document["kind"]), None)?;
            api.delete(&text(&document["metadata"]["name"]), &DeleteParams::default()).await?;
        }
        Ok(())
    })
    .await
}
