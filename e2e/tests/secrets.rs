//! Credentials are used only with their owner's permission, and their values appear only in requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use drift_api::names;
use drift_e2e::programs::{Program, Which};
use drift_e2e::systems::outside::{Answer, Outside};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, condition, message, right};
use serde_json::{Value, json};

/// Limit for actions without a wait: half of the current pause, and above the time on two busy cores.
const NOT_WAITED_FOR: Duration = Duration::from_secs(4);

/// A value that occurs nowhere else, so that any occurrence is a leak.
const CANARY: &str = "canary-5e0b71c9-value";

fn with_auth(target: Target) -> Target {
    target
        .with("/spec/read/http/auth", json!({"bearer": {"secretRef": {"name": "reader", "key": "token"}}}))
        .with("/spec/correct/http/auth", json!({"bearer": {"secretRef": {"name": "writer", "key": "token"}}}))
}

/// Checks that no visible text contains the canary.
async fn ensure_shown_nowhere(world: &World, programs: &[Arc<Program>]) -> Result<()> {
    let mut everything = vec![("events", json!(world.events().await?).to_string())];
    everything.push(("object", json!(world.all_proxies().await?).to_string()));
    for program in programs {
        everything.push(("log", program.log_text()?));
        everything.push(("metrics", program.page("/metrics").await?.1));
        everything.push(("readyz", program.page("/readyz").await?.1));
    }
    for (place, text) in everything {
        ensure!(!text.is_empty() || place == "events", "nothing to look at in {place}");
        ensure!(!text.contains(CANARY), "a credential in {place}");
    }
    Ok(())
}

#[tokio::test]
async fn a_credential_goes_nowhere_else() -> Result<()> {
    World::run("canary", async |world| {
        let toxiproxy = world.start_toxiproxy().await?;
        let outside = world.start_outside().await?;
        outside.forward_to(toxiproxy.url());
        world.apply_credential("reader", "poller", json!({"token": format!("r-{CANARY}")})).await?;
        world.apply_credential("writer", "controller", json!({"token": format!("w-{CANARY}")})).await?;
        world.apply_target(&with_auth(Target::shipped(world, outside.url())?)).await?;
        let programs = [world.start_poller().await?, world.start_controller().await?];
        world.create_proxy("web", json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"})).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        let expected =
            |method: &str| if method == "GET" { format!("Bearer r-{CANARY}") } else { format!("Bearer w-{CANARY}") };
        for request in outside.requests() {
            ensure!(request.header("authorization") == Some(&expected(&request.method)), "{request:?}");
        }
        // A response that repeats the credential, and a failing one.
        outside.on("GET", "/proxies/web", Answer::json(500, &json!({"error": format!("bad token r-{CANARY}")})));
        world.wait_for_verdict("web", "Unknown", "ExternalError").await?;
        // A field that looks like a secret is compared, and differs.
        outside.on("GET", "/proxies/web", Answer::json(200, &json!({"upstream": "x", "apiToken": CANARY})));
        let target = Target::shipped(world, outside.url())?.with("/spec/compare/desired/apiToken", json!("wanted"));
        world.apply_target(&with_auth(target)).await?;
        let is_shown = |object: &serde_json::Value| {
            let verdict = condition(object, "driftObserved").map(|entry| entry["message"].to_string());
            verdict.is_some_and(|message| message.contains("/apiToken (redacted)"))
        };
        world.wait_for_proxy("web", "the field differs and its values are not shown", is_shown).await?;

        ensure_shown_nowhere(world, &programs).await
    })
    .await
}

#[tokio::test]
async fn a_secret_without_label_is_never_used() -> Result<()> {
    World::run("unlabelled", async |world| {
        let outside = world.start_outside().await?;
        // Each is labelled for the other program.
        world.apply_credential("reader", "controller", json!({"token": CANARY})).await?;
        world.apply_credential("writer", "poller", json!({"token": CANARY})).await?;
        world.apply_target(&with_auth(Target::shipped(world, outside.url())?)).await?;
        world.start_poller().await?;
        let controller = world.start_controller().await?;
        world.create_proxy("web", json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})).await?;
        world.wait_for_verdict("web", "Unknown", "CredentialUnusable").await?;
        ensure!(outside.requests().is_empty(), "a request without its credential: {:?}", outside.requests());

        // Only the label was missing, and no restart is needed.
        world.apply_credential("reader", "poller", json!({"token": CANARY})).await?;
        world.wait_for_verdict("web", "True", "NotCreated").await?;
        world.wait_for_note("web", "False", "CorrectionFailed").await?;
        // After four attempts the next is 8 s away. Neither a requested retry nor a repaired Secret waits for it.
        wait_for_tries(&controller, 4).await?;
        let annotations = json!({names::RETRY_REQUESTED_ANNOTATION: "now"});
        world.patch_proxy("web", json!({"metadata": {"annotations": annotations}})).await?;
        tokio::time::timeout(NOT_WAITED_FOR, wait_for_tries(&controller, 5)).await??;
        ensure!(outside.count("POST") == 0, "{:?}", outside.requests());
        let mended = Instant::now();
        world.apply_credential("writer", "controller", json!({"token": CANARY})).await?;
        let corrected = outside.wait_for_next("POST", "/proxies", 0).await?.at - mended;
        ensure!(corrected < NOT_WAITED_FOR, "corrected only after {corrected:?}");
        let log = controller.log_text()?;
        let told = log.matches("not corrected: nothing could be sent").count();
        ensure!(told == 1, "told {told} times that nothing could be sent");
        Ok(())
    })
    .await
}

