//! Webhook server: `POST /hints/TARGET`, on a separate port that may be public.
//!
//! Connections, their lifetimes, bodies and requests are bounded before any computation. A sender without the secret
//! gets the same response for every target, and uses no capacity of authenticated senders. The engine decides on
//! authenticity and on the effect of a hint.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_api::timing::token_bucket::TokenBucket;
use drift_kube::lease::Leadership;
use drift_kube::process::clock;
use drift_kube::telemetry::connections;
use futures::StreamExt as _;
use http::header::RETRY_AFTER;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::shared_secret::shared_secret;
use crate::engine::hints::HintOutcome;
use crate::engine::hints::authenticity::is_authentic;
use crate::run::context::Context;
use crate::run::hint_inbox::webhooks::{Webhook, Webhooks};
use crate::run::metrics::{Metrics, StatusLabels};
use crate::run::rate_limit::SharedRate;

/// Maximum body size. Forges and registries send some tens of KiB for an event.
const BODY_BYTES: usize = 256 * 1024;

/// Burst of authenticated requests for one target, and the refill interval. Both exceed the traffic of a forge or
/// registry for one target.
const REQUESTS_AT_ONCE: u32 = 100;
/// Refill interval for [`REQUESTS_AT_ONCE`].
const ONE_MORE_AFTER: Duration = Duration::from_millis(100);

/// Burst of rejected requests for one name. A request counts once for each KiB, and one more is allowed each
/// millisecond. An attacker must send a thousand a second before valid requests are ignored. A signature over a MiB
/// takes four milliseconds, so all [`RATES`] together take at most a fifteenth of a processor.
const REFUSED_AT_ONCE: u32 = 1_024;
/// Refill interval for [`REFUSED_AT_ONCE`].
const REFUSED_AFTER: Duration = Duration::from_millis(1);
/// Bytes of a body that count as one, see [`REFUSED_AT_ONCE`].
const BYTES_OF_ONE: usize = 1_024;

/// Time after this replica acquired the Lease in which no sender gets 401, because not all targets are running yet. A
/// hundred targets start within seconds.
const BEGINNING: Duration = Duration::from_secs(10);

/// Number of shared rates. Names map to rates by hash, whether targets exist or not. So a rate does not reveal existing
/// names, and a flood for one target leaves most other targets unaffected.
const RATES: usize = 16;

/// Delay for senders. A Service routes the next try to another replica, and the rates have refilled a little by then.
const RETRY_AFTER_SECONDS: &str = "1";

/// A server that is bound to its address but does not respond yet.
#[derive(Debug)]
pub struct HintServer {
    listener: TcpListener,
}

/// Error of an address that cannot be bound.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} (choose another with --hints-address): {cause}")]
pub struct BindError {
    address: SocketAddr,
    cause: io::Error,
}

/// State that webhook requests are checked against.
pub struct HintContext {
    webhooks: Webhooks,
    secrets: Arc<ArcSwap<LabelledSecrets>>,
    leadership: Leadership,
    metrics: Metrics,
}

impl HintContext {
    /// Creates the state from the program's context; `None` if webhooks are disabled.
    #[must_use]
    pub fn of(context: &Context) -> Option<Self> {
        let Context { secrets, leadership, metrics, webhooks, .. } = context.clone();
        Some(Self { webhooks: webhooks?, secrets, leadership, metrics })
    }
}

struct HintEndpoint {
    reception: HintContext,
    rates: [Rates; RATES],
    hashes: RandomState,
}

/// Rates of the names with one hash. Rejected requests use no capacity of authenticated ones.
struct Rates {
    right: SharedRate,
    refused: SharedRate,
}

impl Rates {
    fn full() -> Self {
        let now = clock::now();
        Self {
            right: SharedRate::of(TokenBucket::full(REQUESTS_AT_ONCE, ONE_MORE_AFTER, now)),
            refused: SharedRate::of(TokenBucket::full(REFUSED_AT_ONCE, REFUSED_AFTER, now)),
        }
    }

