//! The token server that a host names in a 401 response, and the token request to it.
//!
//! The response decides where the credential goes, so the token server is checked before anything is sent: it must be
//! the host itself or one listed by the target, and as well protected as the request itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, Method};
use url::Url;

use crate::http::auth;
use crate::http::auth::token_request::{Origin, TokenSource};
use crate::{HttpFailure, HttpOptions, ServerText};
use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_language::{Auth, Challenge, HttpRequest, is_unread};

/// Maximum length of a header. Those of registries have about 200 bytes.
const MAX_HEADER_BYTES: usize = 8 * 1024;

/// Maximum requests whose realm is remembered, so that they are sent with a token at once. Beyond that,
/// all are forgotten.
const REMEMBERED: usize = 4096;

/// A token server and the parameters of its request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::http) struct Realm {
    /// The URL with service and scopes in its query.
    url: Url,
    /// True if it is the host itself, which a field of the object may have chosen.
    is_own: bool,
}

/// The realms of earlier 401 responses.
#[derive(Default)]
pub(in crate::http) struct RealmStore {
    known: Mutex<HashMap<RequestKind, Realm>>,
}

/// Requests with a common realm. A registry requires different tokens for reads and writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::http) struct RequestKind {
    host: String,
    is_https: bool,
    path: String,
    writes: bool,
}

impl RequestKind {
    pub(in crate::http) fn of(request: &HttpRequest) -> Self {
        let (host, path) = (request.host().into_owned(), request.url.path().to_owned());
        let writes = !matches!(request.method, Method::GET | Method::HEAD);
        Self { host, is_https: request.url.scheme() == "https", path, writes }
    }
}

impl RealmStore {
    pub(in crate::http) fn get(&self, kind: &RequestKind) -> Option<Realm> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(kind).cloned()
    }

    pub(in crate::http) fn remember(&self, kind: RequestKind, realm: Realm) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED && !known.contains_key(&kind) {
            known.clear();
        }
        known.insert(kind, realm);
    }

    /// Forgets a realm, unless another one was remembered meanwhile.
    pub(in crate::http) fn forget(&self, kind: &RequestKind, realm: &Realm) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.get(kind) == Some(realm) {
            known.remove(kind);
        }
    }
}

impl Realm {
    /// Returns the realm in the headers of a 401, or `None` without one.
    ///
    /// # Errors
    /// Fails if the token server is not allowed.
    pub(in crate::http) fn of(
        headers: &HeaderMap,
        challenge: &Challenge,
        request: &HttpRequest,
    ) -> Result<Option<Self>, HttpFailure> {
        let mut texts = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let Some(parameters) = texts.find_map(bearer_parameters) else { return Ok(None) };
        let refused = |text: &str| Err(HttpFailure::TokenRefused(text.to_owned(), ServerText::default()));
        let Some(mut url) = parameters.get("realm").and_then(|realm| Url::parse(realm).ok()) else {
            return refused("the host names no token server that could be asked");
        };
        let is_plain = url.username().is_empty() && url.password().is_none();
        let (true, Some(host), Some(port)) = (is_plain, url.host_str(), url.port_or_known_default()) else {
            return refused("the host names no token server that could be asked");
        };
        let own = (request.url.host_str(), request.url.port_or_known_default());
        let is_own = request.socket.is_none() && own == (Some(host), Some(port));
        if !is_own && !challenge.may_ask(host, port) {
            return refused("the host names a token server that is neither itself nor in tokenHosts");
        }
        let is_protected = url.scheme() == "https"
            || url.scheme() == "http" && request.url.scheme() == "http" && (is_own || is_unread(url.as_str()));
        if !is_protected {
            return refused("the host names a token server without TLS");
        }
        url.set_fragment(None);
        let scopes = parameters.get("scope").map(String::as_str).unwrap_or_default().split_ascii_whitespace();
        let service = parameters.get("service").map(|service| ("service", service.as_str()));
        for (key, value) in service.into_iter().chain(scopes.map(|scope| ("scope", scope))) {
            url.query_pairs_mut().append_pair(key, value);
        }
        Ok(Some(Self { url, is_own }))
    }

    /// Returns true if this challenge allows its token server. The realm may have been remembered for another target,
    /// or before an edit of the target.
    pub(in crate::http) fn may_be_asked(&self, challenge: &Challenge) -> bool {
        let listed = self.url.host_str().zip(self.url.port_or_known_default());
        self.is_own || listed.is_some_and(|(host, port)| challenge.may_ask(host, port))
    }

    /// Returns the token source, if the Secret may be used for it.
    pub(in crate::http) fn token_source(
        &self,
        challenge: &Challenge,
        request: &HttpRequest,
        options: &HttpOptions<'_>,
        secrets: &LabelledSecrets,
    ) -> Result<TokenSource, HttpFailure> {
        check_secret(challenge, request, secrets)?;
        let mut asks = HttpRequest {
            method: Method::GET,
            url: self.url.clone(),
            headers: Arc::default(),
            body: None,
            has_chosen_host: self.is_own && request.has_chosen_host,
            socket: None,
            auth: None,
        };
        if let Some(secret) = &challenge.secret {
            let credential = auth::header(&Auth::Basic { secret: secret.clone() }, secrets, &asks)?;
            asks.headers = Arc::new(credential.into_iter().map(|(_, value)| (AUTHORIZATION, value)).collect());
        }
        Ok(TokenSource::new(Origin::Realm(self.url.clone()), asks, options))
    }
}

