//! The request for a token, and what its answer says.
//!
//! It must not know when a token is asked for, nor what it is used for.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use sha2::{Digest, Sha256};
use url::form_urlencoded::{Serializer, byte_serialize};

use crate::http::auth::without_line_end;
use crate::http::reply::{HttpReply, ReplyBody};
use crate::{HttpFailure, HttpOptions};
use drift_model::http_request::HttpRequest;
use drift_model::labelled_secrets::{CredentialError, LabelledSecrets};
use drift_target::{Grant, Network, OAuth2, Tls};

/// Longest wait for a token. Half of the default deadline of a poll, which waits for it: so that a slow token server is
/// told apart from a slow host.
pub(super) const TOKEN_DEADLINE: Duration = Duration::from_secs(5);

/// Cap on a token server's answer: the largest tokens, with all groups of a person in them, have some 16 KiB.
pub(super) const MAX_TOKEN_BYTES: usize = 64 * 1024;

/// How long a token is used whose answer does not say it: what identity servers commonly give.
const LIFE_WHEN_NOT_TOLD: Duration = Duration::from_secs(300);

/// The longest that a token is used: a right that was taken away is noticed within a day.
const LONGEST_LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// Where a token comes from: who asks what, and how.
pub(super) struct TokenSource {
    request: HttpRequest,
    identity: SourceIdentity,
}

/// Tells sources apart: those with one share a token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SourceIdentity {
    oauth2: OAuth2,
    tls: Option<Tls>,
    networks: Vec<Network>,
    /// Of the credential, so that another one gets another token.
    credential: [u8; 32],
}

/// What came of a request for a token.
#[derive(Clone, Debug)]
pub(super) enum Fetched {
    /// A token, as a header, and how long it is good for from the moment at which it was asked for.
    Token(HeaderValue, Duration),
    /// None; and how long the server asked to be left alone.
    Failed(HttpFailure, Option<Duration>),
}

impl Fetched {
    pub(super) fn unavailable(text: &str) -> Self {
        Self::Failed(HttpFailure::TokenUnavailable(text.to_owned()), None)
    }
}

impl TokenSource {
    pub(super) fn new(
        oauth2: &OAuth2,
        options: &HttpOptions<'_>,
        secrets: &LabelledSecrets,
    ) -> Result<Self, CredentialError> {
        let mut request = HttpRequest {
            method: Method::POST,
            url: oauth2.token_url.clone(),
            headers: HeaderMap::new(),
            body: None,
            has_chosen_host: false,
            socket: None,
        };
        let host = request.host();
        let text = |key: &str| {
            let value = secrets.credential(&oauth2.secret, key, &host)?;
            Ok(SecretString::from(without_line_end(value)))
        };
        let optional = |key: &str| match text(key) {
            Err(CredentialError::NoKey { .. }) => Ok(None),
            other => other.map(Some),
        };
        let (grant, user, client) = match oauth2.grant {
            Grant::ClientCredentials => {
                ("client_credentials", None, Some((text("clientId")?, Some(text("clientSecret")?))))
            }
            Grant::Password => {
                let client = optional("clientId")?.map(|id| Ok((id, optional("clientSecret")?))).transpose()?;
                ("password", Some((text("username")?, text("password")?)), client)
            }
        };
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", grant);
        if let Some((username, password)) = &user {
            form.append_pair("username", username.expose_secret()).append_pair("password", password.expose_secret());
        }
        if !oauth2.scopes.is_empty() {
            form.append_pair("scope", &oauth2.scopes.join(" "));
        }
        match &client {
            Some((id, Some(secret))) => request.headers.extend([(AUTHORIZATION, basic(id, secret))]),
            Some((id, None)) => drop(form.append_pair("client_id", id.expose_secret())),
            None => {}
        }
        let body = form.finish().into_bytes();
        let mut credential = Sha256::new_with_prefix(&body);
        credential.update(request.headers.get(AUTHORIZATION).map_or(&[][..], HeaderValue::as_bytes));
        request.body = Some(body);
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let identity = SourceIdentity {
            oauth2: oauth2.clone(),
            tls: options.tls.cloned(),
            networks: options.allow_networks.to_vec(),
            credential: credential.finalize().into(),
        };
        Ok(Self { request, identity })
    }

    pub(super) const fn request(&self) -> &HttpRequest {
        &self.request
    }

    pub(super) const fn identity(&self) -> &SourceIdentity {
        &self.identity
    }
}

/// The client's credential as RFC 6749 has it: each part encoded as in a form.
fn basic(id: &SecretString, secret: &SecretString) -> HeaderValue {
    let encoded = |text: &SecretString| byte_serialize(text.expose_secret().as_bytes()).collect::<String>();
    let pair = BASE64_STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret)));
    // Base64 is of header characters only.
    let mut value = HeaderValue::from_str(&format!("Basic {pair}")).unwrap_or(HeaderValue::from_static(""));
    value.set_sensitive(true);
    value
}

/// What the token server's answer says. Never shows any of it.
pub(super) fn judge(answer: Result<HttpReply, HttpFailure>) -> Fetched {
    let reply = match answer {
        Ok(reply) => reply,
        Err(HttpFailure::Unreachable(cause)) => {
            return Fetched::unavailable(&format!("no connection to the token server: {cause}"));
        }
        Err(failure) => return Fetched::Failed(failure, None),
    };
    match reply.status {
        StatusCode::OK => read_token(&reply.body)
            .unwrap_or_else(|| Fetched::unavailable("the token server's answer holds no bearer token")),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => unavailable(&reply),
        status if status.is_client_error() => {
            let text = format!("the token server refuses it with status {}", status.as_u16());
            Fetched::Failed(HttpFailure::TokenRefused(text), None)
        }
        _ => unavailable(&reply),
    }
}

fn unavailable(reply: &HttpReply) -> Fetched {
    let text = format!("the token server answers with status {}", reply.status.as_u16());
    // A date has no meaning without a clock; identity servers give seconds.
    let seconds = reply.headers.get(http::header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let pause = seconds.map(|seconds| Duration::from_secs(seconds).min(crate::MAX_RETRY_AFTER));
    Fetched::Failed(HttpFailure::TokenUnavailable(text), pause)
}

fn read_token(body: &ReplyBody) -> Option<Fetched> {
    let ReplyBody::Whole(bytes) = body else { return None };
    let answer: Value = serde_json::from_slice(bytes).ok()?;
    let kind = answer.get("token_type").and_then(Value::as_str).unwrap_or("bearer");
    let token = answer.get("access_token")?.as_str().filter(|token| !token.is_empty())?;
    let mut header = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    header.set_sensitive(true);
    let life = answer.get("expires_in").and_then(|life| life.as_f64().or_else(|| life.as_str()?.parse().ok()));
    let life = life.map_or(Some(LIFE_WHEN_NOT_TOLD), |life| Duration::try_from_secs_f64(life).ok())?;
    kind.eq_ignore_ascii_case("bearer").then_some(Fetched::Token(header, life.min(LONGEST_LIFE)))
}
