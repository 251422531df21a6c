//! Sends requests to external systems: no redirects, limited bodies, reused connections.
//!
//! A pooled connection can be dead without notice. A read that got no response before its connection ended is retried
//! once on a fresh one, because reading twice changes nothing. A write may have been executed, so it is not retried, unless
//! the server states that it did not process it.

pub(crate) mod authorized;

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use drift_api::secrets::labelled_secrets::{CredentialError, LabelledSecrets};
use drift_language::{Auth, AwsKeys, AwsSigV4, HttpRequest};
use http::Method;
use http::header::{HeaderName, HeaderValue};
use reqwest::dns::Resolve;
use reqwest::{Body, Request};

use crate::http::auth;
use crate::http::auth::aws_denied::count_as_denied;
use crate::http::auth::challenge::RealmStore;
use crate::http::auth::projected_token::ProjectedTokens;
use crate::http::auth::tokens::TokenStore;
use crate::http::exchange::failure::{was_dropped_unanswered, was_not_looked_at};
use crate::http::exchange::memory::{BodyMemory, Room};
use crate::http::exchange::recorded::RecordedExchanges;
use crate::http::exchange::reply;
use crate::http::exchange::reply::Bounds;
use crate::http::transport::client::SystemResolver;
use crate::http::transport::clients::ClientStore;
use crate::http::transport::proxy::ProgramProxy;
use crate::{ExchangeProgress, HttpFailure, HttpOptions, HttpReply};

/// Sends requests to external systems. Clones are cheap and share connections.
#[derive(Clone)]
pub struct HttpSender {
    shared: Arc<Shared>,
    recorded: Option<RecordedExchanges>,
}

pub(in crate::http) struct Shared {
    pub(in crate::http) secrets: Arc<ArcSwap<LabelledSecrets>>,
    clients: ClientStore,
    pub(in crate::http) tokens: TokenStore,
    pub(in crate::http) realms: RealmStore,
    pub(in crate::http) projected: ProjectedTokens,
    /// Memory for response bodies.
    memory: BodyMemory,
    program: &'static str,
}

impl HttpSender {
    /// Creates a sender. The watch keeps the Secrets up to date. `program` (such as `drift-poller`) is its name in
    /// the user agent.
    #[must_use]
    pub fn new(secrets: Arc<ArcSwap<LabelledSecrets>>, program: &'static str) -> Self {
        Self::with_projected(ProjectedTokens::default(), None, secrets, program)
    }

    /// Creates a sender with the projected tokens of another folder, and the proxy of the program.
    #[must_use]
    pub fn with_projected(
        projected: ProjectedTokens,
        proxy: Option<ProgramProxy>,
        secrets: Arc<ArcSwap<LabelledSecrets>>,
        program: &'static str,
    ) -> Self {
        let shared = Shared::resolving_by(Arc::new(SystemResolver), secrets, program);
        let clients = shared.clients.through(proxy);
        Self { shared: Arc::new(Shared { projected, clients, ..shared }), recorded: None }
    }

    /// Records every request and its response there.
    #[must_use]
    pub fn recording(self, exchanges: RecordedExchanges) -> Self {
        Self { recorded: Some(exchanges), ..self }
    }

    /// Creates a sender with another resolver.
    #[cfg(test)]
    pub(in crate::http) fn resolving_by(
        names: Arc<dyn Resolve>,
        secrets: Arc<ArcSwap<LabelledSecrets>>,
        program: &'static str,
    ) -> Self {
        Self { shared: Arc::new(Shared::resolving_by(names, secrets, program)), recorded: None }
    }

    /// Checks the Secrets of a request: the target's credential and roots exist and may be sent to that
    /// host. Sends nothing.
    ///
    /// # Errors
    /// [`SystemFailure::CredentialUnavailable`](crate::SystemFailure::CredentialUnavailable) if they do not;
    /// [`HttpFailure::NotConnected`] if no client can be built;
    /// [`SystemFailure::AddressRefused`](crate::SystemFailure::AddressRefused) if the host is an address that must not
    /// be dialled.
    pub fn has_credential(&self, request: &HttpRequest, options: &HttpOptions<'_>) -> Result<(), HttpFailure> {
        let secrets = self.shared.secrets.load();
        self.shared.clients.clients(request, options, &secrets)?;
        credential(request, options, None, &secrets)?;
        self.shared.check_token(request, options)
    }

    /// Returns the current Secrets.
    #[must_use]
    pub fn secrets(&self) -> Arc<LabelledSecrets> {
        self.shared.secrets.load_full()
    }

    /// Returns true if the Secrets of these options can be checked: none are needed, or they were listed.
    #[must_use]
    pub fn knows_secrets_of(&self, options: &HttpOptions<'_>) -> bool {
        (options.auth.is_none() && options.tls.is_none() && options.proxy.is_none())
            || self.shared.secrets.load().are_listed()
    }

