//! One CEL expression: compiled and checked when its target loads, evaluated for each object.
//!
//! This file must not know what the result is used for.

use std::collections::BTreeSet;
use std::sync::Arc;

use cel::Context;
use cel::common::ast::{Expr, IdedExpr};
use serde_json::Value;

use crate::cel::check::check;
use crate::cel::convert::{Allowance, cause, json, json_type, missing, no_fields};
use crate::cel::cost::Cost;
use crate::cel::functions::ENVIRONMENT;
use crate::cel::limits::{
    MAX_COST, MAX_EXPRESSION_BYTES, MAX_EXPRESSION_DEPTH, PARSE_STACK_BYTES, STACK_BYTES_PER_LEVEL,
};
use crate::cel::parse::{Piece, TemplateError, bracket_depth, pieces};
use crate::cel::rewrite::depth;
use crate::cel::variables::{Bound, Scope, Variables};
use drift_model::field_paths::FieldPaths;

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
}

impl Site {
    /// A place of a scope.
    #[must_use]
    pub fn new(place: &str, scope: Scope) -> Self {
        Self { place: place.into(), scope }
    }

    /// An error of an evaluation at this place.
    pub(crate) fn error(&self, cause: impl Into<String>) -> EvaluationError {
        EvaluationError { place: self.place.clone(), cause: cause.into() }
    }
}

/// One CEL expression standing alone (`"${…}"`).
#[derive(Debug)]
pub struct Expression {
    site: Site,
    form: Form,
    /// Names of fields written in the expression: only they are repeated in errors.
    names: BTreeSet<String>,
    fields: FieldPaths,
}

#[derive(Debug)]
enum Form {
    /// A variable and fields selected on it, the commonest of all: read straight from the JSON.
    Path { variable: String, fields: Vec<String> },
    /// Anything else, and the stack that it needs.
    Cel(IdedExpr, usize),
}

