//! Webhook requests about changes: a valid one shows drift at once, and forged and repeated ones cause nothing but
//! polls.
//!
//! Regular polls are a day apart, so every read was requested.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use drift_e2e::http_client;
use drift_e2e::programs::{Options, Program, Which};
use drift_e2e::systems::outside::Outside;
use drift_e2e::systems::toxiproxy::Toxiproxy;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::json;
use sha2::Sha256;

const SECRET: &str = "a secret of more than 16 bytes";
/// The replacement of the secret.
const NEXT_SECRET: &str = "another secret of that length";
const SIGNATURE: &str = "X-Hub-Signature-256";
/// Number of repetitions of one request.
const REPEATED: u32 = 40;
/// Requests about unknown objects: more than the limit of a burst.
const FLOOD: u32 = 200;

/// A sender of webhook requests.
struct Sender {
    client: reqwest::Client,
    address: String,
}

/// The response to a sender.
#[derive(Debug, PartialEq)]
struct Told {
    status: u16,
    retry_after: Option<String>,
    text: String,
}

impl Sender {
    fn to(address: &str) -> Result<Self> {
        Ok(Self { client: http_client::new()?, address: address.to_owned() })
    }

    async fn send(&self, target: &str, body: &str, headers: &[(&str, String)]) -> Result<Told> {
        let mut request = self.client.post(format!("http://{}/hints/{target}", self.address)).body(body.to_owned());
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let answer = request.send().await?;
        let retry_after = answer.headers().get("retry-after").and_then(|value| value.to_str().ok()).map(str::to_owned);
        Ok(Told { status: answer.status().as_u16(), retry_after, text: answer.text().await? })
    }

    async fn send_signed_by(&self, secret: &str, body: &str) -> Result<u16> {
        Ok(self.send("proxies", body, &[(SIGNATURE, signature(secret, body)?)]).await?.status)
    }

    async fn send_signed(&self, body: &str) -> Result<u16> {
        self.send_signed_by(SECRET, body).await
    }
}

/// Returns the signature in GitHub's format.
fn signature(secret: &str, body: &str) -> Result<String> {
    let mut code = Hmac::<Sha256>::new_from_slice(secret.as_bytes())?;
    code.update(body.as_bytes());
    let digits = code.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Ok(format!("sha256={digits}"))
}

fn about(name: &str) -> String {
    json!({"repository": {"name": name}}).to_string()
}

fn taking_hints_at(address: &str) -> Options {
    Options { arguments: vec!["--hints-address".to_owned(), address.to_owned()], ..Options::default() }
}

/// Starts a poller that accepts webhook requests, with the Proxy `web` in sync.
async fn begin(world: &World, toxiproxy: &Toxiproxy, outside: &Outside) -> Result<(Arc<Program>, Sender)> {
    toxiproxy.create_disabled("web", "127.0.0.1:1", "127.0.0.1:9").await?;
    world.apply_credential("sender", "poller", json!({"token": SECRET})).await?;
    let webhook = json!({"secretRef": {"name": "sender", "key": "token"}, "signatureHeader": SIGNATURE,
        "identity": "${payload.repository.name}"});
    let target = Target::shipped(world, outside.url())?.polled_when_asked().with("/spec/hints/webhook", webhook);
    world.apply_target(&target).await?;
    let address = world.free_listen_address()?;
    let poller = world.start(Which::Poller, taking_hints_at(&address)).await?;
    let spec = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:9", "enabled": false});
    world.create_proxy("web", spec).await?;
    world.wait_for_verdict("web", "False", "InSync").await?;
    Ok((poller, Sender::to(&address)?))
}

#[tokio::test]
async fn a_signed_request_shows_drift_at_once() -> Result<()> {
    World::run("webhook", async |world| {
        let (toxiproxy, outside) = world.start_fronted_toxiproxy().await?;
        let (poller, sender) = begin(world, &toxiproxy, &outside).await?;
        refuse_what_is_forged(&sender, &outside).await?;

        toxiproxy.update("web", json!({"upstream": "127.0.0.1:10"})).await?;
        ensure!(sender.send_signed(&about("web")).await? == 202);
        world.wait_for_verdict("web", "True", "FieldsDiffer").await?;

        repeat(world, &sender, (&toxiproxy, &outside)).await?;
        flood_about_unknown_objects(&sender, (&poller, &outside)).await?;
        change_the_secret(world, &sender).await?;
        ask_one_that_stands_by(world).await?;
        let log = poller.log_text()?;
        ensure!(!log.contains(SECRET) && !log.contains(NEXT_SECRET));
        Ok(())
    })
    .await
}

