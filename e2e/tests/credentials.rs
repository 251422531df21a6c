//! Credentials that expire and are replaced while the programs run: an expired one is never sent, and no verdict
//! changes because of it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use drift_e2e::systems::outside::{Answer, Outside, Request};
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::{Target, World};
use serde_json::{Value, json};

/// Time limit for a changed Secret to be used.
const TAKEN_UP_WITHIN: Duration = Duration::from_secs(10);

/// A lock that a failed test leaves behind is still usable.
trait Locked<T> {
    fn locked(&self) -> MutexGuard<'_, T>;
}

impl<T> Locked<T> for Mutex<T> {
    fn locked(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Issued tokens as headers, with their expiry.
type Tokens = Arc<Mutex<Vec<(String, Instant)>>>;

/// Accepted values of the header `authorization`, and the requests with another value.
#[derive(Clone, Default)]
struct Door {
    taken: Arc<Mutex<BTreeSet<String>>>,
    refused: Arc<AtomicUsize>,
}

impl Door {
    /// Accepts requests to the resources behind `server` only with such a header.
    fn guard(&self, server: &Outside) {
        let door = self.clone();
        server.choose(move |request| {
            let sent = request.header("authorization").unwrap_or_default();
            if door.taken.locked().contains(sent) {
                return None;
            }
            door.refused.fetch_add(1, Ordering::SeqCst);
            Some(Answer::status(401))
        });
    }

    fn take(&self, header: &str) {
        self.taken.locked().insert(header.to_owned());
    }

    fn take_no_more(&self, header: &str) {
        self.taken.locked().remove(header);
    }

    fn refused(&self) -> usize {
        self.refused.load(Ordering::SeqCst)
    }
}

/// Issues tokens with that lifetime to clients whose header `door` accepts.
fn give_tokens(server: &Outside, door: &Door, life: Duration, tokens: &Tokens) {
    let (door, tokens) = (door.clone(), tokens.clone());
    server.choose(move |request| {
        if !door.taken.locked().contains(request.header("authorization").unwrap_or_default()) {
            door.refused.fetch_add(1, Ordering::SeqCst);
            return Some(Answer::status(401));
        }
        let mut tokens = tokens.locked();
        let token = format!("token-{}", tokens.len());
        tokens.push((format!("Bearer {token}"), Instant::now() + life));
        Some(Answer::json(200, &json!({"access_token": token, "token_type": "Bearer", "expires_in": life.as_secs()})))
    });
}

fn oauth2(identity: &Outside, name: &str) -> Value {
    json!({"oauth2": {"tokenUrl": format!("{}/token", identity.url()), "secretRef": {"name": name}}})
}

/// The user `me` with the passwords `one` and `two`.
const BASIC: [&str; 2] = ["Basic bWU6b25l", "Basic bWU6dHdv"];

#[tokio::test]
#[cfg_attr(not(feature = "long"), ignore = "long: cargo test --features drift-e2e/long")]
async fn tokens_that_live_seconds_never_lead_to_unknown() -> Result<()> {
    World::run("short tokens", async |world| {
        let (outside, identity) = (world.start_outside().await?, world.start_outside().await?);
        let (door, tokens) = (Door::default(), Tokens::default());
        door.take(BASIC[0]);
        give_tokens(&identity, &door, Duration::from_secs(2), &tokens);
        let answer = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2", "enabled": true});
        outside.on("GET", "/proxies/*", Answer::json(200, &answer));
        let given = tokens.clone();
        outside.choose(move |request| {
            let sent = request.header("authorization").unwrap_or_default();
            let is_good = given.locked().iter().any(|(token, until)| token == sent && Instant::now() < *until);
            (!is_good).then(|| Answer::status(401))
        });
        world.apply_credential("reader", "poller", json!({"clientId": "me", "clientSecret": "one"})).await?;
        let target = Target::shipped(world, outside.url())?;
        world.apply_target(&target.with("/spec/read/http/auth", oauth2(&identity, "reader"))).await?;
        world.start_poller().await?;
        let names = ["a", "b", "c", "d", "e"];
        for name in names {
            world.create_proxy(name, json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})).await?;
        }
        for name in names {
            world.wait_for_verdict(name, "False", "InSync").await?;
        }
        let before = tokens.locked().len();
        world.nothing_is_written_for(Duration::from_secs(30)).await?;
        let renewals = tokens.locked().len() - before;
        ensure!(renewals >= 10, "{renewals} tokens in 30 s");
        Ok(())
    })
    .await
}

