//! The HTTP client of the tests: loopback only, no proxies, no redirects, a deadline on every request.

use std::time::Duration;

use anyhow::{Context, Result};

/// Deadline of a request. A request is only a loopback round trip, so a hang is a bug that must show.
const REQUEST_WITHIN: Duration = Duration::from_secs(20);

/// Maximum idle time of a reused connection: half of toxiproxy's own limit and a third of the API server's, because a
/// request fails on a connection that the server is closing.
pub(crate) const IDLE_AT_MOST: Duration = Duration::from_secs(30);

/// Chooses the TLS implementation for the whole process. The first call counts.
///
/// Otherwise kube and reqwest disagree about the default and panic at the first connection.
pub fn choose_tls() {
    // An error means that another caller has already chosen, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Returns a client for endless responses, such as watches, from a server with a certificate of this authority (PEM).
pub fn for_streams(authority: &str) -> Result<reqwest::Client> {
    choose_tls();
    let certificate = reqwest::Certificate::from_pem(authority.as_bytes()).context("reading the authority")?;
    let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    builder.tls_certs_only([certificate]).build().context("building the HTTP client")
}

/// Returns a client for the programs' admin pages and the external systems.
pub fn new() -> Result<reqwest::Client> {
    choose_tls();
    let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    builder.timeout(REQUEST_WITHIN).pool_idle_timeout(IDLE_AT_MOST).build().context("building the HTTP client")
}
