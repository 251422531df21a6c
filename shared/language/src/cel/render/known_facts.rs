//! Facts about an expression that are known without an object.

use drift_api::object::field_paths::FieldPaths;
use serde_json::Value;

use crate::cel::check::origin::Origin;
use crate::cel::check::variables::{DIFFERS, SECRETS, Variables};
use crate::cel::render::expression::{Expression, Form};

impl Expression {
    /// The fields under `self` that it reads.
    #[must_use]
    pub fn fields(&self) -> &FieldPaths {
        &self.fields
    }

    /// The field names written in it.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Returns the parts of answers and the secrets in its value. `None` if it reads no answer to an earlier step, no
    /// item and no secret.
    pub(crate) fn origin(&self) -> Option<&Origin> {
        self.origin.as_deref()
    }

    /// Returns the names of the secrets that it reads.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().filter_map(|variable| variable.strip_prefix(SECRETS)?.strip_prefix('.'))
    }

    /// Returns the fields that it selects on a variable, if it does nothing else.
    pub(crate) fn path_on(&self, variable: &str) -> Option<&[String]> {
        match &self.form {
            Form::Path { variable: name, fields } if name == variable => Some(fields),
            _ => None,
        }
    }

    /// Returns true if it reads a variable of the language, or a secret by its name (`secrets.password`).
    pub(crate) fn reads(&self, variable: &str) -> bool {
        self.variables.contains(variable)
    }

    /// Returns true if it is always false when this is the only key of the desired state that differs, for any
    /// object and response.
    pub(crate) fn is_false_where_differs(&self, key: &str) -> bool {
        let differs = Value::from(vec![key]);
        let variables = Variables { differs: Some(&differs), ..Variables::of_object(&Value::Null) };
        // Other variables have no known value here.
        self.variables.iter().all(|variable| variable == DIFFERS) && self.evaluate_bool(&variables) == Ok(false)
    }
}
