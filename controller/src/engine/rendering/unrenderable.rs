//! The error of a request that cannot be made.

use std::fmt::Display;
use std::sync::Arc;

use drift_api::secrets::labelled_secrets::CredentialError;

use crate::engine::corrections::outcome::Doubt;

/// A request cannot be made: a template cannot be evaluated for the object or the answers, or a secret is not there for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct Unrenderable {
    /// The name of its step.
    pub label: Option<Arc<str>>,
    /// The mistake.
    pub cause: String,
    /// The doubt to record on the object.
    pub doubt: Doubt,
}

impl Unrenderable {
    pub(crate) fn new(cause: impl Display) -> Self {
        Self { label: None, cause: cause.to_string(), doubt: Doubt::TemplateFails }
    }

    /// The step that is called so sends these: it fails for the lack of one, or else by itself.
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
}
