//! Corrections of several steps: a lookup decides the writes, and a rejection's message is shown.

use anyhow::{Context as _, Result, ensure};
use drift_api::names;
use drift_e2e::systems::outside::{Answer, Outside, Request};
use drift_e2e::world::{Target, World, message, note};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Looks up first, creates or updates as needed, and deletes existing resources.
fn looking_up(world: &World, url: &str) -> Result<Target> {
    let found = json!({"name": "found", "method": "GET", "url": format!("{url}/proxies/${{self.metadata.name}}"), "accept": [200, 404]});
    let create = json!({
        "name": "made", "method": "POST", "url": format!("{url}/proxies"), "when": "${steps.found.status == 404}",
        "body": "${merge(desired, {'name': self.metadata.name})}", "accept": [201],
    });
    let update = json!({
        "name": "changed", "method": "POST", "url": format!("{url}/proxies/${{steps.found.body.name}}"),
        "when": "${steps.found.status == 200 && steps.found.body.upstream != desired.upstream}",
        "body": {"upstream": "${desired.upstream}", "listen": "${steps.found.body.listen}", "enabled": "${desired.enabled}"},
    });
    let delete = json!({
        "method": "DELETE", "url": format!("{url}/proxies/${{self.metadata.name}}"), "when": "${steps.found.status == 200}",
    });
    let target = Target::shipped(world, url)?.with("/spec/confirm", json!({"absent": 1}));
    let target = target.with("/spec/correct/http/create", json!([found, create, update]));
    let target = target.with("/spec/correct/http/update", json!([found, create, update]));
    Ok(target.with("/spec/correct/http/delete", json!([found, delete])))
}

/// Returns the controller's requests in order.
fn asked(outside: &Outside) -> Vec<Request> {
    let by_controller =
        |request: &Request| request.header("user-agent").is_some_and(|agent| agent.starts_with("drift-controller"));
    outside.requests().into_iter().filter(by_controller).collect()
}

fn lines(requests: &[Request]) -> Vec<String> {
    requests.iter().map(|request| format!("{} {}", request.method, request.path)).collect()
}

#[tokio::test]
async fn what_is_looked_up_decides_what_is_written() -> Result<()> {
    World::run("look-ups", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        world.apply_target(&looking_up(world, outside.url())?).await?;
        world.start_both().await?;
        let listen = world.free_listen_address()?;
        world.create_proxy("web", json!({"listen": listen, "upstream": "127.0.0.1:9"})).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        let created = asked(&outside);
        ensure!(lines(&created) == ["GET /proxies/web", "POST /proxies"], "{created:?}");
        let keyed: Vec<bool> = created.iter().map(|request| request.header("idempotency-key").is_some()).collect();
        ensure!(keyed == [false, true], "only a write has a key: {created:?}");

        outside.forget_requests();
        toxiproxy.update("web", json!({"listen": listen, "upstream": "127.0.0.1:7", "enabled": true})).await?;
        world.wait_for_proxy("web", "corrected twice", |object| note(object).correction == 2).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        let updated = asked(&outside);
        ensure!(lines(&updated) == ["GET /proxies/web", "POST /proxies/web"], "{updated:?}");
        ensure!(updated[1].json()?["listen"] == json!(listen), "the answer is in the body: {updated:?}");
        let healed = toxiproxy.proxy("web").await?.context("no such proxy")?;
        ensure!(healed.upstream == "127.0.0.1:9", "{healed:?}");

        outside.forget_requests();
        world.delete_proxy("web").await?;
        world.wait_until_gone("web").await?;
        ensure!(lines(&asked(&outside)) == ["GET /proxies/web", "DELETE /proxies/web"], "{:?}", asked(&outside));
        ensure!(toxiproxy.proxy("web").await?.is_none());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_refusal_names_its_step_and_says_why() -> Result<()> {
    World::run("because", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        // This server returns 500 for an address in use, which would leave a doubt.
        let target = looking_up(world, outside.url())?
            .with(
                "/spec/correct/http/create/1/refusedWhen",
                json!("${response.body.?error.orValue('').contains('in use')}"),
            )
            .with("/spec/correct/http/create/1/because", json!("${response.body.?error}"));
        world.apply_target(&target).await?;
        world.start_both().await?;
        let taken = TcpListener::bind("127.0.0.1:0").await?;
        let listen = taken.local_addr()?.to_string();
        world.create_proxy("web", json!({"listen": listen, "upstream": "127.0.0.1:9"})).await?;
        let failed = world.wait_for_note("web", "False", "CorrectionFailed").await?;
        let text = message(&failed, names::DRIFT_CORRECTED).to_owned();
        let expected = "create, step made: 500: listen tcp ";
        ensure!(text.contains(expected) && text.contains("address already in use"), "{text}");
        ensure!(
            note(&failed).correction >= 1 && note(&failed).claim.is_none(),
            "definite, and nothing is claimed: {text}"
        );

        drop(taken);
        world.wait_for_verdict("web", "False", "InSync").await?;
        ensure!(toxiproxy.proxy("web").await?.is_some());

        // An error inside a 200 in an update: nothing else of the response is shown.
        let target = target
            .with("/spec/correct/http/update/2/refusedWhen", json!("${response.body.?result.orValue('') == 'ng'}"));
        let target = target.with("/spec/correct/http/update/2/because", json!("${response.body.?reason}"));
        world.apply_target(&target).await?;
        let answer: Value = json!({"result": "ng", "reason": "quota\u{7} is\nused up", "token": "canary-51aa"});
        outside.on("POST", "/proxies/web", Answer::json(200, &answer));
        toxiproxy.update("web", json!({"listen": listen, "upstream": "127.0.0.1:7", "enabled": true})).await?;
        let failed = world.wait_for_note("web", "False", "CorrectionFailed").await?;
        let text = message(&failed, names::DRIFT_CORRECTED).to_owned();
        ensure!(text.contains("update, step changed: 200: quota is used up"), "{text}");
        ensure!(!failed.to_string().contains("canary-51aa"), "{failed}");
        outside.forget();
        world.wait_for_verdict("web", "False", "InSync").await.map(drop)
    })
    .await
}

#[tokio::test]
async fn only_what_differs_is_sent() -> Result<()> {
    World::run("differs", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        let url = outside.url();
        let set = |field: &str| {
            json!({
                "name": field, "method": "POST", "url": format!("{url}/proxies/${{self.metadata.name}}"),
                "when": format!("${{'{field}' in differs}}"), "body": {field: format!("${{desired.{field}}}")},
            })
        };
        let target =
            Target::shipped(world, url)?.with("/spec/correct/http/update", json!([set("upstream"), set("enabled")]));
        world.apply_target(&target).await?;
        world.start_both().await?;
        let listen = world.free_listen_address()?;
        world.create_proxy("web", json!({"listen": listen, "upstream": "127.0.0.1:9"})).await?;
        world.wait_until_healed_by("web", 1).await?;

        let table = [
            (json!({"enabled": false}), json!([{"enabled": true}])),
            (json!({"upstream": "127.0.0.1:7"}), json!([{"upstream": "127.0.0.1:9"}])),
            (
                json!({"enabled": false, "upstream": "127.0.0.1:7"}),
                json!([{"upstream": "127.0.0.1:9"}, {"enabled": true}]),
            ),
        ];
        for (correction, (changed, expected)) in (2..).zip(table) {
            outside.forget_requests();
            toxiproxy.update("web", changed.clone()).await?;
            world.wait_until_healed_by("web", correction).await?;
            let sent: Vec<Value> = asked(&outside).iter().map(Request::json).collect::<Result<_>>()?;
            ensure!(json!(sent) == expected, "of {changed} it sent {sent:?}");
        }
        Ok(())
    })
    .await
}

