//! The values of the credentials that a target's requests come with, so that nothing that is shown of an answer repeats one.
//!
//! A server can say back whatever it was sent, in any field. Names, certificates and bundles of them are public and none of
//! these. It must not know what is shown.

use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_language::cel::SecretValues;
use drift_language::{Auth, Destination, Grant, HintSource, SecretKey, Source, Target, Tls};
use secrecy::ExposeSecret;

use crate::ConnectionParameters;

/// The keys of Secrets of the types `kubernetes.io/basic-auth` and `kubernetes.io/tls`, and of those for identity servers, that
/// hold what nobody else may know.
const PASSWORD: &str = "password";
const PRIVATE_KEY: &str = "tls.key";
const CLIENT_SECRET: &str = "clientSecret";

/// What a target's reads come with, and what its hints are known by.
#[must_use]
pub fn credentials_of_read(target: &Target, secrets: &LabelledSecrets) -> SecretValues {
    let mut found = Found { secrets, values: Vec::new() };
    match &target.read.source {
        Source::Http(read) => found.add_http(read.auth.as_ref(), read.tls.as_ref()),
        Source::Postgres(read) => found.add_database(&read.connection.secret),
        Source::Kubernetes(_) => {}
    }
    for hint in &target.hints {
        match hint {
            HintSource::Listen(listen) => found.add_database(&listen.connection.secret),
            HintSource::Webhook(webhook) => found.add(&webhook.secret.name, &webhook.secret.key),
            HintSource::Watch => {}
        }
    }
    found.values.into_iter().collect()
}

/// What a target's corrections come with, besides the secrets that it declares.
#[must_use]
pub fn credentials_of_correct(target: &Target, secrets: &LabelledSecrets) -> SecretValues {
    let mut found = Found { secrets, values: Vec::new() };
    match &target.correct.destination {
        Some(Destination::Http(http)) => found.add_http(http.auth.as_ref(), http.tls.as_ref()),
        Some(Destination::Postgres(postgres)) => found.add_database(&postgres.connection.secret),
        Some(Destination::Job(_) | Destination::Kubernetes(_) | Destination::Nudge(_)) | None => {}
    }
    found.values.into_iter().collect()
}

/// Values, by their Secrets and keys. One that is missing is sent nowhere.
struct Found<'s> {
    secrets: &'s LabelledSecrets,
    values: Vec<(String, String)>,
}

impl Found<'_> {
    fn add_http(&mut self, auth: Option<&Auth>, tls: Option<&Tls>) {
        match auth {
            Some(Auth::Bearer(SecretKey { name, key }) | Auth::Header { value: SecretKey { name, key }, .. }) => {
                self.add(name, key);
            }
            Some(Auth::Basic { secret }) => self.add(secret, PASSWORD),
            Some(Auth::OAuth2(oauth2)) => match oauth2.grant {
                Grant::ClientCredentials => self.add(&oauth2.secret, CLIENT_SECRET),
                Grant::Password => self.add(&oauth2.secret, PASSWORD),
            },
            Some(Auth::Challenge(challenge)) => challenge.secret.iter().for_each(|secret| self.add(secret, PASSWORD)),
            None => {}
        }
        tls.and_then(|tls| tls.certificate.as_ref()).into_iter().for_each(|secret| self.add(secret, PRIVATE_KEY));
    }

    fn add_database(&mut self, secret: &str) {
        let parameters = ConnectionParameters::of(secret, self.secrets).ok();
        let password = parameters.and_then(|parameters| parameters.password);
        self.values.extend(password.map(|value| (format!("{secret}/{PASSWORD}"), value.expose_secret().to_owned())));
    }

    fn add(&mut self, name: &str, key: &str) {
        let value = self.secrets.value(name, key).ok().flatten();
        self.values.extend(value.map(|value| (format!("{name}/{key}"), value.expose_secret().to_owned())));
    }
}
