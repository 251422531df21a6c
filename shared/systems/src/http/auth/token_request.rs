//! The token request, and the evaluation of its response.

use crate::guard::failure::SystemFailure;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderValue, StatusCode};
use jiff::Timestamp;
use secrecy::ExposeSecret;
use serde_json::Value;
use sha2::{Digest, Sha256};
use url::Url;

use crate::http::auth::assertion::Assertion;
use crate::http::auth::role_keys::read_keys;
use crate::http::auth::{BEARER, token_value};
use crate::http::exchange::reply::{HttpReply, ReplyBody};
use crate::{HttpFailure, HttpOptions, ServerText, retry_after};
use drift_api::secrets::labelled_secrets::CredentialError;
use drift_language::{AwsRole, HttpRequest, Login, Network, OAuth2, Proxy, Tls, TokenPlace};

/// Deadline of a token request. Half of the default deadline of a poll, which excludes it. It is short enough that a
/// waiting correction is not outdated.
pub(in crate::http) const TOKEN_DEADLINE: Duration = Duration::from_secs(5);

/// Limit of a token server's response. The largest tokens, with all groups of a person, have about 16 KiB.
pub(in crate::http) const MAX_TOKEN_BYTES: usize = 64 * 1024;

/// Maximum use of a token, so that a revoked right takes effect within a day.
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// Lifetime of a token if the response does not contain it: the common default of identity servers.
const OAUTH2_LIFE: Duration = Duration::from_secs(300);

/// The same for the servers of registries, by the registry token specification.
const REALM_LIFE: Duration = Duration::from_secs(60);

/// The source of a token.
pub(in crate::http) struct TokenSource {
    request: HttpRequest,
    /// Signed when the request is sent: the last field of a form, or the bearer token of a log-in.
    assertion: Option<Assertion>,
    identity: SourceIdentity,
}

/// Identifies a source. Equal sources share a token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::http) struct SourceIdentity {
    origin: Origin,
    tls: Option<Tls>,
    networks: Vec<Network>,
    proxy: Option<Proxy>,
    /// Hash of the credential, so that another credential gets another token.
    credential: [u8; 32],
}

/// The origin of a token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::http) enum Origin {
    /// The identity server that the target names.
    OAuth2(OAuth2),
    /// The server that a host named in its response, with its parameters.
    Realm(Url),
    /// The log-in that the target describes.
    Login(Login),
    /// The role of AWS that the target names.
    Role(AwsRole),
}

impl Origin {
    /// Reads the token of a response. `None` if it has none.
    fn read_token(&self, reply: &HttpReply, now: Timestamp) -> Option<Fetched> {
        match self {
            Self::OAuth2(_) => read_bearer(&reply.body, &["access_token"], OAUTH2_LIFE),
            Self::Realm(_) => read_bearer(&reply.body, &["token", "access_token"], REALM_LIFE),
            Self::Login(login) => read_login_token(reply, login),
            Self::Role(_) => {
                read_keys(&reply.body, now).map(|(keys, life)| Fetched::Token(keys, life.min(LONGEST_LIFE)))
            }
        }
    }

    const fn why_no_token(&self) -> &'static str {
        match self {
            Self::OAuth2(_) | Self::Realm(_) => "the token server's answer holds no bearer token",
            Self::Role(_) => "the answer to AssumeRoleWithWebIdentity holds no valid keys",
            Self::Login(_) => "the token server's answer holds no token where the target expects it",
        }
    }

    /// Returns true if a response with this status has a token. Only the specifications of identity servers name it.
    fn is_success(&self, status: StatusCode) -> bool {
        status == StatusCode::OK || matches!(self, Self::Login(_)) && status.is_success()
    }
}

/// The outcome of a request for a token.
#[derive(Clone, Debug)]
pub(in crate::http) enum Fetched {
    /// A token as a header, and its lifetime from the time of the request.
    Token(HeaderValue, Duration),
    /// No token, and the pause that the server asked for.
    Failed(HttpFailure, Option<Duration>),
}

impl Fetched {
    pub(in crate::http) fn unavailable(text: &str) -> Self {
        Self::Failed(HttpFailure::TokenUnavailable(text.to_owned()), None)
    }
}

