//! Where a template stands, and so what it may see; and what is said where it cannot be evaluated.

use std::sync::Arc;

use crate::cel::check::declared_names::Names;
use crate::cel::check::variables::{SECRETS, STEPS, Scope};

/// Why a template could not be evaluated for an object. Holds no value of the object or of an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {cause}")]
pub struct EvaluationError {
    /// Where the template stands in the target, for example `compare.desired`.
    pub place: Arc<str>,
    /// What went wrong, as closed text (names of fields written in the target at most).
    pub cause: String,
}

/// Where a template stands, and so what it may see.
#[derive(Clone, Debug)]
pub struct Site {
    /// The path of the template in the target, for example `compare.desired`.
    pub place: Arc<str>,
    /// The variables that exist there.
    pub scope: Scope,
    /// What the target names itself.
    pub(crate) names: Arc<Names>,
    /// True if what stands here is sent to the external system and shown to nobody else.
    pub(crate) sends: bool,
}

impl Site {
    /// A place of a scope, in a target that names nothing.
    #[must_use]
    pub fn new(place: &str, scope: Scope) -> Self {
        Self { place: place.into(), scope, names: Arc::default(), sends: false }
    }

    /// The same, below or beside it.
    pub(crate) fn at(&self, place: &str) -> Self {
        Self { place: place.into(), ..self.clone() }
    }

    /// The same where its content is sent to the external system and shown to nobody else: a correction's secrets exist there.
    pub(crate) fn sending(self) -> Self {
        Self { sends: matches!(self.scope, Scope::Correction | Scope::Deletion), ..self }
    }

    /// Returns true if secrets may be written here, if the target declares any.
    pub(in crate::cel) const fn may_send(&self) -> bool {
        self.sends
    }

    /// The variables that exist here.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &'static str> + Clone {
        let steps = (!self.names.steps.is_empty()).then_some(STEPS);
        let secrets = (self.sends && !self.names.secrets.is_empty()).then_some(SECRETS);
        self.scope.variables().iter().copied().chain(steps).chain(secrets)
    }

    /// Returns true if a variable exists here.
    pub(in crate::cel) fn has_variable(&self, name: &str) -> bool {
        self.variables().any(|variable| variable == name)
    }

    /// An error of an evaluation at this place.
    pub(crate) fn error(&self, cause: impl Into<String>) -> EvaluationError {
        EvaluationError { place: self.place.clone(), cause: cause.into() }
    }
}