    /// Returns true if so many requests were rejected lately that new ones are ignored.
    fn are_used_up(&self) -> bool {
        let now = clock::now();
        self.refused.available_at(now) > now
    }

    /// Counts a rejected request with a body of this size.
    fn refuse(&self, bytes: usize) {
        let now = clock::now();
        (0..=bytes / BYTES_OF_ONE).for_each(|_| _ = self.refused.take(now));
    }
}

impl HintServer {
    /// Binds the address.
    ///
    /// # Errors
    /// Fails when the address is in use or not local.
    pub async fn bind(address: SocketAddr) -> Result<Self, BindError> {
        let listener = TcpListener::bind(address).await.map_err(|cause| BindError { address, cause })?;
        Ok(Self { listener })
    }

    /// Serves requests until `stop`.
    pub async fn serve(self, reception: HintContext, stop: CancellationToken) {
        let rates = std::array::from_fn(|_| Rates::full());
        let desk = HintEndpoint { reception, rates, hashes: RandomState::new() };
        let router = Router::new().route("/hints/{target}", post(receive)).with_state(Arc::new(desk));
        connections::serve(self.listener, router, stop).await;
    }
}

async fn receive(
    State(desk): State<Arc<HintEndpoint>>,
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

/// Reads the body. Returns the number of received bytes if it is incomplete or too large.
async fn read_body(body: Body) -> Result<Vec<u8>, usize> {
    let (mut stream, mut read) = (body.into_data_stream(), Vec::new());
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(chunk) if chunk.len() <= BODY_BYTES - read.len() => read.extend_from_slice(&chunk),
            Ok(_) => return Err(BODY_BYTES),
            Err(_) => return Err(read.len()),
        }
    }
    Ok(read)
}

impl HintEndpoint {
    async fn judge(&self, target: &str, headers: &HeaderMap, body: Body) -> (StatusCode, &'static str) {
        if !self.reception.leadership.is_held() {
            return (StatusCode::SERVICE_UNAVAILABLE, "another replica polls\n");
        }
        let rates = self.rates_of(target);
        if rates.are_used_up() {
            return (StatusCode::TOO_MANY_REQUESTS, "too many refused requests\n");
        }
        let body = match read_body(body).await {
            Ok(body) => body,
            Err(read) => {
                rates.refuse(read);
                return (StatusCode::PAYLOAD_TOO_LARGE, "the body is not whole, or larger than 256 KiB\n");
            }
        };
        let Some(webhook) = self.admit(target, headers, &body) else {
            rates.refuse(body.len());
            return self.not_believed();
        };
        if rates.right.take(clock::now()).is_err() {
            rates.refuse(body.len());
            return (StatusCode::TOO_MANY_REQUESTS, "too many requests\n");
        }
        let Ok(payload) = serde_json::from_slice::<Value>(&body) else {
            return (StatusCode::BAD_REQUEST, "the body is not JSON\n");
        };
        match webhook.take(&payload).await {
            Ok(()) => (StatusCode::ACCEPTED, ""),
            Err(HintOutcome::Dropped) => (StatusCode::TOO_MANY_REQUESTS, "too many hints\n"),
            Err(_) => (StatusCode::UNPROCESSABLE_ENTITY, "the target makes no identity of this body\n"),
        }
    }

    /// Returns the response to unauthenticated requests, equal for every name.
    fn not_believed(&self) -> (StatusCode, &'static str) {
        match self.reception.leadership.held_for() {
            Some(span) if span < BEGINNING => {
                (StatusCode::SERVICE_UNAVAILABLE, "the targets are not all at work yet\n")
            }
            _ => (StatusCode::UNAUTHORIZED, ""),
        }
    }

    fn rates_of(&self, target: &str) -> &Rates {
        let [first, ..] = &self.rates;
        let place = usize::try_from(self.hashes.hash_one(target) % RATES as u64).unwrap_or_default();
        self.rates.get(place).unwrap_or(first)
    }

    /// Returns the target's webhook if the request proves knowledge of its secret. Other requests cost the same work
    /// and get the same response, whether the target exists or not.
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
