//! `auth.login`: a token from a log-in request, which the target describes in full.
//!
//! A text of the request that is `${secret.KEY}` is replaced by that key of the Secret. This module holds no secret.

use std::collections::BTreeSet;
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue, Method};
use serde_json::Value;
use url::Url;

use crate::cel::is_template;
use crate::secrets::needed_secret::SIGNING_KEY;
use crate::secrets::secret_key::read_whole_secret;
use crate::systems::http::auth::jwt_claims::{JwtClaims, read_jwt_claims};
use crate::systems::http::auth::oauth2::read_token_url;
use crate::systems::http::request::headers::RESERVED_HEADERS;
use crate::values::names::is_data_key;
use crate::yaml::{Content, Node, Reader, all, duration};

/// Default use of a token, the one of `oauth2` without `expires_in`.
const DEFAULT_TTL: Duration = Duration::from_secs(300);
/// Minimum use of a token. A shorter one would cause a log-in for nearly every poll.
const MIN_TTL: Duration = Duration::from_secs(10);
/// Maximum use of a token, so that a revoked right takes effect within a day.
const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum headers of the request. More are a mistake.
const MAX_HEADERS: usize = 16;

/// A log-in and the use of its token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Login {
    /// The method of the request.
    pub method: Method,
    /// The URL of the request.
    pub url: Url,
    /// Headers with literal values or placeholders.
    pub headers: Vec<(HeaderName, String)>,
    /// The body, with placeholders.
    pub body: Option<LoginBody>,
    /// A signed token that the request sends as `Authorization: Bearer`.
    pub jwt: Option<JwtClaims>,
    /// The place of the token in the response.
    pub token: TokenPlace,
    /// The header that sends the token.
    pub header: HeaderName,
    /// The text before the token in that header.
    pub prefix: String,
    /// The use of a token before the next log-in.
    pub ttl: Duration,
    /// The Secret of the placeholders.
    pub secret: String,
}

/// The body of a log-in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LoginBody {
    /// A tree, sent as JSON.
    Json(Value),
    /// Names and texts, sent as a form.
    Form(Vec<(String, String)>),
}

/// The place of the token in the response.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TokenPlace {
    /// A JSON Pointer into the body.
    Pointer(String),
    /// A header.
    Header(HeaderName),
}

impl Login {
    /// Returns the key in a placeholder: `username` of `${secret.username}`.
    #[must_use]
    pub fn key_of(text: &str) -> Option<&str> {
        text.strip_prefix("${secret.")?.strip_suffix('}').filter(|key| is_data_key(key))
    }

    /// The keys of the Secret that the request sends.
    #[must_use]
    pub fn keys(&self) -> BTreeSet<&str> {
        let mut texts: Vec<&str> = self.headers.iter().map(|(_, text)| text.as_str()).collect();
        match &self.body {
            Some(LoginBody::Json(tree)) => collect_texts(tree, &mut texts),
            Some(LoginBody::Form(fields)) => texts.extend(fields.iter().map(|(_, text)| text.as_str())),
            None => {}
        }
        let signing_key = self.jwt.iter().map(|_| SIGNING_KEY);
        texts.into_iter().filter_map(Self::key_of).chain(signing_key).collect()
    }
}

