//! The token request to an identity server that the target names.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use secrecy::{ExposeSecret, SecretString};
use url::form_urlencoded::{Serializer, byte_serialize};

use crate::HttpOptions;
use crate::http::auth::token_request::{Origin, TokenSource};
use crate::http::auth::without_line_end;
use drift_api::requests::http_request::HttpRequest;
use drift_api::secrets::labelled_secrets::{CredentialError, LabelledSecrets};
use drift_language::{Grant, OAuth2};

/// Returns the token source, if the Secret may be used for it.
pub(in crate::http) fn token_source(
    oauth2: &OAuth2,
    options: &HttpOptions<'_>,
    secrets: &LabelledSecrets,
) -> Result<TokenSource, CredentialError> {
    let mut request = HttpRequest {
        method: Method::POST,
        url: oauth2.token_url.clone(),
        headers: Arc::default(),
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
    let mut headers = HeaderMap::new();
    match &client {
        Some((id, Some(secret))) => headers.extend([(AUTHORIZATION, basic(id, secret))]),
        Some((id, None)) => drop(form.append_pair("client_id", id.expose_secret())),
        None => {}
    }
    request.body = Some(form.finish().into_bytes());
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
    request.headers = Arc::new(headers);
    Ok(TokenSource::new(Origin::OAuth2(oauth2.clone()), request, options))
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