/// Returns a target that deletes and recreates a proxy if its address differs.
fn replacing(world: &World, outside: &Outside) -> Result<Target> {
    let target = Target::shipped(world, outside.url())?.with("/spec/confirm", json!({"absent": 1}));
    Ok(target.with("/spec/compare/rules", json!([{"path": "/listen", "change": "replace"}])))
}

#[tokio::test]
async fn what_cannot_be_changed_is_replaced_once() -> Result<()> {
    World::run("replace", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        world.apply_target(&replacing(world, &outside)?).await?;
        world.start_both().await?;
        let (listen, other) = (world.free_listen_address()?, world.free_listen_address()?);
        world.create_proxy("web", json!({"listen": listen, "upstream": "127.0.0.1:9"})).await?;
        world.wait_until_healed_by("web", 1).await?;
        let replaced = ["DELETE /proxies/web", "POST /proxies"];

        outside.forget_requests();
        toxiproxy.update("web", json!({"listen": other})).await?;
        world.wait_until_healed_by("web", 2).await?;
        let requests = asked(&outside);
        ensure!(lines(&requests) == replaced, "{requests:?}");
        let keys: Vec<_> = requests.iter().filter_map(|request| request.header("idempotency-key")).collect();
        ensure!(
            keys.len() == 2 && keys.iter().all(|key| key.contains("-2-replace-")) && keys[0] != keys[1],
            "{keys:?}"
        );
        let healed = toxiproxy.proxy("web").await?.context("no such proxy")?;
        ensure!(healed.listen == listen, "{healed:?}");

        outside.forget_requests();
        toxiproxy.update("web", json!({"upstream": "127.0.0.1:7"})).await?;
        world.wait_until_healed_by("web", 3).await?;
        ensure!(lines(&asked(&outside)) == ["POST /proxies/web"], "{:?}", asked(&outside));

        // The response to the creation is lost. A poll finds the proxy, and nothing is deleted again.
        outside.forget_requests();
        outside.once("POST", "/proxies", Answer::forwarded().answer_lost());
        world.patch_proxy("web", json!({"spec": {"listen": other}})).await?;
        let object = world.wait_until_healed_by("web", 4).await?;
        ensure!(lines(&asked(&outside)) == replaced, "{:?}", asked(&outside));
        ensure!(toxiproxy.proxy("web").await?.is_some_and(|proxy| proxy.listen == other), "{object}");

        // In sync again, the note no longer says that it failed.
        world.wait_for_note("web", "True", "CorrectionApplied").await?;

        // The creation is rejected for a while: the resource is missing, and is created under the existing claim.
        outside.forget_requests();
        outside.once("POST", "/proxies", Answer::status(503));
        toxiproxy.update("web", json!({"listen": listen})).await?;
        let failed = world.wait_for_note("web", "False", "CorrectionFailed").await?;
        let text = message(&failed, names::DRIFT_CORRECTED);
        ensure!(text.contains("replace, step create: ") && text.contains("(503)"), "{text}");
        world.wait_until_healed_by("web", 6).await?;
        ensure!(lines(&asked(&outside)) == [&replaced[..], &["POST /proxies"]].concat(), "{:?}", asked(&outside));
        Ok(())
    })
    .await
}