    /// Takes memory for responses of a host that are kept during other requests. The inner `None` means that none is
    /// needed; the outer `None`, that none is available now.
    #[must_use]
    pub fn try_keep(&self, host: &str, bytes: usize) -> Option<Option<Room>> {
        self.shared.memory.try_keep(host, bytes)
    }

    /// Sends one request. A GET or HEAD is retried once if its connection ended without a response, and a
    /// request with a rejected token once with another token. The caller sets the deadline (drop the future, preferably
    /// with [`before_deadline`](crate::before_deadline)). `progress` records waits.
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
        self.recorded.iter().for_each(|recorded| recorded.begin(request));
        // Boxed: most requests need no token, and otherwise every request in flight would reserve memory
        // for several exchanges.
        let answer = match options.auth {
            Some(Auth::OAuth2(_) | Auth::Login(_) | Auth::AwsSigV4(AwsSigV4 { keys: AwsKeys::Role(_), .. })) => {
                Box::pin(shared.send_with_token(request, options, progress)).await
            }
            Some(Auth::ServiceAccountToken { name }) => {
                let token = shared.projected_token(name, request)?;
                shared.exchange(request, options, Some(&token), progress).await
            }
            Some(Auth::Challenge(challenge)) => {
                Box::pin(shared.send_challenged(challenge, request, options, progress)).await
            }
            _ => shared.exchange(request, options, None, progress).await,
        };
        if let (Some(recorded), Ok(reply)) = (&self.recorded, &answer) {
            recorded.end(reply);
        }
        answer
    }
}

/// Returns true for GET and HEAD, which change nothing outside. A POST may be a read, but this is unknown here.
fn may_be_asked_twice(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Returns true if a failed request may be retried on a fresh connection.
fn may_be_sent_again(error: &reqwest::Error, method: &Method) -> bool {
    (may_be_asked_twice(method) && was_dropped_unanswered(error)) || was_not_looked_at(error)
}

impl Shared {
    fn resolving_by(names: Arc<dyn Resolve>, secrets: Arc<ArcSwap<LabelledSecrets>>, program: &'static str) -> Self {
        Self {
            secrets,
            clients: ClientStore::new(names, program),
            program,
            memory: BodyMemory::default(),
            tokens: TokenStore::default(),
            realms: RealmStore::default(),
            projected: ProjectedTokens::default(),
        }
    }

    /// Sends one request and reads its response.
    pub(in crate::http) async fn exchange(
        &self,
        request: &HttpRequest,
        options: &HttpOptions<'_>,
        token: Option<&HeaderValue>,
        progress: &ExchangeProgress,
    ) -> Result<HttpReply, HttpFailure> {
        progress.note_sent();
        let secrets = self.secrets.load_full();
        let texts = token.map(|token| auth::secret_texts(options.auth, token)).unwrap_or_default();
        texts.into_iter().for_each(|text| progress.note_token(text));
        if options.auth.is_some() || options.tls.is_some() || options.proxy.is_some() {
            progress.note_secrets(&secrets);
        }
        let clients = self.clients.clients(request, options, &secrets)?;
        let placed = auth::field::placed(request, options.auth, token, &secrets)?;
        let build = || Ok::<_, HttpFailure>(outgoing(&placed, credential(request, options, token, &secrets)?));
        let answer = match clients.reusing.execute(build()?).await {
            Err(error) if may_be_sent_again(&error, &request.method) => clients.fresh.execute(build()?).await,
            answer => answer,
        };
        let response =
            answer.map_err(|error| HttpFailure::of(&error, request.host().into_owned(), clients.proxy.as_deref()))?;
        progress.note_answered();
        let bounds = Bounds { max_bytes: options.max_bytes, memory: &self.memory, request, progress };
        let reply = reply::read(response, request.method != Method::HEAD, bounds).await;
        Ok(count_as_denied(reply, options.auth, options.unauthorized_when))
    }
}

/// Returns the authentication headers: a token, values of a Secret, or a signature.
fn credential(
    request: &HttpRequest,
    options: &HttpOptions<'_>,
    token: Option<&HeaderValue>,
    secrets: &LabelledSecrets,
) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialError> {
    match (token, options.auth) {
        (Some(token), auth) => auth::token_headers(auth, token, request),
        (None, Some(auth)) => auth::header(auth, secrets, request),
        (None, None) => Ok(Vec::new()),
    }
}

impl fmt::Debug for HttpSender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpSender").field("program", &self.shared.program).finish_non_exhaustive()
    }
}

/// Returns the request without userinfo and with its credential, which overrides a header of the target.
fn outgoing(request: &HttpRequest, credential: Vec<(HeaderName, HeaderValue)>) -> Request {
    let mut url = request.url.clone();
    // Both fail only for URLs that cannot have userinfo.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let mut outgoing = Request::new(request.method.clone(), url);
    outgoing.headers_mut().clone_from(&request.headers);
    for (name, value) in credential {
        outgoing.headers_mut().insert(name, value);
    }
    *outgoing.body_mut() = request.body.clone().map(Body::from);
    outgoing
}
