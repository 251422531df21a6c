//! The sender against real loopback sockets that misbehave.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod assertions;
mod bounds;
mod challenge;
mod child;
mod client_certificate;
mod dialling;
mod fields;
mod guards;
mod http2;
mod memory;
mod oauth2;
mod proxy;
mod reuse;
mod secrecy;
mod server;
mod socket;
mod tls;
mod tokens;

use crate::guard::failure::SystemFailure;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use crate::{ExchangeProgress, HttpFailure, HttpOptions, HttpReply, HttpSender};
use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets};
use drift_language::HttpRequest;

/// Timeout of an exchange in a test, after which it counts as hanging.
const DEADLINE: Duration = Duration::from_secs(20);

/// A limit that tests only reach on purpose.
const ROOMY: usize = 1024 * 1024;

fn secrets(entries: &[(&str, &[(&str, &str)])]) -> Arc<ArcSwap<LabelledSecrets>> {
    let secret = |data: &[(&str, &str)]| {
        LabelledSecret::new(None, data.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())))
    };
    let secrets = entries.iter().map(|(name, data)| ((*name).to_owned(), secret(data))).collect();
    Arc::new(ArcSwap::from_pointee(secrets))
}

fn sender() -> HttpSender {
    HttpSender::new(secrets(&[]), "drift-poller")
}

fn request(method: http::Method, url: &str) -> HttpRequest {
    HttpRequest {
        method,
        url: url.parse().unwrap(),
        headers: std::sync::Arc::default(),
        body: None,
        has_chosen_host: false,
        socket: None,
        auth: None,
    }
}

fn get(url: &str) -> HttpRequest {
    request(http::Method::GET, url)
}

fn plain() -> HttpOptions<'static> {
    HttpOptions {
        auth: None,
        unauthorized_when: None,
        tls: None,
        proxy: None,
        has_open_host: false,
        allow_networks: &[],
        max_bytes: ROOMY,
    }
}

async fn send(sender: &HttpSender, request: &HttpRequest, options: &HttpOptions<'_>) -> Result<HttpReply, HttpFailure> {
    let progress = ExchangeProgress::default();
    tokio::time::timeout(DEADLINE, sender.send(request, options, &progress)).await.expect("the exchange hangs")
}

/// No connection was made, so the server has seen nothing of the request.
fn not_connected(text: &str) -> Option<HttpFailure> {
    Some(HttpFailure::NotConnected(text.to_owned()))
}

/// The connection ended without an answer, so the server may have acted on the request.
fn unreachable(text: &'static str) -> Option<HttpFailure> {
    Some(HttpFailure::System(SystemFailure::Unreachable(text)))
}
