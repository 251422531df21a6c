//! A cloud's load balancers, with a typical cloud API: the server chooses the ids, and creation and deletion take a
//! while.
//!
//! `POST /v1/load-balancers` returns 202 with an id. A second request with the same `Idempotency-Key` returns the first
//! response again. `GET /v1/load-balancers` returns pages of two entries, with `next`. `GET`, `PATCH` and `DELETE` take
//! an id. A new load balancer is `provisioning` until its first read. A deleted one is `deleting` until the next delete
//! or read, and then returns 404. For broken connections, tests put [`crate::systems::outside::Outside`] in front of
//! it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Number of load balancers on one page of the list.
const PAGE: usize = 2;

/// Path of the collection.
const COLLECTION: &str = "/v1/load-balancers";

/// A running server. Dropping it closes its port.
#[derive(Debug)]
pub struct LoadBalancers {
    url: String,
    account: Account,
    task: JoinHandle<()>,
}

/// The contents of an account.
#[derive(Clone, Debug, Default)]
struct Account(Arc<Mutex<Contents>>);

#[derive(Debug, Default)]
struct Contents {
    /// Load balancers by id.
    balancers: BTreeMap<String, Value>,
    /// Responses to creations, by idempotency key.
    answers: BTreeMap<String, Value>,
    /// Number of load balancers ever created.
    made: u32,
}

impl LoadBalancers {
    /// Starts a server without load balancers on a free loopback port.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("binding a port")?;
        let url = format!("http://{}", listener.local_addr()?);
        let account = Account::default();
        let one = get(show).patch(change).delete(delete);
        let router = Router::new()
            .route(COLLECTION, get(list).post(create))
            .route("/v1/load-balancers/{id}", one)
            .with_state(account.clone());
        let task = tokio::spawn(async move {
            // Clients notice if the server ends.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { url, account, task })
    }

    /// Returns its address, without a trailing slash.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns all load balancers, including those that are being deleted.
    #[must_use]
    pub fn all(&self) -> Vec<Value> {
        self.account.lock().balancers.values().cloned().collect()
    }

    /// Returns the number of load balancers ever created.
    #[must_use]
    pub fn made(&self) -> u32 {
        self.account.lock().made
    }

    /// Creates a load balancer as a foreign change. Returns its id.
    #[must_use]
    pub fn put(&self, fields: &Value) -> String {
        self.account.lock().make(fields.as_object().cloned().unwrap_or_default(), "active")
    }

    /// Changes fields of a load balancer as a foreign change.
    pub fn change(&self, id: &str, fields: &Value) {
        self.account.lock().balancers.entry(id.to_owned()).and_modify(|balancer| json_patch::merge(balancer, fields));
    }

    /// Removes a load balancer at once as a foreign change.
    pub fn remove(&self, id: &str) {
        self.account.lock().balancers.remove(id);
    }
}

impl Drop for LoadBalancers {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Account {
    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contents {
    fn make(&mut self, mut fields: Map<String, Value>, state: &str) -> String {
        self.made += 1;
        let id = format!("lb-{:04x}", self.made * 0x1357);
        fields.insert("id".to_owned(), json!(id));
        fields.insert("state".to_owned(), json!(state));
        fields.insert("address".to_owned(), json!(format!("192.0.2.{}", self.made)));
        self.balancers.insert(id.clone(), Value::Object(fields));
        id
    }

    /// Returns a load balancer as clients see it. Each read advances its state.
    fn look_at(&mut self, id: &str) -> Option<Value> {
        let shown = self.balancers.get(id)?.clone();
        match shown["state"].as_str() {
            Some("provisioning") => self.balancers.get_mut(id)?["state"] = json!("active"),
            Some("deleting") => drop(self.balancers.remove(id)),
            _ => {}
        }
        Some(shown)
    }
}

fn answer(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn not_found() -> Response {
    answer(StatusCode::NOT_FOUND, &json!({"code": "NOT_FOUND"}))
}

async fn create(State(account): State<Account>, headers: HeaderMap, body: String) -> Response {
    let Ok(fields) = serde_json::from_str::<Map<String, Value>>(&body) else {
        return answer(StatusCode::BAD_REQUEST, &json!({"code": "BAD_REQUEST"}));
    };
    let mut contents = account.lock();
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok()).map(str::to_owned);
    let known = key.as_ref().and_then(|key| contents.answers.get(key).cloned());
    let made = known.unwrap_or_else(|| {
        let id = contents.make(fields, "provisioning");
        contents.balancers[&id].clone()
    });
    contents.answers.extend(key.map(|key| (key, made.clone())));
    answer(StatusCode::ACCEPTED, &made)
}

async fn list(State(account): State<Account>, RawQuery(query): RawQuery) -> Response {
    let contents = account.lock();
    let query = query.unwrap_or_default();
    let after = query.strip_prefix("after=").unwrap_or_default();
    let rest: Vec<&Value> =
        contents.balancers.iter().filter(|(id, _)| id.as_str() > after).map(|(_, one)| one).collect();
    let page: Vec<&Value> = rest.iter().copied().take(PAGE).collect();
    let last = page.last().and_then(|last| last["id"].as_str()).unwrap_or_default();
    let next = (rest.len() > PAGE).then(|| format!("{COLLECTION}?after={last}"));
    answer(StatusCode::OK, &json!({"items": page, "next": next}))
}

async fn show(State(account): State<Account>, Path(id): Path<String>) -> Response {
    account.lock().look_at(&id).map_or_else(not_found, |shown| answer(StatusCode::OK, &shown))
}

async fn change(State(account): State<Account>, Path(id): Path<String>, body: String) -> Response {
    let mut contents = account.lock();
    let Some(balancer) = contents.balancers.get_mut(&id) else { return not_found() };
    let Ok(fields) = serde_json::from_str(&body) else { return answer(StatusCode::BAD_REQUEST, &json!({})) };
    json_patch::merge(balancer, &fields);
    answer(StatusCode::OK, balancer)
}

async fn delete(State(account): State<Account>, Path(id): Path<String>) -> Response {
    let mut contents = account.lock();
    let Some(balancer) = contents.balancers.get_mut(&id) else { return not_found() };
    if balancer["state"] == "deleting" {
        contents.balancers.remove(&id);
        return not_found();
    }
    balancer["state"] = json!("deleting");
    answer(StatusCode::ACCEPTED, balancer)
}
