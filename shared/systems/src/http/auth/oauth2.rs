//! The token request to an identity server that the target names.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use secrecy::{ExposeSecret, SecretString};
use url::form_urlencoded::{Serializer, byte_serialize};

use crate::HttpOptions;
use crate::http::auth::assertion::Assertion;
use crate::http::auth::projected_token::ProjectedTokens;
use crate::http::auth::token_request::{Origin, TokenSource};
use drift_api::secrets::labelled_secrets::{CredentialError, LabelledSecrets, without_line_end};
use drift_language::{Grant, HttpRequest, OAuth2};

/// The grant of RFC 7523.
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The kind of an assertion of RFC 7523.
const CLIENT_ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Names of RFC 8693.
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT: &str = "urn:ietf:params:oauth:token-type:jwt";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// Returns the token source, if the Secret may be used for it.
pub(in crate::http) fn token_source(
    oauth2: &OAuth2,
    options: &HttpOptions<'_>,
    secrets: &LabelledSecrets,
    projected: &ProjectedTokens,
) -> Result<TokenSource, CredentialError> {
    let mut request = HttpRequest {
        method: Method::POST,
        url: oauth2.token_url.clone(),
        headers: Arc::default(),
        body: None,
        has_chosen_host: false,
        socket: None,
        auth: None,
    };
    let host = request.host();
    let text = |key: &str| {
        // Only an optional key is read without a Secret.
        let missing = || CredentialError::NoKey { name: String::new(), key: key.to_owned() };
        let value = secrets.credential(oauth2.secret.as_deref().ok_or_else(missing)?, key, &host)?;
        Ok(SecretString::from(without_line_end(value)))
    };
    let optional = |key: &str| match text(key) {
        Err(CredentialError::NoKey { .. }) => Ok(None),
        other => other.map(Some),
    };
    let optional_client = || optional("clientId")?.map(|id| Ok((id, optional("clientSecret")?))).transpose();
    let mut form = Serializer::new(String::new());
    let client = match &oauth2.grant {
        Grant::ClientCredentials => {
            form.append_pair("grant_type", "client_credentials");
            Some((text("clientId")?, Some(text("clientSecret")?)))
        }
        Grant::ClientAssertion { client_id, token } => {
            form.append_pair("grant_type", "client_credentials").append_pair("client_id", client_id);
            form.append_pair("client_assertion_type", CLIENT_ASSERTION);
            form.append_pair("client_assertion", projected.read(token)?.expose_secret());
            None
        }
        Grant::Password => {
            form.append_pair("grant_type", "password").append_pair("username", text("username")?.expose_secret());
            form.append_pair("password", text("password")?.expose_secret());
            optional_client()?
        }
        Grant::TokenExchange { subject, audience } => {
            form.append_pair("grant_type", TOKEN_EXCHANGE);
            form.append_pair("subject_token", projected.read(subject)?.expose_secret());
            form.append_pair("subject_token_type", JWT).append_pair("requested_token_type", ACCESS_TOKEN);
            if let Some(audience) = audience {
                form.append_pair("audience", audience);
            }
            optional_client()?
        }
        Grant::JwtBearer(_) => {
            form.append_pair("grant_type", JWT_BEARER);
            optional_client()?
        }
    };
    if !oauth2.scopes.is_empty() {
        form.append_pair("scope", &oauth2.scopes.join(" "));
    }
    let mut headers = HeaderMap::new();
    match &client {
        Some((id, Some(secret))) => headers.extend([(AUTHORIZATION, basic(id, secret))]),
        Some((id, None)) => drop(form.append_pair("client_id", id.expose_secret())),
        None => {}
    }
    request.body = Some(form.finish().into_bytes());
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    request.headers = Arc::new(headers);
    let assertion = match (&oauth2.grant, &oauth2.secret) {
        (Grant::JwtBearer(jwt), Some(secret)) => {
            let mut assertion = Assertion::read(jwt, secret, secrets, &request)?;
            // Some servers look for the scopes in the form, others in the assertion.
            let scopes = Some(oauth2.scopes.join(" ")).filter(|scopes| !scopes.is_empty());
            assertion.claims.extend(scopes.map(|scopes| ("scope".to_owned(), scopes.into())));
            Some(assertion)
        }
        _ => None,
    };
    Ok(TokenSource::new(Origin::OAuth2(oauth2.clone()), request, options).with_assertion(assertion))
}

/// Encodes the client's credential according to RFC 6749: each part encoded as in a form.
fn basic(id: &SecretString, secret: &SecretString) -> HeaderValue {
    let encoded = |text: &SecretString| byte_serialize(text.expose_secret().as_bytes()).collect::<String>();
    let pair = BASE64_STANDARD.encode(format!("{}:{}", encoded(id), encoded(secret)));
    // Base64 contains only valid header characters.
    let mut value = HeaderValue::from_str(&format!("Basic {pair}")).unwrap_or(HeaderValue::from_static(""));
    value.set_sensitive(true);
    value
}
