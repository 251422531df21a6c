//! What `explain` shows of a request and of values: everything but what looks like a secret.
//!
//! Credentials are never in a request here: the sender adds them. It must not know who asked.

use drift_model::http_request::HttpRequest;
use drift_model::secret_names::looks_secret;
use drift_target::{Auth, Source, Target};
use serde_json::Value;
use url::Url;

use crate::core::description::{describe_each, holds_secret};
use crate::core::difference::{differences, moved};
use crate::core::reply::Subject;
use crate::core::request::Request;

/// What stands for what is not shown.
const MASK: &str = "(redacted)";

/// A request, line by line.
#[must_use]
pub fn request_lines(target: &Target, request: &Request) -> Vec<String> {
    match request {
        Request::Http(request) => {
            let mut lines = http_lines(request);
            lines.extend(credential(target));
            lines
        }
        Request::Sql(query) => {
            let mut lines = vec![query.text.to_string()];
            let parameters = query.parameters.iter().enumerate();
            lines.extend(parameters.map(|(number, value)| {
                let value = value
                    .as_ref()
                    .map_or_else(|| "NULL".to_owned(), |text| masked(&Value::from(text.as_str())).to_string());
                format!("${} = {value}", number + 1)
            }));
            lines
        }
        Request::Kubernetes(resource) => vec![format!("GET {resource}")],
    }
}

fn http_lines(request: &HttpRequest) -> Vec<String> {
    let mut lines = vec![format!("{} {}", request.method, url_text(&request.url))];
    lines.extend(request.socket.iter().map(|socket| format!("by the socket {socket}")));
    for (name, value) in &request.headers {
        let text = value.to_str().ok().filter(|text| !looks_secret(name.as_str()) && !holds_secret(text));
        lines.push(format!("{name}: {}", text.unwrap_or(MASK)));
    }
    if let Some(body) = &request.body {
        let json = serde_json::from_slice::<Value>(body).ok();
        lines.push(json.map_or_else(|| format!("a body of {} bytes", body.len()), |json| masked(&json).to_string()));
    }
    lines
}

/// A URL without what stands in the query under the name of a secret.
fn url_text(url: &Url) -> String {
    if url.query().is_none() {
        return url.to_string();
    }
    let mut shown = url.clone();
    let pairs = url.query_pairs().map(|(name, value)| {
        let value = if looks_secret(&name) { MASK.to_owned() } else { value.into_owned() };
        (name.into_owned(), value)
    });
    let pairs: Vec<_> = pairs.collect();
    shown.query_pairs_mut().clear().extend_pairs(pairs);
    shown.to_string()
}

/// By which credential the request goes, without it.
fn credential(target: &Target) -> Option<String> {
    let Source::Http(read) = &target.read.source else { return None };
    let (how, secret) = match read.auth.as_ref()? {
        Auth::Bearer(key) => ("a bearer token", &key.name),
        Auth::Basic { secret } => ("user name and password", secret),
        Auth::Header { value, .. } => ("a header", &value.name),
        Auth::OAuth2(oauth2) => ("a token of an identity server", &oauth2.secret),
        Auth::Challenge(challenge) => ("a token where the host asks for one", challenge.secret.as_ref()?),
    };
    Some(format!("with {how} by Secret {secret}"))
}

/// A value without the texts whose names or content look like a secret's.
#[must_use]
pub fn masked(value: &Value) -> Value {
    match value {
        Value::String(text) if holds_secret(text) => Value::from(MASK),
        Value::Array(items) => items.iter().map(masked).collect(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                let is_secret = looks_secret(name) && !matches!(value, Value::Null | Value::Bool(_) | Value::Number(_));
                (name.clone(), if is_secret { Value::from(MASK) } else { masked(value) })
            };
            Value::Object(fields.iter().map(field).collect())
        }
        other => other.clone(),
    }
}

/// Every field that differs, in the words of a condition, but all of them.
#[must_use]
pub fn differing(target: &Target, subject: Subject<'_>, observed: &Value) -> Vec<String> {
    let Ok(desired) = target.desired_of(subject.object) else { return Vec::new() };
    let found = differences(&target.compare.rules, &desired, observed).unwrap_or_default();
    let found: Vec<_> = found.into_iter().chain(moved(target, subject.moved)).collect();
    describe_each(&found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_looks_like_a_secret_is_masked() {
        let value = json!({"a": "x", "password": "hunter2", "tokens": {"b": "hunter2"}, "tokenLimit": 3,
            "list": [{"secret": ["hunter2"]}, "dsn user=me password=hunter2"]});
        let shown = masked(&value);
        assert!(!shown.to_string().contains("hunter2"), "{shown}");
        assert_eq!((&shown["a"], &shown["tokenLimit"]), (&json!("x"), &json!(3)));
        let url = Url::parse("https://h/x?api_key=hunter2&zone=a").unwrap();
        assert_eq!(url_text(&url), "https://h/x?api_key=%28redacted%29&zone=a");
    }
}
