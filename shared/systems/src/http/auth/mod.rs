//! The credential of a request: from a labelled Secret into one header, or by [`field`] into the query or the body.
//!
//! Only these two places expose a secret value for sending. The header is marked sensitive, so that `Debug` output of
//! the request hides it and HTTP/2 does not index it.

pub(super) mod assertion;
pub(super) mod aws_denied;
pub(super) mod aws_role;
pub(super) mod aws_sig_v4;
pub(super) mod challenge;
pub(super) mod field;
pub(super) mod login;
pub(super) mod oauth2;
pub(crate) mod projected_token;
pub(super) mod role_keys;
pub(super) mod token_request;
pub(super) mod tokens;

use aws_sig_v4::Keys;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use crate::guard::clock::time_of_day;
use drift_api::secrets::labelled_secrets::{CredentialError, LabelledSecrets, without_line_end};
use drift_language::{Auth, AuthField, AuthHeader, AwsKeys, CredentialPlace, HttpRequest, Login, SecretKey};

/// Keys of a Secret of type `kubernetes.io/basic-auth`.
const USERNAME: &str = "username";
const PASSWORD: &str = "password";

/// The text before a token in the header `Authorization`.
pub(in crate::http) const BEARER: &str = "Bearer ";

/// Returns the authentication headers. None for token authentication, where a token must be fetched first.
pub(in crate::http) fn header(
    auth: &Auth,
    secrets: &LabelledSecrets,
    request: &HttpRequest,
) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialError> {
    let text = |name: &str, key: &str| text_of((name, key), secrets, request);
    match auth {
        Auth::Bearer(secret) => {
            let value = SecretString::from(format!("Bearer {}", value_of(secret, secrets, request)?.expose_secret()));
            Ok(vec![(AUTHORIZATION, sensitive(&value, &secret.name, &secret.key)?)])
        }
        Auth::Basic { secret } => Ok(vec![(AUTHORIZATION, basic(secret, |key| text(secret, key))?)]),
        Auth::Header(AuthHeader { name: header, value: secret }) => {
            let value = value_of(secret, secrets, request)?;
            Ok(vec![(header.clone(), sensitive(&value, &secret.name, &secret.key)?)])
        }
        Auth::AwsSigV4(signed) => match &signed.keys {
            AwsKeys::Secret(secret) => {
                Keys::read(secret, secrets, |key| text(secret, key))?.sign(signed, request, time_of_day().into())
            }
            AwsKeys::Role(_) => Ok(Vec::new()),
        },
        Auth::Missing(error) => Err(error.clone()),
        Auth::Query(AuthField { value, .. }) | Auth::Body(AuthField { value, .. }) => {
            value_of(value, secrets, request).map(|_| Vec::new())
        }
        Auth::OAuth2(_) | Auth::Challenge(_) | Auth::ServiceAccountToken { .. } | Auth::Login(_) => Ok(Vec::new()),
    }
}

fn text_of(
    (name, key): (&str, &str),
    secrets: &LabelledSecrets,
    request: &HttpRequest,
) -> Result<SecretString, CredentialError> {
    if request.has_chosen_host {
        secrets.check_hosts_are_named(name)?;
    }
    secrets.credential(name, key, &request.host()).map(|value| SecretString::from(without_line_end(value)))
}

/// Returns a credential that is one value, if it may be sent to the host of the request.
fn value_of(
    SecretKey { name, key }: &SecretKey,
    secrets: &LabelledSecrets,
    request: &HttpRequest,
) -> Result<SecretString, CredentialError> {
    match text_of((name, key), secrets, request)? {
        value if value.expose_secret().trim().is_empty() => Err(CredentialError::unusable(name, key, "empty")),
        value => Ok(value),
    }
}

/// Returns the credential for a proxy.
pub(in crate::http) fn proxy_credential(
    secret: &str,
    secrets: &LabelledSecrets,
    proxy: &str,
) -> Result<HeaderValue, CredentialError> {
    basic(secret, |key| secrets.credential(secret, key, proxy).map(|value| SecretString::from(without_line_end(value))))
}

fn basic(
    secret: &str,
    text: impl Fn(&str) -> Result<SecretString, CredentialError>,
) -> Result<HeaderValue, CredentialError> {
    let username = text(USERNAME)?;
    if username.expose_secret().contains(':') {
        return Err(CredentialError::unusable(secret, USERNAME, "not a user name: it contains a colon"));
    }
    let password = text(PASSWORD)?;
    let value = basic_value(username.expose_secret(), password.expose_secret());
    value.ok_or_else(|| CredentialError::unusable(secret, PASSWORD, "not a header value"))
}

/// Returns the value of HTTP Basic.
pub(in crate::http) fn basic_value(username: &str, password: &str) -> Option<HeaderValue> {
    let pair = SecretString::from(format!("{username}:{password}"));
    token_value("Basic ", &BASE64_STANDARD.encode(pair.expose_secret()))
}

