//! A set that an API changes by one request for each item: the toxics of a proxy.

use anyhow::{Result, ensure};
use drift_api::names::DRIFT_CORRECTED;
use drift_e2e::systems::outside::{Answer, Outside, Request};
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::world::{Target, World, message, note};
use serde_json::{Value, json};

use crate::comparison::give_the_kind_lists;

/// Returns the shipped target, with the names of the proxy's toxics as the set `members`.
fn target(world: &World, url: &str) -> Result<Target> {
    let proxy = format!("{url}/proxies/${{self.metadata.name}}");
    let add = |list: &str| {
        json!({
            "name": "add", "forEach": list, "method": "POST", "url": format!("{proxy}/toxics"),
            "body": {"name": "${item}", "type": "latency", "attributes": {"latency": 1}},
        })
    };
    let create = json!({
        "method": "POST", "url": format!("{url}/proxies"), "accept": [201],
        "body": {"name": "${self.metadata.name}", "listen": "${desired.listen}", "upstream": "${desired.upstream}"},
    });
    let remove = json!({
        "name": "remove", "forEach": "${steps.members.body.map(e, e.name).filter(m, !(m in desired.members))}",
        "method": "DELETE", "url": format!("{proxy}/toxics/${{item}}"), "accept": [204, 404],
    });
    let members = json!({"name": "members", "method": "GET", "url": format!("{proxy}/toxics")});
    let missing = add("${desired.members.filter(m, !steps.members.body.exists(e, e.name == m))}");
    let observed = "${merge(response.body, {'members': response.body.toxics.map(e, e.name)})}";
    Ok(Target::shipped(world, url)?
        .with("/spec/confirm", json!({"absent": 1}))
        .with("/spec/read/http/observed", json!(observed))
        .with("/spec/compare/desired/members", json!("${self.spec.members}"))
        .with("/spec/compare/rules", json!([{"path": "/members", "list": "set"}]))
        .with("/spec/correct/http/create", json!([create, add("${desired.members}")]))
        .with("/spec/correct/http/update", json!([members, missing, remove])))
}

/// Returns the controller's requests: method and path, with the name of an added toxic.
fn asked(outside: &Outside) -> Vec<String> {
    let line = |request: &Request| {
        let added = request.json().ok().filter(|_| request.path.ends_with("/toxics"));
        let name = added.and_then(|toxic| toxic["name"].as_str().map(|name| format!(" {name}")));
        format!("{} {}{}", request.method, request.path, name.unwrap_or_default())
    };
    by_controller(outside).iter().map(line).collect()
}

fn by_controller(outside: &Outside) -> Vec<Request> {
    let sends =
        |request: &Request| request.header("user-agent").is_some_and(|agent| agent.starts_with("drift-controller"));
    outside.requests().into_iter().filter(sends).collect()
}

async fn ensure_members(toxiproxy: &Toxiproxy, expected: &[&str]) -> Result<()> {
    let mut members = toxiproxy.toxics("web").await?;
    members.sort();
    ensure!(members == expected, "{members:?}");
    Ok(())
}

#[tokio::test]
async fn a_set_is_corrected_item_by_item() -> Result<()> {
    World::run("for-each", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        give_the_kind_lists(world).await?;
        world.apply_target(&target(world, outside.url())?).await?;
        world.start_both().await?;
        let listen = world.free_listen_address()?;
        world
            .create_proxy("web", json!({"listen": listen, "upstream": "127.0.0.1:9", "members": ["a", "b", "c"]}))
            .await?;
        world.wait_until_healed_by("web", 1).await?;
        let created =
            ["POST /proxies", "POST /proxies/web/toxics a", "POST /proxies/web/toxics b", "POST /proxies/web/toxics c"];
        ensure!(asked(&outside) == created, "{:?}", asked(&outside));
        let mut keys: Vec<String> = by_controller(&outside)
            .iter()
            .filter_map(|request| request.header("idempotency-key").map(str::to_owned))
            .collect();
        keys.sort();
        keys.dedup();
        ensure!(keys.len() == 4, "each item has its key: {keys:?}");

        outside.forget_requests();
        toxiproxy.remove_toxic("web", "b").await?;
        world.wait_until_healed_by("web", 2).await?;
        ensure_members(&toxiproxy, &["a", "b", "c"]).await?;
        ensure!(asked(&outside) == ["GET /proxies/web/toxics", "POST /proxies/web/toxics b"], "{:?}", asked(&outside));

        outside.forget_requests();
        world.patch_proxy("web", json!({"spec": {"members": ["c", "d"]}})).await?;
        world.wait_until_healed_by("web", 3).await?;
        ensure_members(&toxiproxy, &["c", "d"]).await?;
        let mut edited = asked(&outside);
        edited[2..].sort();
        let expected = [
            "GET /proxies/web/toxics",
            "POST /proxies/web/toxics d",
            "DELETE /proxies/web/toxics/a",
            "DELETE /proxies/web/toxics/b",
        ];
        ensure!(edited == expected, "{edited:?}");

        // The answer about an item is lost. The next try does not send it again.
        outside.forget_requests();
        outside.once("POST", "/proxies/web/toxics", Answer::forwarded().answer_lost());
        world.patch_proxy("web", json!({"spec": {"members": ["c", "d", "e"]}})).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        ensure_members(&toxiproxy, &["c", "d", "e"]).await?;
        let sent = asked(&outside);
        ensure!(sent.iter().filter(|line| line.starts_with("POST ")).count() == 1, "{sent:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_refused_item_ends_the_correction() -> Result<()> {
    World::run("for-each-refused", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        give_the_kind_lists(world).await?;
        world.apply_target(&target(world, outside.url())?).await?;
        world.start_both().await?;
        let listen = world.free_listen_address()?;
        world.create_proxy("web", json!({"listen": listen, "upstream": "127.0.0.1:9", "members": ["a"]})).await?;
        world.wait_until_healed_by("web", 1).await?;

        outside.choose(|request| {
            let is_e = request.method == "POST" && request.json().is_ok_and(|toxic| toxic["name"] == "e");
            is_e.then(|| Answer::status(409))
        });
        world.patch_proxy("web", json!({"spec": {"members": ["a", "d", "e", "f"]}})).await?;
        let failed = world.wait_for_note("web", "False", "CorrectionFailed").await?;
        let text = message(&failed, DRIFT_CORRECTED);
        ensure!(text.contains(r#"update, step add["e"]: the external system refuses it with status 409"#), "{text}");
        ensure!(note(&failed).correction >= 2, "a refusal is definite: {text}");
        ensure_members(&toxiproxy, &["a", "d"]).await?;

        outside.forget();
        world.wait_for_verdict("web", "False", "InSync").await?;
        ensure_members(&toxiproxy, &["a", "d", "e", "f"]).await?;

        // More items than one step may have: nothing of the step is sent.
        outside.forget_requests();
        let many: Vec<Value> = (0..101).map(|number| json!(format!("m{number}"))).collect();
        world.patch_proxy("web", json!({"spec": {"members": many}})).await?;
        let failed = world.wait_for_note("web", "False", "CorrectionFailed").await?;
        let text = message(&failed, DRIFT_CORRECTED);
        ensure!(text.contains("update, step add: forEach gives more than 100 items"), "{text}");
        ensure!(asked(&outside).iter().all(|line| line.starts_with("GET ")), "{:?}", asked(&outside));
        Ok(())
    })
    .await
}
