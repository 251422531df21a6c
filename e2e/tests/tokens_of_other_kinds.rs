//! Reads with projected tokens, exchanged tokens, signed assertions and log-ins, and with credentials in the query or
//! the body. A refused credential is Unknown and never drift, and no token is shown.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use drift_e2e::manifests;
use drift_e2e::programs::{Options, Program, Which};
use drift_e2e::systems::outside::{Answer, Outside, Request};
use drift_e2e::world::{Target, World, condition};
use serde_json::{Value, json};

/// A value that occurs nowhere else, so that any occurrence is a leak.
const CANARY: &str = "canary-7d21e0aa-value";

/// One kind of token: its `auth`, the data of its Secret, and where its tokens come from and go to.
struct Kind {
    auth: Value,
    secret: Option<Value>,
    /// Part of the body with which the token server is asked.
    asked: Option<&'static str>,
    /// The header, parameter (`?key`) or field of the body (`/auth`) that the external system receives, and its value.
    sent: (&'static str, String),
}

fn kinds(identity: &Outside) -> Result<Vec<Kind>> {
    let url = format!("{}/token", identity.url());
    let oauth2 = |more: Value| {
        let mut section = json!({"tokenUrl": url});
        section
            .as_object_mut()
            .into_iter()
            .for_each(|fields| fields.extend(more.as_object().cloned().unwrap_or_default()));
        json!({"oauth2": section})
    };
    let given = || ("authorization", format!("Bearer given-{CANARY}"));
    let pem = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?.serialize_pem();
    let body = json!({"auth": {"identity": {"password": {"user": {
        "name": "${secret.username}", "password": "${secret.password}"}}}}});
    Ok(vec![
        Kind {
            auth: json!({"serviceAccountToken": {"name": "outside"}}),
            secret: None,
            asked: None,
            sent: ("authorization", format!("Bearer projected-{CANARY}")),
        },
        Kind {
            auth: oauth2(json!({"grant": "tokenExchange", "serviceAccountToken": {"name": "outside"}})),
            secret: None,
            asked: Some("subject_token=projected-canary"),
            sent: given(),
        },
        Kind {
            auth: oauth2(json!({"clientId": "app", "serviceAccountToken": {"name": "outside"}})),
            secret: None,
            asked: Some("client-assertion-type%3Ajwt-bearer&client_assertion=projected-canary"),
            sent: given(),
        },
        Kind {
            auth: oauth2(json!({"grant": "jwtBearer", "issuer": "me", "secretRef": {"name": "reader"}})),
            secret: Some(json!({"privateKey": pem})),
            asked: Some("&assertion=ey"),
            sent: given(),
        },
        Kind {
            auth: json!({"login": {"request": {"url": url, "body": body}, "token": {"header": "X-Subject-Token"},
                "send": {"header": "X-Auth-Token"}, "ttl": "1h", "secretRef": {"name": "reader"}}}),
            secret: Some(json!({"username": "me", "password": format!("password-{CANARY}")})),
            asked: Some("\"password\":\"password-canary"),
            sent: ("x-auth-token", format!("subject-{CANARY}")),
        },
        Kind {
            auth: json!({"login": {"request": {"url": url, "body": body}, "token": {"header": "X-Subject-Token"},
                "send": {"body": "/auth"}, "secretRef": {"name": "reader"}}}),
            secret: Some(json!({"username": "me", "password": format!("password-{CANARY}")})),
            asked: Some("\"password\":\"password-canary"),
            sent: ("/auth", format!("subject-{CANARY}")),
        },
        Kind {
            auth: json!({"body": {"pointer": "/auth", "secretRef": {"name": "reader"}}}),
            secret: Some(json!({"token": format!("own-{CANARY}")})),
            asked: None,
            sent: ("/auth", format!("own-{CANARY}")),
        },
        Kind {
            auth: json!({"query": {"name": "key", "secretRef": {"name": "reader"}}}),
            secret: Some(json!({"token": format!("own-{CANARY}")})),
            asked: None,
            sent: ("?key", format!("own-{CANARY}")),
        },
        Kind {
            auth: json!({"query": {"secretRef": {"name": "reader"}}}),
            secret: Some(json!({"token": format!("sv=1&sig=signed-{CANARY}")})),
            asked: None,
            sent: ("?sig", format!("signed-{CANARY}")),
        },
    ])
}

/// The folder with the projected token of the poller.
fn folder(world: &World) -> PathBuf {
    world.folder().join("projected-tokens")
}

async fn start_poller(world: &World) -> Result<std::sync::Arc<Program>> {
    fs::create_dir_all(folder(world))?;
    let arguments = vec!["--projected-tokens".to_owned(), folder(world).display().to_string()];
    world.start(Which::Poller, Options { arguments, ..Options::default() }).await
}

fn gives_tokens(identity: &Outside) {
    let answer = json!({"access_token": format!("given-{CANARY}"), "token_type": "Bearer", "expires_in": 600});
    let answer = Answer::json(200, &answer).header("x-subject-token", &format!("subject-{CANARY}"));
    identity.on("POST", "/token", answer);
}

/// Answers only requests with this credential.
fn guard(outside: &Outside, (place, value): (&'static str, String)) {
    let is_sent = move |request: &Request| match place.split_at(1) {
        ("?", name) => request.path.contains(&format!("{name}={value}")),
        ("/", name) => request.json().is_ok_and(|body| body[name] == *value && body["method"] == "get"),
        _ => request.header(place) == Some(&value),
    };
    outside.choose(move |request| (!is_sent(request)).then(|| Answer::status(401)));
}

async fn ensure_shown_nowhere(world: &World, poller: &Program) -> Result<()> {
    let metrics = poller.page("/metrics").await?.1;
    let objects = json!([world.events().await?, world.all_proxies().await?]).to_string();
    for (place, text) in [("log", poller.log_text()?), ("metrics", metrics), ("objects", objects)] {
        ensure!(!text.is_empty() && !text.contains("canary-7d21e0aa"), "a token in {place}: {text}");
    }
    Ok(())
}

#[tokio::test]
async fn each_kind_of_token_reads_and_is_never_shown() -> Result<()> {
    World::run("kinds of tokens", async |world| {
        let outside = world.start_outside().await?;
        let observed = |upstream: &str| json!({"listen": "127.0.0.1:1", "upstream": upstream, "enabled": true});
        let poller = start_poller(world).await?;
        world.create_proxy("web", json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})).await?;
        let file = folder(world).join("outside");
        let count = kinds(&world.start_outside().await?)?.len();
        for number in 0..count {
            // Its own server, because a poll of the former kind may end late.
            let identity = world.start_outside().await?;
            let Kind { auth, secret, asked, sent } = kinds(&identity)?.swap_remove(number);
            fs::write(&file, format!("projected-{CANARY}\n"))?;
            gives_tokens(&identity);
            if let Some(data) = &secret {
                world.apply_credential("reader", "poller", data.clone()).await?;
            }
            outside.on("*", "/proxies/*", Answer::json(200, &observed("127.0.0.1:2")));
            guard(&outside, sent.clone());
            let mut target = Target::shipped(world, outside.url())?.with("/spec/read/http/auth", auth.clone());
            if sent.0.starts_with('/') {
                let rpc = target.with("/spec/read/http/method", json!("POST"));
                target = rpc.with("/spec/read/http/body", json!({"method": "get"}));
            }
            world.apply_target(&target).await?;
            world.wait_for_verdict("web", "False", "InSync").await.with_context(|| auth.to_string())?;
            if secret.is_some() {
                let place = ["-n", world.objects_namespace(), "--targets-namespace", world.programs_namespace()];
                let command = [&["explain", "proxy/web", "--show-answer"], &place[..]].concat();
                let explained = world.run_command(&command).await?.output;
                let is_named = explained.contains("by Secret reader") && !explained.contains("canary-7d21e0aa");
                ensure!(is_named, "{auth}: {explained}");
            }
            let requests = identity.requests();
            let is_asked =
                |request: &Request| asked.is_some_and(|part| String::from_utf8_lossy(&request.body).contains(part));
            ensure!(requests.iter().all(is_asked) && asked.is_none() == requests.is_empty(), "{auth}: {requests:?}");

            // The answer repeats the token.
            outside.on("*", "/proxies/*", Answer::json(200, &observed(&format!("for {}", sent.1))));
            let is_drift =
                |object: &Value| condition(object, "driftObserved").is_some_and(|found| found["status"] == "True");
            world.wait_for_proxy("web", "drift", is_drift).await?;

            // Another credential, which is refused.
            fs::remove_file(&file)?;
            identity.on("POST", "/token", Answer::status(401));
            if secret.is_some() {
                let pem = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?.serialize_pem();
                let wrong = format!("wrong-{CANARY}");
                let data = json!({"privateKey": pem, "username": "me", "password": wrong, "token": wrong});
                world.apply_credential("reader", "poller", data).await?;
            }
            let reason = if secret.is_some() { "Unauthorized" } else { "CredentialUnusable" };
            world.wait_for_verdict("web", "Unknown", reason).await.with_context(|| auth.to_string())?;
            ensure_shown_nowhere(world, &poller).await?;
        }
        let log = poller.log_text()?;
        let missing = format!("projected token {} does not exist; mount it", file.display());
        ensure!(log.contains(&missing), "no {missing} in the log");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_refused_exchange_is_unknown_from_the_start() -> Result<()> {
    World::run("refused exchange", async |world| {
        let (outside, identity) = (world.start_outside().await?, world.start_outside().await?);
        identity.on("POST", "/token", Answer::json(400, &json!({"error": format!("invalid {CANARY}")})));
        let poller = start_poller(world).await?;
        fs::write(folder(world).join("outside"), format!("projected-{CANARY}"))?;
        world.create_proxy("web", json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})).await?;
        let auth = json!({"oauth2": {"tokenUrl": format!("{}/token", identity.url()), "grant": "tokenExchange",
            "serviceAccountToken": {"name": "outside"}}});
        let target = Target::shipped(world, outside.url())?.with("/spec/read/http/auth", auth);
        world.apply_target(&target).await?;
        world.wait_for_verdict("web", "Unknown", "Unauthorized").await?;
        ensure!(outside.requests().is_empty(), "a request without its token: {:?}", outside.requests());
        // A person's machine has no projected tokens.
        let place = ["-n", world.objects_namespace(), "--targets-namespace", world.programs_namespace()];
        let explained = world.run_command(&[&["explain", "proxy/web"], &place[..]].concat()).await?;
        for expected in [
            "with a token of an identity server by the projected ServiceAccount token outside",
            "/tokens/outside does not exist; mount it as a projected volume",
        ] {
            ensure!(explained.output.contains(expected), "no {expected}: {explained:?}");
        }
        ensure_shown_nowhere(world, &poller).await
    })
    .await
}

#[test]
fn the_component_mounts_the_folder_of_the_default() -> Result<()> {
    for program in ["poller", "controller"] {
        let file = manifests::folder().join(format!("components/projected-tokens/{program}.yaml"));
        let patch: Value = serde_saphyr::from_str(&fs::read_to_string(file)?)?;
        let pod = &patch["spec"]["template"]["spec"];
        let mount = &pod["containers"][0]["volumeMounts"][0];
        ensure!(mount["mountPath"] == drift_api::names::PROJECTED_TOKENS, "{patch}");
        ensure!(mount["name"] == pod["volumes"][0]["name"] && pod["volumes"][0]["projected"].is_object(), "{patch}");
    }
    Ok(())
}
