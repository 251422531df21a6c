//! The steps of a correction that need no response of another step, all rendered before the first is sent.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use drift_api::secrets::labelled_secrets::CredentialError;
use drift_language::cel::EvaluationError;

use crate::engine::rendering::secrets::ObjectSecrets;
use crate::engine::rendering::unrenderable::Unrenderable;

/// One step of a target, with its result for an object.
pub(super) struct Draft<'t, T> {
    pub(super) name: Option<&'t str>,
    /// Names of the secrets that it sends.
    pub(super) sends: BTreeSet<String>,
    /// `None` if the step is skipped.
    pub(super) content: Result<Option<T>, EvaluationError>,
}

/// Rendered steps with their secrets.
pub(super) struct RenderedSteps<T> {
    pub(super) steps: Vec<RenderedStep<T>>,
    pub(super) secrets: ObjectSecrets,
}

/// One rendered step.
pub(super) struct RenderedStep<T> {
    /// Name of the step, or its number.
    pub(super) label: Arc<str>,
    /// `None` if the step is skipped.
    pub(super) content: Option<T>,
    /// Names of the secrets in its content.
    pub(super) sends: BTreeSet<String>,
}

impl<T> RenderedSteps<T> {
    /// Returns the steps, or the error of the first that fails.
    pub(super) fn of<'t>(
        drafts: impl Iterator<Item = Draft<'t, T>>,
        secrets: ObjectSecrets,
    ) -> Result<Self, Unrenderable> {
        let render = |(index, Draft { name, sends, content }): (usize, Draft<'t, T>)| {
            let label: Arc<str> = name.map_or_else(|| (index + 1).to_string().into(), Arc::from);
            match content {
                Ok(Some(content)) => Ok(RenderedStep { label, content: Some(content), sends }),
                Ok(None) => Ok(RenderedStep { label, content: None, sends: BTreeSet::new() }),
                Err(error) => Err(Unrenderable::at(Some(label), error, secrets.missing(&sends))),
            }
        };
        let steps = drafts.enumerate().map(render).collect::<Result<_, _>>()?;
        Ok(Self { steps, secrets })
    }

    /// Checks if the secrets in the steps may be sent to this server.
    ///
    /// # Errors
    /// Returns the reason why a secret may not be sent.
    pub(super) fn check_host(&self, host: &str) -> Result<(), CredentialError> {
        let sent = self.steps.iter().flat_map(|step| step.sends.iter().cloned());
        self.secrets.check_host(&sent.collect(), host, false)
    }
}

// The contents are omitted, because they contain secrets.
impl<T> fmt::Debug for RenderedSteps<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.steps.iter().map(|step| &step.label)).finish()
    }
}
