//! Credentials are used only where their owner allowed it, and their values reach nothing but the wire.

use anyhow::{Result, ensure};
use drift_e2e::outside::Answer;
use drift_e2e::world::{Target, World, condition};
use serde_json::json;

/// No word of any text, so that finding it anywhere is a leak.
const CANARY: &str = "canary-5e0b71c9-value";

fn with_auth(target: Target) -> Target {
    target
        .with("/spec/read/http/auth", json!({"bearer": {"secretRef": {"name": "reader", "key": "token"}}}))
        .with("/spec/correct/http/auth", json!({"bearer": {"secretRef": {"name": "writer", "key": "token"}}}))
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
        // An answer that repeats the credential, and a failing one.
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

        let mut everything = vec![("events", json!(world.events().await?).to_string())];
        everything.push(("object", json!(world.all_proxies().await?).to_string()));
        for program in &programs {
            everything.push(("log", program.log_text()?));
            everything.push(("metrics", program.page("/metrics").await?.1));
            everything.push(("readyz", program.page("/readyz").await?.1));
        }
        for (place, text) in everything {
            ensure!(!text.is_empty() || place == "events", "nothing to look at in {place}");
            ensure!(!text.contains(CANARY), "a credential in {place}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_secret_without_label_is_never_used() -> Result<()> {
    World::run("unlabelled", async |world| {
        let outside = world.start_outside().await?;
        // Labelled for the other program each.
        world.apply_credential("reader", "controller", json!({"token": CANARY})).await?;
        world.apply_credential("writer", "poller", json!({"token": CANARY})).await?;
        world.apply_target(&with_auth(Target::shipped(world, outside.url())?)).await?;
        world.start_poller().await?;
        world.start_controller().await?;
        world.create_proxy("web", json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})).await?;
        world.wait_for_verdict("web", "Unknown", "Unauthorized").await?;
        ensure!(outside.requests().is_empty(), "a request without its credential: {:?}", outside.requests());

        // The label is all that was missing, and no restart is needed.
        world.apply_credential("reader", "poller", json!({"token": CANARY})).await?;
        world.wait_for_verdict("web", "True", "NotCreated").await?;
        world.wait_for_note("web", "False", "CorrectionFailed").await?;
        ensure!(outside.count("POST") == 0, "{:?}", outside.requests());
        Ok(())
    })
    .await
}
