//! Answers that are lost within a replacement, and within a create of several items.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use drift_e2e::systems::outside::{Answer, Request};
use drift_e2e::world::{Target, World};
use serde_json::{Value, json};

use super::{
    Keyless, create_labelled, keep_ids, prove_reads, wait_for_told_doubt, wait_until_in_sync, wait_until_named_in_sync,
};
use crate::comparison::give_the_kind_lists;

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn a_replacement_with_a_lost_answer_makes_one_resource() -> Result<()> {
    World::run("replace-lost", async |world| {
        let server = Keyless::start(world, |number, item| match number {
            1 => Answer::json(201, item),
            _ => Answer::status(502),
        })
        .await?;
        keep_ids(world).await?;
        let replacing =
            |target: Target| target.with("/spec/compare/rules", json!([{"path": "/upstream", "change": "replace"}]));
        let targets =
            [server.labelled_target(world, "name", false)?, server.labelled_target(world, "id", true)?].map(replacing);
        world.apply_targets(&targets).await?;
        world.start_both().await?;
        prove_reads(world, &["name", "id"]).await?;
        let names = ["web-name", "web-id"];
        for (name, label) in names.into_iter().zip(["name", "id"]) {
            create_labelled(world, name, label).await?;
        }
        for name in names {
            wait_until_named_in_sync(world, name).await?;
            world.patch_proxy(name, json!({"spec": {"upstream": "127.0.0.1:3"}})).await?;
            server.wait_for_posts(name, 2).await?;
        }
        wait_until_named_in_sync(world, "web-name").await?;
        wait_for_told_doubt(world, "web-id", 1).await?;
        server.wait_for_no_more_than(6).await?;
        let deletes = server.outside.count("DELETE");
        ensure!((deletes, server.count()) == (2, 4), "{deletes} deletions, {:?}", server.made);
        Ok(())
    })
    .await
}

/// Items by the name of their set. Each POST makes another one.
type Sets = Arc<Mutex<BTreeMap<String, Vec<Value>>>>;

/// Answers a request for a set or for another item of it. The answer about the item `b` is lost.
fn answer(sets: &Sets, request: &Request) -> Option<Answer> {
    let name = request.path.strip_prefix("/sets/")?;
    let mut sets = sets.lock().ok()?;
    if request.method == "POST" {
        let item = request.json().ok()?["item"].take();
        sets.entry(name.to_owned()).or_default().push(item.clone());
        let lost = if name == "reset" { Answer::reset() } else { Answer::status(502) };
        return Some(if item == "b" { lost } else { Answer::json(201, &json!({})) });
    }
    Some(match sets.get(name) {
        Some(items) => Answer::json(200, &json!({"members": items})),
        None => Answer::json(404, &json!({})),
    })
}

fn set_target(world: &World, url: &str) -> Result<Target> {
    let set = "/sets/${self.metadata.name}";
    let add = |items: &str| json!({"name": "add", "forEach": items, "method": "POST", "url": set, "body": {"item": "${item}"}});
    let look = json!({"name": "set", "method": "GET", "url": set});
    let missing = "${desired.members.filter(m, !(m in steps.set.body.members))}";
    Ok(Target::shipped(world, url)?
        .with("/spec/base", json!(url))
        .with("/spec/confirm", json!({"absent": 1}))
        .with("/spec/read", json!({"http": {"url": set}}))
        .with(
            "/spec/compare",
            json!({"desired": {"members": "${self.spec.members}"},
            "rules": [{"path": "/members", "list": "set"}]}),
        )
        .with("/spec/correct/http", json!({"create": [add("${desired.members}")], "update": [look, add(missing)]})))
}

#[tokio::test]
async fn each_item_of_a_lost_answer_is_made_once() -> Result<()> {
    World::run("for-each-lost", async |world| {
        let sets = Sets::default();
        let outside = world.start_outside().await?;
        let kept = sets.clone();
        outside.choose(move |request: &Request| answer(&kept, request));
        give_the_kind_lists(world).await?;
        world.apply_target(&set_target(world, outside.url())?).await?;
        world.start_both().await?;
        let names = ["web", "gateway", "reset"];
        for name in names {
            let spec = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:9", "members": ["a", "b", "c"]});
            world.create_proxy(name, spec).await?;
        }
        for name in names {
            wait_until_named_in_sync(world, name).await?;
        }
        wait_until_in_sync(world).await?;
        let made = sets.lock().map(|sets| sets.clone()).unwrap_or_default();
        ensure!(
            made.len() == names.len() && made.values().all(|items| json!(items) == json!(["a", "b", "c"])),
            "{made:?}"
        );
        ensure!(outside.count("POST") == 3 * names.len(), "{:?}", outside.requests());
        Ok(())
    })
    .await
}
