//! Requests and values as `explain` shows them, with secrets masked. The sender adds credentials later, so a request
//! here has none.

use drift_api::printable::printable;
use drift_api::requests::http_request::HttpRequest;
use drift_api::secrets::secret_names::looks_secret;
use drift_language::{Auth, AwsKeys, Grant, HttpRead, ListKind, RulePlace, Source, Target};
use serde_json::Value;
use url::{Url, form_urlencoded};

use drift_poller::engine::judgement::comparison::without_ignored;
use drift_poller::engine::judgement::description::{
    Description, REDACTED, holds_secret, is_named_like_a_secret, without_userinfo,
};
use drift_poller::engine::judgement::difference::{Difference, find_differences, find_moved};
use drift_poller::engine::judgement::drift::Subject;
use drift_poller::engine::poll::request::Request;

use super::polling::Polled;
use super::request_body::body_lines;

/// Differences that are shown one by one: as many as a person can page through.
const MAX_LINES: usize = 1_000;

/// HTTP requests of one poll that are shown: as many as a read can have steps.
const MAX_REQUESTS: usize = 8;

/// The requests of a poll, line by line.
pub(super) fn asked(target: &Target, polled: &Polled) -> Vec<String> {
    let all = &polled.exchanges;
    let Source::Http(read) = &target.read.source else { return first_lines(target, polled) };
    if all.is_empty() {
        return first_lines(target, polled);
    }
    let names = read.steps().map(|step| step.name.as_deref()).chain(std::iter::repeat(None));
    let shown = all.iter().zip(names).take(MAX_REQUESTS);
    let mut lines: Vec<String> = shown.flat_map(|(exchange, name)| read_lines(read, &exchange.request, name)).collect();
    if all.len() > MAX_REQUESTS {
        lines.push(format!("and {} more requests", all.len() - MAX_REQUESTS));
    }
    lines
}

fn first_lines(target: &Target, polled: &Polled) -> Vec<String> {
    polled.request.as_ref().map(|request| request_lines(target, request)).unwrap_or_default()
}

/// A request of a read over HTTP, with the name of its step.
fn read_lines(read: &HttpRead, request: &HttpRequest, name: Option<&str>) -> Vec<String> {
    let mut lines = http_lines(request);
    if let (Some(name), Some(first)) = (name, lines.first_mut()) {
        *first = format!("{name}: {first}");
    }
    lines.extend(credential(read.auth.as_ref()));
    lines
}

/// A request, line by line.
fn request_lines(target: &Target, request: &Request) -> Vec<String> {
    match request {
        Request::Http(request) => match &target.read.source {
            Source::Http(read) => read_lines(read, request, read.first.name.as_deref()),
            _ => http_lines(request),
        },
        Request::Sql(query) => {
            let mut lines = vec![query.text.to_string()];
            let parameters = query.parameters.iter().enumerate();
            lines.extend(parameters.map(|(number, value)| {
                let value = value
                    .as_ref()
                    .map_or_else(|| "NULL".to_owned(), |text| masked(&Value::from(text.as_str()), None).to_string());
                format!("${} = {value}", number + 1)
            }));
            lines
        }
        Request::Ldap(search) => {
            let shown = |text: &str| masked(&Value::from(text), None).to_string();
            let scope = format!("{:?}", search.scope).to_lowercase();
            vec![
                format!("search {scope} {} for {}", shown(&search.base), search.attributes.join(", ")),
                format!("filter {}", shown(&search.filter)),
            ]
        }
        Request::Kubernetes(resource) => {
            vec![format!("GET {resource}"), "with your rights: the poller reads with its own".to_owned()]
        }
    }
}

pub(super) fn http_lines(request: &HttpRequest) -> Vec<String> {
    let mut lines = vec![format!("{} {}", request.method, url_text(&request.url))];
    lines.extend(request.socket.iter().map(|socket| format!("by the socket {socket}")));
    for (name, value) in &*request.headers {
        let text = value.to_str().ok().filter(|text| !looks_secret(name.as_str()) && !holds_secret(text));
        lines.push(format!("{name}: {}", text.unwrap_or(REDACTED)));
    }
    lines.extend(body_lines(request));
    lines
}

