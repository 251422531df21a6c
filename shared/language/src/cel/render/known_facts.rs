//! Facts about an expression that are known without an object.

use std::sync::Arc;

use cel::common::ast::{Expr, IdedExpr, operators};
use cel::common::value::Val;
use drift_api::object::field_paths::FieldPaths;
use serde_json::Value;

use crate::cel::check::origin::Origin;
use crate::cel::check::variables::{DIFFERS, SECRETS, Variables};
use crate::cel::evaluation::convert::{Allowance, json};
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
        // Other variables have no known value here. One false condition of several is enough.
        if self.variables.iter().all(|variable| variable == DIFFERS) {
            return self.evaluate_bool(&variables) == Ok(false);
        }
        let Form::Cel(expression, stack) = &self.form else { return false };
        let is_false = |part: &IdedExpr| {
            let reads_it_alone = part.references().variables().into_iter().all(|variable| variable == DIFFERS);
            let convert = |value: &dyn Val| json(value, &Allowance::default());
            reads_it_alone && self.run(part, &variables, &Arc::default(), convert) == Ok(Some(Value::Bool(false)))
        };
        stacker::maybe_grow(*stack, *stack * 2, || conditions(expression).into_iter().any(is_false))
    }
}

/// Returns the conditions that all have to hold: the operands of `&&`.
fn conditions(expression: &IdedExpr) -> Vec<&IdedExpr> {
    match &expression.expr {
        Expr::Call(call) if call.func_name == operators::LOGICAL_AND => call.args.iter().flat_map(conditions).collect(),
        _ => vec![expression],
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cel::check::site::Site;
    use crate::cel::check::variables::Scope;

    #[test]
    fn a_when_is_false_where_one_condition_is() {
        for (when, is_false) in [
            ("'a' in differs", true),
            ("'b' in differs", false),
            ("'a' in differs && self.spec.x == 1", true),
            ("self.spec.x == 1 && 'a' in differs", true),
            ("self.spec.x == 1 && ('a' in differs && self.spec.y == 1)", true),
            ("differs.exists(key, key == 'a')", true),
            ("'a' in differs || self.spec.x == 1", false),
            ("!('a' in differs && self.spec.x == 1)", false),
            ("'b' in differs && self.spec.x == 1", false),
            ("self.spec.x == 1", false),
        ] {
            let site = Site::new("when", Scope::Correction);
            let when = Expression::parse(&format!("${{{when}}}"), &site).unwrap();
            assert_eq!(when.is_false_where_differs("b"), is_false, "{when:?}");
        }
    }
}
