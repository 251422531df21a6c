//! HTTP server for `/livez`, `/readyz` and `/metrics`, bound before work starts.
//!
//! So a port that is in use is an error at the start and not a line in a log.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::process::clock;
use crate::telemetry::connections;
use crate::telemetry::health::Health;
use crate::telemetry::metrics::ShownMetrics;
use crate::telemetry::text_format::TextFormat;

/// A server that is bound and does not answer yet.
#[derive(Debug)]
pub struct AdminServer {
    listener: TcpListener,
}

/// Error for an address that cannot be bound.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} (choose another with --admin-address): {cause}")]
pub struct BindError {
    address: SocketAddr,
    cause: io::Error,
}

#[derive(Clone)]
struct Shown {
    health: Health,
    metrics: Arc<ShownMetrics>,
}

impl AdminServer {
    /// Binds the address.
    ///
    /// # Errors
    /// When the address is in use or not local.
    pub async fn bind(address: SocketAddr) -> Result<Self, BindError> {
        let listener = TcpListener::bind(address).await.map_err(|cause| BindError { address, cause })?;
        Ok(Self { listener })
    }

    /// Returns the bound address, with the chosen port if 0 was given.
    ///
    /// # Errors
    /// When the operating system does not report it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop`. `pages` are the program's own routes.
    pub async fn serve(self, health: Health, metrics: ShownMetrics, pages: Router, stop: CancellationToken) {
        let pages = pages.layer(from_fn(only_by_address));
        let router = router(health, metrics).merge(pages).layer(map_response(for_this_reader));
        connections::serve(self.listener, router, stop).await;
    }
}

/// Forbids browsers to guess the type of an answer or to cache it.
async fn for_this_reader(mut answer: Response) -> Response {
    let headers = answer.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

fn router(health: Health, metrics: ShownMetrics) -> Router {
    Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics_text))
        .with_state(Shown { health, metrics: Arc::new(metrics) })
}

/// Rejects requests to a host name, because the pages name objects. This stops web sites that read them through a visitor's
/// browser by DNS rebinding: such a request carries the name of the site.
async fn only_by_address(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if host.is_some_and(is_address) {
        return next.run(request).await;
    }
    (StatusCode::FORBIDDEN, "open this by an address or as localhost\n").into_response()
}

/// Returns true if the host without its port is an IP address or localhost.
fn is_address(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host().trim_matches(['[', ']']);
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

/// Fails while a main loop exceeds its limit, so that the kubelet restarts the Pod.
async fn livez(State(shown): State<Shown>) -> (StatusCode, String) {
    let stalled = shown.health.stalled(clock::now());
    if stalled.is_empty() {
        return (StatusCode::OK, "ok\n".to_owned());
    }
    let line = |stalled: &super::health::Stalled| {
        let super::health::Stalled { name, silent_for, limit } = stalled;
        format!("{name}: no heartbeat for {} s, limit {} s\n", silent_for.as_secs(), limit.as_secs())
    };
    (StatusCode::SERVICE_UNAVAILABLE, stalled.iter().map(line).collect())
}

async fn readyz(State(shown): State<Shown>) -> (StatusCode, String) {
    let parts = shown.health.parts();
    let ready = parts.iter().all(|part| part.trouble.is_none());
    let line =
        |part: &super::health::PartState| format!("{}: {}\n", part.name, part.trouble.as_deref().unwrap_or("ok"));
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, parts.iter().chain(&shown.health.remarks()).map(line).collect())
}

