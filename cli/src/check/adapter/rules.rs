//! The rules of the contract, played in an order in which each one prepares the next.
//!
//! Nothing is written before the adapter has shown that the identity is absent. `docs/reference/adapter.md` has the
//! same rules with their reasons.

use std::collections::HashSet;

use http::{HeaderValue, Method};
use serde_json::{Value, json};
use url::Url;

use super::exchange::{Adapter, Exchange, Sent, Stop};

/// The most pages of a collection, as for the poller.
const MAX_PAGES: usize = 1_000;
/// A token that no adapter accepts.
const WRONG_TOKEN: HeaderValue = HeaderValue::from_static("Bearer drift-check-wrong-token");
/// A resource that no adapter serves.
const UNKNOWN_RESOURCE: &str = "drift-check-unknown-resource";
/// The reason why no rule that writes is played.
const NOT_ABSENT: &str = "nothing was written, because the adapter does not say that the identity is absent";

/// The reason why rules are not played whose resource was not written.
const NOT_WRITTEN: &str = "not checked: PUT failed";

/// A rule, and its end if it does not hold.
pub(super) type Outcome = (&'static str, Result<(), Stop>);

/// A resource that the check creates and deletes.
pub(super) struct Trial<'a> {
    pub(super) adapter: &'a Adapter,
    pub(super) resource: &'a str,
    /// It has a slash: an adapter that takes it for a separator finds another resource.
    pub(super) identity: &'a str,
    /// The states of the create and of the replace.
    pub(super) states: &'a [Value; 2],
}

impl Trial<'_> {
    /// Plays all rules.
    pub(super) async fn play(&self) -> Vec<Outcome> {
        let health = self.adapter.health().await.expect("200", |reply| status(reply) == 200);
        let mut outcomes = vec![
            ("healthz: GET /healthz is 200 without a token", health.map(drop)),
            ("token: a missing or wrong token is 401", self.token().await),
            ("path: an unknown resource is 400, never 404", self.path().await),
        ];
        let absence = self.absence(self.identity).await;
        let is_absent = absence.is_ok();
        outcomes.push(("absence: an unknown identity is 404 and names it, percent-decoded", absence));
        if !is_absent {
            outcomes.push(("writes: create, replace and delete", Err(Stop::Skipped(NOT_ABSENT))));
            return outcomes;
        }
        let parent = self.identity.split('/').next().unwrap_or_default();
        outcomes.push(("refusal: a malformed state is 400 or 422 with a reason", self.refusal().await));
        let created = self.put(&self.states[0]).await;
        let is_there = !is_refused_put(&created);
        outcomes.extend([
            ("create: a PUT is done when it is answered", created),
            ("read: a GET shows the state at once", after(is_there, self.shows(&self.states[0])).await),
            ("slash: a percent-encoded slash is a part of the identity", after(is_there, self.absence(parent)).await),
        ]);
        let replaced = after(is_there, self.replace()).await;
        let is_new = is_there && !is_refused_put(&replaced);
        outcomes.extend([
            ("replace: a repeated PUT leaves exactly the new state", replaced),
            ("collection: it has the identity once, with its state", after(is_new, self.collection()).await),
            ("delete: a DELETE leaves nothing", after(is_there, self.delete()).await),
            ("gone: a repeated DELETE is 404 or done", self.gone().await),
        ]);
        outcomes
    }

    async fn token(&self) -> Result<(), Stop> {
        if self.adapter.token.is_none() {
            return Err(Stop::Skipped("no --token-file"));
        }
        for token in [None, Some(&WRONG_TOKEN)] {
            let sent = Sent { method: Method::GET, url: self.url(self.identity), token, body: None };
            let token = token.map_or("without a token", |_| "with a wrong token");
            let answer = self.adapter.send(sent).await;
            answer.expect(format!("401 {token}"), |reply| status(reply) == 401)?;
        }
        Ok(())
    }

    async fn path(&self) -> Result<(), Stop> {
        let answer = self.ask(Method::GET, self.adapter.url(&[UNKNOWN_RESOURCE, "x"]), None).await;
        answer.expect("400", |reply| status(reply) == 400).map(drop)
    }

    async fn absence(&self, identity: &str) -> Result<(), Stop> {
        let proof = json!({"absent": identity});
        let is_proof = |reply: &Value| status(reply) == 404 && reply["body"]["absent"] == identity;
        self.ask(Method::GET, self.url(identity), None).await.expect(format!("404 {proof}"), is_proof).map(drop)
    }

    async fn refusal(&self) -> Result<(), Stop> {
        let answer = self.ask(Method::PUT, self.url(self.identity), Some("no JSON".to_owned())).await;
        answer.expect(r#"400 or 422 {"detail": "…"}"#, |reply| {
            matches!(status(reply), 400 | 422) && reply["body"]["detail"].is_string()
        })?;
        self.absence(self.identity).await
    }

    async fn put(&self, state: &Value) -> Result<(), Stop> {
        let answer = self.ask(Method::PUT, self.url(self.identity), Some(state.to_string())).await;
        // A 202 would count as done too early.
        answer.expect("200, 201 or 204", |reply| matches!(status(reply), 200 | 201 | 204)).map(drop)
    }

    async fn shows(&self, state: &Value) -> Result<(), Stop> {
        let has_state = |reply: &Value| status(reply) == 200 && self.has_state(&reply["body"], state);
        let answer = self.ask(Method::GET, self.url(self.identity), None).await;
        answer.expect(format!("200 {state}"), has_state).map(drop)
    }

    async fn replace(&self) -> Result<(), Stop> {
        for _ in 0..2 {
            self.put(&self.states[1]).await?;
            self.shows(&self.states[1]).await?;
        }
        Ok(())
    }

    async fn collection(&self) -> Result<(), Stop> {
        let state = &self.states[1];
        self.entries(
            &format!("one item {{\"identity\": {:?}}} with {state}", self.identity),
            |found| matches!(found, [one] if self.has_state(one, state)),
        )
        .await
    }

    async fn delete(&self) -> Result<(), Stop> {
        let answer = self.ask(Method::DELETE, self.url(self.identity), None).await;
        answer.expect("200 or 204", |reply| matches!(status(reply), 200 | 204))?;
        self.absence(self.identity).await?;
        match self.entries("no item of the identity", <[Value]>::is_empty).await {
            Err(Stop::Skipped(_)) => Ok(()),
            end => end,
        }
    }

    async fn gone(&self) -> Result<(), Stop> {
        let answer = self.ask(Method::DELETE, self.url(self.identity), None).await;
        answer.expect("404, 200 or 204", |reply| matches!(status(reply), 200 | 204 | 404))?;
        self.absence(self.identity).await
    }

    /// Reads the collection. Its entries of the identity have to be as expected.
    async fn entries(&self, expected: &str, holds: impl FnOnce(&[Value]) -> bool) -> Result<(), Stop> {
        let mut url = self.adapter.url(&[self.resource]);
        let mut found = Vec::new();
        let mut asked = HashSet::new();
        while asked.insert(url.clone()) && asked.len() <= MAX_PAGES {
            let page = self.ask(Method::GET, url.clone(), None).await;
            if page.came.as_ref().is_ok_and(|reply| matches!(status(reply), 405 | 501)) {
                return Err(Stop::Skipped("the adapter offers no collection"));
            }
            let (sent, came) = (page.sent.clone(), page.came.clone());
            let reply = page.expect(
                r#"200 {"items": [{"identity": "…"}], "next": …} with a next on the same host"#,
                |reply| status(reply) == 200 && is_page(&reply["body"]) && next(&url, reply).is_ok(),
            )?;
            let items = reply["body"]["items"].as_array().into_iter().flatten();
            found.extend(items.filter(|item| item["identity"] == self.identity).cloned());
            match next(&url, &reply) {
                Ok(Some(following)) => url = following,
                _ => return Exchange { sent, came }.expect(expected, |_| holds(&found)).map(drop),
            }
        }
        let (sent, came) = (format!("GET {url}"), "the next of the page before".to_owned());
        Err(Stop::Failed { sent, came, expected: format!("at most {MAX_PAGES} pages, none of them twice") })
    }

    /// Returns true if the state has what was sent, and nothing that only the other state has.
    fn has_state(&self, seen: &Value, sent: &Value) -> bool {
        let keys = self.states.iter().filter_map(Value::as_object).flat_map(serde_json::Map::keys);
        contains(seen, sent) && keys.filter(|key| sent.get(key).is_none()).all(|key| seen.get(key).is_none())
    }

    fn url(&self, identity: &str) -> Url {
        self.adapter.url(&[self.resource, identity])
    }

    async fn ask(&self, method: Method, url: Url, body: Option<String>) -> Exchange {
        self.adapter.send(Sent { method, url, token: self.adapter.token.as_ref(), body }).await
    }
}

