//! A server of our own that records its requests and misbehaves on demand.
//!
//! No real system produces some faults on demand: a truncated response, a dropped connection, a 429 with a date, a
//! response lost after the write took effect. For everything else tests use a real system, with this server in front of
//! it ([`Outside::forward_to`]) to count requests by method.
//!
//! ```no_run
//! # async fn example(world: &drift_e2e::world::World) -> anyhow::Result<()> {
//! use drift_e2e::systems::outside::Answer;
//!
//! let toxiproxy = world.start_toxiproxy().await?;
//! let outside = world.start_outside().await?;
//! outside.forward_to(toxiproxy.url()); // forwards all requests without a rule
//! outside.once("POST", "/proxies", Answer::forwarded().answer_lost()); // takes effect, but the response is lost
//! outside.on("GET", "/proxies/*", Answer::status(429).header("retry-after", "5"));
//! outside.forget(); // all rules; requests stay recorded
//! assert_eq!(outside.count("POST"), 1);
//! # Ok(())
//! # }
//! ```

mod answer;
mod documents;
mod hold;
mod request;
mod script;
mod serve;
mod traffic;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use answer::Answer;
pub use documents::Documents;
pub use hold::Hold;
pub use request::Request;
pub(crate) use script::Background;
use script::{Choice, Rule, Script};
use traffic::Traffic;

use crate::http_client;
use crate::wait::{self, Seen};

/// A running server. Dropping it closes its port and all connections.
#[derive(Debug)]
pub struct Outside {
    url: String,
    state: Arc<State>,
    task: JoinHandle<()>,
}

/// State that all connections share.
#[derive(Debug)]
pub(crate) struct State {
    script: Mutex<Script>,
    requests: Mutex<Vec<Request>>,
    traffic: Traffic,
    client: reqwest::Client,
}

impl Outside {
    /// Starts a server on a free loopback port. Without rules and upstream it returns 404 with a JSON body.
    pub async fn start() -> Result<Self> {
        Self::start_on((Ipv4Addr::LOCALHOST, 0).into()).await
    }

    /// Starts a server on a given address, for programs that do not share our loopback.
    pub async fn start_on(address: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(address).await.with_context(|| format!("binding {address}"))?;
        let url = format!("http://{}", listener.local_addr()?);
        let state = State {
            script: Mutex::default(),
            requests: Mutex::default(),
            traffic: Traffic::default(),
            client: http_client::new()?,
        };
        let state = Arc::new(state);
        let task = tokio::spawn(serve::accept(listener, state.clone()));
        Ok(Self { url, state, task })
    }

    /// Returns its address, without a trailing slash.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sets the response to requests with this method (`*`: any) and path (exact, or a prefix before a final `*`). A
    /// later rule takes precedence.
    pub fn on(&self, method: &str, path: &str, answer: Answer) {
        self.script(|script| script.current.push(Rule { method: method.into(), path: path.into(), answer }));
    }

    /// Sets the response to the next matching request only. Several of these are used up in order.
    pub fn once(&self, method: &str, path: &str, answer: Answer) {
        self.script(|script| script.queued.push(Rule { method: method.into(), path: path.into(), answer }));
    }

    /// Sets a function that is asked before any rule and may choose the response.
    pub fn choose(&self, choose: impl Fn(&Request) -> Option<Answer> + Send + Sync + 'static) {
        self.script(|script| script.choice = Choice(Some(Arc::new(choose))));
    }

    /// Removes all rules and the function. The upstream and the recorded requests stay.
    pub fn forget(&self) {
        self.script(|script| {
            script.choice = Choice::default();
            script.current.clear();
            script.queued.clear();
        });
    }

    /// Forwards requests without a matching rule to this address.
    pub fn forward_to(&self, upstream: &str) {
        self.script(|script| script.upstream = Some(upstream.trim_end_matches('/').to_owned()));
    }

    /// Answers requests without a matching rule from an initially empty store of documents. See [`Documents`].
    #[must_use]
    pub fn keep_documents(&self) -> Documents {
        let documents = Documents::default();
        self.script(|script| script.documents = Some(documents.clone()));
        documents
    }

    /// Returns the largest number of concurrent requests with this method.
    #[must_use]
    pub fn most_at_once(&self, method: &str) -> usize {
        self.state.traffic.most(method)
    }

    /// Returns all requests so far, in the order in which they were read.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.state.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Removes the recorded requests.
    pub fn forget_requests(&self) {
        self.state.requests.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns the number of requests with this method.
    #[must_use]
    pub fn count(&self, method: &str) -> usize {
        self.requests().iter().filter(|request| request.method == method).count()
    }

    /// Returns the times of requests with this method since a moment, by path.
    #[must_use]
    pub fn times_by_path(&self, method: &str, since: Instant) -> BTreeMap<String, Vec<Instant>> {
        let requests = self.state.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let mut times = BTreeMap::<String, Vec<Instant>>::new();
        for request in requests.iter().filter(|request| request.method == method && request.at >= since) {
            times.entry(request.path.clone()).or_default().push(request.at);
        }
        times
    }

    /// Returns the number of requests that are not reads (not GET, HEAD or OPTIONS).
    #[must_use]
    pub fn writes(&self) -> usize {
        let reads = ["GET", "HEAD", "OPTIONS"];
        self.requests().iter().filter(|request| !reads.contains(&request.method.as_str())).count()
    }

    /// Waits until at least this many requests with this method have arrived.
    pub async fn wait_for_requests(&self, method: &str, least: usize) -> Result<()> {
        wait::until(format!("{least} requests {method} to {}", self.url), wait::DEADLINE, async || {
            let count = self.count(method);
            Ok(if count >= least { Seen::Met(()) } else { Seen::Instead(format!("{count}")) })
        })
        .await
    }

    /// Waits for the request with this method and exact path after the first `before` ones, and returns it. On timeout
    /// the error lists the received requests.
    pub async fn wait_for_next(&self, method: &str, path: &str, before: usize) -> Result<Request> {
        wait::until(format!("request {} {method} {path}", before + 1), wait::DEADLINE, async || {
            let mut fitting = self.requests_to(method, path);
            let count = fitting.len();
            Ok(if count > before { Seen::Met(fitting.swap_remove(before)) } else { Seen::Instead(format!("{count}")) })
        })
        .await
    }

    /// Returns all requests so far with this method and exact path.
    #[must_use]
    pub fn requests_to(&self, method: &str, path: &str) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.method == method && request.path == path).collect()
    }

    /// Fails if a request that is not a read arrives within `span`. The error names it.
    pub async fn nothing_is_written_for(&self, span: Duration) -> Result<()> {
        let before = self.writes();
        wait::throughout(format!("no further write to {}", self.url), span, async || {
            let all = self.requests();
            let last = all.iter().rev().find(|request| request.method != "GET");
            Ok(if self.writes() == before { Seen::Met(()) } else { Seen::Instead(format!("{last:?}")) })
        })
        .await
    }

    fn script(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.state.script.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl State {
    /// Records a request and chooses its response.
    fn decide(&self, request: Request) -> (Answer, Background) {
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        let (answer, background) = (script.answer(&request), script.background());
        drop(script);
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        (answer, background)
    }
}