/// One kind of credential in its two versions: the Secret's data and the header that a server receives.
struct Versions {
    auth: Value,
    data: [Value; 2],
    seen: [String; 2],
}

impl Versions {
    fn all(identity: &Outside) -> [Self; 3] {
        let pair = |of: fn(&str) -> Value| ["one", "two"].map(of);
        [
            Self {
                auth: json!({"bearer": {"secretRef": {"name": "reader", "key": "token"}}}),
                data: pair(|value| json!({"token": value})),
                seen: ["one", "two"].map(|value| format!("Bearer {value}")),
            },
            Self {
                auth: json!({"basic": {"secretRef": {"name": "reader"}}}),
                data: pair(|value| json!({"username": "me", "password": value})),
                seen: BASIC.map(str::to_owned),
            },
            Self {
                auth: oauth2(identity, "reader"),
                data: pair(|value| json!({"clientId": "me", "clientSecret": value})),
                seen: BASIC.map(str::to_owned),
            },
        ]
    }
}

/// Waits until a server receives a request with this header.
async fn wait_until_seen(server: &Outside, header: &str) -> Result<()> {
    let is_seen = |request: &Request| request.header("authorization") == Some(header);
    wait::until(format!("a request with {header}"), TAKEN_UP_WITHIN, async || {
        let all = server.requests();
        Ok(if all.iter().any(is_seen) { Seen::Met(()) } else { Seen::Instead(format!("{:?}", all.last())) })
    })
    .await
}

#[tokio::test]
async fn a_rotated_credential_costs_no_poll() -> Result<()> {
    World::run("rotation", async |world| {
        let (outside, identity) = (world.start_outside().await?, world.start_outside().await?);
        let answer = json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2", "enabled": true});
        outside.on("GET", "/proxies/*", Answer::json(200, &answer));
        let target = Target::shipped(world, outside.url())?;
        world.create_proxy("web", json!({"listen": "127.0.0.1:1", "upstream": "127.0.0.1:2"})).await?;
        world.start_poller().await?;
        for Versions { auth, data: [old, new], seen: [shown, shown_next] } in Versions::all(&identity) {
            let (door, at_api) = (Door::default(), Door::default());
            let asks_for_tokens = auth.get("oauth2").is_some();
            let asked = if asks_for_tokens { &identity } else { &outside };
            door.take(&shown);
            give_tokens(&identity, &door, Duration::from_secs(60), &Tokens::default());
            world.apply_credential("reader", "poller", old).await?;
            world.apply_target(&target.clone().with("/spec/read/http/auth", auth.clone())).await?;
            wait_until_seen(asked, &shown).await?;
            (0..9).for_each(|number| at_api.take(&format!("Bearer token-{number}")));
            if asks_for_tokens { &at_api } else { &door }.guard(&outside);
            world.wait_for_verdict("web", "False", "InSync").await?;

            door.take(&shown_next);
            world.apply_credential("reader", "poller", new).await?;
            wait_until_seen(asked, &shown_next).await?;
            door.take_no_more(&shown);
            at_api.take_no_more("Bearer token-0");
            world.nothing_is_written_for(Duration::from_secs(7)).await?;
            ensure!(door.refused() + at_api.refused() == 0, "{auth}: a request was refused");
            outside.choose(|_| None);
            outside.forget_requests();
            identity.forget_requests();
        }
        Ok(())
    })
    .await
}
