//! The credentials that were sent. No displayed part of a response may repeat them.
//!
//! A Secret can change and a token can expire during an exchange, so this records what was sent, not
//! the current values.

use std::fmt;
use std::sync::Arc;

use drift_api::secrets::labelled_secrets::LabelledSecrets;
use drift_language::cel::SecretValues;
use secrecy::{ExposeSecret, SecretString};

/// The credentials of one exchange, or of several in a row.
#[derive(Clone, Default)]
pub struct SentCredentials {
    /// The states of the Secrets, each once.
    secrets: Vec<Arc<LabelledSecrets>>,
    tokens: Vec<SecretString>,
}

impl SentCredentials {
    /// Creates the record of requests that may have used these Secrets.
    #[must_use]
    pub fn of(secrets: Arc<LabelledSecrets>) -> Self {
        Self { secrets: vec![secrets], tokens: Vec::new() }
    }

    /// Returns the values. `of` selects the secret parts of the Secrets.
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
        // All pages of a traversal use the same token.
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
