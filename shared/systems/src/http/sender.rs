//! Sends requests to external systems: no redirects, no proxies, bounded bodies, reused connections.
//!
//! A pooled connection can be dead without our knowing. A read that meets one is tried once more on a fresh connection, because
//! nobody answered it and asking twice changes nothing; a write is not, because it may have been done, unless the server says that it
//! did not look at it.

pub(crate) mod authorized;
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::Method;
use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::dns::Resolve;

use crate::http::auth;
use crate::http::auth::challenge::RealmStore;
use crate::http::auth::tokens::TokenStore;
use crate::http::exchange::failure::{was_dropped_unanswered, was_not_looked_at};
use crate::http::exchange::memory::{BodyMemory, Room};
use crate::http::exchange::outgoing::outgoing;
use crate::http::exchange::reply;
use crate::http::exchange::reply::Bounds;
use crate::http::transport::clients::ClientStore;
use crate::http::transport::opened::noting_opened;
use crate::http::transport::resolver::SystemResolver;
use crate::{ExchangeProgress, HttpFailure, HttpOptions, HttpReply};
use drift_api::requests::http_request::HttpRequest;
use drift_api::secrets::labelled_secrets::{CredentialError, LabelledSecrets};
use drift_language::Auth;

/// Sends requests to external systems. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct HttpSender {
    shared: Arc<Shared>,
}

pub(in crate::http) struct Shared {
    pub(in crate::http) secrets: Arc<ArcSwap<LabelledSecrets>>,
    clients: ClientStore,
    pub(in crate::http) tokens: TokenStore,
    pub(in crate::http) realms: RealmStore,
    /// Bytes that bodies may still take.
    memory: BodyMemory,
    program: &'static str,
}

impl HttpSender {
    /// Over the Secrets as the watch keeps them; `program` (such as `drift-poller`) names us in the user agent.
    #[must_use]
    pub fn new(secrets: Arc<ArcSwap<LabelledSecrets>>, program: &'static str) -> Self {
        Self::resolving_by(Arc::new(SystemResolver), secrets, program)
    }

    /// The same with a resolver of one's own.
    pub(in crate::http) fn resolving_by(
        names: Arc<dyn Resolve>,
        secrets: Arc<ArcSwap<LabelledSecrets>>,
        program: &'static str,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                secrets,
                clients: ClientStore::new(names, program),
                program,
                memory: BodyMemory::default(),
                tokens: TokenStore::default(),
                realms: RealmStore::default(),
            }),
        }
    }

    /// Whether the request could be sent as far as Secrets go: the credential and the roots that the target names are
    /// there and may go to that host. Sends nothing.
    ///
    /// # Errors
    /// [`HttpFailure::CredentialUnavailable`] where they are not; [`HttpFailure::Unreachable`] where no client can be
    /// built; [`HttpFailure::AddressRefused`] where the host is an address that must not be dialled.
    pub fn has_credential(&self, request: &HttpRequest, options: &HttpOptions<'_>) -> Result<(), HttpFailure> {
        let secrets = self.shared.secrets.load();
        self.shared.clients.clients(request, options, &secrets)?;
        credential(request, options, None, &secrets)?;
        self.shared.check_token(request, options)
    }

    /// The Secrets as they stand.
    #[must_use]
    pub fn secrets(&self) -> Arc<LabelledSecrets> {
        self.shared.secrets.load_full()
    }

    /// Returns true if a request with these options can be judged by whether its Secrets are there: it needs none, or they were
    /// listed.
    #[must_use]
    pub fn knows_secrets_of(&self, options: &HttpOptions<'_>) -> bool {
        (options.auth.is_none() && options.tls.is_none()) || self.shared.secrets.load().are_listed()
    }

    /// Room for answers of a host that are kept while others are waited for, `None` in it where they need none; `None` where
    /// other answers take it now.
    #[must_use]
    pub fn try_keep(&self, host: &str, bytes: usize) -> Option<Option<Room>> {
        self.shared.memory.try_keep(host, bytes)
    }

    /// Sends one request. A GET or HEAD on a reused connection that the other side had dropped is tried once more, and
    /// one whose token is refused once more with another.
    /// The caller sets the deadline (drop the future, best by [`before_deadline`](crate::before_deadline)), and finds in
    /// `progress` what was waited for.
    ///
    /// # Errors
    /// Fails if no reply came.
    pub async fn send(
        &self,
        request: &HttpRequest,
        options: &HttpOptions<'_>,
        progress: &ExchangeProgress,
    ) -> Result<HttpReply, HttpFailure> {
        let shared = &self.shared;
        // Boxed: most requests need no token, and each that is under way would have room for several exchanges.
        match options.auth {
            Some(Auth::OAuth2(oauth2)) => Box::pin(shared.send_with_token(oauth2, request, options, progress)).await,
            Some(Auth::Challenge(challenge)) => {
                Box::pin(shared.send_challenged(challenge, request, options, progress)).await
            }
            _ => shared.exchange(request, options, None, progress).await,
        }
    }
}

/// GET and HEAD: asking twice changes nothing outside. A POST may be a read, but nobody can tell.
fn may_be_asked_twice(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Returns true if what failed so may be sent once more, on a fresh connection. On one that was opened for it a drop is the answer.
fn may_be_sent_again(error: &reqwest::Error, has_opened: bool, method: &Method) -> bool {
    let was_dropped = !has_opened && may_be_asked_twice(method) && was_dropped_unanswered(error);
    was_dropped || was_not_looked_at(error)
}

impl Shared {
    /// Sends one request and reads its answer.
    pub(in crate::http) async fn exchange(
        &self,
        request: &HttpRequest,
        options: &HttpOptions<'_>,
        token: Option<&HeaderValue>,
        progress: &ExchangeProgress,
    ) -> Result<HttpReply, HttpFailure> {
        progress.note_sent();
        let secrets = self.secrets.load_full();
        token.into_iter().for_each(|token| progress.note_token(token));
        if options.auth.is_some() || options.tls.is_some() {
            progress.note_secrets(&secrets);
        }
        let clients = self.clients.clients(request, options, &secrets)?;
        let build = || Ok::<_, HttpFailure>(outgoing(request, credential(request, options, token, &secrets)?));
        let (first, has_opened) = noting_opened(clients.reusing.execute(build()?)).await;
        let answer = match first {
            Err(error) if may_be_sent_again(&error, has_opened, &request.method) => {
                clients.fresh.execute(build()?).await
            }
            answer => answer,
        };
        let response = answer.map_err(|error| HttpFailure::of(&error, request.host()))?;
        progress.note_answered();
        let bounds = Bounds { max_bytes: options.max_bytes, memory: &self.memory, request, progress };
        Ok(reply::read(response, request.method != Method::HEAD, bounds).await)
    }
}

/// The header that proves who we are: the token, or what a Secret has.
fn credential(
    request: &HttpRequest,
    options: &HttpOptions<'_>,
    token: Option<&HeaderValue>,
    secrets: &LabelledSecrets,
) -> Result<Option<(HeaderName, HeaderValue)>, CredentialError> {
    match (token, options.auth) {
        (Some(token), _) => Ok(Some((AUTHORIZATION, token.clone()))),
        (None, Some(auth)) => auth::header(auth, secrets, request),
        (None, None) => Ok(None),
    }
}

impl fmt::Debug for HttpSender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpSender").field("program", &self.shared.program).finish_non_exhaustive()
    }
}
