//! A credential in the query or the body of a request.

use std::borrow::Cow;

use http::HeaderValue;
use http::header::CONTENT_TYPE;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::http::auth::value_of;
use drift_api::secrets::labelled_secrets::{CredentialError, LabelledSecrets};
use drift_language::{Auth, AuthField, CredentialPlace, HttpRequest, form_with_fields};

/// Returns the request with its credential, if that is no header.
pub(in crate::http) fn placed<'r>(
    request: &'r HttpRequest,
    auth: Option<&Auth>,
    token: Option<&HeaderValue>,
    secrets: &LabelledSecrets,
) -> Result<Cow<'r, HttpRequest>, CredentialError> {
    let (place, name, value) = match (auth, token) {
        (Some(Auth::Query(AuthField { place, value }) | Auth::Body(AuthField { place, value })), _) => {
            (place, &value.name, value_of(value, secrets, request)?)
        }
        (Some(Auth::Login(login)), Some(token)) => {
            (&login.place, &login.secret, SecretString::from(token.to_str().unwrap_or_default()))
        }
        _ => return Ok(Cow::Borrowed(request)),
    };
    let mut placed = request.clone();
    let (value, query) = (value.expose_secret(), request.url.query().unwrap_or_default().as_bytes());
    match place {
        CredentialPlace::Header(_) => return Ok(Cow::Borrowed(request)),
        CredentialPlace::Query(Some(parameter)) => placed.url.set_query(with_field(query, parameter, value).as_deref()),
        CredentialPlace::Query(None) => {
            let value = value.trim_start_matches('?');
            let names = form_urlencoded::parse(value.as_bytes()).map(|(name, _)| (name.into_owned(), Value::Null));
            // The parameters are sent as they are, because they are signed.
            let others = form_with_fields(query, &names.collect()).unwrap_or_default();
            let both: Vec<_> = [&*others, value].into_iter().filter(|part| !part.is_empty()).collect();
            placed.url.set_query(Some(&both.join("&")));
        }
        CredentialPlace::Body(pointer) => {
            let is_form = |kind: &HeaderValue| kind.as_bytes().starts_with(b"application/x-www-form-urlencoded");
            let body = request.body.as_deref().unwrap_or_default();
            let filled = match request.headers.get(CONTENT_TYPE).is_some_and(is_form) {
                true => with_field(body, &pointer[1..], value).map(String::into_bytes),
                false => in_json(body, pointer, value),
            };
            let no_place = || CredentialError::NoPlace { name: name.clone(), pointer: pointer.clone() };
            placed.body = Some(filled.ok_or_else(no_place)?);
        }
    }
    Ok(Cow::Owned(placed))
}

fn with_field(form: &[u8], name: &str, value: &str) -> Option<String> {
    form_with_fields(form, &Map::from_iter([(name.to_owned(), Value::from(value))])).ok()
}

/// Returns a JSON body with the value: a field of a map, or in place of an item of a list.
fn in_json(body: &[u8], pointer: &str, value: &str) -> Option<Vec<u8>> {
    let mut tree: Value = serde_json::from_slice(body).ok()?;
    let (parent, last) = pointer.rsplit_once('/')?;
    match tree.pointer_mut(parent)? {
        Value::Object(fields) => drop(fields.insert(last.replace("~1", "/").replace("~0", "~"), Value::from(value))),
        Value::Array(items) => *items.get_mut(last.parse::<usize>().ok()?)? = Value::from(value),
        _ => return None,
    }
    serde_json::to_vec(&tree).ok()
}
