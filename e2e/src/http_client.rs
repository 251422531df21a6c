//! The one HTTP client of the bed: loopback only, no proxies, no redirects, a deadline on every request.

use std::time::Duration;

use anyhow::{Context, Result};

/// No request of the bed's own does more than a loopback round trip; a hang is a finding, not something to sit out.
const REQUEST_WITHIN: Duration = Duration::from_secs(20);

/// The time that a connection may lie idle before it is used again: half of what toxiproxy lets it, since a request on one that
/// the other side is just closing fails.
const IDLE_AT_MOST: Duration = Duration::from_secs(30);

/// Chooses the TLS implementation for the whole process; the first call counts.
///
/// kube and reqwest otherwise disagree about the default and panic at the first connection.
pub fn choose_tls() {
    // Refused only when somebody chose before us, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// A client for answers that never end, such as watches, from a server that this authority (PEM) signed.
///
/// # Errors
/// When the TLS stack cannot be set up, or the certificate is none.
pub fn for_streams(authority: &str) -> Result<reqwest::Client> {
    choose_tls();
    let certificate = reqwest::Certificate::from_pem(authority.as_bytes()).context("reading the authority")?;
    let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    builder.tls_certs_only([certificate]).build().context("building the HTTP client")
}

/// A client for the programs' admin pages and the external systems.
///
/// # Errors
/// When the TLS stack cannot be set up.
pub fn new() -> Result<reqwest::Client> {
    choose_tls();
    let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    builder.timeout(REQUEST_WITHIN).pool_idle_timeout(IDLE_AT_MOST).build().context("building the HTTP client")
}
