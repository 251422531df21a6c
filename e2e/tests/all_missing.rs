//! A read that loses all resources of a target at once is not believed until it finds one, or a person confirms the loss.

use std::time::Duration;

use anyhow::{Result, ensure};
use drift_api::names;
use drift_e2e::systems::outside::{Answer, Documents, Outside, Request};
use drift_e2e::world::{Target, World, message, tag};
use serde_json::{Value, json};

/// Two intervals of the target, in which a correction would be sent.
const A_WHILE: Duration = Duration::from_secs(6);

fn spec(name: &str) -> Value {
    json!({"listen": format!("{name}:80"), "upstream": "here:1"})
}

fn place(name: &str) -> String {
    format!("/proxies/{name}")
}

/// A target of documents whose read has a credential.
fn target(world: &World, outside: &Outside) -> Result<Target> {
    Ok(Target::of_documents(world, outside.url())?
        .with("/spec/read/http/auth", json!({"bearer": {"secretRef": {"name": "reader", "key": "token"}}})))
}

async fn set_token(world: &World, token: &str) -> Result<()> {
    world.apply_credential("reader", "poller", json!({"token": token})).await
}

/// Objects in sync that own their resources.
async fn begin(world: &World, names: &[&str]) -> Result<(Outside, Documents)> {
    let outside = world.start_outside().await?;
    let documents = outside.keep_documents();
    set_token(world, "strong").await?;
    world.apply_target(&target(world, &outside)?).await?;
    world.start_both().await?;
    for name in names {
        world.create_proxy(name, spec(name)).await?;
        world.wait_until_verified(name).await?;
    }
    Ok((outside, documents))
}

async fn wait_for_all(world: &World, names: &[&str], status: &str, reason: &str) -> Result<()> {
    for name in names {
        world.wait_for_verdict(name, status, reason).await?;
    }
    Ok(())
}

async fn retry(world: &World, name: &str) -> Result<()> {
    let arguments = ["retry", &format!("proxies.{}/{name}", world.group()), "-n", world.objects_namespace()];
    let ended = world.run_command(&arguments).await?;
    ensure!(ended.code == 0, "{ended:?}");
    Ok(())
}

#[tokio::test]
async fn a_weaker_token_creates_nothing() -> Result<()> {
    World::run("weaker-token", async |world| {
        for names in [&["web", "cache"][..], &["web", "cache", "database"]] {
            let (outside, _documents) = begin(world, names).await?;
            let is_weak = |request: &Request| request.header("authorization") == Some("Bearer weak");
            outside.choose(move |request| is_weak(request).then(|| Answer::json(404, &json!({}))));
            let written = outside.count("PUT");
            set_token(world, "weak").await?;
            wait_for_all(world, names, "Unknown", "AllMissing").await?;
            world.nothing_is_written_for(A_WHILE).await?;
            ensure!(outside.count("PUT") == written, "{:?}", outside.requests());
            let web = world.proxy("web").await?.unwrap_or_default();
            let told = message(&web, names::DRIFT_OBSERVED).to_owned();
            ensure!(told.contains(&format!("the server answered 404 to GET {}/proxies/web", outside.url())), "{told}");
            set_token(world, "strong").await?;
            wait_for_all(world, names, "False", "InSync").await?;
            ensure!(outside.count("PUT") == written, "{:?}", outside.requests());
            for name in names {
                world.delete_proxy(name).await?;
                world.wait_until_gone(name).await?;
            }
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn the_loss_of_one_is_healed() -> Result<()> {
    World::run("one-lost", async |world| {
        let (_outside, documents) = begin(world, &["web", "cache"]).await?;
        let history = world.watch_object("web").await?;
        documents.remove(&place("web"));
        world.wait_until_healed_by("web", 2).await?;
        let seen = history.transitions(names::DRIFT_OBSERVED).await?;
        ensure!(!seen.concat().contains("AllMissing"), "{seen:?}");
        ensure!(documents.get(&place("web")).is_some());

        world.delete_proxy("cache").await?;
        world.wait_until_gone("cache").await?;
        documents.remove(&place("web"));
        world.wait_until_healed_by("web", 3).await?;
        let seen = history.transitions(names::DRIFT_OBSERVED).await?;
        ensure!(!seen.concat().contains("AllMissing"), "it is the only object: {seen:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_retry_of_one_ends_a_real_loss() -> Result<()> {
    World::run("all-lost", async |world| {
        let names = ["web", "cache", "database"];
        let (outside, documents) = begin(world, &names).await?;
        let written = outside.count("PUT");
        names.iter().for_each(|name| documents.remove(&place(name)));
        wait_for_all(world, &names, "Unknown", "AllMissing").await?;
        world.nothing_is_written_for(A_WHILE).await?;
        let history = world.watch_object("cache").await?;
        retry(world, "cache").await?;
        for name in names {
            world.wait_until_healed_by(name, 2).await?;
            ensure!(documents.get(&place(name)).is_some(), "{name}");
        }
        let puts: Vec<String> =
            outside.requests().into_iter().filter(|one| one.method == "PUT").map(|one| one.path).collect();
        ensure!(puts.len() == written + names.len() && puts[written] == place("cache"), "{puts:?}");
        let expected = [("Unknown", "AllMissing"), ("True", "ExternalMissing"), ("False", "InSync")];
        history.wait_for_transitions(names::DRIFT_OBSERVED, &expected).await?;
        Ok(())
    })
    .await
}

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_wrong_path_creates_nothing() -> Result<()> {
    World::run("wrong-path", async |world| {
        let names = ["web", "cache"];
        let (outside, _documents) = begin(world, &names).await?;
        let written = outside.count("PUT");
        let right = target(world, &outside)?;
        let wrong = format!("{}/proxy/${{self.metadata.name}}", outside.url());
        for is_edited in [false, true] {
            // The same commit edits the objects.
            for name in names.iter().filter(|_| is_edited) {
                world.patch_proxy(name, json!({"spec": {"upstream": "there:1"}})).await?;
            }
            world.apply_target(&right.clone().with("/spec/read/http/url", json!(wrong))).await?;
            wait_for_all(world, &names, "Unknown", "AllMissing").await?;
            world.nothing_is_written_for(A_WHILE).await?;
            let web = world.proxy("web").await?.unwrap_or_default();
            ensure!(!is_edited || tag(&web).found || tag(&web).seen, "{web}");
            world.apply_target(&right).await?;
            wait_for_all(world, &names, "False", "InSync").await?;
        }
        let puts = outside.requests().into_iter().filter(|one| one.method == "PUT").skip(written);
        let puts: Vec<String> = puts.map(|one| one.path).collect();
        ensure!(puts.len() <= names.len(), "only the edits are corrected: {puts:?}");
        Ok(())
    })
    .await
}