/// A URL as it is sent, without the secrets of its query.
fn url_text(url: &Url) -> String {
    let pair = |pair: &str| match form_urlencoded::parse(pair.as_bytes()).next() {
        Some((name, value)) if looks_secret(&name) && !value.is_empty() => {
            format!("{}={REDACTED}", pair.split('=').next().unwrap_or_default())
        }
        _ => pair.to_owned(),
    };
    let query = url.query().map(|query| query.split('&').map(pair).collect::<Vec<_>>().join("&"));
    let mut shown = url.clone();
    shown.set_query(query.as_deref());
    shown.to_string()
}

/// The credential of a request, by the name of its Secret or token.
pub(super) fn credential(auth: Option<&Auth>) -> Option<String> {
    let by_projected = |how: &str, name: &str| Some(format!("with {how} by the projected ServiceAccount token {name}"));
    let (how, secret) = match auth? {
        Auth::Bearer(key) => ("a bearer token", &key.name),
        Auth::Basic { secret } => ("user name and password", secret),
        Auth::Header { value, .. } => ("a header", &value.name),
        Auth::AwsSigV4(signed) => match &signed.keys {
            AwsKeys::Secret(secret) => ("a signature", secret),
            AwsKeys::Role(role) => return by_projected("a signature of a role", &role.token),
        },
        Auth::OAuth2(oauth2) => match (&oauth2.grant, &oauth2.secret) {
            (Grant::TokenExchange { subject, .. }, _) => {
                return by_projected("a token of an identity server", subject);
            }
            (_, secret) => ("a token of an identity server", secret.as_ref()?),
        },
        Auth::Login(login) => ("a token of a log-in", &login.secret),
        Auth::ServiceAccountToken { name } => return by_projected("a bearer token", name),
        Auth::Challenge(challenge) => ("a token where the host asks for one", challenge.secret.as_ref()?),
    };
    Some(format!("with {how} by Secret {secret}"))
}

/// The observation without the values that a condition hides too.
#[must_use]
pub fn observed(target: &Target, subject: Subject<'_>, observed: &Value) -> Value {
    let root = Some(target.compare.rules.root());
    match subject.credentials {
        Some(credentials) => masked(&credentials.values().conceal(observed, REDACTED), root),
        None => masked(observed, root),
    }
}

/// A value without what a condition would hide either: what rules redact at these places, texts whose names or content look
/// like a secret's, credentials in URLs.
#[must_use]
pub(super) fn masked(value: &Value, place: Option<RulePlace<'_>>) -> Value {
    mask(value, place, false)
}

fn mask(value: &Value, place: Option<RulePlace<'_>>, is_secret: bool) -> Value {
    let is_scalar = !value.is_object() && !value.is_array();
    if place.is_some_and(|place| place.is_redacted() || (place.redacts_below() && is_scalar)) {
        return Value::from(REDACTED);
    }
    match value {
        Value::String(text) => Value::from(mask_text(text, place, is_secret)),
        Value::Array(items) => {
            let item = |(position, item): (usize, &Value)| {
                let below = place.map(|place| match place.list() {
                    ListKind::Ordered => place.item(position),
                    _ => place.any_item(),
                });
                let is_hidden = place.is_some_and(RulePlace::redacts_single_items);
                if is_hidden {
                    Value::from(REDACTED)
                } else {
                    mask(item, below, is_secret || is_named_like_a_secret(item))
                }
            };
            items.iter().enumerate().map(item).collect()
        }
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                let below = place.map(|place| place.field(name));
                (name.clone(), mask(value, below, is_secret || looks_secret(name)))
            };
            Value::Object(fields.iter().map(field).collect())
        }
        other => other.clone(),
    }
}

/// A text, and one that holds JSON from inside.
pub(super) fn mask_text(text: &str, place: Option<RulePlace<'_>>, is_secret: bool) -> String {
    if holds_secret(text) || (is_secret && !place.is_some_and(RulePlace::is_shown)) {
        return REDACTED.to_owned();
    }
    match serde_json::from_str::<Value>(text) {
        Ok(inner) if inner.is_object() || inner.is_array() => {
            mask(&inner, place.map(RulePlace::inside_text), is_secret).to_string()
        }
        _ => printable(&without_userinfo(text)),
    }
}

