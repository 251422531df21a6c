//! APIs that are not REST: every request is a POST to one path, answers are XML, and throttling is a 400.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use drift_e2e::systems::outside::{Answer, Outside, Request};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World, condition};
use drift_language::parse_xml;
use serde_json::{Value, json};

/// The requested pause in seconds: twice the interval.
const ASKED: u64 = 4;

/// The upstream of the one proxy of the external system. `None` if there is no proxy.
#[derive(Clone, Default)]
struct Proxies(Arc<Mutex<Option<String>>>);

impl Proxies {
    fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, upstream: Option<&str>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = upstream.map(str::to_owned);
    }

    /// Serves an action of a form, or of a document. Nothing else is known here, so it is answered with 404.
    fn serve(&self, request: &Request) -> Option<Answer> {
        if is_read(request) {
            return Some(xml(200, &self.listed()));
        }
        let document = parse_xml(&request.body, &[], 1_000).ok()?;
        match document.get("PutProxy") {
            Some(put) => self.set(put["Upstream"].as_str()),
            None => document.get("DeleteProxy").map(|_| self.set(None))?,
        }
        Some(xml(200, "<Response/>"))
    }

    fn listed(&self) -> String {
        let member = self.get().map(|upstream| format!("<member id=\"1\"><Upstream>{upstream}</Upstream></member>"));
        format!("<ListResponse xmlns=\"urn:p\"><Proxies>{}</Proxies></ListResponse>", member.unwrap_or_default())
    }
}

fn is_read(request: &Request) -> bool {
    request.body.starts_with(b"Action=List")
}

fn xml(status: u16, body: &str) -> Answer {
    Answer::text(status, "text/xml", body)
}

fn throttled() -> Answer {
    let body = "<ErrorResponse><Error><Code>Throttling</Code></Error></ErrorResponse>";
    xml(400, body).header("retry-after", &ASKED.to_string())
}

fn target(world: &World, outside: &Outside) -> Result<Target> {
    let limited = "${response.body.ErrorResponse.Error.Code == 'Throttling'}";
    let members = "response.body.ListResponse.Proxies.?member.orValue([])";
    let read = json!({
        "method": "POST",
        "url": outside.url(),
        "form": {"Action": "List", "Name": "${self.metadata.name}"},
        "as": "xml",
        "lists": ["member"],
        "limitedWhen": limited,
        "absentWhen": format!("${{response.status == 200 && size({members}) == 0}}"),
        "observed": {"upstream": format!("${{{members}[0].Upstream}}")},
    });
    let step = |document: &str| {
        let refused = "${has(response.body.ErrorResponse)}";
        json!([{"method": "POST", "url": outside.url(), "as": "xml", "refusedWhen": refused, "xml": document}])
    };
    let put = "<PutProxy name='${self.metadata.name}'><Upstream>${desired.upstream}</Upstream></PutProxy>";
    let target =
        Target::shipped(world, outside.url())?.with("/spec/interval", json!("2s")).with("/spec/read/http", read);
    let target = target.with("/spec/compare", json!({"desired": {"upstream": "${self.spec.upstream}"}}));
    let delete = "<DeleteProxy>${self.metadata.name}</DeleteProxy>";
    let http = json!({"limitedWhen": limited, "create": step(put), "update": step(put), "delete": step(delete)});
    Ok(target.with("/spec/correct/http", http))
}

fn spec() -> Value {
    json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})
}

/// Starts both programs with one object in sync.
async fn in_sync(world: &World) -> Result<(Outside, Proxies)> {
    let (outside, proxies) = (world.start_outside().await?, Proxies::default());
    let served = proxies.clone();
    outside.choose(move |request| served.serve(request));
    world.apply_target(&target(world, &outside)?).await?;
    world.start_both().await?;
    world.create_proxy("web", spec()).await?;
    world.wait_until_healed_by("web", 1).await?;
    Ok((outside, proxies))
}

