//! A proxy in front of the API server that applies a [`Fault`] to chosen requests.
//!
//! The programs' requests are encrypted, so a fault injector cannot tell a watch of one kind from the renewal of a
//! Lease. The gate accepts plain HTTP on loopback and uses TLS to the API server.

mod answering;
mod asked;
mod fault;
mod rules;

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use axum::Router;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use answering::Line;
pub use asked::Asked;
pub use fault::Fault;
use rules::Rules;

use crate::cluster::control_plane::Access;
use crate::http_client;

/// A running gate. Dropping it closes its port.
#[derive(Debug)]
pub struct ApiGate {
    url: String,
    rules: Rules,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl ApiGate {
    /// Starts a gate on a free loopback port, in front of the API server in `access`.
    pub async fn start(access: &Access) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("binding a loopback port")?;
        let url = format!("http://{}", listener.local_addr()?);
        let (rules, asked) = (Rules::default(), Arc::default());
        let client = http_client::for_streams(&access.authority)?;
        let line = Line { server: access.server.clone(), client, rules: rules.clone(), asked: Arc::clone(&asked) };
        let router = Router::new().fallback(answering::answer).with_state(line);
        let task = tokio::spawn(async move {
            // The task ends together with the gate.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { url, rules, asked, task })
    }

    /// Returns the address, for `Options::api_server`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Applies a fault to matching requests from now on. The first matching rule counts. Responses in progress end as
    /// if the API server was stopped. [`Fault::Hold`] holds them instead.
    pub fn on(&self, which: impl Fn(&Asked) -> bool + Send + Sync + 'static, fault: Fault) {
        self.rules.add(Arc::new(which), fault);
    }

    /// Holds back every read (GET) whose path has this prefix from now on. Responses in progress stop too.
    pub fn hold_back(&self, path: &str) {
        let path = path.to_owned();
        self.on(move |asked| asked.is_read() && asked.uri.starts_with(&path), Fault::Hold);
    }

    /// Removes all faults and continues the requests that were held back.
    pub fn let_through(&self) {
        self.rules.clear();
    }

    /// Returns the requests since a moment.
    #[must_use]
    pub fn asked_since(&self, since: Instant) -> Vec<Asked> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.iter().filter(|asked| asked.at >= since).cloned().collect()
    }
}

impl Drop for ApiGate {
    fn drop(&mut self) {
        self.task.abort();
    }
}
