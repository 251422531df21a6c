//! Secrets of an adopted account: what was not sent stays as it is outside.

use std::time::Duration;

use anyhow::{Result, ensure};
use drift_e2e::systems::outside::{Documents, Outside, Request};
use drift_e2e::world::{Target, World, message, note};
use serde_json::{Value, json};

const ACCOUNT: &str = "/accounts/web";

/// The account's password before it was adopted, which the Secret does not have.
const THEIRS: &str = "theirs-5e0b71c9";

/// A target that sends the token with every change, and the password only if it differs.
fn target(world: &World, outside: &Outside) -> Result<Target> {
    let account = format!("{}{ACCOUNT}", outside.url());
    let headers = json!({"x-token": "${secrets.token}"});
    let change = |key: &str, value: &str| {
        json!({
            "name": key, "method": "POST", "url": account, "headers": headers, "body": {key: value},
            "when": format!("${{'{key}' in differs}}"),
        })
    };
    let body = json!({"upstream": "${desired.upstream}", "password": "${secrets.password}"});
    let secret = |key: &str| json!({"secretRef": {"name": key, "key": key}});
    Ok(Target::shipped(world, outside.url())?
        .with("/spec/secrets", json!({"token": secret("token"), "password": secret("password")}))
        .with("/spec/read/http/url", json!(account))
        .with("/spec/read/http/observed", json!({"upstream": "${response.body.upstream}"}))
        .without("/spec/compare/rules")
        .with("/spec/compare/desired", json!({"upstream": "${self.spec.upstream}"}))
        .with("/spec/compare/writeOnly", json!([{"path": "/password", "secret": "password"}]))
        .with("/spec/correct/existing", json!("Adopt"))
        .with("/spec/correct/http/create", json!([{"method": "PUT", "url": account, "headers": headers, "body": body}]))
        .with(
            "/spec/correct/http/update",
            json!([change("upstream", "${desired.upstream}"), change("password", "${secrets.password}")]),
        )
        .with("/spec/correct/http/delete", json!([{"method": "DELETE", "url": account}])))
}

fn password(documents: &Documents) -> Value {
    documents.get(ACCOUNT).unwrap_or_default()["password"].clone()
}

/// Returns the keys of each write's body.
fn written(outside: &Outside) -> Vec<String> {
    let writes = outside.requests().into_iter().filter(|request| request.method != "GET");
    let keys = |request: &Request| request.json().ok().and_then(|body| Some(body.as_object()?.keys().next()?.clone()));
    writes.map(|request| keys(&request).unwrap_or_default()).collect()
}

#[tokio::test]
async fn an_adopted_account_keeps_its_password() -> Result<()> {
    World::run("adopted password", async |world| {
        let outside = world.start_outside().await?;
        let documents = outside.keep_documents();
        documents.put(ACCOUNT, json!({"upstream": "127.0.0.1:9", "password": THEIRS}));
        world.apply_credential("token", "controller", json!({"token": "t-5e0b71c9"})).await?;
        world.apply_credential("password", "controller", json!({"password": "ours-1"})).await?;
        world.apply_target(&target(world, &outside)?).await?;
        world.start_both().await?;
        world.create_proxy("web", json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:9"})).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        ensure!(written(&outside).is_empty(), "{:?}", outside.requests());

        // Another writer changes another field. The step with the password is skipped.
        let history = world.watch_object("web").await?;
        documents.put(ACCOUNT, json!({"upstream": "127.0.0.1:8", "password": THEIRS}));
        world.wait_until_healed_by("web", 1).await?;
        world.nothing_is_written_for(Duration::from_secs(10)).await?;
        ensure!(password(&documents) == THEIRS, "the adopted account's password is overwritten");
        ensure!(written(&outside) == ["upstream"], "{:?}", outside.requests());
        let versions = history.versions().await?;
        let is_blamed = |object: &&Value| message(object, "driftObserved").contains("/password");
        ensure!(versions.iter().find(is_blamed).is_none(), "the verdict names the password");

        // Another correction, and then the Secret really changes.
        documents.put(ACCOUNT, json!({"upstream": "127.0.0.1:7", "password": THEIRS}));
        world.wait_until_healed_by("web", 2).await?;
        ensure!(password(&documents) == THEIRS, "the adopted account's password is overwritten");
        world.apply_credential("password", "controller", json!({"password": "ours-2"})).await?;
        let is_told = |object: &Value| message(object, "driftObserved").contains("1 field differs: /password changed");
        history.wait_for("the verdict says that the password changed", is_told).await?;
        let healed = world.wait_until_healed_by("web", 3).await?;
        ensure!(password(&documents) == "ours-2", "the new password is not sent");
        ensure!(written(&outside) == ["upstream", "upstream", "password"], "{:?}", outside.requests());
        ensure!(note(&healed).secrets.moved().count() == 0, "{:?}", note(&healed));
        world.nothing_is_written_for(Duration::from_secs(7)).await
    })
    .await
}
