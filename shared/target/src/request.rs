//! What a read and a correction's step share of HTTP: URL, headers, body, credential, accepted statuses.

use std::ops::RangeInclusive;

use http::{HeaderMap, HeaderName, HeaderValue, Method};

use crate::cel::{
    EvaluationError, Node as ValueNode, Scope, Site, TextTemplate, UrlTemplate, ValueTemplate, Variables,
};
use crate::names::{is_data_key, is_dns_subdomain};
use crate::raw::{Fields, Reader};
use crate::yaml::{Content, Node};
use drift_model::http_request::HttpRequest;

/// Headers of one request: more are a mistake.
const MAX_HEADERS: usize = 32;
/// Entries of `accept`.
const MAX_ACCEPT: usize = 32;
/// Headers that a target may not set: they belong to the credential, to the connection or to the body.
const RESERVED_HEADERS: &[&str] = &[
    "authorization",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Statuses that say nothing about the resource: they are judged before any rule is asked.
const NEVER_ACCEPTED: &[u16] = &[401, 403, 407, 408, 425, 429];

/// A set of HTTP statuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusSet(pub Vec<RangeInclusive<u16>>);

impl StatusSet {
    /// Whether the status is in it.
    #[must_use]
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|range| range.contains(&status))
    }

    /// Both together.
    pub(super) fn and(&self, other: &Self) -> Self {
        let further = other.0.iter().filter(|range| !self.0.contains(range));
        Self(self.0.iter().chain(further).cloned().collect())
    }

    /// 200 to 299.
    pub(super) fn success() -> Self {
        Self(vec![200..=299])
    }
}

/// A reference to one key of a Secret in our own namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SecretKey {
    /// The Secret's name.
    pub name: String,
    /// The data key.
    pub key: String,
}

/// How a request proves who we are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Auth {
    /// `Authorization: Bearer …`.
    Bearer(SecretKey),
    /// `Authorization: Basic …` from keys `username` and `password` of the Secret.
    Basic {
        /// The Secret's name.
        secret: String,
    },
    /// A header of that name with the key's value.
    Header {
        /// The header.
        name: HeaderName,
        /// Its value.
        value: SecretKey,
    },
}

/// TLS of a target beyond the public roots.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tls {
    /// PEM bundle that replaces the built-in roots.
    pub ca: SecretKey,
}

pub(super) fn read_url(reader: &mut Reader<'_>, node: &Node, site: &Site) -> Option<UrlTemplate> {
    let text = reader.text(node, &site.place)?;
    reader.compiled(node, &site.place, UrlTemplate::parse(text, site))
}

pub(super) fn read_headers(
    reader: &mut Reader<'_>,
    node: &Node,
    site: &Site,
) -> Option<Vec<(HeaderName, TextTemplate)>> {
    let fields = reader.any_fields(node, &site.place)?;
    if fields.entries().len() > MAX_HEADERS {
        return reader.refuse(node.at, format!("{}: at most {MAX_HEADERS} headers", site.place));
    }
    let mut headers: Vec<(HeaderName, TextTemplate)> = Vec::new();
    let mut whole = true;
    for entry in fields.entries() {
        let site = Site::new(&fields.place(&entry.key), site.scope);
        let name = HeaderName::try_from(entry.key.as_str()).ok();
        let template = reader.text(&entry.value, &site.place);
        let template =
            template.and_then(|text| reader.compiled(&entry.value, &site.place, TextTemplate::parse(text, &site)));
        let refusal = match &name {
            None => Some(format!("`{}` is no header name", entry.key)),
            Some(name) if RESERVED_HEADERS.contains(&name.as_str()) => {
                Some(format!("the header `{name}` cannot be set here; credentials are given by auth"))
            }
            Some(name) if headers.iter().any(|(known, _)| known == name) => {
                Some(format!("the header `{name}` stands twice"))
            }
            Some(_) => None,
        };
        if let Some(message) = refusal {
            reader.refuse::<()>(entry.key_at, message);
            whole = false;
        } else if let (Some(name), Some(template)) = (name, template) {
            headers.push((name, template));
        } else {
            whole = false;
        }
    }
    whole.then_some(headers)
}

/// A tree of templates.
pub(super) fn read_value(reader: &mut Reader<'_>, node: &Node, site: &Site) -> Option<ValueTemplate> {
    Some(ValueTemplate::new(read_value_node(reader, node, &site.place, site.scope)?, site.clone()))
}

fn read_value_node(reader: &mut Reader<'_>, node: &Node, place: &str, scope: Scope) -> Option<ValueNode> {
    match &node.content {
        Content::Text(text) => reader.compiled(node, place, ValueNode::parse(text, &Site::new(place, scope))),
        Content::List(items) => {
            let items: Vec<Option<ValueNode>> = items
                .iter()
                .enumerate()
                .map(|(position, item)| read_value_node(reader, item, &format!("{place}[{position}]"), scope))
                .collect();
            items.into_iter().collect::<Option<_>>().map(ValueNode::list)
        }
        Content::Map(entries) => {
            let mut fields = Vec::with_capacity(entries.len());
            for entry in entries {
                let place = format!("{place}.{}", entry.key);
                let value = read_value_node(reader, &entry.value, &place, scope);
                if crate::cel::is_template(&entry.key) {
                    reader
                        .refuse::<()>(entry.key_at, format!("{place}: keys are literal; build the map in one ${{…}}"));
                }
                fields.push(value.map(|value| (entry.key.clone(), value)));
            }
            fields.into_iter().collect::<Option<_>>().map(ValueNode::map)
        }
        Content::Null | Content::Bool(_) | Content::Number(_) => Some(ValueNode::Constant(node.to_json())),
    }
}

