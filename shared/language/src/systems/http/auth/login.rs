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
use crate::secrets::secret_key::whole_secret;
use crate::section::{Section, any, duration, literal, map, words};
use crate::systems::http::auth::field::{CredentialPlace, parse_parameter, parse_pointer};
use crate::systems::http::auth::jwt_claims::JwtClaims;
use crate::systems::http::auth::oauth2::token_url;
use crate::systems::http::request::headers::RESERVED_HEADERS;
use crate::systems::needed_secret::SIGNING_KEY;
use crate::values::names::is_data_key;
use crate::yaml::{Content, Entry, Fields, Node, Reader, all};

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
    /// The place of the token in requests.
    pub place: CredentialPlace,
    /// The text before the token in a header.
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Section)]
pub enum TokenPlace {
    /// A JSON Pointer into the body: /access_token.
    #[key(literal(parse_pointer))]
    Pointer(String),
    /// A header of the response: X-Subject-Token.
    #[key(literal(parse_header_name))]
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

/// The section as written.
#[derive(Section)]
#[section(value = Login, check = make)]
pub(crate) struct WrittenLogin {
    /// A text that is ${secret.KEY} becomes that key of the Secret.
    request: Request,
    /// Where the token is: exactly one of these.
    token: TokenPlace,
    /// How requests send it. Default: Authorization: Bearer.
    send: Option<Send>,
    /// How long a token is used. 10s to 24h, default 5m.
    #[key(duration(MIN_TTL..=MAX_TTL), default = DEFAULT_TTL)]
    ttl: Duration,
    /// A Secret in the programs' namespace.
    #[key(whole_secret())]
    secret_ref: String,
}

#[derive(Section)]
#[section(rules = check_request)]
struct Request {
    /// Default: POST.
    #[key(words(METHODS), default = Method::POST)]
    method: Method,
    /// The URL, a literal.
    #[key(token_url())]
    url: Url,
    /// Request headers. At most 16.
    #[key(map(read_headers), default)]
    headers: Vec<(HeaderName, String)>,
    /// Sent as JSON.
    #[key(any(|reader: &mut Reader<'_>, node: &Node, place: &str| {
        check_placeholders(reader, node, place)?;
        Some(LoginBody::Json(node.to_json()))
    }))]
    body: Option<LoginBody>,
    /// Sent as a form, in place of body.
    #[key(map(read_form))]
    form: Option<LoginBody>,
    /// Signed by key privateKey of the Secret, sent as Authorization: Bearer.
    jwt: Option<JwtClaims>,
}

/// The use of the token.
#[derive(Section)]
#[section(rules = check_send)]
struct Send {
    /// The name of the header: X-Auth-Token.
    #[key(literal(auth_header))]
    header: Option<HeaderName>,
    /// Before the token. Default: Bearer with Authorization, else none.
    #[key(literal(parse_prefix))]
    prefix: Option<String>,
    /// In place of header: the name of a parameter of the query.
    #[key(literal(parse_parameter))]
    query: Option<String>,
    /// In place of header: a field of the body, as a JSON Pointer.
    #[key(literal(parse_pointer))]
    body: Option<String>,
}

/// The methods of a log-in.
const METHODS: &[(&str, Method)] = &[("POST", Method::POST), ("PUT", Method::PUT), ("GET", Method::GET)];

/// The usual text before a token.
const BEARER: &str = "Bearer ";

fn make(written: WrittenLogin, _: &mut Reader<'_>, _: &Fields<'_>, (): ()) -> Option<Login> {
    let WrittenLogin { request, token, send, ttl, secret_ref } = written;
    let Request { method, url, headers, body, form, jwt } = request;
    let send = send.unwrap_or(Send { header: Some(AUTHORIZATION), prefix: None, query: None, body: None });
    let place = match send {
        Send { header: Some(header), .. } => CredentialPlace::Header(header),
        Send { body: Some(pointer), .. } => CredentialPlace::Body(pointer),
        Send { query, .. } => CredentialPlace::Query(query),
    };
    let is_authorization = place == CredentialPlace::Header(AUTHORIZATION);
    let prefix = send.prefix.unwrap_or_else(|| if is_authorization { BEARER } else { "" }.to_owned());
    Some(Login { method, url, headers, body: body.or(form), jwt, token, place, prefix, ttl, secret: secret_ref })
}

/// Checks that a request has one body, and one header with a credential.
fn check_request(reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<()> {
    let place = fields.own_place();
    let is_authorization = |entry: &Entry| entry.key.eq_ignore_ascii_case(AUTHORIZATION.as_str());
    let headers = fields.get("headers").map(|node| &node.content);
    let sends = matches!(headers, Some(Content::Map(entries)) if entries.iter().any(is_authorization));
    if fields.get("jwt").is_some() && sends {
        let message = format!("{place}: jwt sends the header authorization; leave the other out");
        return reader.refuse(fields.at(), message);
    }
    if fields.get("body").is_some() && fields.get("form").is_some() {
        return reader.refuse(fields.at(), format!("{place}: body and form exclude each other"));
    }
    Some(())
}

/// Checks that a token has one place.
fn check_send(reader: &mut Reader<'_>, fields: &Fields<'_>, (): ()) -> Option<()> {
    reader.exactly_one(fields, &["header", "query", "body"])?;
    match fields.get("prefix").filter(|_| fields.get("header").is_none()) {
        Some(prefix) => reader.refuse(prefix.at, format!("{}: it belongs to header", fields.place("prefix"))),
        None => Some(()),
    }
}

fn read_form(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<LoginBody> {
    let fields = reader.any_fields(node, place)?;
    let texts = fields
        .entries()
        .iter()
        .map(|entry| Some((entry.key.clone(), read_placeholder(reader, &entry.value, &fields.place(&entry.key))?)));
    all(texts).map(LoginBody::Form)
}

/// Parses the name of a header.
pub(crate) fn parse_header_name(text: &str) -> Result<HeaderName, String> {
    HeaderName::try_from(text).map_err(|_| format!("`{text}` is no header name"))
}

fn parse_prefix(text: &str) -> Result<String, String> {
    match HeaderValue::from_str(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err("a header value has no control characters".to_owned()),
    }
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

/// Parses the name of a header that may have a credential.
pub(super) fn auth_header(text: &str) -> Result<HeaderName, String> {
    match HeaderName::try_from(text) {
        Ok(name) if name == http::header::AUTHORIZATION || !RESERVED_HEADERS.contains(&name.as_str()) => Ok(name),
        Ok(name) => Err(format!("the header `{name}` belongs to the connection")),
        Err(_) => Err(format!("`{text}` is no header name")),
    }
}
