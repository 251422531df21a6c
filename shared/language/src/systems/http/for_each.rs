//! `forEach`: a step of a correction that is sent once for each item of a list.

use std::collections::HashSet;

use drift_api::secrets::secret_names::looks_secret;
use serde_json::Value;

use crate::cel::{EvaluationError, Expression, Expressions, ITEM, STEPS, Variables};
use crate::systems::http::request::RequestTemplate;

/// Maximum items of one list. A correction counts in `limits.concurrent` until the last item is answered: a hundred
/// requests of 100 ms take 10 s, as long as the default deadline of one request.
pub const MAX_ITEMS: usize = 100;

/// The list of a step that is sent once for each item.
#[derive(Debug)]
pub struct ForEach(pub(crate) Expression);

impl Expressions for ForEach {
    fn visit<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        visit(&self.0);
    }
}

impl ForEach {
    /// Returns the items in order. Equal items occur once.
    ///
    /// # Errors
    /// Fails if the expression cannot be evaluated for this object and these responses, or does not yield a list.
    pub fn items(&self, variables: &Variables<'_>) -> Result<Vec<Value>, EvaluationError> {
        let mut items = self.0.evaluate_list(variables)?;
        let mut seen = HashSet::new();
        items.retain(|item| seen.insert(item.to_string()));
        Ok(items)
    }

    /// Returns true if a field that it names looks like a secret.
    #[must_use]
    pub fn names_secret(&self) -> bool {
        self.0.names().any(looks_secret)
    }

    /// Returns true if the list depends on responses.
    #[must_use]
    pub fn needs_answers(&self) -> bool {
        self.0.reads(STEPS)
    }

    /// Renders the parts of the request that need no response, for each item if the list needs none either.
    ///
    /// # Errors
    /// Fails if a template cannot be evaluated for this object.
    pub(crate) fn try_out(&self, request: &RequestTemplate, variables: &Variables<'_>) -> Result<(), EvaluationError> {
        if self.needs_answers() {
            return request.try_without(&[STEPS, ITEM], variables);
        }
        // A longer list is refused before the step is sent.
        let items = self.items(variables)?;
        let with = |item| Variables { item: Some(item), ..*variables };
        items.iter().take(MAX_ITEMS).try_for_each(|item| request.try_without(&[STEPS], &with(item)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