/// Plays a rule if the resource was written for it.
async fn after(is_written: bool, rule: impl Future<Output = Result<(), Stop>>) -> Result<(), Stop> {
    if is_written { rule.await } else { Err(Stop::Skipped(NOT_WRITTEN)) }
}

/// Returns true if a rule ended by a PUT that the adapter refused or did not answer.
fn is_refused_put(end: &Result<(), Stop>) -> bool {
    matches!(end, Err(Stop::Failed { sent, came, .. }) if sent.starts_with("PUT ") && !came.starts_with('2'))
}

fn status(reply: &Value) -> u64 {
    reply["status"].as_u64().unwrap_or_default()
}

fn is_page(body: &Value) -> bool {
    body["items"].as_array().is_some_and(|items| items.iter().all(|item| item["identity"].is_string()))
}

/// Returns the URL of the next page.
///
/// # Errors
/// When it is no text, no URL, or on another host.
fn next(url: &Url, reply: &Value) -> Result<Option<Url>, ()> {
    match &reply["body"]["next"] {
        Value::Null => Ok(None),
        Value::String(text) if text.is_empty() => Ok(None),
        Value::String(text) => url.join(text).ok().filter(|next| next.origin() == url.origin()).map(Some).ok_or(()),
        _ => Err(()),
    }
}

/// Returns true if `seen` has every value of `sent`. An adapter may add keys.
fn contains(seen: &Value, sent: &Value) -> bool {
    match (seen, sent) {
        (Value::Object(seen), Value::Object(sent)) => {
            sent.iter().all(|(key, sent)| seen.get(key).is_some_and(|seen| contains(seen, sent)))
        }
        _ => seen == sent,
    }
}