pub(super) fn read_accept(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<StatusSet> {
    let items = reader.items(node, place, 1..=MAX_ACCEPT)?;
    let ranges: Vec<Option<_>> = items.iter().map(|item| read_statuses(reader, item, place)).collect();
    ranges.into_iter().collect::<Option<Vec<_>>>().map(StatusSet)
}

/// A status, or a range of them: `200-299`.
fn read_statuses(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<RangeInclusive<u16>> {
    let range = match &node.content {
        Content::Number(number) => {
            number.as_u64().and_then(|status| u16::try_from(status).ok()).map(|status| status..=status)
        }
        Content::Text(text) => text
            .split_once('-')
            .and_then(|(first, last)| Some(first.trim().parse::<u16>().ok()?..=last.trim().parse::<u16>().ok()?)),
        _ => None,
    };
    let Some(range) = range.filter(|range| range.start() <= range.end()) else {
        return reader.refuse(node.at, format!("{place}: write statuses, for example [200, 404] or [200-299]"));
    };
    let never = NEVER_ACCEPTED.iter().copied().find(|status| range.contains(status));
    if let Some(status) = never {
        let message = format!("{place}: {status} cannot be accepted: it says nothing about the resource");
        return reader.refuse(node.at, message);
    }
    if *range.start() < 200 || *range.end() > 499 || (*range.start() < 400 && *range.end() >= 300) {
        let message = format!("{place}: only 2xx and 4xx can be accepted: the others say nothing about the resource");
        return reader.refuse(node.at, message);
    }
    Some(range)
}

pub(super) fn read_auth(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Auth> {
    let fields = reader.fields(node, place, &["bearer", "basic", "header"])?;
    let [entry] = fields.entries() else {
        return reader.refuse(node.at, format!("{place}: exactly one of bearer, basic, header is needed"));
    };
    let (node, place) = (&entry.value, fields.place(&entry.key));
    match entry.key.as_str() {
        "bearer" => {
            let fields = reader.fields(node, &place, &["secretRef"])?;
            Some(Auth::Bearer(read_secret_key(reader, &fields, "secretRef")?))
        }
        "basic" => {
            let fields = reader.fields(node, &place, &["secretRef"])?;
            let node = reader.required(&fields, "secretRef")?;
            let fields = reader.fields(node, &fields.place("secretRef"), &["name"])?;
            Some(Auth::Basic { secret: read_secret_name(reader, &fields)? })
        }
        "header" => {
            let fields = reader.fields(node, &place, &["name", "secretRef"])?;
            let name =
                reader.required(&fields, "name").and_then(|node| read_auth_header(reader, node, &fields.place("name")));
            let value = read_secret_key(reader, &fields, "secretRef");
            Some(Auth::Header { name: name?, value: value? })
        }
        _ => None,
    }
}

fn read_auth_header(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<HeaderName> {
    let text = reader.literal(node, place)?;
    match HeaderName::try_from(text) {
        Ok(name) if name == http::header::AUTHORIZATION || !RESERVED_HEADERS.contains(&name.as_str()) => Some(name),
        Ok(name) => reader.refuse(node.at, format!("{place}: the header `{name}` belongs to the connection")),
        Err(_) => reader.refuse(node.at, format!("{place}: `{text}` is no header name")),
    }
}

pub(super) fn read_tls(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Tls> {
    let fields = reader.fields(node, place, &["caSecretRef"])?;
    Some(Tls { ca: read_secret_key(reader, &fields, "caSecretRef")? })
}

fn read_secret_key(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Option<SecretKey> {
    let node = reader.required(fields, key)?;
    let fields = reader.fields(node, &fields.place(key), &["name", "key"])?;
    let name = read_secret_name(reader, &fields);
    let key = reader.required(&fields, "key").and_then(|node| {
        let text = reader.literal(node, &fields.place("key"))?;
        if !is_data_key(text) {
            return reader.refuse(node.at, format!("{}: `{text}` is no key of a Secret", fields.place("key")));
        }
        Some(text.to_owned())
    });
    Some(SecretKey { name: name?, key: key? })
}

fn read_secret_name(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<String> {
    let node = reader.required(fields, "name")?;
    let text = reader.literal(node, &fields.place("name"))?;
    if !is_dns_subdomain(text) {
        return reader.refuse(node.at, format!("{}: `{text}` is no name of a Secret", fields.place("name")));
    }
    Some(text.to_owned())
}

/// What a request is rendered from.
pub(super) struct Templates<'t> {
    pub(super) method: &'t Method,
    pub(super) url: &'t UrlTemplate,
    pub(super) headers: &'t [(HeaderName, TextTemplate)],
    pub(super) body: Option<&'t ValueTemplate>,
}

impl Templates<'_> {
    pub(super) fn render(&self, variables: &Variables<'_>) -> Result<HttpRequest, EvaluationError> {
        let mut headers = HeaderMap::with_capacity(self.headers.len());
        for (name, template) in self.headers {
            let value = HeaderValue::try_from(template.render(variables)?)
                .map_err(|_| template.site().error("the value holds characters that no header can carry"))?;
            headers.insert(name, value);
        }
        let body = self.body.map(|body| {
            let value = body.render(variables)?;
            serde_json::to_vec(&value).map_err(|_| body.site().error("the body has no JSON form"))
        });
        Ok(HttpRequest {
            method: self.method.clone(),
            url: self.url.render(variables)?,
            headers,
            body: body.transpose()?,
        })
    }
}
