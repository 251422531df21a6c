//! Error of a request that cannot be rendered.

use std::fmt::Display;
use std::sync::Arc;

use drift_api::secrets::labelled_secrets::CredentialError;

use crate::engine::corrections::outcome::{Doubt, Uncertainty};

/// A request cannot be rendered: a template fails for the object or the responses, or a secret is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct Unrenderable {
    /// Name of the failed step.
    pub label: Option<Arc<str>>,
    /// Cause of the failure.
    pub cause: String,
    /// Doubt to record on the object.
    pub doubt: Doubt,
}

impl Unrenderable {
    pub(crate) fn new(cause: impl Display) -> Self {
        Self { label: None, cause: cause.to_string(), doubt: Doubt::TemplateFails }
    }

    /// Creates the error of the labelled step. A missing secret takes precedence over the template error.
    pub(in crate::engine) fn at(
        label: Option<Arc<str>>,
        error: impl Display,
        lacking: Option<&CredentialError>,
    ) -> Self {
        match lacking {
            Some(lacking) => Self { label, cause: lacking.to_string(), doubt: Doubt::SecretUnavailable },
            None => Self { label, ..Self::new(error) },
        }
    }

    /// Returns what the object's record says. It names a missing secret. The error of a template may contain values, so
    /// only the log has it.
    #[must_use]
    pub fn uncertainty(&self) -> Uncertainty {
        match self.doubt {
            Doubt::SecretUnavailable => Uncertainty::caused_by(self.doubt, self.cause.as_str()),
            doubt => Uncertainty::unanswered(doubt),
        }
    }
}