/// Waits until this many corrections failed for lack of a credential.
async fn wait_for_tries(controller: &Program, tries: u32) -> Result<()> {
    wait::until(format!("{tries} tries that send nothing"), wait::DEADLINE, async || {
        let labels = [("outcome", "credential_unavailable")];
        let seen = controller.metrics().await?.sum("drift_controller_corrections_total", &labels);
        Ok(if seen >= f64::from(tries) { Seen::Met(()) } else { Seen::Instead(format!("{seen}")) })
    })
    .await
}

/// Grants the documented right: the controller may list and watch the Secrets of the objects' namespace.
async fn let_controller_read(world: &World) -> Result<()> {
    let metadata = json!({"name": "drift-controller-secrets", "namespace": world.objects_namespace()});
    let rules = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"]}]);
    let group = "rbac.authorization.k8s.io";
    let kind = |kind: &str| json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": metadata});
    let mut role = kind("Role");
    role["rules"] = rules;
    world.apply(&role).await?;
    let mut binding = kind("RoleBinding");
    binding["roleRef"] = json!({"apiGroup": group, "kind": "Role", "name": "drift-controller-secrets"});
    let account =
        json!({"kind": "ServiceAccount", "name": "drift-controller", "namespace": world.programs_namespace()});
    binding["subjects"] = json!([account]);
    world.apply(&binding).await?;
    let listing = right("", "secrets", "list", world.objects_namespace());
    world.wait_for_right(Which::Controller, listing, true).await
}

/// The Secret beside the object, as its owner labels it.
async fn set_password(world: &World, password: &str) -> Result<()> {
    let labels = json!({names::READABLE_LABEL: names::TRUE});
    let metadata = json!({"name": "web-password", "namespace": world.objects_namespace(), "labels": labels});
    let data = json!({"password": password});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data});
    world.apply(&secret).await.map(drop)
}

/// Returns the sent values, in the order of the writes.
fn sent_passwords(outside: &Outside) -> Vec<String> {
    let writes = outside.requests().into_iter().filter(|request| request.method == "POST");
    writes.map(|request| request.header("x-password").unwrap_or("none").to_owned()).collect()
}

fn sending(world: &World, url: &str) -> Result<Target> {
    let headers = json!({"x-password": "${secrets.password}"});
    let source = json!({"fromObject": "${self.metadata.name}-password", "key": "password"});
    Ok(Target::shipped(world, url)?
        .with("/spec/secrets/password", source)
        .with("/spec/compare/writeOnly", json!([{"path": "/password", "secret": "password"}]))
        .with("/spec/correct/http/create/0/headers", headers.clone())
        .with("/spec/correct/http/update/0/headers", headers))
}

#[tokio::test]
async fn a_secret_is_sent_once_in_each_version() -> Result<()> {
    World::run("sent secret", async |world| {
        let (_toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        let [first, second] = ["1", "2"].map(|version| format!("p{version}-{CANARY}"));
        let_controller_read(world).await?;
        set_password(world, &first).await?;
        world.apply_target(&sending(world, outside.url())?).await?;
        let programs = [world.start_poller().await?, world.start_controller().await?];
        let spec = json!({"listen": world.free_listen_address()?, "upstream": "127.0.0.1:9"});
        world.create_proxy("web", spec).await?;
        world.wait_until_healed_by("web", 1).await?;
        ensure!(sent_passwords(&outside) == [first.as_str()], "{:?}", outside.requests());
        world.nothing_is_written_for(Duration::from_secs(7)).await?;

        let history = world.watch_object("web").await?;
        set_password(world, &second).await?;
        let is_told = |object: &Value| message(object, "driftObserved").contains("1 field differs: /password changed");
        history.wait_for("the verdict says what differs", is_told).await?;
        world.wait_until_healed_by("web", 2).await?;
        world.nothing_is_written_for(Duration::from_secs(12)).await?;
        ensure!(sent_passwords(&outside) == [first.as_str(), second.as_str()], "{:?}", outside.requests());

        // A rejection that repeats it.
        let refusal = json!({"error": format!("no such password: {second}")});
        outside.on("POST", "/proxies/web", Answer::json(422, &refusal));
        world.patch_proxy("web", json!({"spec": {"upstream": "127.0.0.1:8"}})).await?;
        let is_masked =
            |object: &Value| message(object, "driftCorrected").contains("update: 422: no such password: (redacted)");
        world.wait_for_proxy("web", "the refusal is told without what it repeats", is_masked).await?;
        ensure_shown_nowhere(world, &programs).await
    })
    .await
}