impl Expression {
    /// Compiles a text that is one `${…}` and nothing else.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str, site: &Site) -> Result<Self, Vec<TemplateError>> {
        match pieces(text).map_err(|error| vec![error])?.as_slice() {
            [Piece::Expression { source, offset }] => Self::compile(source, *offset, site),
            _ => Err(vec![TemplateError::new(0, "write one \"${…}\" and nothing around it")]),
        }
    }

    /// Compiles the source between `${` and `}`; `offset` characters of the template stand in front of it.
    pub(super) fn compile(source: &str, offset: usize, site: &Site) -> Result<Self, Vec<TemplateError>> {
        if source.trim().is_empty() {
            return Err(vec![TemplateError::new(offset, "the expression is empty")]);
        }
        if source.len() > MAX_EXPRESSION_BYTES {
            let message = format!("an expression is at most {MAX_EXPRESSION_BYTES} bytes long");
            return Err(vec![TemplateError::new(offset, message)]);
        }
        if bracket_depth(source) > MAX_EXPRESSION_DEPTH {
            let message = format!("brackets nest at most {MAX_EXPRESSION_DEPTH} deep");
            return Err(vec![TemplateError::new(offset, message)]);
        }
        stacker::grow(PARSE_STACK_BYTES, || Self::compile_shallow(source, site)).map_err(|errors| {
            let shifted = |error: TemplateError| TemplateError { offset: error.offset + offset, ..error };
            errors.into_iter().map(shifted).collect()
        })
    }

    fn compile_shallow(source: &str, site: &Site) -> Result<Self, Vec<TemplateError>> {
        let parsed = ENVIRONMENT.parser().parse_with_source_info(source);
        let (mut expression, info) = parsed.map_err(|errors| vec![syntax_error(source, &errors)])?;
        let checked = check(&mut expression, &info, site.scope)?;
        let form = as_path(&expression, site.scope).unwrap_or_else(|| {
            let stack = depth(&expression) * STACK_BYTES_PER_LEVEL;
            Form::Cel(expression, stack)
        });
        Ok(Self { site: site.clone(), form, names: checked.names, fields: checked.fields })
    }

    /// The fields under `self` that it reads.
    #[must_use]
    pub fn fields(&self) -> &FieldPaths {
        &self.fields
    }

    /// Evaluates to JSON; `None` for an optional without value.
    ///
    /// # Errors
    /// When a field is missing or the result has no JSON form.
    pub fn evaluate(&self, variables: &Variables<'_>) -> Result<Option<Value>, EvaluationError> {
        self.evaluate_within(variables, &Arc::default())
    }

    /// The same, as a part of something greater whose parts share one budget.
    pub(crate) fn evaluate_within(
        &self,
        variables: &Variables<'_>,
        cost: &Arc<Cost>,
    ) -> Result<Option<Value>, EvaluationError> {
        match &self.form {
            Form::Path { variable, fields } => {
                let value = self.select(variables, variable, fields)?;
                Ok(Some(value.clone()))
            }
            Form::Cel(expression, stack) => {
                let run = || self.run(expression, variables, cost);
                stacker::maybe_grow(*stack, *stack * 2, run).map_err(|cause| self.site.error(cause))
            }
        }
    }

    /// Evaluates to a boolean; anything else is an error.
    ///
    /// # Errors
    /// When a field is missing or the result is no boolean.
    pub fn evaluate_bool(&self, variables: &Variables<'_>) -> Result<bool, EvaluationError> {
        self.evaluate_bool_within(variables, &Arc::default())
    }

    /// The same, as one of several rules that share one budget.
    pub(crate) fn evaluate_bool_within(
        &self,
        variables: &Variables<'_>,
        cost: &Arc<Cost>,
    ) -> Result<bool, EvaluationError> {
        match self.evaluate_within(variables, cost)? {
            Some(Value::Bool(truth)) => Ok(truth),
            Some(other) => Err(self.site.error(format!("the result is a {}, not true or false", json_type(&other)))),
            None => Err(self.site.error("the optional has no value; write .orValue(false)")),
        }
    }

    fn select<'a>(
        &self,
        variables: &Variables<'a>,
        name: &str,
        fields: &[String],
    ) -> Result<&'a Value, EvaluationError> {
        let unknown = || self.site.error(format!("`{name}` does not exist here"));
        let mut value = variables.json(name).ok_or_else(unknown)?;
        for field in fields {
            value = match value {
                Value::Object(map) => map.get(field).ok_or_else(|| self.site.error(missing(field)))?,
                other => return Err(self.site.error(no_fields(json_type(other)))),
            };
        }
        Ok(value)
    }

    fn run(&self, expression: &IdedExpr, variables: &Variables<'_>, cost: &Arc<Cost>) -> Result<Option<Value>, String> {
        let bound = Bound::new(variables, cost);
        let mut context = Context::with_env(ENVIRONMENT.clone());
        context.set_variable_resolver(&bound);
        let result = cel::Value::resolve_val(expression, &context);
        let converted = match &result {
            Ok(value) => json(value.as_ref(), &mut Allowance::default()),
            Err(error) => Err(cause(error, &self.names)),
        };
        if cost.is_exhausted() {
            return Err(format!("the evaluation costs more than {MAX_COST} units"));
        }
        converted
    }
}

/// The expression as a path, if it is nothing but one.
fn as_path(expression: &IdedExpr, scope: Scope) -> Option<Form> {
    let mut fields = Vec::new();
    let mut node = expression;
    loop {
        match &node.expr {
            Expr::Select(select) if !select.test => {
                fields.push(select.field.clone());
                node = &select.operand;
            }
            Expr::Ident(name) if name != super::variables::CORRECTION && scope.variables().contains(&name.as_str()) => {
                fields.reverse();
                return Some(Form::Path { variable: name.clone(), fields });
            }
            _ => return None,
        }
    }
}

/// The first of cel's syntax errors: the others are mostly its echo.
fn syntax_error(source: &str, errors: &cel::ParseErrors) -> TemplateError {
    let Some(first) = errors.errors.first() else {
        return TemplateError::new(0, "no CEL expression");
    };
    let line = usize::try_from(first.pos.0.max(1) - 1).unwrap_or(0);
    let column = usize::try_from(first.pos.1.max(1) - 1).unwrap_or(0);
    let before: usize = source.split_inclusive('\n').take(line).map(|line| line.chars().count()).sum();
    let position = (before + column).min(source.chars().count());
    let message = first.msg.trim_start_matches("Syntax error: ");
    // The list of all tokens that could stand there helps nobody.
    let message = message.split_once(" expecting {").map_or(message, |(found, _)| found);
    let message = if message.contains("Recursion limit") { "it nests too deep" } else { message };
    let message = message.replace("'<EOF>'", "the end of the expression");
    TemplateError::new(position, format!("no CEL expression: {message}"))
}
