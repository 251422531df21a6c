//! The log-in request of a target, with the values of its Secret.

use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use secrecy::SecretString;
use serde_json::Value;
use url::form_urlencoded::Serializer;

use crate::HttpOptions;
use crate::http::auth::assertion::Assertion;
use crate::http::auth::sensitive;
use crate::http::auth::token_request::{Origin, TokenSource};
use drift_api::secrets::labelled_secrets::{CredentialError, LabelledSecrets, without_line_end};
use drift_language::{HttpRequest, Login, LoginBody};

/// Returns the token source, if the Secret may be used for it.
pub(in crate::http) fn token_source(
    login: &Login,
    options: &HttpOptions<'_>,
    secrets: &LabelledSecrets,
) -> Result<TokenSource, CredentialError> {
    let mut request = HttpRequest {
        method: login.method.clone(),
        url: login.url.clone(),
        headers: Arc::default(),
        body: None,
        has_chosen_host: false,
        socket: None,
        auth: None,
    };
    let host = request.host().into_owned();
    let text = |text: &str| match Login::key_of(text) {
        Some(key) => secrets.credential(&login.secret, key, &host).map(|value| without_line_end(value).to_owned()),
        None => Ok(text.to_owned()),
    };
    let mut headers = HeaderMap::new();
    match &login.body {
        Some(LoginBody::Json(tree)) => {
            // A tree of texts, numbers and lists always has a JSON form.
            request.body = Some(filled(tree, &text)?.to_string().into_bytes());
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        Some(LoginBody::Form(fields)) => {
            let mut form = Serializer::new(String::new());
            for (name, value) in fields {
                form.append_pair(name, &text(value)?);
            }
            request.body = Some(form.finish().into_bytes());
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        }
        None => {}
    }
    for (name, value) in &login.headers {
        let key = Login::key_of(value).unwrap_or_default();
        let value = SecretString::from(text(value)?);
        headers.insert(name.clone(), sensitive(&value, &login.secret, key)?);
    }
    request.headers = Arc::new(headers);
    let assertion = login.jwt.as_ref().map(|jwt| Assertion::read(jwt, &login.secret, secrets, &request)).transpose()?;
    Ok(TokenSource::new(Origin::Login(login.clone()), request, options).with_assertion(assertion))
}

/// Returns the tree with the values of its placeholders.
fn filled(tree: &Value, text: &impl Fn(&str) -> Result<String, CredentialError>) -> Result<Value, CredentialError> {
    Ok(match tree {
        Value::String(template) => Value::String(text(template)?),
        Value::Array(items) => Value::Array(items.iter().map(|item| filled(item, text)).collect::<Result<_, _>>()?),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, field)| Ok((name.clone(), filled(field, text)?)));
            Value::Object(fields.collect::<Result<_, _>>()?)
        }
        other => other.clone(),
    })
}
