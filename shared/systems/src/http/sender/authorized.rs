//! Requests with tokens: a token is fetched, replaced if it is rejected, and the request repeated.

use http::{HeaderValue, StatusCode};

use crate::guard::clock::time_of_day;
use crate::http::auth::challenge::{self, Realm, RequestKind};
use crate::http::auth::token_request::{Fetched, MAX_TOKEN_BYTES, TOKEN_DEADLINE, TokenSource};
use crate::http::auth::{BEARER, aws_role, login, oauth2, token_value};
use crate::http::sender::Shared;
use crate::{ExchangeProgress, HttpFailure, HttpOptions, HttpReply};
use drift_api::secrets::labelled_secrets::{CredentialError, LabelledSecrets};
use drift_language::{Auth, AwsKeys, AwsSigV4, Challenge, Grant, HttpRequest};
use secrecy::ExposeSecret;

/// Maximum repetitions with a new token after a 401: the host names its realm, and a valid token may be revoked.
const SENT_AGAIN: usize = 2;

impl Shared {
    /// Checks that the Secret of a token may be used.
    pub(in crate::http) fn check_token(
        &self,
        request: &HttpRequest,
        options: &HttpOptions<'_>,
    ) -> Result<(), HttpFailure> {
        match options.auth {
            Some(Auth::OAuth2(_) | Auth::Login(_) | Auth::AwsSigV4(AwsSigV4 { keys: AwsKeys::Role(_), .. })) => {
                self.token_source(request, options).map(drop)
            }
            Some(Auth::ServiceAccountToken { name }) => self.projected_token(name, request).map(drop),
            Some(Auth::Challenge(challenge)) => challenge::check_secret(challenge, request, &self.secrets.load()),
            _ => Ok(()),
        }
    }

    /// Sends a request with a token of the server that the target names, and once more with another if it is rejected.
    pub(in crate::http) async fn send_with_token(
        &self,
        request: &HttpRequest,
        options: &HttpOptions<'_>,
        progress: &ExchangeProgress,
    ) -> Result<HttpReply, HttpFailure> {
        let source = self.token_source(request, options)?;
        let token = self.token(&source, options, progress).await?;
        let reply = self.exchange(request, options, Some(&token), progress).await?;
        // AWS rejects keys with 403, also those that have ended early.
        let is_aws = matches!(options.auth, Some(Auth::AwsSigV4(_)));
        if !(reply.status == StatusCode::UNAUTHORIZED || is_aws && reply.status == StatusCode::FORBIDDEN) {
            return Ok(reply);
        }
        match self.another_token(&source, &token, options, progress).await {
            Some(another) => self.exchange(request, options, Some(&another), progress).await,
            None => Ok(reply),
        }
    }

    /// Sends a request with a token of the server that the host named last time, or without one. Then repeats it with
    /// the token that the host requires.
    pub(in crate::http) async fn send_challenged(
        &self,
        challenge: &Challenge,
        request: &HttpRequest,
        options: &HttpOptions<'_>,
        progress: &ExchangeProgress,
    ) -> Result<HttpReply, HttpFailure> {
        challenge::check_secret(challenge, request, &self.secrets.load())?;
        let kind = RequestKind::of(request);
        let mut realm = self.realms.get(&kind).filter(|realm| realm.may_be_asked(challenge));
        let mut sent: Option<(TokenSource, HeaderValue)> = None;
        if let Some(realm) = &realm {
            let got = async {
                let source = realm.token_source(challenge, request, options, &self.secrets.load())?;
                let token = self.token(&source, options, progress).await?;
                Ok((source, token))
            };
            sent = Some(got.await.inspect_err(|failure| {
                // The host may name another token server now, which it only does for a request without a token.
                if !matches!(failure, HttpFailure::TokenPaused { .. }) {
                    self.realms.forget(&kind, realm);
                }
            })?);
        }
        let token = sent.as_ref().map(|(_, token)| token);
        let mut reply = self.exchange(request, options, token, progress).await?;
        for _ in 0..SENT_AGAIN {
            if reply.status != StatusCode::UNAUTHORIZED {
                break;
            }
            let Some(named) = Realm::of(&reply.headers, challenge, request)? else { break };
            let source = named.token_source(challenge, request, options, &self.secrets.load())?;
            let token = match &sent {
                Some((before, refused)) if before.identity() == source.identity() => {
                    self.another_token(&source, refused, options, progress).await
                }
                _ => Some(self.token(&source, options, progress).await?),
            };
            let Some(token) = token else { break };
            reply = self.exchange(request, options, Some(&token), progress).await?;
            (realm, sent) = (Some(named), Some((source, token)));
        }
        if let Some(realm) = realm.filter(|_| reply.status != StatusCode::UNAUTHORIZED) {
            self.realms.remember(kind, realm);
        }
        Ok(reply)
    }

