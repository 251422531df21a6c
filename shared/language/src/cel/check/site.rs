//! The place of a template in its target, which decides the visible variables, and the errors of evaluations there.

use std::sync::Arc;

use crate::cel::check::declared_names::Names;
use crate::cel::check::variables::{ITEM, SECRETS, STEPS, Scope};

/// Error of the evaluation of a template for an object. Contains no value of the object or of a response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {cause}")]
pub struct EvaluationError {
    /// The path of the template in the target, for example `compare.desired`.
    pub place: Arc<str>,
    /// The cause, as fixed text. It contains at most names of fields written in the target.
    pub cause: String,
}

/// The place of a template, which decides the visible variables.
#[derive(Clone, Debug)]
pub struct Site {
    /// The path of the template in the target, for example `compare.desired`.
    pub place: Arc<str>,
    /// The variables that exist there.
    pub scope: Scope,
    /// The names that the target declares.
    pub(crate) names: Arc<Names>,
    /// True if the rendered content is only sent to the external system and never shown.
    pub(crate) sends: bool,
}

impl Site {
    /// Creates a place with a scope, in a target without declared names.
    #[must_use]
    pub fn new(place: &str, scope: Scope) -> Self {
        Self { place: place.into(), scope, names: Arc::default(), sends: false }
    }

    /// Returns the same place with another path.
    pub(crate) fn at(&self, place: &str) -> Self {
        Self { place: place.into(), ..self.clone() }
    }

    /// Marks the content as sent to the external system and never shown. A correction's secrets exist there.
    pub(crate) fn sending(self) -> Self {
        Self { sends: matches!(self.scope, Scope::Correction | Scope::Deletion), ..self }
    }

    /// Returns true if secrets are allowed here, provided that the target declares any.
    pub(in crate::cel) const fn may_send(&self) -> bool {
        self.sends
    }

    /// The variables that exist here.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &'static str> + Clone {
        let steps = (!self.names.steps.is_empty()).then_some(STEPS);
        let item = self.names.item.then_some(ITEM);
        let secrets = (self.sends && !self.names.secrets.is_empty()).then_some(SECRETS);
        self.scope.variables().iter().copied().chain(steps).chain(item).chain(secrets)
    }

    /// Returns true if a variable exists here.
    pub(in crate::cel) fn has_variable(&self, name: &str) -> bool {
        self.variables().any(|variable| variable == name)
    }

    /// Creates an evaluation error at this place.
    pub(crate) fn error(&self, cause: impl Into<String>) -> EvaluationError {
        EvaluationError { place: self.place.clone(), cause: cause.into() }
    }
}
