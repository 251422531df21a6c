//! An API that shows a mask in place of a key: a write that is made of a look-up must not store the mask.

use anyhow::{Result, ensure};
use drift_e2e::systems::outside::{Answer, Documents, Outside};
use drift_e2e::world::{Target, World, message};
use serde_json::{Value, json};

const CONNECTION: &str = "/connections/web";
const KEY: &str = "real-key-5e0b71c9";
const MASK: &str = "***";

/// Shows the documents with a mask in place of their key, within `data`.
fn show_masked(outside: &Outside) -> Documents {
    let documents = outside.keep_documents();
    let kept = documents.clone();
    outside.choose(move |request| {
        let mut document = kept.get(&request.path).filter(|_| request.method == "GET")?;
        document["apiKey"] = json!(MASK);
        Some(Answer::json(200, &json!({"data": document})))
    });
    documents
}

/// A target whose update writes this body, after a look-up.
fn target(world: &World, outside: &Outside, body: &str) -> Result<Target> {
    let url = format!("{}{CONNECTION}", outside.url());
    let key = json!("${secrets.apiKey}");
    Ok(Target::shipped(world, outside.url())?
        .with("/spec/secrets", json!({"apiKey": {"secretRef": {"name": "connection", "key": "apiKey"}}}))
        .with("/spec/read/http/url", json!(url))
        .with("/spec/read/http/observed", json!({"upstream": "${response.body.data.upstream}"}))
        .without("/spec/compare/rules")
        .with("/spec/compare/desired", json!({"upstream": "${self.spec.upstream}"}))
        .with("/spec/compare/writeOnly", json!([{"path": "/apiKey", "secret": "apiKey"}]))
        .with(
            "/spec/correct/http/create",
            json!([{
                "method": "PUT", "url": url,
                "body": {"upstream": "${desired.upstream}", "pool": 5, "apiKey": key},
            }]),
        )
        .with(
            "/spec/correct/http/update",
            json!([
                {"name": "key", "method": "POST", "url": url, "body": {"apiKey": key}, "when": "${'apiKey' in differs}"},
                {"name": "look", "method": "GET", "url": url},
                {"name": "put", "method": "PUT", "url": url, "body": body, "when": "${'upstream' in differs}"},
            ]),
        )
        .with("/spec/correct/http/delete", json!([{"method": "DELETE", "url": url}])))
}

fn key(documents: &Documents) -> Value {
    documents.get(CONNECTION).unwrap_or_default()["apiKey"].clone()
}

/// Changes the upstream as a foreign writer.
fn drift(documents: &Documents) {
    documents.change_all(|_, document| document["upstream"] = json!("127.0.0.1:8"));
}

#[tokio::test]
async fn a_mask_is_never_stored_as_the_key() -> Result<()> {
    World::run("carried mask", async |world| {
        let outside = world.start_outside().await?;
        let documents = show_masked(&outside);
        world.apply_credential("connection", "controller", json!({"apiKey": KEY})).await?;
        let carrying = "${mergeDeep(steps.look.body.data, desired)}";
        world.apply_target(&target(world, &outside, carrying)?).await?;
        world.start_both().await?;
        world.create_proxy("web", json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:9"})).await?;
        world.wait_until_healed_by("web", 1).await?;
        ensure!(key(&documents) == KEY, "{:?}", documents.get(CONNECTION));

        // The body would carry the mask back, and is not sent.
        drift(&documents);
        let is_told = |object: &Value| {
            let told = message(object, "driftCorrected");
            told.contains("update, step put: not sent: the body repeats what an answer shows in place of a secret")
        };
        let failed = world.wait_for_proxy("web", "the correction says why it sends nothing", is_told).await?;
        ensure!(!failed.to_string().contains(MASK), "the answer is shown");
        ensure!(key(&documents) == KEY, "the mask is stored as the key");
        ensure!(outside.count("PUT") == 1, "{:?}", outside.requests());

        // The body sets the key.
        let setting = "${mergeDeep(steps.look.body.data, merge(desired, {'apiKey': secrets.apiKey}))}";
        world.apply_target(&target(world, &outside, setting)?).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        let expected = json!({"upstream": "127.0.0.1:9", "pool": 5, "apiKey": KEY});
        ensure!(documents.get(CONNECTION).as_ref() == Some(&expected), "{:?}", documents.get(CONNECTION));
        ensure!(outside.count("PUT") == 2, "{:?}", outside.requests());
        Ok(())
    })
    .await
}
