//! The credential values of a target's requests, so that no displayed part of a response repeats one.
//!
//! A server can return everything that was sent to it, in any field.

use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_language::{Connection, Credential, SecretKey, SecretValues, Target};
use secrecy::ExposeSecret;
use url::form_urlencoded;

use crate::ConnectionParameters;

/// Returns the credentials of a target's reads and hints.
#[must_use]
pub fn credentials_of_read(target: &Target, secrets: &LabelledSecrets) -> SecretValues {
    target.credentials_of_read().iter().flat_map(|credential| values(credential, secrets)).collect()
}

/// Returns the credentials of a target's corrections, without the secrets that it declares.
#[must_use]
pub fn credentials_of_correct(target: &Target, secrets: &LabelledSecrets) -> SecretValues {
    target.credentials_of_correct().iter().flat_map(|credential| values(credential, secrets)).collect()
}

/// Minimum length of a parameter that is hidden by itself. The others of a signed query, such as its version and its
/// end, are no secrets and occur in other texts.
const MIN_PARAMETER: usize = 16;

/// Returns the values, each with its Secret and key.
fn values(credential: &Credential, secrets: &LabelledSecrets) -> Vec<(String, String)> {
    let Credential::Parameters(key) = credential else { return value(credential, secrets).into_iter().collect() };
    let Some((name, query)) = value(&Credential::Key(key.clone()), secrets) else { return Vec::new() };
    let parameters = form_urlencoded::parse(query.as_bytes()).filter(|(_, value)| value.len() >= MIN_PARAMETER);
    parameters.map(|(parameter, value)| (format!("{name}?{parameter}"), value.into_owned())).collect()
}

/// Returns a value, with its Secret and key. A missing value is never sent.
fn value(credential: &Credential, secrets: &LabelledSecrets) -> Option<(String, String)> {
    Some(match credential {
        Credential::Key(SecretKey { name, key }) | Credential::Parameters(SecretKey { name, key }) => {
            let value = secrets.value(name, key).ok().flatten()?;
            (format!("{name}/{key}"), value.expose_secret().to_owned())
        }
        Credential::Database { dialect, secret } => {
            let connection = Connection { dialect: *dialect, secret: secret.clone() };
            let password = ConnectionParameters::of(&connection, secrets).ok()?.password?;
            (format!("{secret}/password"), password.expose_secret().to_owned())
        }
    })
}