/// Checks that a sender without the secret gets the same response for every target and causes no read.
async fn refuse_what_is_forged(sender: &Sender, outside: &Outside) -> Result<()> {
    let body = about("web");
    let right = signature(SECRET, &body)?;
    let forged = [
        ("proxies", body.as_str(), vec![]),
        ("proxies", &body, vec![(SIGNATURE, signature(NEXT_SECRET, &body)?)]),
        ("proxies", "{}", vec![(SIGNATURE, right.clone())]),
        ("proxies", &body, vec![("authorization", format!("Bearer {SECRET}"))]),
        ("nobodys", &body, vec![(SIGNATURE, right.clone())]),
    ];
    outside.forget_requests();
    // Soon after it took the Lease, the poller does not know all targets.
    wait::until("a forged request to be told so", wait::DEADLINE, async || {
        let told = sender.send("proxies", "{}", &[]).await?;
        ensure!(matches!(told.status, 401 | 503), "{told:?}");
        Ok(if told.status == 401 { Seen::Met(()) } else { Seen::Instead(format!("{told:?}")) })
    })
    .await?;
    for _ in 0..FLOOD {
        let status = sender.send("proxies", "{}", &[]).await?.status;
        ensure!(status == 401, "{status}");
    }
    for (target, body, headers) in forged {
        let told = sender.send(target, body, &headers).await?;
        ensure!(told == Told { status: 401, retry_after: None, text: String::new() }, "{target} {headers:?}: {told:?}");
    }
    let large = " ".repeat(300 * 1024);
    let refused = sender.send_signed(&large).await;
    // It may stop reading before the whole body was sent.
    ensure!(refused.as_ref().map_or(true, |status| *status == 413), "{refused:?}");
    ensure!(sender.send_signed("no JSON").await? == 400);
    ensure!(sender.send_signed("{}").await? == 422);
    ensure!(outside.count("GET") == 0, "{:?}", outside.requests());
    Ok(())
}

/// Checks that repetitions of one request cause one poll a second.
async fn repeat(world: &World, sender: &Sender, (toxiproxy, outside): (&Toxiproxy, &Outside)) -> Result<()> {
    outside.forget_requests();
    let began = Instant::now();
    for _ in 0..REPEATED {
        let status = sender.send_signed(&about("web")).await?;
        ensure!(status == 202, "{status}");
    }
    toxiproxy.update("web", json!({"upstream": "127.0.0.1:9"})).await?;
    ensure!(sender.send_signed(&about("web")).await? == 202);
    world.wait_for_verdict("web", "False", "InSync").await?;
    let (reads, span) = (outside.count("GET"), began.elapsed());
    ensure!(reads as u64 <= span.as_secs() + 2, "{reads} reads in {span:?}");
    Ok(())
}

/// Checks that unknown names and a flood are counted and cause no poll.
async fn flood_about_unknown_objects(sender: &Sender, (poller, outside): (&Program, &Outside)) -> Result<()> {
    outside.forget_requests();
    let mut answers = BTreeMap::<u16, u32>::new();
    for number in 0..FLOOD {
        *answers.entry(sender.send_signed(&about(&format!("nobody-{number}"))).await?).or_default() += 1;
    }
    ensure!(answers.keys().all(|status| matches!(status, 202 | 429)) && answers.contains_key(&202), "{answers:?}");
    wait::until("what nobody has to be counted", wait::DEADLINE, async || {
        let unknown = poller.metrics().await?.sum("drift_poller_hints_total", &[("outcome", "unknown")]);
        let taken = f64::from(answers[&202]);
        Ok(if unknown == taken { Seen::Met(()) } else { Seen::Instead(format!("{unknown} of {taken}")) })
    })
    .await?;
    let forged = poller.metrics().await?.sum("drift_poller_hint_requests_total", &[("status", "401")]);
    // The last of the repeated requests may have had to wait for its second.
    // One, then the flood, then five of another kind each.
    ensure!(
        forged == f64::from(1 + FLOOD + 5) && outside.count("GET") <= 1,
        "{forged} forged, {:?}",
        outside.requests()
    );
    Ok(())
}

/// Checks that the next request needs the new secret, and the old one is rejected.
async fn change_the_secret(world: &World, sender: &Sender) -> Result<()> {
    world.apply_credential("sender", "poller", json!({"token": NEXT_SECRET})).await?;
    wait::until("the new secret to count", wait::DEADLINE, async || {
        let status = sender.send_signed_by(NEXT_SECRET, &about("web")).await?;
        Ok(if status == 202 { Seen::Met(()) } else { Seen::Instead(status.to_string()) })
    })
    .await?;
    wait::until("the old secret to be refused", wait::DEADLINE, async || {
        let status = sender.send_signed(&about("web")).await?;
        ensure!(matches!(status, 401 | 429), "{status}");
        // The flood has used up the burst.
        Ok(if status == 401 { Seen::Met(()) } else { Seen::Instead(status.to_string()) })
    })
    .await
}

/// Behind one Service with the leader, a standby answers that the sender must try another replica.
async fn ask_one_that_stands_by(world: &World) -> Result<()> {
    let address = world.free_listen_address()?;
    let options = Options { do_not_wait: true, ..taking_hints_at(&address) };
    world.start(Which::Poller, options.named("drift-poller-two".to_owned())).await?;
    let sender = Sender::to(&address)?;
    wait::until("the replica that stands by to say so", wait::DEADLINE, async || {
        let told = sender.send("proxies", "{}", &[]).await?;
        let is_told = told.status == 503 && told.retry_after.as_deref() == Some("1");
        Ok(if is_told { Seen::Met(()) } else { Seen::Instead(format!("{told:?}")) })
    })
    .await
}