impl TokenSource {
    /// Creates a source from a token request, which already contains its credential.
    pub(in crate::http) fn new(origin: Origin, mut request: HttpRequest, options: &HttpOptions<'_>) -> Self {
        let mut credential = Sha256::new_with_prefix(request.body.as_deref().unwrap_or_default());
        request.headers.values().for_each(|value| credential.update(value.as_bytes()));
        let headers = Arc::make_mut(&mut request.headers);
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("application/json"));
        let identity = SourceIdentity {
            origin,
            tls: options.tls.cloned(),
            networks: options.allow_networks.to_vec(),
            proxy: options.proxy.cloned(),
            credential: credential.finalize().into(),
        };
        Self { request, assertion: None, identity }
    }

    /// Adds an assertion if there is one. It is part of the credential.
    pub(in crate::http) fn with_assertion(mut self, assertion: Option<Assertion>) -> Self {
        let Some(assertion) = assertion else { return self };
        let mut credential = Sha256::new_with_prefix(self.identity.credential);
        credential.update(assertion.private_key.expose_secret());
        credential.update(assertion.key_id.as_deref().unwrap_or_default());
        self.identity.credential = credential.finalize().into();
        self.assertion = Some(assertion);
        self
    }

    /// Returns the request, with an assertion signed at this time.
    pub(in crate::http) fn request(&self, now: Timestamp) -> Result<Cow<'_, HttpRequest>, CredentialError> {
        let Some(assertion) = &self.assertion else { return Ok(Cow::Borrowed(&self.request)) };
        let mut request = self.request.clone();
        let jwt = assertion.sign(now)?;
        if matches!(self.identity.origin, Origin::Login(_)) {
            // A JSON web token contains only valid header characters.
            let bearer = token_value(BEARER, jwt.expose_secret());
            Arc::make_mut(&mut request.headers).extend(bearer.map(|bearer| (AUTHORIZATION, bearer)));
        } else {
            // A JSON web token needs no encoding in a form.
            let body = request.body.get_or_insert_default();
            body.extend_from_slice(format!("&assertion={}", jwt.expose_secret()).as_bytes());
        }
        Ok(Cow::Owned(request))
    }

    pub(in crate::http) const fn identity(&self) -> &SourceIdentity {
        &self.identity
    }

    /// Evaluates the token server's response. `now` is the wall time. No text shows any of the response.
    pub(in crate::http) fn judge(&self, answer: Result<HttpReply, HttpFailure>, now: Timestamp) -> Fetched {
        let reply = match answer {
            Ok(reply) => reply,
            Err(HttpFailure::NotConnected(cause) | HttpFailure::ProxyFailed(cause)) => return not_connected(&cause),
            Err(HttpFailure::System(SystemFailure::Unreachable(cause))) => return not_connected(cause),
            Err(failure) => return Fetched::Failed(failure, None),
        };
        match reply.status {
            status if self.identity.origin.is_success(status) => {
                let token = self.identity.origin.read_token(&reply, now);
                token.unwrap_or_else(|| Fetched::unavailable(self.identity.origin.why_no_token()))
            }
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {
                unavailable(&reply, now)
            }
            status if status.is_client_error() => {
                let text = format!("the token server refuses the credential with status {}", status.as_u16());
                let said = reply.body.whole().map(ServerText::of_error).unwrap_or_default();
                Fetched::Failed(HttpFailure::TokenRefused(text, said), None)
            }
            _ => unavailable(&reply, now),
        }
    }
}

fn not_connected(cause: &str) -> Fetched {
    Fetched::unavailable(&format!("no connection to the token server: {cause}"))
}

fn unavailable(reply: &HttpReply, now: Timestamp) -> Fetched {
    let text = format!("the token server answers with status {}", reply.status.as_u16());
    Fetched::Failed(HttpFailure::TokenUnavailable(text), retry_after(&reply.headers, now))
}

/// Reads a bearer token from the first of these fields. `default` is its lifetime if the response does not contain it.
fn read_bearer(body: &ReplyBody, keys: &[&str], default: Duration) -> Option<Fetched> {
    let answer = read_json(body)?;
    let kind = answer.get("token_type").and_then(Value::as_str).unwrap_or("bearer");
    let mut tokens = keys.iter().filter_map(|key| answer.get(key)?.as_str());
    let header = token_value(BEARER, tokens.find(|token| !token.is_empty())?)?;
    let life = answer.get("expires_in").and_then(|life| life.as_f64().or_else(|| life.as_str()?.parse().ok()));
    let life = life.map_or(Some(default), |life| Duration::try_from_secs_f64(life).ok())?;
    kind.eq_ignore_ascii_case("bearer").then_some(Fetched::Token(header, life.min(LONGEST_LIFE)))
}

fn read_login_token(reply: &HttpReply, login: &Login) -> Option<Fetched> {
    let answer = match &login.token {
        TokenPlace::Pointer(_) => read_json(&reply.body)?,
        TokenPlace::Header(_) => Value::Null,
    };
    let token = match &login.token {
        TokenPlace::Pointer(pointer) => answer.pointer(pointer)?.as_str()?,
        TokenPlace::Header(name) => reply.headers.get(name)?.to_str().ok()?,
    };
    let header = token_value(&login.prefix, Some(token).filter(|token| !token.is_empty())?)?;
    Some(Fetched::Token(header, login.ttl))
}

fn read_json(body: &ReplyBody) -> Option<Value> {
    let ReplyBody::Whole(bytes) = body else { return None };
    serde_json::from_slice(bytes).ok()
}
