//! The Secrets and credentials that requests need, with their keys and destination hosts.

use super::Auth;
use super::oauth2::Grant;
use crate::secrets::needed_secret::{
    CLIENT_SECRET, Credential, NeededSecret, PASSWORD, PRIVATE_KEY, SECRET_ACCESS_KEY,
};
use crate::systems::http::request::RequestTemplate;
use crate::systems::http::tls::Tls;

/// The Secrets of these requests, one entry for each use.
pub(crate) fn needed_secrets<'r>(
    user: &'static str,
    auth: Option<&Auth>,
    tls: Option<&Tls>,
    requests: impl Iterator<Item = &'r RequestTemplate>,
) -> Vec<NeededSecret> {
    let mut needed = Vec::new();
    if let Some(tls) = tls {
        needed.extend(tls.ca.iter().map(|ca| NeededSecret::with_keys(user, &ca.name, &[&ca.key])));
        needed.extend(tls.certificate.iter().map(|name| NeededSecret::with_keys(user, name, &["tls.crt", "tls.key"])));
    }
    let Some(auth) = auth else { return needed };
    let (secret, goes_to_host) = match auth {
        Auth::Bearer(key) | Auth::Header { value: key, .. } => {
            (NeededSecret::with_keys(user, &key.name, &[&key.key]), true)
        }
        Auth::Basic { secret } => (NeededSecret::with_keys(user, secret, &["username", "password"]), true),
        Auth::AwsSigV4(signed) => {
            (NeededSecret::with_keys(user, &signed.secret, &["accessKeyId", SECRET_ACCESS_KEY]), true)
        }
        Auth::OAuth2(oauth2) => match oauth2.grant {
            Grant::ClientCredentials => {
                (NeededSecret::with_keys(user, &oauth2.secret, &["clientId", "clientSecret"]), false)
            }
            Grant::Password => (NeededSecret::with_keys(user, &oauth2.secret, &["username", "password"]), false),
        },
        Auth::Challenge(challenge) => match &challenge.secret {
            Some(secret) => (NeededSecret::with_keys(user, secret, &["username", "password"]), false),
            None => return needed,
        },
    };
    if !goes_to_host {
        needed.push(secret);
        return needed;
    }
    let host = |request: &RequestTemplate| match &request.socket {
        Some(socket) => Some(format!("unix:{socket}")),
        None => request.url.literal_base().map(|_| request.url.host().to_owned()),
    };
    needed.extend(requests.map(|request| NeededSecret { host: host(request), ..secret.clone() }));
    needed
}

/// The credentials of requests with this `auth` and this `tls`.
pub(crate) fn credentials(auth: Option<&Auth>, tls: Option<&Tls>) -> Vec<Credential> {
    let of_auth = auth.and_then(|auth| match auth {
        Auth::Bearer(key) | Auth::Header { value: key, .. } => Some(Credential::Key(key.clone())),
        Auth::Basic { secret } => Some(Credential::of_key(secret, PASSWORD)),
        Auth::AwsSigV4(signed) => Some(Credential::of_key(&signed.secret, SECRET_ACCESS_KEY)),
        Auth::OAuth2(oauth2) => Some(match oauth2.grant {
            Grant::ClientCredentials => Credential::of_key(&oauth2.secret, CLIENT_SECRET),
            Grant::Password => Credential::of_key(&oauth2.secret, PASSWORD),
        }),
        Auth::Challenge(challenge) => challenge.secret.as_ref().map(|secret| Credential::of_key(secret, PASSWORD)),
    });
    let certificate = tls.and_then(|tls| tls.certificate.as_ref());
    of_auth.into_iter().chain(certificate.map(|secret| Credential::of_key(secret, PRIVATE_KEY))).collect()
}
