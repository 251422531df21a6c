//! The Secrets and credentials that requests need, with their keys and destination hosts.

use super::aws_sig_v4::AwsKeys;
use super::field::{AuthField, CredentialPlace};
use super::oauth2::Grant;
use super::{Auth, AuthHeader, Auths};
use crate::systems::http::proxy::Proxy;
use crate::systems::http::request::RequestTemplate;
use crate::systems::http::tls::Tls;
use crate::systems::needed_secret::{
    CLIENT_SECRET, Credential, NeededSecret, PASSWORD, PRIVATE_KEY, SECRET_ACCESS_KEY, SESSION_TOKEN, SIGNING_KEY,
};

/// The Secrets of these requests, one entry for each use.
pub(crate) fn needed_secrets<'r>(
    user: &'static str,
    auths: Option<&Auths>,
    (tls, proxy): (Option<&Tls>, Option<&Proxy>),
    requests: impl Iterator<Item = &'r RequestTemplate>,
) -> Vec<NeededSecret> {
    let mut needed = Vec::new();
    if let Some(tls) = tls {
        needed.extend(tls.ca.iter().map(|ca| NeededSecret::with_keys(user, &ca.name, &[&ca.key])));
        needed.extend(tls.certificate.iter().map(|name| NeededSecret::with_keys(user, name, &["tls.crt", "tls.key"])));
    }
    if let Some((proxy, secret)) = proxy.and_then(|proxy| Some((proxy, proxy.secret.as_ref()?))) {
        let secret = NeededSecret::with_keys(user, secret, &["username", PASSWORD]);
        needed.push(NeededSecret { host: Some(proxy.host()), ..secret });
    }
    let requests: Vec<_> = requests.collect();
    needed.extend(auths.into_iter().flat_map(Auths::iter).flat_map(|auth| secrets_of(user, auth, &requests)));
    needed
}

/// The Secret of one credential, for each request if it goes to the host.
fn secrets_of(user: &'static str, auth: &Auth, requests: &[&RequestTemplate]) -> Vec<NeededSecret> {
    let (secret, goes_to_host) = match auth {
        Auth::Bearer(key)
        | Auth::Header(AuthHeader { value: key, .. })
        | Auth::Query(AuthField { value: key, .. })
        | Auth::Body(AuthField { value: key, .. }) => (NeededSecret::with_keys(user, &key.name, &[&key.key]), true),
        Auth::Basic { secret } => (NeededSecret::with_keys(user, secret, &["username", "password"]), true),
        Auth::AwsSigV4(signed) => match &signed.keys {
            AwsKeys::Secret(secret) => {
                (NeededSecret::with_keys(user, secret, &["accessKeyId", SECRET_ACCESS_KEY]), true)
            }
            AwsKeys::Role(_) => return Vec::new(),
        },
        Auth::OAuth2(oauth2) => match (&oauth2.grant, &oauth2.secret) {
            (_, None) | (Grant::ClientAssertion { .. }, _) => return Vec::new(),
            (Grant::ClientCredentials, Some(secret)) => {
                (NeededSecret::with_keys(user, secret, &["clientId", CLIENT_SECRET]), false)
            }
            (Grant::Password, Some(secret)) => (NeededSecret::with_keys(user, secret, &["username", PASSWORD]), false),
            (Grant::JwtBearer(_), Some(secret)) => (NeededSecret::with_keys(user, secret, &[SIGNING_KEY]), false),
            (Grant::TokenExchange { .. }, Some(secret)) => {
                (NeededSecret::with_keys(user, secret, &["clientId"]), false)
            }
        },
        Auth::Login(login) => {
            let keys: Vec<&str> = login.keys().into_iter().collect();
            (NeededSecret::with_keys(user, &login.secret, &keys), false)
        }
        Auth::ServiceAccountToken { .. } | Auth::Missing(_) => return Vec::new(),
        Auth::Challenge(challenge) => match &challenge.secret {
            Some(secret) => (NeededSecret::with_keys(user, secret, &["username", "password"]), false),
            None => return Vec::new(),
        },
    };
    if !goes_to_host {
        return vec![secret];
    }
    let host = |request: &&RequestTemplate| match &request.socket {
        Some(socket) => Some(format!("unix:{socket}")),
        None => request.url.literal_base().map(|_| request.url.host().to_owned()),
    };
    requests.iter().map(|request| NeededSecret { host: host(request), ..secret.clone() }).collect()
}

/// The credentials of requests with this `auth`, `tls` and `proxy`.
pub(crate) fn credentials(auths: Option<&Auths>, tls: Option<&Tls>, proxy: Option<&Proxy>) -> Vec<Credential> {
    let of_auth = auths.into_iter().flat_map(Auths::iter).flat_map(|auth| credentials_of(auth));
    let certificate = tls.and_then(|tls| tls.certificate.as_ref());
    let certificate = certificate.map(|secret| Credential::of_key(secret, PRIVATE_KEY));
    let of_proxy = proxy.and_then(|proxy| Some(Credential::of_key(proxy.secret.as_ref()?, PASSWORD)));
    of_auth.chain(certificate).chain(of_proxy).collect()
}

fn credentials_of(auth: &Auth) -> Vec<Credential> {
    let (secret, key) = match auth {
        Auth::Bearer(key) | Auth::Header(AuthHeader { value: key, .. }) | Auth::Body(AuthField { value: key, .. }) => {
            return vec![Credential::Key(key.clone())];
        }
        Auth::Query(AuthField { place, value }) => {
            let parameters = (*place == CredentialPlace::Query(None)).then(|| Credential::Parameters(value.clone()));
            return std::iter::once(Credential::Key(value.clone())).chain(parameters).collect();
        }
        Auth::Basic { secret } => (Some(secret), PASSWORD),
        Auth::AwsSigV4(signed) => match &signed.keys {
            AwsKeys::Secret(secret) => {
                return [SECRET_ACCESS_KEY, SESSION_TOKEN].map(|key| Credential::of_key(secret, key)).to_vec();
            }
            AwsKeys::Role(_) => return Vec::new(),
        },
        Auth::OAuth2(oauth2) => match oauth2.grant {
            Grant::ClientCredentials | Grant::ClientAssertion { .. } | Grant::TokenExchange { .. } => {
                (oauth2.secret.as_ref(), CLIENT_SECRET)
            }
            Grant::Password => (oauth2.secret.as_ref(), PASSWORD),
            Grant::JwtBearer(_) => (oauth2.secret.as_ref(), SIGNING_KEY),
        },
        Auth::Challenge(challenge) => (challenge.secret.as_ref(), PASSWORD),
        Auth::Login(login) => {
            // A user name occurs in many answers, and nothing could be shown of them.
            let secret_keys = login.keys().into_iter().filter(|key| *key != "username");
            return secret_keys.map(|key| Credential::of_key(&login.secret, key)).collect();
        }
        Auth::ServiceAccountToken { .. } | Auth::Missing(_) => return Vec::new(),
    };
    secret.map(|secret| Credential::of_key(secret, key)).into_iter().collect()
}
