//! The shared secret of webhooks, and the log message while it is missing.

use std::time::Duration;

use arc_swap::ArcSwap;
use drift_api::secrets::labelled_secrets::{CredentialError, LabelledSecrets, without_line_end};
use drift_language::{SecretKey, WebhookHints};

use crate::engine::hints::authenticity::LEAST_SECRET_BYTES;
use crate::run::hint_inbox::Inbox;

/// Interval of checks for a missing Secret, so that the log reports it soon, without a request.
const LOOK_AT_SECRET: Duration = Duration::from_secs(10);

/// Returns the current secret of these hints.
///
/// # Errors
/// Fails when it is missing or can be guessed.
pub(super) fn shared_secret<'s>(
    hints: &WebhookHints,
    secrets: &'s LabelledSecrets,
) -> Result<&'s [u8], CredentialError> {
    let SecretKey { name, key } = &hints.secret;
    let text = secrets.secret(name)?.text(name, key)?;
    let secret = without_line_end(text);
    if secret.len() < LEAST_SECRET_BYTES {
        return Err(CredentialError::unusable(name, key, "shorter than 16 bytes, which can be guessed"));
    }
    Ok(secret.as_bytes())
}

/// Logs why no request can be authenticated, while the target accepts webhooks. Never returns.
pub(super) async fn tell_of_missing(secrets: &ArcSwap<LabelledSecrets>, hints: &WebhookHints, inbox: &Inbox) {
    loop {
        tokio::time::sleep(LOOK_AT_SECRET).await;
        let secrets = secrets.load();
        if let Some(error) = shared_secret(hints, &secrets).err().filter(|_| secrets.are_listed()) {
            inbox.tell(&error.to_string());
        }
    }
}