#[tokio::test]
async fn drift_in_xml_is_found_and_healed() -> Result<()> {
    World::run("xml", async |world| {
        let (outside, proxies) = in_sync(world).await?;
        ensure!(proxies.get().as_deref() == Some("127.0.0.1:2"), "{:?}", proxies.get());
        let (reads, writes) = (outside.requests().len(), correcting(&outside).len());
        wait::until("three more polls", wait::DEADLINE, async || {
            let count = outside.requests().len() - reads;
            Ok(if count >= 3 { Seen::Met(()) } else { Seen::Instead(format!("{count}")) })
        })
        .await?;
        ensure!(correcting(&outside).len() == writes, "written without drift: {:?}", correcting(&outside));
        proxies.set(Some("127.0.0.1:9"));
        world.wait_until_healed_by("web", 2).await?;
        ensure!(proxies.get().as_deref() == Some("127.0.0.1:2"), "{:?}", proxies.get());
        proxies.set(None);
        world.wait_until_healed_by("web", 3).await?;
        world.delete_proxy("web").await?;
        world.wait_until_gone("web").await?;
        ensure!(proxies.get().is_none(), "{:?}", proxies.get());
        Ok(())
    })
    .await
}

fn correcting(outside: &Outside) -> Vec<Request> {
    outside.requests().into_iter().filter(|request| !is_read(request)).collect()
}