fn collect_texts<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| collect_texts(field, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

pub(crate) fn read_login(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Login> {
    let fields = reader.fields(node, place, &["request", "token", "send", "ttl", "secretRef"])?;
    let request = reader.needed(&fields, "request", read_request);
    let token = reader.needed(&fields, "token", read_token_place);
    let send = reader.or(&fields, "send", (AUTHORIZATION, "Bearer ".to_owned()), read_send);
    let ttl =
        reader.or(&fields, "ttl", DEFAULT_TTL, |reader, node, place| duration(reader, node, place, MIN_TTL..=MAX_TTL));
    let secret = reader.needed(&fields, "secretRef", read_whole_secret);
    let (Request { method, url, headers, body, jwt }, (header, prefix)) = (request?, send?);
    Some(Login { method, url, headers, body, jwt, token: token?, header, prefix, ttl: ttl?, secret: secret? })
}

/// The content of `request`.
struct Request {
    method: Method,
    url: Url,
    headers: Vec<(HeaderName, String)>,
    body: Option<LoginBody>,
    jwt: Option<JwtClaims>,
}

fn read_request(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Request> {
    let fields = reader.fields(node, place, &["method", "url", "headers", "body", "form", "jwt"])?;
    let method = reader.or(&fields, "method", &Method::POST, |reader, node, place| {
        reader.choice(node, place, &[("POST", &Method::POST), ("PUT", &Method::PUT), ("GET", &Method::GET)])
    });
    let url = reader.needed(&fields, "url", read_token_url);
    let headers = reader.or(&fields, "headers", Vec::new(), read_headers);
    let body = reader.optional(&fields, "body", |reader, node, place| {
        check_placeholders(reader, node, place)?;
        Some(LoginBody::Json(node.to_json()))
    });
    let form = reader.optional(&fields, "form", |reader, node, place| {
        let fields = reader.any_fields(node, place)?;
        let fields = fields
            .entries()
            .iter()
            .map(|entry| Some((entry.key.clone(), read_placeholder(reader, &entry.value, &fields.place(&entry.key))?)));
        all(fields).map(LoginBody::Form)
    });
    let jwt = reader.optional(&fields, "jwt", |reader, node, place| {
        let fields = reader.fields(node, place, &["issuer", "subject", "audience"])?;
        read_jwt_claims(reader, &fields)
    });
    let (headers, body, form, jwt) = (headers?, body?, form?, jwt?);
    if jwt.is_some() && headers.iter().any(|(name, _)| *name == AUTHORIZATION) {
        return reader.refuse(node.at, format!("{place}: jwt sends the header authorization; leave the other out"));
    }
    if body.is_some() && form.is_some() {
        return reader.refuse(node.at, format!("{place}: body and form exclude each other"));
    }
    Some(Request { method: method?.clone(), url: url?, headers, body: body.or(form), jwt })
}

fn read_headers(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Vec<(HeaderName, String)>> {
    let fields = reader.any_fields(node, place)?;
    if fields.entries().len() > MAX_HEADERS {
        return reader.refuse(node.at, format!("{place}: at most {MAX_HEADERS} headers"));
    }
    all(fields.entries().iter().map(|entry| {
        let place = fields.place(&entry.key);
        let value = read_placeholder(reader, &entry.value, &place)?;
        if HeaderValue::from_str(&value).is_err() {
            return reader.refuse(entry.value.at, format!("{place}: a header value has no control characters"));
        }
        match auth_header(&entry.key) {
            Ok(name) => Some((name, value)),
            Err(message) => reader.refuse(entry.key_at, format!("{place}: {message}")),
        }
    }))
}

fn read_token_place(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<TokenPlace> {
    let fields = reader.fields(node, place, &["pointer", "header"])?;
    let pointer = reader.optional(&fields, "pointer", |reader, node, place| {
        let pointer = reader.literal(node, place)?;
        match pointer.starts_with('/') {
            true => Some(pointer.to_owned()),
            false => reader.refuse(node.at, format!("{place}: write a JSON Pointer such as /access_token")),
        }
    });
    let header = reader.optional(&fields, "header", |reader, node, place| {
        let name = reader.literal(node, place)?;
        match HeaderName::try_from(name) {
            Ok(name) => Some(name),
            Err(_) => reader.refuse(node.at, format!("{place}: `{name}` is no header name")),
        }
    });
    match (pointer?, header?) {
        (Some(pointer), None) => Some(TokenPlace::Pointer(pointer)),
        (None, Some(header)) => Some(TokenPlace::Header(header)),
        _ => reader.refuse(node.at, format!("{place}: exactly one of pointer, header is needed")),
    }
}

fn read_send(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<(HeaderName, String)> {
    let fields = reader.fields(node, place, &["header", "prefix"])?;
    let header = reader.needed(&fields, "header", read_auth_header)?;
    let default = if header == AUTHORIZATION { "Bearer " } else { "" };
    let prefix = reader.or(&fields, "prefix", default.to_owned(), |reader, node, place| {
        let prefix = reader.literal(node, place)?;
        match HeaderValue::from_str(prefix) {
            Ok(_) => Some(prefix.to_owned()),
            Err(_) => reader.refuse(node.at, format!("{place}: a header value has no control characters")),
        }
    });
    Some((header, prefix?))
}

/// Reads a text that is literal or one placeholder.
fn read_placeholder(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<String> {
    let text = reader.text(node, place)?;
    if is_template(text) && Login::key_of(text).is_none() {
        let message = format!("{place}: a text of a log-in is literal, or as a whole `${{secret.KEY}}`");
        return reader.refuse(node.at, message);
    }
    Some(text.to_owned())
}

fn check_placeholders(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<()> {
    match &node.content {
        Content::Text(_) => read_placeholder(reader, node, place).map(drop),
        Content::List(items) => reader.each(items, place, check_placeholders).map(drop),
        Content::Map(entries) => {
            let checked =
                entries.iter().map(|entry| check_placeholders(reader, &entry.value, &format!("{place}.{}", entry.key)));
            all::<(), Vec<()>>(checked).map(drop)
        }
        Content::Null | Content::Bool(_) | Content::Number(_) => Some(()),
    }
}

pub(super) fn read_auth_header(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<HeaderName> {
    let text = reader.literal(node, place)?;
    match auth_header(text) {
        Ok(name) => Some(name),
        Err(message) => reader.refuse(node.at, format!("{place}: {message}")),
    }
}

/// Parses the name of a header that may have a credential.
pub(super) fn auth_header(text: &str) -> Result<HeaderName, String> {
    match HeaderName::try_from(text) {
        Ok(name) if name == http::header::AUTHORIZATION || !RESERVED_HEADERS.contains(&name.as_str()) => Ok(name),
        Ok(name) => Err(format!("the header `{name}` belongs to the connection")),
        Err(_) => Err(format!("`{text}` is no header name")),
    }
}
