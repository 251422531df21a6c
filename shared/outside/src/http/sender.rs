//! Sends requests to external systems: no redirects, no proxies, bounded bodies, reused connections.
//!
//! A pooled connection can be dead without our knowing. A read that meets one is tried once more on a fresh
//! connection, because nobody answered it and asking twice changes nothing; a write is not, because it may have been
//! done. This file must not know what a poll or a correction is, nor judge a status.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::Method;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::dns::Resolve;
use url::Url;

use crate::http::challenge::RealmStore;
use crate::http::clients::ClientStore;
use crate::http::failure::was_dropped_unanswered;
use crate::http::memory::BodyMemory;
use crate::http::opened::noting_opened;
use crate::http::reply::Bounds;
use crate::http::resolver::SystemResolver;
use crate::http::tokens::TokenStore;
use crate::http::{auth, reply};
use crate::{ExchangeProgress, HttpFailure, HttpOptions, HttpReply};
use drift_model::http_request::HttpRequest;
use drift_model::labelled_secrets::{CredentialError, LabelledSecrets};
use drift_target::Auth;

/// Sends requests to external systems. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct HttpSender {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) secrets: Arc<ArcSwap<LabelledSecrets>>,
    clients: ClientStore,
    pub(super) tokens: TokenStore,
    pub(super) realms: RealmStore,
    /// Bytes that bodies may still take.
    memory: BodyMemory,
}

impl HttpSender {
    /// Over the Secrets as the watch keeps them; `program` (such as `drift-poller`) names us in the user agent.
    #[must_use]
    pub fn new(secrets: Arc<ArcSwap<LabelledSecrets>>, program: &'static str) -> Self {
        Self::resolving_by(Arc::new(SystemResolver), secrets, program)
    }

    /// The same with a resolver of one's own.
    pub(super) fn resolving_by(
        names: Arc<dyn Resolve>,
        secrets: Arc<ArcSwap<LabelledSecrets>>,
        program: &'static str,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                secrets,
                clients: ClientStore::new(names, program),
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
        self.shared.clients.clients(request, options, &self.shared.secrets.load())?;
        self.shared.headers(request, options)?;
        self.shared.check_token(request, options)
    }

    /// Whether a request with these options can be judged by whether its Secrets are there: it needs none, or they were
    /// listed.
    #[must_use]
    pub fn knows_secrets_of(&self, options: &HttpOptions<'_>) -> bool {
        (options.auth.is_none() && options.tls.is_none()) || self.shared.secrets.load().are_listed()
    }

    /// Sends one request. A GET or HEAD on a reused connection that the other side had dropped is tried once more, and
    /// one whose token is refused once more with another.
    /// The caller sets the deadline (drop the future, best by [`before_deadline`](crate::before_deadline)), and finds in
    /// `progress` what was waited for.
    ///
    /// # Errors
    /// When no reply came.
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

fn without_userinfo(url: &Url) -> Cow<'_, Url> {
    if url.username().is_empty() && url.password().is_none() {
        return Cow::Borrowed(url);
    }
    let mut url = url.clone();
    // Both fail only for URLs that cannot have userinfo.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Cow::Owned(url)
}

impl Shared {
    /// Sends one request and reads its answer.
    pub(super) async fn exchange(
        &self,
        request: &HttpRequest,
        options: &HttpOptions<'_>,
        token: Option<&HeaderValue>,
        progress: &ExchangeProgress,
    ) -> Result<HttpReply, HttpFailure> {
        progress.note_sent();
        let url = without_userinfo(&request.url);
        let clients = self.clients.clients(request, options, &self.secrets.load())?;
        let mut headers = self.headers(request, options)?;
        if let Some(token) = token {
            headers.insert(AUTHORIZATION, token.clone());
        }
        let build = |client: &reqwest::Client| {
            let builder = client.request(request.method.clone(), Url::clone(&url)).headers(headers.clone());
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
        let response = answer.map_err(|error| HttpFailure::of(&error, request.host()))?;
        progress.note_answered();
        let bounds = Bounds { max_bytes: options.max_bytes, memory: &self.memory, request, progress };
        Ok(reply::read(response, request.method != Method::HEAD, bounds).await)
    }

    fn headers(&self, request: &HttpRequest, options: &HttpOptions<'_>) -> Result<HeaderMap, CredentialError> {
        let mut headers = request.headers.clone();
        if let Some(auth) = options.auth {
            let header = auth::header(auth, &self.secrets.load(), request)?;
            if let Some((name, value)) = header {
                headers.insert(name, value);
            }
        }
        Ok(headers)
    }
}

impl fmt::Debug for HttpSender {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpSender").field("program", &self.shared.clients.program()).finish_non_exhaustive()
    }
}
