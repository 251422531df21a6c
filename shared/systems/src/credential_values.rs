//! The values of the credentials that a target's requests come with, so that nothing that is shown of an answer repeats one.
//!
//! A server can say back whatever it was sent, in any field.

use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_language::cel::SecretValues;
use drift_language::{Credential, SecretKey, Target};
use secrecy::ExposeSecret;

use crate::ConnectionParameters;

/// Returns the credentials of a target's reads and hints.
#[must_use]
pub fn credentials_of_read(target: &Target, secrets: &LabelledSecrets) -> SecretValues {
    target.credentials_of_read().iter().filter_map(|credential| value(credential, secrets)).collect()
}

/// Returns the credentials of a target's corrections, without the secrets that it declares.
#[must_use]
pub fn credentials_of_correct(target: &Target, secrets: &LabelledSecrets) -> SecretValues {
    target.credentials_of_correct().iter().filter_map(|credential| value(credential, secrets)).collect()
}

/// A value, with its Secret and key. One that is missing is sent nowhere.
fn value(credential: &Credential, secrets: &LabelledSecrets) -> Option<(String, String)> {
    Some(match credential {
        Credential::Key(SecretKey { name, key }) => {
            let value = secrets.value(name, key).ok().flatten()?;
            (format!("{name}/{key}"), value.expose_secret().to_owned())
        }
        Credential::Database(secret) => {
            let password = ConnectionParameters::of(secret, secrets).ok()?.password?;
            (format!("{secret}/password"), password.expose_secret().to_owned())
        }
    })
}