/// Returns the headers of a request with a fetched token.
pub(in crate::http) fn token_headers(
    auth: Option<&Auth>,
    token: &HeaderValue,
    request: &HttpRequest,
) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialError> {
    match auth {
        Some(Auth::Login(Login { place: CredentialPlace::Header(header), .. })) => {
            Ok(vec![(header.clone(), token.clone())])
        }
        Some(Auth::Login(_)) => Ok(Vec::new()),
        Some(Auth::AwsSigV4(signed)) => {
            Keys::of_role(token).map_or(Ok(Vec::new()), |keys| keys.sign(signed, request, time_of_day().into()))
        }
        _ => Ok(vec![(AUTHORIZATION, token.clone())]),
    }
}

/// Returns what of a fetched token must not be shown.
pub(in crate::http) fn secret_texts<'t>(auth: Option<&Auth>, token: &'t HeaderValue) -> Vec<&'t str> {
    let text = token.to_str().unwrap_or_default();
    match auth {
        Some(Auth::AwsSigV4(_)) => text.split(' ').skip(1).collect(),
        Some(Auth::Login(login)) => text.strip_prefix(&login.prefix).into_iter().collect(),
        _ => text.strip_prefix(BEARER).into_iter().collect(),
    }
}

/// Returns a token as the value of its header. `None` if it is none of visible ASCII, which all tokens are, and which
/// texts for people can be searched for.
pub(in crate::http) fn token_value(prefix: &str, token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("{prefix}{token}")).ok().filter(|value| value.to_str().is_ok())?;
    value.set_sensitive(true);
    Some(value)
}

fn sensitive(value: &SecretString, name: &str, key: &str) -> Result<HeaderValue, CredentialError> {
    let mut header = HeaderValue::from_str(value.expose_secret())
        .map_err(|_| CredentialError::unusable(name, key, "not a header value: it contains control characters"))?;
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use drift_api::secrets::labelled_secrets::LabelledSecret;

    fn secrets() -> LabelledSecrets {
        let data =
            [("token", "t0k\n"), ("username", "ann"), ("password", "pä:ss\n"), ("broken", "a\nb"), ("colon", "a:b")];
        let data = data.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()));
        [("s".to_owned(), LabelledSecret::new(Some("h:1"), data))].into_iter().collect()
    }

    fn to(url: &str) -> HttpRequest {
        HttpRequest {
            method: http::Method::GET,
            url: url.parse().unwrap(),
            headers: std::sync::Arc::default(),
            body: None,
            has_chosen_host: false,
            socket: None,
            auth: None,
        }
    }

    fn key(key: &str) -> SecretKey {
        SecretKey { name: "s".to_owned(), key: key.to_owned() }
    }

    #[test]
    fn each_kind_of_credential_becomes_its_header() {
        let own = HeaderName::from_static("x-api-key");
        let cases = [
            (Auth::Bearer(key("token")), AUTHORIZATION, "Bearer t0k".to_owned()),
            (
                Auth::Basic { secret: "s".to_owned() },
                AUTHORIZATION,
                format!("Basic {}", BASE64_STANDARD.encode("ann:pä:ss")),
            ),
            (Auth::Header(AuthHeader { name: own.clone(), value: key("token") }), own, "t0k".to_owned()),
        ];
        for (auth, name, value) in cases {
            let (got_name, got_value) = header(&auth, &secrets(), &to("http://h:1/")).unwrap().remove(0);
            assert_eq!((got_name, got_value.to_str().unwrap()), (name, value.as_str()));
            assert!(got_value.is_sensitive());
        }
    }

    #[test]
    fn a_value_that_is_no_header_is_not_shown() {
        let error = header(&Auth::Bearer(key("broken")), &secrets(), &to("http://h:1/")).unwrap_err();
        assert_eq!(error.to_string(), "Secret s key broken is not a header value: it contains control characters");
    }

    #[test]
    fn a_credential_goes_to_no_other_host() {
        let error = header(&Auth::Bearer(key("token")), &secrets(), &to("http://h:2/")).unwrap_err();
        assert_eq!(error, CredentialError::HostNotAllowed { name: "s".to_owned(), host: "h:2".to_owned() });
    }

    #[test]
    fn a_chosen_host_needs_hosts_named_by_the_owner() {
        let chosen = HttpRequest { has_chosen_host: true, ..to("http://h:1/") };
        assert!(header(&Auth::Bearer(key("token")), &secrets(), &chosen).is_ok());
        let data = [("token".to_owned(), b"x".to_vec())];
        let unnamed = [("s".to_owned(), LabelledSecret::new(None, data))].into_iter().collect();
        let error = header(&Auth::Bearer(key("token")), &unnamed, &chosen).unwrap_err();
        assert_eq!(error, CredentialError::HostsNotNamed { name: "s".to_owned() });
        assert!(header(&Auth::Bearer(key("token")), &unnamed, &to("http://h:1/")).is_ok());
    }
}