/// Checks that a token from this Secret may be sent to the host of the request.
pub(in crate::http) fn check_secret(
    challenge: &Challenge,
    request: &HttpRequest,
    secrets: &LabelledSecrets,
) -> Result<(), HttpFailure> {
    let Some(secret) = &challenge.secret else { return Ok(()) };
    if request.has_chosen_host {
        secrets.check_hosts_are_named(secret)?;
    }
    Ok(secrets.check_host(secret, &request.host())?)
}

/// Returns the parameters of the first Bearer challenge, by lower-case name (RFC 9110, 11.6.1). `None` if there is no
/// challenge, or a duplicate parameter.
fn bearer_parameters(header: &str) -> Option<HashMap<String, String>> {
    let mut rest = Some(header).filter(|header| header.len() <= MAX_HEADER_BYTES)?;
    let mut found: Option<HashMap<String, String>> = None;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (word, behind) = rest.split_at(rest.find(|letter| !is_of_token(letter)).unwrap_or(rest.len()));
        if word.is_empty() {
            return found;
        }
        let Some(value) = behind.trim_start_matches([' ', '\t']).strip_prefix('=') else {
            // A new scheme begins here. The following parameters belong to it.
            if found.is_some() {
                return found;
            }
            found = word.eq_ignore_ascii_case("bearer").then(HashMap::new);
            rest = behind;
            continue;
        };
        let (value, behind) = read_value(value.trim_start_matches([' ', '\t']))?;
        rest = behind;
        if let Some(found) = &mut found
            && found.insert(word.to_ascii_lowercase(), value).is_some()
        {
            return None;
        }
    }
}

/// Reads a token or a quoted text, and returns the rest. The padding of a `token68` is ignored.
fn read_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let text = text.trim_start_matches('=');
        let (value, behind) = text.split_at(text.find(|letter| !is_of_token(letter)).unwrap_or(text.len()));
        return Some((value.to_owned(), behind));
    };
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((place, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, quoted.get(place + 1..)?)),
            '\\' => value.push(letters.next()?.1),
            letter => value.push(letter),
        }
    }
    None
}

const fn is_of_token(letter: char) -> bool {
    letter.is_ascii_alphanumeric()
        || matches!(letter, '!' | '#'..='\'' | '*' | '+' | '-' | '.' | '^'..='`' | '|' | '~' | '/')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bearer_challenge_counts() {
        let found = |header: &str| {
            bearer_parameters(header).map(|found| {
                let mut found: Vec<_> = found.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
                found.sort();
                found.join(" ")
            })
        };
        let table = [
            (
                r#"Bearer realm="https://a/t",service="r",scope="repository:a/b:pull,push""#,
                Some("realm=https://a/t scope=repository:a/b:pull,push service=r"),
            ),
            (r#"bearer   Realm = "x" , error=invalid_token"#, Some("error=invalid_token realm=x")),
            (r#"Basic realm="b", Bearer realm="x", Digest realm="d""#, Some("realm=x")),
            (r#"Negotiate YWJj==, Bearer realm="x""#, Some("realm=x")),
            (r#"Bearer realm="a\"b\\c""#, Some(r#"realm=a"b\c"#)),
            ("Bearer", Some("")),
            (r#"Basic realm="b""#, None),
            (r#"Bearer realm="x", realm="y""#, None),
            (r#"Bearer realm="x"#, None),
            ("", None),
            ("\"\"", None),
        ];
        for (header, expected) in table {
            assert_eq!(found(header).as_deref(), expected, "{header}");
        }
        assert_eq!(found(&format!("Bearer realm=\"{}\"", "x".repeat(MAX_HEADER_BYTES))), None);
    }

    #[test]
    fn a_realm_is_no_less_protected_than_the_request() {
        let challenge = Challenge::new(None, &["auth.example", "auth.ns.svc"]).unwrap();
        let table = [
            ("https://r.example/v2/", "https://r.example/token", true),
            ("https://r.example/v2/", "https://auth.example:8443/token", true),
            ("https://r.example/v2/", "http://r.example:443/token", false),
            ("https://r.example/v2/", "http://auth.example/token", false),
            ("https://r.example/v2/", "http://auth.ns.svc/token", false),
            ("https://r.example/v2/", "https://other.example/token", false),
            ("https://r.example/v2/", "https://r.example:444/token", false),
            ("https://r.example/v2/", "https://r.example.other/token", false),
            ("http://r.ns.svc/v2/", "http://r.ns.svc/token", true),
            ("http://r.ns.svc/v2/", "http://auth.ns.svc/token", true),
            ("http://r.ns.svc/v2/", "http://auth.example/token", false),
            ("http://r.ns.svc/v2/", "https://auth.example/token", true),
        ];
        for (url, realm, expected) in table {
            let request = HttpRequest {
                method: Method::GET,
                url: url.parse().unwrap(),
                headers: Arc::default(),
                body: None,
                has_chosen_host: false,
                socket: None,
                auth: None,
            };
            let header = format!("Bearer realm=\"{realm}\",service=\"a b\",scope=\"x y:z\"");
            let headers = [(WWW_AUTHENTICATE, header.parse().unwrap())].into_iter().collect();
            let found = Realm::of(&headers, &challenge, &request).ok().flatten();
            assert_eq!(found.is_some(), expected, "{realm} for {url}");
            let asked = found.map(|realm| realm.url.query().unwrap_or_default().to_owned());
            assert!(asked.is_none_or(|query| query == "service=a+b&scope=x&scope=y%3Az"));
        }
    }
}
