//! The reason of a refused write: people see the server's own sentence, and no secret.

use anyhow::{Result, ensure};
use drift_api::names;
use drift_e2e::programs::Program;
use drift_e2e::systems::outside::Answer;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, message};
use serde_json::json;

/// A value that occurs nowhere else.
const TOKEN: &str = "canary-7f21c9d4-token";

/// The sentence as it is shown.
const SHOWN: &str = "create: 422: Quota exceeded: zone a is full; the key (redacted) may make 3";

/// Absent at each read, so that the refused create is drift again.
fn target(world: &World, url: &str) -> Result<Target> {
    Ok(Target::shipped(world, url)?
        .with("/spec/correct/http/auth", json!({"bearer": {"secretRef": {"name": "writer", "key": "token"}}}))
        .with("/spec/correct/http/create/0/method", json!("PUT"))
        .with("/spec/confirm", json!({"absent": 1}))
        .with("/spec/correct/limits/attempts", json!(1)))
}

/// Waits for the Event of the refusal and for the record that follows it, and checks that both have the text.
async fn wait_for_both(world: &World, text: &str) -> Result<()> {
    let event = world.wait_for_event("CorrectionFailed", "web").await?;
    ensure!(event["note"].as_str().is_some_and(|note| note.contains(text)), "{event}");
    let object = world.wait_for_note("web", "False", "AttemptsExhausted").await?;
    let expected = format!("`kubectl drift retry KIND/NAME`; before: {text}");
    ensure!(message(&object, names::DRIFT_CORRECTED).contains(&expected), "{object}");
    Ok(())
}

/// Waits until the status page shows the sentence.
async fn wait_for_page(poller: &Program) -> Result<()> {
    wait::until("the reason on the page", wait::DEADLINE, async || {
        let (_, page) = poller.page("/?search=web").await?;
        let text = page.replace("<wbr>", "");
        Ok(if text.contains("Quota exceeded: zone a is full") { Seen::Met(()) } else { Seen::Instead(page) })
    })
    .await
}

#[tokio::test]
async fn the_reason_of_a_refusal_is_shown() -> Result<()> {
    World::run("refusal", async |world| {
        let outside = world.start_outside().await?;
        world.apply_credential("writer", "controller", json!({"token": TOKEN})).await?;
        let problem = json!({
            "type": "about:blank", "title": "Quota exceeded", "status": 422,
            "detail": format!("zone a is full; the key {TOKEN} may make 3"),
        });
        outside.on("PUT", "/proxies", Answer::json(422, &problem));
        world.apply_target(&target(world, outside.url())?).await?;
        let (poller, controller) = (world.start_poller().await?, world.start_controller().await?);
        world.create_proxy("web", json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})).await?;
        wait_for_both(world, SHOWN).await?;
        let place = ["-n", world.objects_namespace(), "--targets-namespace", world.programs_namespace()];
        let explained = world.run_command(&[&["explain", "proxy/web"], &place[..]].concat()).await?;
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        ensure!(words(&explained.output).contains(SHOWN), "{explained:?}");
        wait_for_page(&poller).await?;
        let log = controller.log_text()?;
        let line = log.lines().find(|line| line.contains("a step of a correction is not accepted")).unwrap_or_default();
        for part in [r#""name":"web""#, r#""step":"1""#, r#""status":"422""#, "Quota exceeded: zone a is full"] {
            ensure!(line.contains(part), "{part}: {line}");
        }
        let everything = [log, poller.log_text()?, json!(world.events().await?).to_string(), explained.output];
        ensure!(everything.iter().all(|text| !text.contains(TOKEN)), "the token is shown");
        ensure!(!json!(world.all_proxies().await?).to_string().contains(TOKEN), "the token is shown");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_target_may_show_no_reason() -> Result<()> {
    World::run("no reason", async |world| {
        let outside = world.start_outside().await?;
        world.apply_credential("writer", "controller", json!({"token": TOKEN})).await?;
        outside.on("PUT", "/proxies", Answer::json(422, &json!({"message": "canary-of-the-answer"})));
        let target = target(world, outside.url())?.with("/spec/correct/http/create/0/because", json!("none"));
        world.apply_target(&target).await?;
        let (_poller, controller) = (world.start_poller().await?, world.start_controller().await?);
        world.create_proxy("web", json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})).await?;
        wait_for_both(world, "create: the external system refuses it with status 422").await?;
        let everything = [controller.log_text()?, json!(world.all_proxies().await?).to_string()];
        ensure!(everything.iter().all(|text| !text.contains("canary-of-the-answer")), "the answer is shown");
        Ok(())
    })
    .await
}
