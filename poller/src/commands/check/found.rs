//! What the cluster said about one target, collected question by question.
//!
//! It must not know what was asked.

use drift_target::UnknownField;

use crate::core::check::Severity;

/// What was found out about one target.
#[derive(Default)]
pub(super) struct Found {
    /// The fields that the target reads or writes and that its kind lacks.
    pub(super) unknown: Vec<UnknownField>,
    pub(super) said: Vec<(Severity, String)>,
    /// Of Secrets, by name.
    pub(super) secrets: Vec<(String, String)>,
    /// How many the target selects.
    pub(super) objects: Option<u64>,
    /// Whether something could not be asked.
    pub(super) is_partial: bool,
}

impl Found {
    pub(super) fn error(&mut self, message: impl Into<String>) {
        self.said.push((Severity::Error, message.into()));
    }

    /// What could not be asked is no mistake of the target.
    pub(super) fn unasked(&mut self, what: &str, error: impl std::fmt::Display) {
        self.is_partial = true;
        self.said.push((Severity::Warning, format!("{what} cannot be looked at, so that it is not checked: {error}")));
    }
}