async fn metrics_text(State(shown): State<Shown>, headers: HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let format = TextFormat::accepted(accept);
    match shown.metrics.text(format) {
        Ok(text) => ([(header::CONTENT_TYPE, format.content_type())], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    /// The metrics of a program without any of its own.
    fn no_metrics() -> ShownMetrics {
        ShownMetrics::new("poller", crate::telemetry::metrics::registry("poller"))
    }

    async fn get(address: SocketAddr, path: &str) -> String {
        get_as("[::1]:8080", address, path).await
    }

    async fn get_as(host: &str, address: SocketAddr, path: &str) -> String {
        get_accepting("*/*", host, address, path).await
    }

    async fn get_accepting(accept: &str, host: &str, address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\naccept: {accept}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn the_pages_say_what_the_board_says() {
        let server = AdminServer::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let (address, stop, health) = (server.address().unwrap(), CancellationToken::new(), Health::default());
        let pages = Router::new().route("/targets", axum::routing::get(|| async { "mine" }));
        let serving = server.serve(health.clone(), no_metrics(), pages, stop.clone());
        let asking = async {
            let part = health.part("lease");
            part.not_ready("may not get leases");
            let answer = get(address, "/readyz").await;
            assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("lease: may not get leases"), "{answer}");
            part.ready();
            assert!(get(address, "/readyz").await.starts_with("HTTP/1.1 200"));
            assert!(get(address, "/livez").await.starts_with("HTTP/1.1 200"));
            let start = drift_api::timing::moment::Moment::START;
            let _pulse = health.heartbeat("schedule", Duration::from_secs(1), start);
            let answer = get(address, "/livez").await;
            assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("schedule: no heartbeat for"), "{answer}");
            for (accept, format) in [
                ("*/*", TextFormat::Prometheus),
                ("application/openmetrics-text;version=1.0.0", TextFormat::OpenMetrics),
            ] {
                let answer = get_accepting(accept, "10.0.0.7", address, "/metrics").await;
                assert!(answer.contains(&format!("content-type: {}\r\n", format.content_type())), "{answer}");
                assert_eq!(answer.ends_with("\n# EOF\n"), format == TextFormat::OpenMetrics, "{answer}");
                assert!(answer.contains("\nprocess_start_time_seconds{program=\"poller\"} "), "{answer}");
                assert!(answer.contains("\ndrift_build_info{"), "{answer}");
            }
            assert!(get(address, "/targets").await.ends_with("mine"));
            for (host, status) in [("localhost:8080", 200), ("10.0.0.7", 200), ("attacker.example", 403), ("", 403)] {
                let answer = get_as(host, address, "/targets").await;
                assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{host}: {answer}");
            }
            assert!(get_as("attacker.example", address, "/metrics").await.starts_with("HTTP/1.1 200"));
            stop.cancel();
        };
        tokio::join!(serving, asking);
    }

    #[tokio::test]
    async fn endless_headers_block_no_other_client() {
        let server = AdminServer::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let (address, stop) = (server.address().unwrap(), CancellationToken::new());
        let serving = server.serve(Health::default(), no_metrics(), Router::new(), stop.clone());
        let asking = async {
            let mut flooding = TcpStream::connect(address).await.unwrap();
            let line = format!("x-more: {}\r\n", "x".repeat(1000));
            flooding.write_all(b"GET /livez HTTP/1.1\r\n").await.unwrap();
            for _ in 0..40 {
                // It may be hung up on by now.
                _ = flooding.write_all(line.as_bytes()).await;
            }
            assert!(is_hung_up(flooding, connections::HEADERS_WITHIN / 2).await, "40 KB of headers are read");
            let mut slow = Vec::new();
            for _ in 0..2 * connections::CONNECTIONS {
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.write_all(b"GET /livez HTTP/1.1\r\nhost: a").await.unwrap();
                slow.push(stream);
            }
            let answer = tokio::time::timeout(connections::HEADERS_WITHIN / 2, get(address, "/livez")).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            assert!(answer.contains("nosniff") && answer.contains("no-store"), "{answer}");
            let (oldest, newest) = (slow.remove(0), slow.pop().unwrap());
            assert!(is_hung_up(oldest, connections::HEADERS_WITHIN / 2).await, "more connections than may be");
            assert!(is_hung_up(newest, 3 * connections::HEADERS_WITHIN).await, "headers take as long as they like");
            stop.cancel();
        };
        tokio::join!(serving, asking);
    }

    async fn is_hung_up(mut stream: TcpStream, within: Duration) -> bool {
        let mut rest = Vec::new();
        tokio::time::timeout(within, stream.read_to_end(&mut rest)).await.is_ok()
    }

    #[tokio::test]
    async fn a_taken_address_is_said_with_what_to_do() {
        let first = AdminServer::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let error = AdminServer::bind(first.address().unwrap()).await.unwrap_err();
        assert!(error.to_string().contains("--admin-address"), "{error}");
    }
}
