//! toxiproxy: a real REST system that behaves like a load balancer (GET, POST, DELETE /proxies), and an injector of
//! network faults between others.
//!
//! Targets must handle its quirks. It reports the address that it bound: `localhost:1` becomes `127.0.0.1:1`, and port
//! 0 becomes a real one. A POST updates. A second proxy of the same name gives 409, and a missing one 404 with a JSON
//! body.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use reqwest::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::http_client;
use crate::process::ports;
use crate::process::{Launch, Process};
use crate::wait::{self, Seen};

/// A proxy as toxiproxy reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proxy {
    /// Its name, which is its identity.
    pub name: String,
    /// The address that it bound.
    pub listen: String,
    /// The address to which it forwards connections.
    pub upstream: String,
    /// True if it listens.
    pub enabled: bool,
}

/// A running toxiproxy. Dropping it ends it.
#[derive(Debug)]
pub struct Toxiproxy {
    process: Process,
    api: ToxiproxyApi,
}

/// The API of toxiproxy, for foreign changes and for reads.
#[derive(Clone, Debug)]
pub struct ToxiproxyApi {
    url: String,
    client: reqwest::Client,
}

impl Toxiproxy {
    /// Starts a toxiproxy on a free loopback port and waits until it answers. Its log is `<folder>/<name>.log`.
    pub async fn start(program: &Path, folder: &Path, name: &str) -> Result<Self> {
        Self::start_on(program, folder, name, ports::free_port()?).await
    }

    /// Starts a toxiproxy on a given port, for an external system that comes back.
    pub async fn start_on(program: &Path, folder: &Path, name: &str, port: u16) -> Result<Self> {
        let launch = Launch::new(name, program).arguments(["-host", "127.0.0.1", "-port", &port.to_string()]);
        let mut process = launch.start(folder)?;
        let api = ToxiproxyApi::new(format!("http://127.0.0.1:{port}"))?;
        wait::until("toxiproxy to answer", wait::DEADLINE, async || {
            if let Some(obituary) = process.obituary()? {
                return Ok(Seen::Hopeless(obituary));
            }
            Ok(Seen::Met(api.proxies().await?))
        })
        .await?;
        Ok(Self { process, api })
    }

    /// Returns a second handle on its API, for example for a task.
    #[must_use]
    pub fn api(&self) -> ToxiproxyApi {
        self.api.clone()
    }

    /// Returns its process, to stop, kill, pause or resume it.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }
}

impl std::ops::Deref for Toxiproxy {
    type Target = ToxiproxyApi;

    fn deref(&self) -> &ToxiproxyApi {
        &self.api
    }
}

impl ToxiproxyApi {
    /// Creates a client of the API at this address.
    pub fn new(url: impl Into<String>) -> Result<Self> {
        Ok(Self { url: url.into(), client: http_client::new()? })
    }

    /// Returns the API's address, without a trailing slash.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns all proxies by name.
    pub async fn proxies(&self) -> Result<BTreeMap<String, Proxy>> {
        let answer = self.client.get(self.path("")).send().await?.error_for_status()?;
        Ok(answer.json().await?)
    }

    /// Returns one proxy, or `None` if toxiproxy returns 404.
    pub async fn proxy(&self, name: &str) -> Result<Option<Proxy>> {
        let answer = self.client.get(self.path(name)).send().await?;
        match answer.status() {
            StatusCode::NOT_FOUND => Ok(None),
            _ => Ok(Some(answer.error_for_status()?.json().await?)),
        }
    }

    /// Creates a proxy as a foreign change.
    pub async fn create(&self, name: &str, listen: &str, upstream: &str) -> Result<Proxy> {
        self.create_as(json!({"name": name, "listen": listen, "upstream": upstream, "enabled": true})).await
    }

    /// Creates a proxy that does not listen, so that many proxies need no ports.
    pub async fn create_disabled(&self, name: &str, listen: &str, upstream: &str) -> Result<Proxy> {
        self.create_as(json!({"name": name, "listen": listen, "upstream": upstream, "enabled": false})).await
    }

    async fn create_as(&self, body: Value) -> Result<Proxy> {
        self.post(&self.path(""), &body).await.with_context(|| format!("creating the proxy {}", body["name"]))
    }

    /// Changes fields (`listen`, `upstream`, `enabled`) of a proxy as a foreign change.
    pub async fn update(&self, name: &str, fields: Value) -> Result<Proxy> {
        self.post(&self.path(name), &fields).await.with_context(|| format!("changing the proxy {name}"))
    }

    /// Deletes a proxy as a foreign change. Fails if it does not exist.
    pub async fn delete(&self, name: &str) -> Result<()> {
        let answer = self.client.delete(self.path(name)).send().await?;
        answer.error_for_status().with_context(|| format!("deleting the proxy {name}"))?;
        Ok(())
    }

    /// Adds a toxic (a network fault) to a proxy, such as `{"type": "latency", "attributes": {"latency": 2000}}` or
    /// `{"type": "timeout", "attributes": {"timeout": 0}}`.
    pub async fn add_toxic(&self, name: &str, toxic: Value) -> Result<()> {
        let answer = self.client.post(format!("{}/toxics", self.path(name))).json(&toxic).send().await?;
        refuse_failure(answer).await.map(drop)
    }

    /// Removes a toxic from a proxy.
    pub async fn remove_toxic(&self, name: &str, toxic: &str) -> Result<()> {
        let answer = self.client.delete(format!("{}/toxics/{toxic}", self.path(name))).send().await?;
        refuse_failure(answer).await.map(drop)
    }

    /// Returns the names of a proxy's toxics, in toxiproxy's order.
    pub async fn toxics(&self, name: &str) -> Result<Vec<String>> {
        let answer = self.client.get(format!("{}/toxics", self.path(name))).send().await?;
        let toxics: Vec<Value> = refuse_failure(answer).await?.json().await?;
        Ok(toxics.iter().filter_map(|toxic| toxic["name"].as_str().map(str::to_owned)).collect())
    }

    /// Waits until a proxy satisfies `wanted` (`None`: it does not exist) and returns it. On timeout the error shows
    /// the last state.
    pub async fn wait_for(&self, name: &str, wanted: impl Fn(Option<&Proxy>) -> bool) -> Result<Option<Proxy>> {
        wait::until(format!("the proxy {name} in toxiproxy to be as wanted"), wait::DEADLINE, async || {
            let proxy = self.proxy(name).await?;
            Ok(if wanted(proxy.as_ref()) { Seen::Met(proxy) } else { Seen::Instead(format!("{proxy:?}")) })
        })
        .await
    }

    fn path(&self, name: &str) -> String {
        match name {
            "" => format!("{}/proxies", self.url),
            name => format!("{}/proxies/{name}", self.url),
        }
    }

    async fn post(&self, url: &str, body: &Value) -> Result<Proxy> {
        let answer = self.client.post(url).json(body).send().await?;
        Ok(refuse_failure(answer).await?.json().await?)
    }
}

async fn refuse_failure(answer: reqwest::Response) -> Result<reqwest::Response> {
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    bail!("toxiproxy answered {status}: {}", answer.text().await?)
}
