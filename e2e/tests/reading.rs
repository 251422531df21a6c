//! Ways to read by HTTP: several requests, texts, and collections that contain all objects.

use anyhow::{Result, ensure};
use drift_e2e::systems::outside::{Answer, Outside, Request};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, condition};
use serde_json::{Value, json};

/// Returns the shipped target with another way to read.
fn target(world: &World, outside: &Outside, read: Value) -> Result<Target> {
    Ok(Target::shipped(world, outside.url())?.with("/spec/read/http", read))
}

fn spec(upstream: &str) -> Value {
    json!({"listen": "127.0.0.1:1", "upstream": upstream})
}

fn proxy(name: &str, upstream: &str) -> Value {
    json!({"name": name, "listen": "127.0.0.1:1", "upstream": upstream, "enabled": true})
}

/// Reads all proxies of a toxiproxy as the values of one map.
fn all_proxies(outside: &Outside) -> Value {
    json!({
        "url": format!("{}/proxies", outside.url()),
        "each": "${response.body.map(name, response.body[name])}",
        "key": {"item": "${item.name}"},
    })
}

#[tokio::test]
async fn one_request_answers_for_all_objects() -> Result<()> {
    const OBJECTS: usize = 10;
    World::run("collection", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        toxiproxy.create_disabled("stranger", "127.0.0.1:1", "127.0.0.1:9").await?;
        let target = target(world, &outside, all_proxies(&outside))?.with("/spec/interval", json!("2s"));
        world.apply_target(&target).await?;
        let poller = world.start_poller().await?;
        world.start_controller().await?;
        let names: Vec<String> = (0..OBJECTS).map(|number| format!("web-{number}")).collect();
        for name in &names {
            let spec = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:9", "enabled": false});
            world.create_proxy(name, spec).await?;
        }
        for name in &names {
            world.wait_until_verified(name).await?;
        }
        outside.forget_requests();
        outside.wait_for_requests("GET", 3).await?;
        let gets = outside.requests_to("GET", "/proxies").len();
        ensure!(gets == outside.count("GET") && gets <= 4, "{gets} reads of three intervals: {:?}", outside.requests());
        wait::until("the stranger to be counted", wait::DEADLINE, async || {
            let count = poller.metrics().await?.sum("drift_poller_collection_entries_unnamed", &[]);
            Ok(if count == 1.0 { Seen::Met(()) } else { Seen::Instead(format!("{count}")) })
        })
        .await?;
        let (_, listed) = poller.page("/unnamed").await?;
        let listed: Value = serde_json::from_str(&listed)?;
        ensure!(listed[0]["names"] == json!(["stranger"]) && listed[0]["count"] == 1, "{listed}");
        let corrections = outside.writes();
        toxiproxy.update("web-3", json!({"upstream": "127.0.0.1:10"})).await?;
        toxiproxy.delete("web-4").await?;
        toxiproxy.wait_for("web-3", |proxy| proxy.is_some_and(|proxy| proxy.upstream == "127.0.0.1:9")).await?;
        toxiproxy.wait_for("web-4", |proxy| proxy.is_some()).await?;
        world.wait_until_healed_by("web-3", 2).await?;
        world.wait_until_healed_by("web-4", 2).await?;
        // The test's own two writes bypassed the recording server.
        let written = outside.writes() - corrections;
        ensure!(written == 2, "{written} writes for two drifts: {:?}", outside.requests());
        let stranger = toxiproxy.proxy("stranger").await?;
        ensure!(stranger.is_some_and(|proxy| proxy.upstream == "127.0.0.1:9"), "what belongs to no object was touched");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_collection_read_in_part_says_nothing() -> Result<()> {
    World::run("half-read", async |world| {
        let cases = [
            (Answer::status(500), "ExternalError"),
            (Answer::truncated(200, r#"{"items": []"#, 100), "ResponseInvalid"),
            (Answer::reset(), "ExternalUnreachable"),
        ];
        half_read(world, cases).await
    })
    .await
}

#[tokio::test]
async fn a_collection_with_a_wrong_page_says_nothing() -> Result<()> {
    World::run("wrong-page", async |world| {
        let cases = [
            (page(&[], json!("/one")), "ResponseInvalid"),
            (page(&[], json!("http://127.0.0.1:1/elsewhere")), "ResponseInvalid"),
            (page(&[proxy("three", "x"), proxy("three", "x")], Value::Null), "ResponseInvalid"),
        ];
        half_read(world, cases).await
    })
    .await
}

fn page(items: &[Value], next: Value) -> Answer {
    Answer::json(200, &json!({"items": items, "next": next}))
}

/// At most as many cases as changes of the verdict before it is held back.
async fn half_read(world: &World, cases: [(Answer, &str); 3]) -> Result<()> {
    let outside = world.start_outside().await?;
    outside.on("GET", "/one", page(&[proxy("one", "127.0.0.1:2")], json!("/two")));
    outside.on("GET", "/two", page(&[proxy("two", "127.0.0.1:2")], Value::Null));
    let read = json!({
        "url": format!("{}/one", outside.url()),
        "each": "${response.body.items}",
        "key": {"item": "${item.name}"},
        "next": "${response.body.?next}",
    });
    let target = target(world, &outside, read)?.with("/spec/interval", json!("1s"));
    world.apply_target(&target.with("/spec/correct/mode", json!("Observe"))).await?;
    world.start_poller().await?;
    for name in ["one", "two"] {
        world.create_proxy(name, spec("127.0.0.1:2")).await?;
    }
    let histories = [world.watch_object("one").await?, world.watch_object("two").await?];
    for name in ["one", "two"] {
        world.wait_for_verdict(name, "False", "InSync").await?;
    }
    for (answer, reason) in cases {
        outside.on("GET", "/two", answer);
        world.wait_for_verdict("two", "Unknown", reason).await?;
        outside.on("GET", "/two", page(&[proxy("two", "127.0.0.1:2")], Value::Null));
        world.wait_for_verdict("two", "False", "InSync").await?;
    }
    for history in histories {
        for version in history.versions().await? {
            let is_drift = condition(&version, "driftObserved").is_some_and(|it| it["status"] == "True");
            ensure!(!is_drift, "half of a collection was believed: {version}");
        }
    }
    outside.on("GET", "/two", page(&[], Value::Null));
    world.wait_for_verdict("two", "True", "ExternalMissing").await?;
    world.wait_for_verdict("one", "False", "InSync").await.map(drop)
}

#[tokio::test]
async fn a_later_request_sees_earlier_answers() -> Result<()> {
    World::run("steps", async |world| {
        let outside = world.start_outside().await?;
        outside.on("GET", "/ids?name=web", Answer::json(200, &json!([{"id": "a/7"}])));
        outside.on("GET", "/proxies/a%2F7", Answer::json(200, &proxy("web", "127.0.0.1:2")));
        let read = json!({
            "steps": [
                {"name": "found", "url": "/ids?name=${self.metadata.name}", "absentWhen": "${response.body.size() == 0}"},
                {"name": "proxy", "url": "/proxies/${steps.found.body[0].id}"},
            ],
            "observed": "${response.body}",
        });
        let target = target(world, &outside, read)?.with("/spec/base", json!(outside.url()));
        let target = target.with("/spec/interval", json!("1s")).with("/spec/correct/mode", json!("Observe"));
        world.apply_target(&target).await?;
        world.start_poller().await?;
        world.create_proxy("web", spec("127.0.0.1:2")).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        outside.on("GET", "/proxies/a%2F7", Answer::json(200, &proxy("web", "127.0.0.1:3")));
        world.wait_for_verdict("web", "True", "FieldsDiffer").await?;
        outside.on("GET", "/proxies/a%2F7", Answer::status(404));
        world.wait_for_verdict("web", "Unknown", "ExternalError").await?;
        outside.on("GET", "/ids?name=web", Answer::json(200, &json!([])));
        world.wait_for_verdict("web", "True", "ExternalMissing").await.map(drop)
    })
    .await
}

#[tokio::test]
async fn a_text_is_compared_and_can_mean_absence() -> Result<()> {
    World::run("text", async |world| {
        let outside = world.start_outside().await?;
        let text = |status, body: &str| Answer::text(status, "text/plain", body);
        outside.on("GET", "/refs", text(200, "6f1e refs/heads/main\n9a0b refs/heads/old\n"));
        let read = json!({
            "url": format!("{}/refs", outside.url()),
            "as": "text",
            "absentWhen": "${response.status == 404 && response.text == 'no such repository\\n'}",
            "observed": {"upstream": "${capture(response.body, '([0-9a-f]+) refs/heads/' + self.spec.listen)}"},
        });
        let target =
            target(world, &outside, read)?.with("/spec/compare/desired", json!({"upstream": "${self.spec.upstream}"}));
        let target = target.with("/spec/interval", json!("1s")).without("/spec/correct");
        world.apply_target(&target).await?;
        world.start_poller().await?;
        world.create_proxy("web", json!({"listen": "main", "upstream": "6f1e"})).await?;
        world.wait_for_verdict("web", "False", "InSync").await?;
        outside.on("GET", "/refs", text(200, "77aa refs/heads/main\n"));
        world.wait_for_verdict("web", "True", "FieldsDiffer").await?;
        outside.on("GET", "/refs", text(200, "<html>please log in</html>"));
        world.wait_for_verdict("web", "Unknown", "ResponseInvalid").await?;
        outside.on("GET", "/refs", text(404, "<html>no such page</html>"));
        world.wait_for_verdict("web", "Unknown", "ExternalError").await?;
        outside.on("GET", "/refs", text(404, "no such repository\n"));
        world.wait_for_verdict("web", "True", "ExternalMissing").await?;
        ensure!(outside.writes() == 0, "{:?}", outside.requests());
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_unchanged_state_is_not_sent_again() -> Result<()> {
    World::run("entity-tag", async |world| {
        let outside = world.start_outside().await?;
        let answer = |tag: &str, upstream: &str| Answer::json(200, &proxy("one", upstream)).header("etag", tag);
        outside.on("GET", "/one", answer("\"v1\"", "127.0.0.1:2"));
        let read = json!({"url": format!("{}/one", outside.url())});
        let target = target(world, &outside, read)?.with("/spec/interval", json!("1s"));
        world.apply_target(&target.with("/spec/correct/mode", json!("Observe"))).await?;
        world.start_poller().await?;
        world.create_proxy("one", spec("127.0.0.1:2")).await?;
        let history = world.watch_object("one").await?;
        world.wait_for_verdict("one", "False", "InSync").await?;
        let is_conditional = |request: &Request| request.header("if-none-match") == Some("\"v1\"");
        let wait_for_conditional = async |least: usize| {
            wait::until("the poller to ask for what has changed", wait::DEADLINE, async || {
                let conditional = outside.requests().iter().filter(|request| is_conditional(request)).count();
                Ok(if conditional >= least { Seen::Met(()) } else { Seen::Instead(format!("{conditional}")) })
            })
            .await
        };
        wait_for_conditional(1).await?;
        outside.on("GET", "/one", Answer::status(304));
        outside.forget_requests();
        wait_for_conditional(3).await?;
        ensure!(outside.requests().iter().all(is_conditional), "{:?}", outside.requests());
        outside.on("GET", "/one", answer("\"v2\"", "127.0.0.1:3"));
        world.wait_for_verdict("one", "True", "FieldsDiffer").await?;
        outside.forget_requests();
        outside.wait_for_requests("GET", 2).await?;
        ensure!(!outside.requests().iter().any(is_conditional), "drift is looked at whole: {:?}", outside.requests());
        history.wait_for_transitions("driftObserved", &[("False", "InSync"), ("True", "FieldsDiffer")]).await
    })
    .await
}
