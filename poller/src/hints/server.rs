//! Takes requests that bring hints: `POST /hints/TARGET`, on a port of its own, which strangers may reach.
//!
//! Connections, their lives, bodies and requests are bounded before anything is computed for them. Who does not know the secret
//! is told the same whatever he asks for. Thin: who is believed and what a hint does are the core's business.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use drift_cluster::lease::Leadership;
use drift_cluster::process::clock;
use drift_model::labelled_secrets::LabelledSecrets;
use drift_model::token_bucket::TokenBucket;
use http::header::RETRY_AFTER;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::board::{Webhook, Webhooks};
use super::shared_secret::shared_secret;
use crate::context::Context;
use crate::core::authenticity::is_authentic;
use crate::core::hints::HintOutcome;
use crate::metrics::{Metrics, StatusLabels};
use crate::shared_rate::SharedRate;

/// Connections at once; further ones wait to be taken. With a body each they hold 8 MiB at most.
const CONNECTIONS: usize = 32;

/// How long a connection lives, with its one request: whoever sends slowly must not keep others out.
const CONNECTION_LIFE: Duration = Duration::from_secs(10);

/// The largest body: what forges and registries send of one event takes some tens of KiB.
const BODY_BYTES: usize = 256 * 1024;

/// What a connection reads at once: request line and headers have to fit.
const BUFFER_BYTES: usize = 16 * 1024;

/// Requests for one target at once, and one more every so often: more than a forge or a registry sends of what one target
/// reads. A signature over the largest body takes a millisecond, so all [`RATES`] together take a sixth of a processor at most.
const REQUESTS_AT_ONCE: u32 = 100;
/// See [`REQUESTS_AT_ONCE`].
const ONE_MORE_AFTER: Duration = Duration::from_millis(100);

/// Names share so many rates by their hash, be they targets or not: so a rate does not tell which names there are, and a flood
/// for one target leaves most of the others theirs.
const RATES: usize = 16;

/// What a sender is told to wait: a Service gives the next try to another replica, and a rate has some more by then.
const RETRY_AFTER_SECONDS: &str = "1";

/// Pause after a connection could not be taken, as where there are no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A server that has its address and does not answer yet.
#[derive(Debug)]
pub struct HintServer {
    listener: TcpListener,
}

/// The address cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} (choose another with --hints-address): {cause}")]
pub struct BindError {
    address: SocketAddr,
    cause: io::Error,
}

/// What requests are judged by.
pub struct Reception {
    webhooks: Webhooks,
    secrets: Arc<ArcSwap<LabelledSecrets>>,
    leadership: Leadership,
    metrics: Metrics,
}

impl Reception {
    /// By what the program knows; `None` where it takes no requests.
    #[must_use]
    pub fn of(context: &Context) -> Option<Self> {
        let Context { secrets, leadership, metrics, webhooks, .. } = context.clone();
        Some(Self { webhooks: webhooks?, secrets, leadership, metrics })
    }
}

struct Desk {
    reception: Reception,
    rates: [SharedRate; RATES],
    hashes: RandomState,
}

impl HintServer {
    /// Takes the address.
    ///
    /// # Errors
    /// When it is taken or not ours.
    pub async fn bind(address: SocketAddr) -> Result<Self, BindError> {
        let listener = TcpListener::bind(address).await.map_err(|cause| BindError { address, cause })?;
        Ok(Self { listener })
    }

    /// Answers until `stop`.
    pub async fn serve(self, reception: Reception, stop: CancellationToken) {
        let rate = |_| SharedRate::of(TokenBucket::full(REQUESTS_AT_ONCE, ONE_MORE_AFTER, clock::now()));
        let desk = Desk { reception, rates: std::array::from_fn(rate), hashes: RandomState::new() };
        let router = Router::new().route("/hints/{target}", post(receive)).with_state(Arc::new(desk));
        let mut conversations = JoinSet::new();
        loop {
            let has_place = conversations.len() < CONNECTIONS;
            tokio::select! {
                () = stop.cancelled() => return,
                Some(_) = conversations.join_next() => {}
                accepted = self.listener.accept(), if has_place => match accepted {
                    Ok((stream, _)) => drop(conversations.spawn(converse(stream, router.clone()))),
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                },
            }
        }
    }
}

/// One request and its answer.
async fn converse(stream: TcpStream, router: Router) {
    let mut http = hyper::server::conn::http1::Builder::new();
    http.keep_alive(false).max_buf_size(BUFFER_BYTES).timer(TokioTimer::new());
    let conversation = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // How it ended is the sender's business.
    let _ = tokio::time::timeout(CONNECTION_LIFE, conversation).await;
}

async fn receive(
    State(desk): State<Arc<Desk>>,
    Path(target): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let (status, text) = desk.judge(&target, &headers, body).await;
    desk.reception.metrics.hint_requests.get_or_create(&StatusLabels { status: status.as_u16() }).inc();
    match status {
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
            (status, [(RETRY_AFTER, RETRY_AFTER_SECONDS)], text).into_response()
        }
        _ => (status, text).into_response(),
    }
}

impl Desk {
    async fn judge(&self, target: &str, headers: &HeaderMap, body: Body) -> (StatusCode, &'static str) {
        if !self.reception.leadership.is_held() {
            return (StatusCode::SERVICE_UNAVAILABLE, "another replica polls\n");
        }
        if self.rate_of(target).take(clock::now()).is_err() {
            return (StatusCode::TOO_MANY_REQUESTS, "too many requests\n");
        }
        let Ok(body) = to_bytes(body, BODY_BYTES).await else {
            return (StatusCode::PAYLOAD_TOO_LARGE, "the body is not whole, or larger than 256 KiB\n");
        };
        let Some(webhook) = self.admit(target, headers, &body) else {
            return (StatusCode::UNAUTHORIZED, "");
        };
        let Ok(payload) = serde_json::from_slice::<Value>(&body) else {
            return (StatusCode::BAD_REQUEST, "the body is not JSON\n");
        };
        match webhook.take(&payload).await {
            Ok(()) => (StatusCode::ACCEPTED, ""),
            Err(HintOutcome::Dropped) => (StatusCode::TOO_MANY_REQUESTS, "too many hints\n"),
            Err(_) => (StatusCode::UNPROCESSABLE_ENTITY, "the target makes no identity of this body\n"),
        }
    }

    fn rate_of(&self, target: &str) -> &SharedRate {
        let [first, ..] = &self.rates;
        let place = usize::try_from(self.hashes.hash_one(target) % RATES as u64).unwrap_or_default();
        self.rates.get(place).unwrap_or(first)
    }

    /// The target's, if the request is by somebody who knows its secret. Whoever does not, costs the same work and is told the
    /// same, be there such a target or not.
    fn admit(&self, target: &str, headers: &HeaderMap, body: &[u8]) -> Option<Arc<Webhook>> {
        let webhook = self.reception.webhooks.find(target);
        let secrets = self.reception.secrets.load();
        let known = webhook.as_deref().and_then(|webhook| {
            let secret = shared_secret(&webhook.hints, &secrets).ok()?;
            Some((&*webhook.hints, secret))
        });
        let is_authentic = is_authentic(known, headers, body);
        webhook.filter(|_| is_authentic)
    }
}
