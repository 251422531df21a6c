//! The external system: one thread that answers from memory and records the read times of each resource.
//!
//! The test bed's own server keeps every request, and a real system would be slower than the poller.

use std::collections::{HashMap, HashSet};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::Response;
use serde_json::Value;

/// Size limit of a resource, far above those here.
const MOST_BYTES: usize = 64 * 1024;

/// The running server. It ends with the process.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// Its port on every address of this machine.
    pub(crate) port: u16,
    resources: Arc<Mutex<Resources>>,
}

#[derive(Debug, Default)]
struct Resources {
    by_path: HashMap<String, Resource>,
    /// Hosts that accept requests and answer none.
    hung: HashSet<String>,
    window: Window,
}

#[derive(Debug, Default)]
struct Resource {
    body: Bytes,
    /// Time of its last read.
    read: Option<Instant>,
    /// Time of its first read since it changed.
    read_changed: Option<Instant>,
    is_changed: bool,
    seen: bool,
}

/// Records since a moment.
#[derive(Debug, Default)]
struct Window {
    interval: Duration,
    reads: usize,
    resources: usize,
    /// Lateness of each read: the time since the previous read of the resource, minus the interval, in microseconds.
    late: Vec<i64>,
}

/// Summary of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reads {
    /// Number of reads.
    pub(crate) count: usize,
    /// Number of resources that were read.
    pub(crate) resources: usize,
    /// The 99th percentile of the lateness of reads, in milliseconds.
    pub(crate) late_p99: f64,
    /// The median lateness of reads, in milliseconds.
    pub(crate) late_p50: f64,
}

impl Server {
    /// Starts it on a free port.
    pub(crate) fn start() -> Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let resources = Arc::default();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&resources));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let serve = async move { axum::serve(tokio::net::TcpListener::from_std(listener)?, router).await };
        std::thread::Builder::new().name("outside".into()).spawn(move || runtime.block_on(serve))?;
        Ok(Self { port, resources })
    }

    /// Returns its URL on the first loopback address.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Stores a resource.
    pub(crate) fn put(&self, path: &str, document: &Value) {
        let resource = Resource { body: document.to_string().into(), ..Resource::default() };
        self.lock().by_path.insert(path.to_owned(), resource);
    }

    /// Changes these resources at one instant.
    pub(crate) fn change(&self, documents: &[(String, Value)]) {
        let mut resources = self.lock();
        for (path, document) in documents {
            let resource = resources.by_path.entry(path.clone()).or_default();
            (resource.body, resource.read_changed) = (document.to_string().into(), None);
            resource.is_changed = true;
        }
    }

    /// Returns the time of the first read of each changed resource after its change.
    pub(crate) fn first_reads(&self) -> HashMap<String, Instant> {
        let resources = self.lock();
        resources.by_path.iter().filter_map(|(path, read)| Some((path.clone(), read.read_changed?))).collect()
    }

    /// Returns how many of these changed resources have not been written since.
    pub(crate) fn changed(&self, paths: &[String]) -> usize {
        let resources = self.lock();
        paths.iter().filter(|path| resources.by_path.get(*path).is_some_and(|resource| resource.is_changed)).count()
    }

    /// Makes a host hang or answer again.
    pub(crate) fn hang(&self, host: &str, hangs: bool) {
        let mut resources = self.lock();
        if hangs {
            resources.hung.insert(host.to_owned())
        } else {
            resources.hung.remove(host)
        };
    }

    /// Starts a new window. The target's reads of one resource should be an interval apart.
    pub(crate) fn begin(&self, interval: Duration) {
        let mut resources = self.lock();
        resources.window = Window { interval, ..Window::default() };
        resources.by_path.values_mut().for_each(|resource| resource.seen = false);
    }

    /// Returns a summary of the current window.
    pub(crate) fn reads(&self) -> Reads {
        let resources = self.lock();
        let window = &resources.window;
        let mut late = window.late.clone();
        late.sort_unstable();
        let share = |hundredths: usize| {
            late.get(late.len().saturating_sub(1) * hundredths / 100).map_or(0.0, |late| *late as f64 / 1e3)
        };
        Reads { count: window.reads, resources: window.resources, late_p99: share(99), late_p50: share(50) }
    }

    fn lock(&self) -> MutexGuard<'_, Resources> {
        self.resources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Resources {
    /// Serves one read. Returns `None` for a missing resource.
    fn read(&mut self, path: &str, now: Instant) -> Option<Bytes> {
        let resource = self.by_path.get_mut(path)?;
        self.window.reads += 1;
        if let Some(before) = resource.read.replace(now).filter(|_| resource.seen) {
            let apart = i64::try_from((now - before).as_micros()).unwrap_or(i64::MAX);
            self.window.late.push(apart - i64::try_from(self.window.interval.as_micros()).unwrap_or(i64::MAX));
        }
        if !std::mem::replace(&mut resource.seen, true) {
            self.window.resources += 1;
        }
        if resource.is_changed {
            resource.read_changed.get_or_insert(now);
        }
        Some(resource.body.clone())
    }
}

async fn answer(State(resources): State<Arc<Mutex<Resources>>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let lock = || resources.lock().unwrap_or_else(PoisonError::into_inner);
    let hangs = lock().hung.contains(host.rsplit_once(':').map_or(host, |(host, _)| host));
    if hangs {
        std::future::pending::<()>().await;
    }
    let path = parts.uri.path();
    let found = if parts.method == Method::PUT {
        let sent = to_bytes(body, MOST_BYTES).await.ok();
        if let Some((sent, resource)) = sent.zip(lock().by_path.get_mut(path)) {
            (resource.body, resource.is_changed) = (sent, false);
        }
        lock().by_path.get(path).map(|resource| resource.body.clone())
    } else {
        lock().read(path, Instant::now())
    };
    let (status, body) =
        found.map_or((StatusCode::NOT_FOUND, Bytes::from_static(b"{}")), |body| (StatusCode::OK, body));
    let answer = Response::builder().status(status).header(header::CONTENT_TYPE, "application/json");
    answer.body(Body::from(body)).unwrap_or_default()
}

/// Returns the port's address on the loopback host with this number.
pub(crate) fn host(number: usize) -> Result<String> {
    let last = u8::try_from(number + 1).ok().context("loopback has 255 such hosts")?;
    Ok(format!("127.0.0.{last}"))
}
