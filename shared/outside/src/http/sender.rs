//! Sends requests to external systems: no redirects, no proxies, bounded bodies, reused connections.
//!
//! A pooled connection can be dead without our knowing. A read that meets one is tried once more on a fresh
//! connection, because nobody answered it and asking twice changes nothing; a write is not, because it may have been
//! done. This file must not know what a poll or a correction is, nor judge a status.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use secrecy::ExposeSecret;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use url::Url;

use crate::http::failure::was_dropped_unanswered;
use crate::http::opened::noting_opened;
use crate::http::tls::{Clients, Roots};
use crate::http::{auth, reply};
use crate::{HttpFailure, HttpOptions, HttpReply};
use drift_model::http_request::{HttpRequest, host_and_port};
use drift_model::labelled_secrets::{CredentialError, LabelledSecrets};
use drift_target::{SecretKey, Tls};

/// Sends requests to external systems. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct HttpSender {
    shared: Arc<Shared>,
}

struct Shared {
    secrets: Arc<ArcSwap<LabelledSecrets>>,
    program: &'static str,
    clients: Mutex<HashMap<Trust, KnownClients>>,
    /// Bytes that bodies may still take.
    memory: Semaphore,
}

/// Whose certificates a request believes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Trust {
    /// Plain HTTP has none.
    Nobody,
    /// The system's roots.
    System,
    /// The roots in that Secret.
    Secret(SecretKey),
}

/// The clients of one CA, and the bundle they were built from.
struct KnownClients {
    bundle_hash: [u8; 32],
    clients: Arc<Clients>,
}

impl HttpSender {
    /// Over the Secrets as the watch keeps them; `program` (such as `drift-poller`) names us in the user agent.
    #[must_use]
    pub fn new(secrets: Arc<ArcSwap<LabelledSecrets>>, program: &'static str) -> Self {
        Self {
            shared: Arc::new(Shared {
                secrets,
                program,
                clients: Mutex::default(),
                memory: Semaphore::new(reply::MAX_BYTES_UNDER_WAY),
            }),
        }
    }

    /// Whether the request could be sent as far as Secrets go: the credential and the roots that the target names are
    /// there and may go to that host. Sends nothing.
    ///
    /// # Errors
    /// [`HttpFailure::CredentialUnavailable`] where they are not; [`HttpFailure::Unreachable`] where no client can be
    /// built.
    pub fn has_credential(&self, request: &HttpRequest, options: &HttpOptions<'_>) -> Result<(), HttpFailure> {
        let url = without_userinfo(&request.url);
        self.shared.clients(options.tls, &url)?;
        self.shared.headers(request, options, &host_and_port(&url))?;
        Ok(())
    }

    /// Whether a request with these options can be judged by whether its Secrets are there: it needs none, or they were
    /// listed.
    #[must_use]
    pub fn knows_secrets_of(&self, options: &HttpOptions<'_>) -> bool {
        (options.auth.is_none() && options.tls.is_none()) || self.shared.secrets.load().are_listed()
    }

    /// Sends one request. A GET or HEAD on a reused connection that the other side had dropped is tried once more.
    /// The caller sets the deadline (drop the future).
    ///
    /// # Errors
    /// When no reply came.
    pub async fn send(&self, request: &HttpRequest, options: &HttpOptions<'_>) -> Result<HttpReply, HttpFailure> {
        let url = without_userinfo(&request.url);
        let host = host_and_port(&url);
        let clients = self.shared.clients(options.tls, &url)?;
        let headers = self.shared.headers(request, options, &host)?;
        let build = |client: &reqwest::Client| {
            let builder = client.request(request.method.clone(), url.clone()).headers(headers.clone());
            match &request.body {
                Some(body) => builder.body(body.clone()),
                None => builder,
            }
        };
        let (first, opened) = noting_opened(build(&clients.reusing).send()).await;
        let answer = match first {
            Err(error) if !opened && may_be_asked_twice(&request.method) && was_dropped_unanswered(&error) => {
                build(&clients.fresh).send().await
            }
            answer => answer,
        };
        let response = answer.map_err(|error| HttpFailure::of(&error))?;
        Ok(reply::read(response, request.method != Method::HEAD, options.max_bytes, &self.shared.memory).await)
    }
}

/// GET and HEAD: asking twice changes nothing outside. A POST may be a read, but nobody can tell.
fn may_be_asked_twice(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

fn without_userinfo(url: &Url) -> Url {
    let mut url = url.clone();
    // Both fail only for URLs that cannot have userinfo.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

impl Shared {
    fn headers(
        &self,
        request: &HttpRequest,
        options: &HttpOptions<'_>,
        host: &str,
    ) -> Result<HeaderMap, CredentialError> {
        let mut headers = request.headers.clone();
        if request.body.is_some() {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        }
        if let Some(auth) = options.auth {
            let (name, value) = auth::header(auth, &self.secrets.load(), host)?;
            headers.insert(name, value);
        }
        Ok(headers)
    }

    /// The clients that trust what the target says; built once, and again when the Secret's bundle changed.
    fn clients(&self, tls: Option<&Tls>, url: &Url) -> Result<Arc<Clients>, HttpFailure> {
        let Some(Tls { ca }) = tls else {
            return match url.scheme() {
                "http" => self.known_or_built(Trust::Nobody, Roots::Nobody),
                _ => self.known_or_built(Trust::System, Roots::System),
            };
        };
        let secrets = self.secrets.load();
        let bundle = secrets.credential(&ca.name, &ca.key, &host_and_port(url))?.expose_secret().as_bytes();
        self.known_or_built(Trust::Secret(ca.clone()), Roots::Only(bundle))
    }

    fn known_or_built(&self, trust: Trust, roots: Roots<'_>) -> Result<Arc<Clients>, HttpFailure> {
        let bundle_hash = match roots {
            Roots::Only(bundle) => Sha256::digest(bundle).into(),
            Roots::Nobody | Roots::System => [0; 32],
        };
        let mut known = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(&trust).filter(|found| found.bundle_hash == bundle_hash) {
            return Ok(found.clients.clone());
        }
        let clients = Clients::build(roots, self.program).map_err(|error| match &trust {
            Trust::Secret(SecretKey { name, key }) => {
                HttpFailure::CredentialUnavailable(format!("Secret {name} key {key}: {error}"))
            }
            Trust::Nobody | Trust::System => HttpFailure::Unreachable(error.to_string()),
        })?;
        known.insert(trust, KnownClients { bundle_hash, clients: clients.clone() });
        Ok(clients)
    }
}

impl fmt::Debug for HttpSender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpSender").field("program", &self.shared.program).finish_non_exhaustive()
    }
}
