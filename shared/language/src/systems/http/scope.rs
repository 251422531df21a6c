//! The scope of an HTTP read: the method and URL of its first request, which names the resource, and a fingerprint
//! of its body.
//!
//! It contains no parts that depend on the object and no credentials.

use drift_api::identity::ScopeId;
use drift_api::secrets::secret_names::looks_secret;
use serde_json::Value;

use crate::cel::{PLACEHOLDER, without_expressions};
use crate::section::Section as _;
use crate::systems::http::request::RequestTemplate;
use crate::systems::http::request::body::Body;
use crate::systems::http::request::kind::RequestKind;
use crate::yaml::Node;

pub(crate) fn scope_of(request: &RequestTemplate, spec: &Node) -> String {
    let mut name = format!("{} {}", request.method, without_credentials(&request.url.with_placeholder(PLACEHOLDER)));
    if let Some(socket) = &request.socket {
        name.push_str(&format!(" socket {socket}"));
    }
    let written = ["read", "http"].iter().try_fold(spec, |node, key| node.get(key));
    let first = written.map(|http| http.get("steps").and_then(Node::first_item).unwrap_or(http));
    if let Some((key, body)) =
        first.and_then(|first| Body::names(RequestKind::Read).into_iter().find_map(|key| Some((key, first.get(key)?))))
    {
        let written = shape(&body.to_json()).to_string();
        name.push_str(&format!(" {key} {}", ScopeId::of(&written)));
    }
    name
}

/// Removes query parameters that are named like a credential.
fn without_credentials(url: &str) -> String {
    let Some((path, query)) = url.split_once('?') else { return url.to_owned() };
    let parameter = |text: &str| match text.split_once('=') {
        Some((name, _)) if looks_secret(name) => format!("{name}={PLACEHOLDER}"),
        _ => text.to_owned(),
    };
    format!("{path}?{}", query.split('&').map(parameter).collect::<Vec<_>>().join("&"))
}

/// Returns a body without parts that depend on the object, and without credentials.
fn shape(body: &Value) -> Value {
    match body {
        Value::String(text) => Value::from(without_expressions(text)),
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