    /// Returns the token source of `auth`, if its Secret may be used for both the token server and the host.
    fn token_source(&self, request: &HttpRequest, options: &HttpOptions<'_>) -> Result<TokenSource, HttpFailure> {
        let secrets = self.secrets.load();
        match options.auth {
            Some(Auth::Login(login)) => {
                check_hosts(&secrets, &login.secret, request)?;
                Ok(login::token_source(login, options, &secrets)?)
            }
            Some(Auth::OAuth2(oauth2)) => {
                match (&oauth2.secret, &oauth2.grant) {
                    (Some(secret), _) => check_hosts(&secrets, secret, request)?,
                    (None, Grant::TokenExchange { subject: token, .. } | Grant::ClientAssertion { token, .. }) => {
                        self.check_is_not_chosen(token, request)?;
                    }
                    (None, _) => {}
                }
                Ok(oauth2::token_source(oauth2, options, &secrets, &self.projected)?)
            }
            Some(Auth::AwsSigV4(AwsSigV4 { keys: AwsKeys::Role(role), .. })) => {
                self.check_is_not_chosen(&role.token, request)?;
                Ok(aws_role::token_source((role, self.program), options, &self.projected)?)
            }
            _ => Err(HttpFailure::TokenUnavailable("the target names no token server".to_owned())),
        }
    }

    /// Returns a token of the program's ServiceAccount as a header.
    pub(in crate::http) fn projected_token(
        &self,
        name: &str,
        request: &HttpRequest,
    ) -> Result<HeaderValue, HttpFailure> {
        self.check_is_not_chosen(name, request)?;
        let token = self.projected.read(name)?;
        let value = token_value(BEARER, token.expose_secret());
        Ok(value.ok_or_else(|| self.projected.error(name, "is not a header value"))?)
    }

    /// Checks that no object chooses the host. A projected token has no owner who could list the allowed hosts.
    fn check_is_not_chosen(&self, name: &str, request: &HttpRequest) -> Result<(), CredentialError> {
        match request.has_chosen_host {
            true => Err(self.projected.error(name, "is not sent to a host that objects choose")),
            false => Ok(()),
        }
    }

    async fn token(
        &self,
        source: &TokenSource,
        options: &HttpOptions<'_>,
        progress: &ExchangeProgress,
    ) -> Result<HeaderValue, HttpFailure> {
        progress.awaiting_token(self.tokens.token(source, || self.fetch_token(source, options))).await
    }

    async fn another_token(
        &self,
        source: &TokenSource,
        refused: &HeaderValue,
        options: &HttpOptions<'_>,
        progress: &ExchangeProgress,
    ) -> Option<HeaderValue> {
        progress.awaiting_token(self.tokens.another(source, refused, || self.fetch_token(source, options))).await
    }

    async fn fetch_token(&self, source: &TokenSource, options: &HttpOptions<'_>) -> Fetched {
        let options =
            HttpOptions { auth: None, unauthorized_when: None, max_bytes: MAX_TOKEN_BYTES, ..options.clone() };
        let progress = ExchangeProgress::default();
        let request = match source.request(time_of_day()) {
            Ok(request) => request,
            Err(error) => return Fetched::Failed(error.into(), None),
        };
        match tokio::time::timeout(TOKEN_DEADLINE, self.exchange(&request, &options, None, &progress)).await {
            Ok(answer) => source.judge(answer, time_of_day()),
            Err(_) => Fetched::unavailable("the token server does not answer in time"),
        }
    }
}

/// Checks that a Secret may be used for a token that goes to the host of this request.
fn check_hosts(secrets: &LabelledSecrets, secret: &str, request: &HttpRequest) -> Result<(), CredentialError> {
    if request.has_chosen_host {
        secrets.check_hosts_are_named(secret)?;
    }
    secrets.check_host(secret, &request.host())
}
