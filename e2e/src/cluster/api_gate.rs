//! A gate in front of the API server: it passes requests on, and lets chosen ones meet a [`Fault`].
//!
//! It exists because a program's requests lie in TLS, where no fault injector can tell a watch of one kind from the
//! renewal of a Lease. The gate is spoken to in plain HTTP on loopback and speaks TLS to the API server.
//!
//! It knows nothing of what the objects mean.

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

/// A running gate; dropping it closes its port.
#[derive(Debug)]
pub struct ApiGate {
    url: String,
    rules: Rules,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl ApiGate {
    /// Starts one on a free loopback port, in front of the API server that `access` names.
    ///
    /// # Errors
    /// When no port can be bound.
    pub async fn start(access: &Access) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("binding a loopback port")?;
        let url = format!("http://{}", listener.local_addr()?);
        let (rules, asked) = (Rules::default(), Arc::default());
        let client = http_client::for_streams(&access.authority)?;
        let line = Line { server: access.server.clone(), client, rules: rules.clone(), asked: Arc::clone(&asked) };
        let router = Router::new().fallback(answering::answer).with_state(line);
        let task = tokio::spawn(async move {
            // It ends with the gate.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { url, rules, asked, task })
    }

    /// Its address, for `Options::api_server`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// From now on such requests meet this fault; the first rule that fits counts. Their answers under way end as they do
    /// when an API server is stopped, except by [`Fault::Hold`], which holds them too.
    pub fn on(&self, which: impl Fn(&Asked) -> bool + Send + Sync + 'static, fault: Fault) {
        self.rules.add(Arc::new(which), fault);
    }

    /// From now on holds back every read (GET) whose path begins so, those under way too: nothing of the answer
    /// comes through any more.
    pub fn hold_back(&self, path: &str) {
        let path = path.to_owned();
        self.on(move |asked| asked.is_read() && asked.uri.starts_with(&path), Fault::Hold);
    }

    /// Lets everything through again, what was held back included.
    pub fn let_through(&self) {
        self.rules.clear();
    }

    /// The requests that came since a moment.
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
