//! The shared secret of webhooks, and the trouble while it is missing.

use std::time::Duration;

use arc_swap::ArcSwap;
use drift_api::secrets::labelled_secrets::{CredentialError, LabelledSecrets};
use drift_language::{SecretKey, WebhookHints};
use secrecy::ExposeSecret;

use crate::engine::hints::authenticity::LEAST_SECRET_BYTES;
use crate::run::hint_inbox::Inbox;

/// Interval of looks for a missing Secret, so that the log reports it soon, without a request.
const LOOK_AT_SECRET: Duration = Duration::from_secs(10);

/// The secret of these hints as it is now.
///
/// # Errors
/// When there is none, or one that can be guessed.
pub(super) fn shared_secret<'s>(
    hints: &WebhookHints,
    secrets: &'s LabelledSecrets,
) -> Result<&'s [u8], CredentialError> {
    let SecretKey { name, key } = &hints.secret;
    let text = secrets.secret(name)?.text(name, key)?;
    // What a text editor and `kubectl create secret --from-file` leave at its end is not meant.
    let secret = text.expose_secret().trim_end_matches(['\r', '\n']);
    if secret.len() < LEAST_SECRET_BYTES {
        return Err(CredentialError::unusable(name, key, "shorter than 16 bytes, which can be guessed"));
    }
    Ok(secret.as_bytes())
}

/// Says in the log why no request can be believed, for as long as the target takes requests. Never ends.
pub(super) async fn tell_of_missing(secrets: &ArcSwap<LabelledSecrets>, hints: &WebhookHints, inbox: &Inbox) {
    loop {
        tokio::time::sleep(LOOK_AT_SECRET).await;
        let secrets = secrets.load();
        if let Some(error) = shared_secret(hints, &secrets).err().filter(|_| secrets.are_listed()) {
            inbox.tell(&error.to_string());
        }
    }
}