/// The fields that differ, in the words of a condition, but more of them.
#[must_use]
pub fn differing(target: &Target, subject: Subject<'_>, observed: &Value) -> Vec<String> {
    let Ok(desired) = target.desired_of(subject.object) else { return Vec::new() };
    let mut description = Description::without(subject.credentials).with_room(MAX_LINES);
    let mut found = |difference: &Difference<'_, '_>| description.add(difference);
    let observed = without_ignored(target, subject.object, observed);
    if find_differences(&target.compare.rules, &desired, &observed, &mut found).is_err() {
        return Vec::new();
    }
    find_moved(target, subject.moved, &target.object_may.ignored(subject.object), &mut found);
    description.lines()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use drift_language::fixtures::proxies::ruled;
    use serde_json::json;

    #[test]
    fn what_looks_like_a_secret_is_masked() {
        let value = json!({"a": "x", "password": "hunter2", "tokens": {"b": "hunter2"}, "tokenLimit": 3,
            "list": [{"secret": ["hunter2"]}, "dsn user=me password=hunter2"]});
        let shown = masked(&value, None);
        assert!(!shown.to_string().contains("hunter2"), "{shown}");
        assert_eq!((&shown["a"], &shown["tokenLimit"]), (&json!("x"), &json!(3)));
        let hidden = [
            json!({"env": [{"name": "DB_PASSWORD", "value": "hunter2"}]}),
            json!({"url": "postgres://app:hunter2@db/x"}),
            json!({"config": "{\"password\":\"hunter2\",\"url\":\"http://a:hunter2@b\"}"}),
        ];
        for value in hidden {
            assert!(!masked(&value, None).to_string().contains("hunter2"), "{value}");
        }
        let url = Url::parse("https://h/x?api_key=hunter2&zone=a%20b&tagging").unwrap();
        assert_eq!(url_text(&url), "https://h/x?api_key=(redacted)&zone=a%20b&tagging");
    }

    #[test]
    fn the_source_of_each_token_is_named() {
        let cases = [
            ("{serviceAccountToken: {name: t}}", "with a bearer token by the projected ServiceAccount token t"),
            (
                "{oauth2: {tokenUrl: 'https://i', grant: tokenExchange, serviceAccountToken: {name: t}}}",
                "with a token of an identity server by the projected ServiceAccount token t",
            ),
            (
                "{oauth2: {tokenUrl: 'https://i', grant: jwtBearer, issuer: i, secretRef: {name: s}}}",
                "with a token of an identity server by Secret s",
            ),
            (
                "{login: {request: {url: 'https://i'}, token: {pointer: /t}, secretRef: {name: s}}}",
                "with a token of a log-in by Secret s",
            ),
        ];
        for (auth, expected) in cases {
            let text = format!(
                "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: t}}\nspec:\n  objects: {{apiVersion: g.example/v1, kind: A}}\n  identity: x\n  read: {{http: {{url: 'https://h.example', auth: {auth}}}}}\n  compare: {{desired: {{a: 1}}}}\n"
            );
            let target = drift_language::fixtures::target(&text);
            let Source::Http(read) = &target.read.source else { panic!("{text}") };
            assert_eq!(credential(read.auth.as_ref()).as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_a_rule_redacts_is_masked_whatever_stands_there() {
        let target = ruled("{path: /config/seed, redact: true}, {path: /token, show: true}");
        let shown = |value: Value| masked(&value, Some(target.compare.rules.root())).to_string();
        for value in
            [json!({"config": {"seed": "hunter2"}}), json!({"config": "hunter2"}), json!({"config": {"seed": 42}})]
        {
            assert!(!shown(value.clone()).contains("hunter2") && !shown(value.clone()).contains("42"), "{value}");
        }
        assert_eq!(shown(json!({"token": "public", "name": "a"})), r#"{"name":"a","token":"public"}"#);
    }
}
