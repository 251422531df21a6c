//! `scope`: within what an identity names one external resource.
//!
//! Targets that read in the same way see the same external system, so without a word of the target the scope is the
//! read as it is written, without what differs from object to object and without credentials. It must not know who is in
//! a scope.

use std::sync::Arc;

use serde_json::Value;

use crate::cel::without_expressions;
use crate::read::{Read, Source};
use crate::systems::http::body::BODY_KEYS;
use crate::systems::kubernetes::read::KubernetesRead;
use crate::systems::postgres::read::PostgresRead;
use crate::yaml::Node;
use crate::yaml::raw::Reader;
use drift_api::identity::ScopeId;
use drift_api::secrets::secret_names::looks_secret;

/// Characters of a scope's name: as an identity's.
const MAX_SCOPE_CHARS: usize = 253;
/// Stands for each `${…}`, and for each value that looks like a credential.
const PLACEHOLDER: &str = "${…}";

/// Within what an identity is unique, over all targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityScope {
    /// For people.
    pub name: Arc<str>,
    /// For programs.
    pub id: ScopeId,
}

impl IdentityScope {
    fn named(name: &str) -> Self {
        Self { name: name.into(), id: ScopeId::of(name) }
    }
}

/// Reads the key; a name is literal, since a scope is the same for all objects of a target.
pub(crate) fn read_scope(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<IdentityScope> {
    let name = reader.literal(node, place)?;
    let length = name.chars().count();
    if !(1..=MAX_SCOPE_CHARS).contains(&length) || name.chars().any(char::is_control) {
        let message = format!("{place}: one line of 1 to {MAX_SCOPE_CHARS} characters is needed");
        return reader.refuse(node.at, message);
    }
    Some(IdentityScope::named(name))
}

/// The scope of the read that is written in `spec`: the method and URL of its first request, which names the resource, and
/// a fingerprint of its body.
pub(crate) fn scope_of_read(read: &Read, spec: &Node) -> IdentityScope {
    let read = match &read.source {
        Source::Http(read) => read,
        Source::Postgres(read) => return scope_of_query(read, spec),
        Source::Kubernetes(read) => return scope_of_resource(read, spec),
    };
    let request = &read.first.request;
    let mut name = format!("{} {}", request.method, without_credentials(&request.url.with_placeholder(PLACEHOLDER)));
    if let Some(socket) = &request.socket {
        name.push_str(&format!(" socket {socket}"));
    }
    let written = ["read", "http"].iter().try_fold(spec, |node, key| node.get(key));
    let first = written.map(|http| http.get("steps").and_then(Node::first_item).unwrap_or(http));
    if let Some((key, body)) = first.and_then(|first| BODY_KEYS.iter().find_map(|key| Some((key, first.get(key)?)))) {
        let written = shape(&body.to_json()).to_string();
        name.push_str(&format!(" {key} {}", ScopeId::of(&written)));
    }
    IdentityScope::named(&name)
}

/// The scope of a read by a query: its connection, for people, and a fingerprint of the query.
fn scope_of_query(read: &PostgresRead, spec: &Node) -> IdentityScope {
    let written = ["read", "postgres", "query"].iter().try_fold(spec, |node, key| node.get(key));
    let query = written.and_then(Node::as_text).map(|text| without_expressions(text, PLACEHOLDER)).unwrap_or_default();
    let words = query.split_whitespace().collect::<Vec<_>>().join(" ");
    IdentityScope::named(&format!("postgres {} query {}", read.connection.secret, ScopeId::of(&words)))
}

/// The scope of an object of the cluster. The version makes no difference: an object is the same in all of them.
fn scope_of_resource(read: &KubernetesRead, spec: &Node) -> IdentityScope {
    let written = ["read", "kubernetes", "name"].iter().try_fold(spec, |node, key| node.get(key));
    let name = written.and_then(Node::as_text).map(|text| without_expressions(text, PLACEHOLDER)).unwrap_or_default();
    let namespace = read.namespace.as_deref().unwrap_or(PLACEHOLDER);
    let kind = if read.group().is_empty() { read.kind.to_string() } else { format!("{}.{}", read.kind, read.group()) };
    IdentityScope::named(&format!("kubernetes {kind} {namespace}/{name}"))
}

/// Leaves out what stands in the query under the name of a credential.
fn without_credentials(url: &str) -> String {
    let Some((path, query)) = url.split_once('?') else { return url.to_owned() };
    let parameter = |text: &str| match text.split_once('=') {
        Some((name, _)) if looks_secret(name) => format!("{name}={PLACEHOLDER}"),
        _ => text.to_owned(),
    };
    format!("{path}?{}", query.split('&').map(parameter).collect::<Vec<_>>().join("&"))
}

/// A body without what differs from object to object, and without credentials.
fn shape(body: &Value) -> Value {
    match body {
        Value::String(text) => Value::from(without_expressions(text, PLACEHOLDER)),
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                let value = if looks_secret(name) { Value::from(PLACEHOLDER) } else { shape(value) };
                (name.clone(), value)
            };
            Value::Object(fields.iter().map(field).collect())
        }
        other => other.clone(),
    }
}
