//! The credentials that were sent. No shown part of an answer may repeat them.
//!
//! A Secret may change, and a token end, while an answer is on its way, so this is what was sent and not what would be sent now.

use std::fmt;
use std::sync::Arc;

use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_language::cel::SecretValues;
use secrecy::{ExposeSecret, SecretString};

/// The credentials of one exchange, or of several in a row.
#[derive(Clone, Default)]
pub struct SentCredentials {
    /// The Secrets as they stood, each state once.
    secrets: Vec<Arc<LabelledSecrets>>,
    tokens: Vec<SecretString>,
}

impl SentCredentials {
    /// Of requests that may have used these Secrets.
    #[must_use]
    pub fn of(secrets: Arc<LabelledSecrets>) -> Self {
        Self { secrets: vec![secrets], tokens: Vec::new() }
    }

    /// The values; `of` says which of a Secret's are secret.
    #[must_use]
    pub fn values(&self, of: impl Fn(&LabelledSecrets) -> SecretValues) -> SecretValues {
        let text = |token: &SecretString| token.expose_secret().to_owned();
        let tokens: SecretValues = self.tokens.iter().map(|token| (text(token), text(token))).collect();
        self.secrets.iter().fold(tokens, |values, secrets| of(secrets).and_former(&values))
    }

    pub(in crate::http) fn note_secrets(&mut self, secrets: &Arc<LabelledSecrets>) {
        if !self.secrets.iter().any(|known| Arc::ptr_eq(known, secrets)) {
            self.secrets.push(secrets.clone());
        }
    }

    pub(in crate::http) fn note_token(&mut self, token: &str) {
        // Each page of a traversal comes with the same one.
        if !self.tokens.iter().any(|known| known.expose_secret() == token) {
            self.tokens.push(SecretString::from(token));
        }
    }
}

impl fmt::Debug for SentCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SentCredentials")
    }
}