#[tokio::test]
async fn a_throttled_read_pauses_and_is_no_drift() -> Result<()> {
    /// Tolerance between the recorded times of two requests.
    const EARLY: Duration = Duration::from_millis(100);
    const GAPS: usize = 3;
    /// A poll that timed out before a busy machine answered does not know of the pause.
    const UNHEARD: usize = 1;
    World::run("throttled xml", async |world| {
        let (outside, proxies) = in_sync(world).await?;
        let history = world.watch_object("web").await?;
        outside.choose(|_| Some(throttled()));
        let before = outside.requests().len();
        world.wait_for_verdict("web", "Unknown", "RateLimited").await?;
        let gaps = wait::until(format!("{GAPS} pauses between throttled polls"), wait::DEADLINE, async || {
            let refused: Vec<_> = outside.requests().split_off(before).into_iter().map(|request| request.at).collect();
            let gaps: Vec<_> = refused.windows(2).map(|pair| pair[1] - pair[0]).collect();
            Ok(if gaps.len() > GAPS { Seen::Met(gaps) } else { Seen::Instead(format!("{gaps:?}")) })
        })
        .await?;
        // The first request of the list may have been on its way before the server changed.
        let short = gaps[1..].iter().filter(|gap| **gap < Duration::from_secs(ASKED) - EARLY).count();
        ensure!(short <= UNHEARD, "asked for {ASKED} s, it polled after {gaps:?}");
        outside.choose(move |request| proxies.serve(request));
        world.wait_for_verdict("web", "False", "InSync").await?;
        for version in history.versions().await? {
            let is_drift = condition(&version, "driftObserved").is_some_and(|it| it["status"] == "True");
            ensure!(!is_drift, "throttling was taken for drift: {version}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_throttled_correction_is_no_refusal() -> Result<()> {
    World::run("throttled correction", async |world| {
        let (outside, proxies) = in_sync(world).await?;
        let history = world.watch_object("web").await?;
        let served = proxies.clone();
        outside.choose(move |request| if is_read(request) { served.serve(request) } else { Some(throttled()) });
        let before = correcting(&outside).len();
        proxies.set(Some("127.0.0.1:9"));
        wait::until("two throttled corrections", wait::DEADLINE, async || {
            let count = correcting(&outside).len() - before;
            Ok(if count >= 2 { Seen::Met(()) } else { Seen::Instead(format!("{count}")) })
        })
        .await?;
        let served = proxies.clone();
        outside.choose(move |request| served.serve(request));
        world.wait_until_healed_by("web", 2).await?;
        for version in history.versions().await? {
            let failed = condition(&version, "driftCorrected").filter(|it| it["reason"] == "CorrectionFailed");
            let is_throttled =
                |it: &Value| it["message"].as_str().is_some_and(|text| text.contains("fewer requests (429)"));
            ensure!(
                failed.as_ref().is_none_or(|it| is_throttled(it)),
                "throttling was taken for a refusal: {failed:?}"
            );
        }
        Ok(())
    })
    .await
}

/// A target of a JSON-RPC server that takes the token of a log-in in the body, and refuses it with status 200.
fn rpc_target(world: &World, outside: &Outside) -> Result<Target> {
    let log_in = json!({"method": "login", "password": "${secret.password}"});
    let by = |name: &str| {
        json!({"login": {"request": {"url": outside.url(), "body": log_in}, "token": {"pointer": "/result"},
            "send": {"body": "/auth"}, "secretRef": {"name": name}}})
    };
    let refused = "${response.body.error.code == -32602}";
    let step = |method: &str, params: Value| {
        let body = json!({"method": method, "params": params});
        json!([{"method": "POST", "url": outside.url(), "body": body, "refusedWhen": "${has(response.body.error)}"}])
    };
    let put = step("put", json!({"upstream": "${desired.upstream}"}));
    let read = json!({
        "method": "POST", "url": outside.url(), "auth": by("reader"), "body": {"method": "get"},
        "unauthorizedWhen": refused,
        "absentWhen": "${has(response.body.result) && response.body.result == null}",
        "observed": {"upstream": "${response.body.result.upstream}"},
    });
    let correct = json!({"auth": by("writer"), "unauthorizedWhen": refused, "create": put,
        "update": put, "delete": step("delete", json!({"name": "${self.metadata.name}"}))});
    let target = Target::shipped(world, outside.url())?.with("/spec/interval", json!("2s"));
    let target = target.with("/spec/compare", json!({"desired": {"upstream": "${self.spec.upstream}"}}));
    Ok(target.with("/spec/read/http", read).with("/spec/correct/http", correct))
}

#[tokio::test]
async fn a_refusal_in_a_body_replaces_the_token() -> Result<()> {
    World::run("forgotten sessions", async |world| {
        let (outside, proxies, session) =
            (world.start_outside().await?, Proxies::default(), Arc::new(AtomicUsize::new(1)));
        let (served, current) = (proxies.clone(), session.clone());
        outside.choose(move |request| {
            let (body, token) = (request.json().ok()?, format!("session-{}", current.load(Ordering::SeqCst)));
            match body["method"].as_str()? {
                "login" => return Some(Answer::json(200, &json!({"result": token}))),
                _ if body["auth"] != *token => return Some(Answer::json(200, &json!({"error": {"code": -32602}}))),
                "put" => served.set(body["params"]["upstream"].as_str()),
                "delete" => served.set(None),
                _ => {}
            }
            let result = served.get().map(|upstream| json!({"upstream": upstream}));
            Some(Answer::json(200, &json!({"result": result})))
        });
        for (name, user) in [("reader", "poller"), ("writer", "controller")] {
            world.apply_credential(name, user, json!({"password": "canary"})).await?;
        }
        world.apply_target(&rpc_target(world, &outside)?).await?;
        world.start_both().await?;
        world.create_proxy("web", spec()).await?;
        world.wait_until_healed_by("web", 1).await?;

        // The server forgets all sessions: both programs log in again, and no verdict changes because of it.
        let history = world.watch_object("web").await?;
        session.fetch_add(1, Ordering::SeqCst);
        proxies.set(Some("127.0.0.1:9"));
        world.wait_until_healed_by("web", 2).await?;
        let transitions = history.transitions("driftObserved").await?;
        ensure!(transitions.iter().all(|verdict| !verdict.contains("Unauthorized")), "{transitions:?}");
        ensure!(proxies.get().as_deref() == Some("127.0.0.1:2"), "{:?}", proxies.get());

        // Again too soon for another log-in.
        session.fetch_add(1, Ordering::SeqCst);
        let object = world.wait_for_verdict("web", "Unknown", "Unauthorized").await?;
        ensure!(!object.to_string().contains("session-"), "{object}");
        Ok(())
    })
    .await
}
