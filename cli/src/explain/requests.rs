//! The requests of a poll and of a correction as `explain` shows them, with secrets masked. The sender adds credentials
//! later, so a request here has none.

pub(super) mod session_values;

use drift_api::secrets::secret_texts::REDACTED;
use drift_api::secrets::session_names::names_credential;
use drift_language::{Auth, AwsKeys, Dialect, Grant, HttpRequest, Source, Target};
use drift_systems::RecordedExchange;
use serde_json::Value;

use drift_poller::engine::poll::request::Request;

use super::items::named;
use super::masker::Masker;
use super::polling::Polled;
use super::request_body::body_lines;
use session_values::session_values;

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
    let sessions = session_values(target, all);
    // The first request contains no answer.
    let maskers =
        std::iter::once(Masker::outside()).chain(std::iter::repeat(Masker::outside().hiding_sessions(&sessions)));
    let shown = all.iter().zip(names).zip(maskers).take(MAX_REQUESTS);
    let lines_of =
        |((exchange, name), masker): ((&RecordedExchange, _), _)| read_lines(&exchange.request, masker, name);
    let mut lines: Vec<String> = shown.flat_map(lines_of).collect();
    if all.len() > MAX_REQUESTS {
        lines.push(format!("and {} more requests", all.len() - MAX_REQUESTS));
    }
    lines
}

fn first_lines(target: &Target, polled: &Polled) -> Vec<String> {
    polled.request.as_ref().map(|request| request_lines(target, request)).unwrap_or_default()
}

/// The lines of a request of a read over HTTP, with the name of its step.
fn read_lines(request: &HttpRequest, masker: Masker<'_>, name: Option<&str>) -> Vec<String> {
    let lines = http_lines(request, masker);
    let mut lines = named(&name.map(|name| format!("{name}: ")).unwrap_or_default(), lines);
    lines.extend(credential(request.auth.as_deref()));
    lines
}

/// A request, line by line.
fn request_lines(target: &Target, request: &Request) -> Vec<String> {
    let shown = |text: &str| Masker::of_object(None).json(&Value::from(text)).to_string();
    match request {
        Request::Http(request) => match &target.read.source {
            Source::Http(read) => read_lines(request, Masker::outside(), read.first.name.as_deref()),
            _ => http_lines(request, Masker::outside()),
        },
        Request::Sql(query) => {
            let mut lines = vec![query.text.to_string()];
            let is_mysql = matches!(&query.connection, Ok(connection) if connection.dialect == Dialect::Mysql);
            // The text of a MySQL query has a bare `?` for each.
            let sign = if is_mysql { "?" } else { "$" };
            let parameters = query.parameters.iter().enumerate();
            lines.extend(parameters.map(|(number, value)| {
                let value = value.as_ref().map_or_else(|| "NULL".to_owned(), |text| shown(text));
                format!("{sign}{} = {value}", number + 1)
            }));
            lines
        }
        Request::Ldap(search) => {
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

/// A request, line by line.
pub(super) fn http_lines(request: &HttpRequest, masker: Masker<'_>) -> Vec<String> {
    let mut lines = vec![format!("{} {}", request.method, masker.url(&request.url))];
    lines.extend(request.socket.iter().map(|socket| format!("by the socket {socket}")));
    for (name, value) in &*request.headers {
        let value =
            if names_credential(name.as_str()) { REDACTED.to_owned() } else { masker.header(value.to_str().ok()) };
        lines.push(format!("{name}: {value}"));
    }
    lines.extend(body_lines(request, masker));
    lines.iter().map(|line| masker.line(line)).collect()
}

/// The credential of a request, by the name of its Secret or token.
pub(super) fn credential(auth: Option<&Auth>) -> Option<String> {
    let by_projected = |how: &str, name: &str| Some(format!("with {how} by the projected ServiceAccount token {name}"));
    let (how, secret) = match auth? {
        Auth::Bearer(key) => ("a bearer token", &key.name),
        Auth::Basic { secret } => ("user name and password", secret),
        Auth::Header(header) => ("a header", &header.value.name),
        Auth::Query(field) => ("a parameter of the query", &field.value.name),
        Auth::Body(field) => ("a field of the body", &field.value.name),
        Auth::AwsSigV4(signed) => match &signed.keys {
            AwsKeys::Secret(secret) => ("a signature", secret),
            AwsKeys::Role(role) => return by_projected("a signature of a role", &role.token),
        },
        Auth::OAuth2(oauth2) => match (&oauth2.grant, &oauth2.secret) {
            (Grant::TokenExchange { subject: token, .. } | Grant::ClientAssertion { token, .. }, _) => {
                return by_projected("a token of an identity server", token);
            }
            (_, secret) => ("a token of an identity server", secret.as_ref()?),
        },
        Auth::Login(login) => ("a token of a log-in", &login.secret),
        Auth::ServiceAccountToken { name } => return by_projected("a bearer token", name),
        Auth::Challenge(challenge) => ("a token where the host asks for one", challenge.secret.as_ref()?),
        Auth::Missing(error) => return Some(format!("without a credential: {error}")),
    };
    Some(format!("with {how} by Secret {secret}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

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
            assert_eq!(credential(read.auth.as_ref().map(|auths| &**auths.any())).as_deref(), Some(expected));
        }
    }
}
