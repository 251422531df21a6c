//! The credentials that requests come with.

use super::Auth;
use super::oauth2::Grant;
use crate::secrets::credential::{CLIENT_SECRET, Credential, PASSWORD, PRIVATE_KEY};
use crate::systems::http::tls::Tls;

/// The credentials of requests with this `auth` and this `tls`.
pub(crate) fn credentials(auth: Option<&Auth>, tls: Option<&Tls>) -> Vec<Credential> {
    let of_auth = auth.and_then(|auth| match auth {
        Auth::Bearer(key) | Auth::Header { value: key, .. } => Some(Credential::Key(key.clone())),
        Auth::Basic { secret } => Some(Credential::of_key(secret, PASSWORD)),
        Auth::OAuth2(oauth2) => Some(match oauth2.grant {
            Grant::ClientCredentials => Credential::of_key(&oauth2.secret, CLIENT_SECRET),
            Grant::Password => Credential::of_key(&oauth2.secret, PASSWORD),
        }),
        Auth::Challenge(challenge) => challenge.secret.as_ref().map(|secret| Credential::of_key(secret, PASSWORD)),
    });
    let certificate = tls.and_then(|tls| tls.certificate.as_ref());
    of_auth.into_iter().chain(certificate.map(|secret| Credential::of_key(secret, PRIVATE_KEY))).collect()
}
