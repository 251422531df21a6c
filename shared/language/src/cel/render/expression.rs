//! One CEL expression: compiled and checked when its target loads, evaluated for each object.

use std::sync::Arc;

use cel::Context;
use cel::common::ast::{Expr, IdedExpr, operators};
use cel::common::value::Val;
use serde_json::Value;

use crate::cel::check::mistake::{ANSWERS, Mistake, parts_without_answer};
use crate::cel::check::origin::Origin;
use crate::cel::check::site::{EvaluationError, Site};
use crate::cel::check::trace::origin_of;
use crate::cel::check::variables::{Bound, CORRECTION, DIFFERS, ITEM, SECRETS, SELF, STEPS, Variables};
use crate::cel::check::{References, check};
use crate::cel::evaluation::cause::{cause, missing, no_fields};
use crate::cel::evaluation::constants::{MAX_COST, PARSE_STACK_BYTES, STACK_BYTES_PER_LEVEL};
use crate::cel::evaluation::convert::{Allowance, bytes, json, json_type, no_bytes};
use crate::cel::evaluation::cost::Cost;
use crate::cel::evaluation::json::RAW;
use crate::cel::functions::ENVIRONMENT;
use crate::cel::syntax::parse_source;
use crate::cel::syntax::pieces::{TemplateError, one_expression};
use crate::cel::syntax::tree::depth;
use drift_api::object::field_paths::FieldPaths;

/// One standalone CEL expression (`"${…}"`).
#[derive(Debug)]
pub struct Expression {
    site: Site,
    form: Form,
    references: References,
    /// The parts of answers to earlier steps, and the secrets, in its value. Boxed: few expressions read any.
    origin: Option<Box<Origin>>,
}

#[derive(Debug)]
enum Form {
    /// A variable and fields selected on it. This is the most common form and is read straight from the JSON.
    Path { variable: String, fields: Vec<String> },
    /// Any other expression, and the stack size that it needs.
    Cel(IdedExpr, usize),
}

impl Expression {
    /// Compiles a text that consists of one `${…}`.
    ///
    /// # Errors
    /// Returns every mistake in it.
    pub fn parse(text: &str, site: &Site) -> Result<Self, Vec<TemplateError>> {
        let (source, offset) = one_expression(text).map_err(|error| vec![error])?;
        Self::compile(source, offset, site)
    }

    /// Compiles the source between `${` and `}`. The template has `offset` characters in front of it.
    pub(in crate::cel) fn compile(source: &str, offset: usize, site: &Site) -> Result<Self, Vec<TemplateError>> {
        Self::compile_marked(source, offset, site, |_| Ok(())).map(|((), expression)| expression)
    }

    /// Compiles the source that remains after `take_mark` has removed a marker around the whole.
    pub(crate) fn compile_marked<M>(
        source: &str,
        offset: usize,
        site: &Site,
        take_mark: impl FnOnce(&mut IdedExpr) -> Result<M, String>,
    ) -> Result<(M, Self), Vec<TemplateError>> {
        Self::compile_source(source, site, take_mark)
            .map_err(|errors| errors.into_iter().map(|error| error.shifted(offset)).collect())
    }

    fn compile_source<M>(
        source: &str,
        site: &Site,
        take_mark: impl FnOnce(&mut IdedExpr) -> Result<M, String>,
    ) -> Result<(M, Self), Vec<TemplateError>> {
        let (mut expression, info) = parse_source(source).map_err(|error| vec![error])?;
        let mark = take_mark(&mut expression).map_err(|refusal| vec![TemplateError::new(0, refusal)])?;
        site.names.replace(&mut expression).map_err(|refusal| vec![TemplateError::new(0, refusal.to_string())])?;
        let origin = stacker::grow(PARSE_STACK_BYTES, || origin_of(&expression));
        let references = stacker::grow(PARSE_STACK_BYTES, || check(&mut expression, &info, site))?;
        let form = as_path(&expression, site).unwrap_or_else(|| {
            let stack = depth(&expression) * STACK_BYTES_PER_LEVEL;
            Form::Cel(expression, stack)
        });
        let is_needed = [STEPS, ITEM, SECRETS].iter().any(|variable| references.variables.contains(*variable));
        let origin = is_needed.then(|| Box::new(origin));
        Ok((mark, Self { site: site.clone(), form, references, origin }))
    }

    /// The fields under `self` that it reads.
    #[must_use]
    pub fn fields(&self) -> &FieldPaths {
        &self.references.fields
    }

    /// The field names written in it.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.references.names.iter().map(String::as_str)
    }

    /// Returns the parts of answers and the secrets in its value. `None` if it reads no answer to an earlier step, no
    /// item and no secret.
    pub(crate) fn origin(&self) -> Option<&Origin> {
        self.origin.as_deref()
    }

    /// Returns the names of the secrets that it reads.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        self.references.variables.iter().filter_map(|variable| variable.strip_prefix(SECRETS)?.strip_prefix('.'))
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
        self.references.variables.contains(variable)
    }

    /// Returns true if it is always false when this is the only key of the desired state that differs, for any
    /// object and response.
    pub(crate) fn is_false_where_differs(&self, key: &str) -> bool {
        let differs = Value::from(vec![key]);
        let variables = Variables { differs: Some(&differs), ..Variables::of_object(&Value::Null) };
        // Other variables have no known value here. One false condition of several is enough.
        if self.references.variables.iter().all(|variable| variable == DIFFERS) {
            return self.evaluate_bool(&variables) == Ok(false);
        }
        let Form::Cel(expression, stack) = &self.form else { return false };
        let is_false = |part: &IdedExpr| {
            let reads_it_alone = part.references().variables().into_iter().all(|variable| variable == DIFFERS);
            let evaluate = || self.run((part, *stack), &variables, &Arc::default(), rendered);
            reads_it_alone && evaluate() == Ok(Some(Value::Bool(false)))
        };
        conditions(expression).into_iter().any(is_false)
    }

    /// Returns the place of the expression in its target.
    pub(crate) fn site(&self) -> &Site {
        &self.site
    }

    /// Evaluates to JSON. `None` for an optional without value.
    ///
    /// # Errors
    /// Fails if a field is missing or the result has no JSON form.
    pub fn evaluate(&self, variables: &Variables<'_>) -> Result<Option<Value>, EvaluationError> {
        self.evaluate_within(variables, &Arc::default())
    }

    /// Evaluates to JSON, within a budget shared with other expressions.
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
            Form::Cel(expression, stack) => self.run((expression, *stack), variables, cost, rendered),
        }
    }

    /// Evaluates to bytes. Any other type is an error.
    ///
    /// # Errors
    /// Fails if a field is missing or the result is not bytes.
    pub fn evaluate_bytes(&self, variables: &Variables<'_>) -> Result<Vec<u8>, EvaluationError> {
        match &self.form {
            Form::Path { variable, fields } => {
                let found = self.select(variables, variable, fields)?;
                Err(self.site.error(no_bytes(json_type(found))))
            }
            Form::Cel(expression, stack) => self.run((expression, *stack), variables, &Arc::default(), bytes),
        }
    }

    /// Evaluates to a boolean. Any other type is an error.
    ///
    /// # Errors
    /// Fails if a field is missing or the result is not a boolean.
    pub fn evaluate_bool(&self, variables: &Variables<'_>) -> Result<bool, EvaluationError> {
        self.evaluate_bool_within(variables, &Arc::default())
    }

    /// Evaluates to a boolean, within a budget shared with other rules.
    pub(crate) fn evaluate_bool_within(
        &self,
        variables: &Variables<'_>,
        cost: &Arc<Cost>,
    ) -> Result<bool, EvaluationError> {
        match self.evaluate_within(variables, cost)? {
            Some(Value::Bool(truth)) => Ok(truth),
            other => Err(self.unexpected(other.as_ref(), "true or false", "false")),
        }
    }

    /// Evaluates to a list. Any other type is an error.
    ///
    /// # Errors
    /// Fails if a field is missing or the result is not a list.
    pub(crate) fn evaluate_list(&self, variables: &Variables<'_>) -> Result<Vec<Value>, EvaluationError> {
        match self.evaluate(variables)? {
            Some(Value::Array(items)) => Ok(items),
            other => Err(self.unexpected(other.as_ref(), "a list", "[]")),
        }
    }

    /// Returns the error for a result of another type.
    fn unexpected(&self, found: Option<&Value>, wanted: &str, default: &str) -> EvaluationError {
        self.site.error(match found {
            Some(found) => format!("the result is a {}, not {wanted}", json_type(found)),
            None => format!("the optional has no value; write .orValue({default})"),
        })
    }

    /// Attributes an evaluation error to the object or to the response.
    #[must_use]
    pub fn attribute(&self, error: EvaluationError, object: &Value) -> Mistake {
        if !self.references.variables.iter().any(|variable| ANSWERS.contains(&&**variable)) {
            return Mistake::OfObject(error);
        }
        Mistake::attribute(self.own_mistake(object), error)
    }

    /// Returns the error that the object alone causes, regardless of the response.
    pub(in crate::cel) fn own_mistake(&self, object: &Value) -> Option<EvaluationError> {
        let variables = Variables::of_object(object);
        match &self.form {
            Form::Path { variable, fields } if variable == SELF => self.select(&variables, variable, fields).err(),
            Form::Path { .. } => None,
            Form::Cel(expression, stack) => {
                let find = |context: &Context<'_, '_>| {
                    let fail = |part: &IdedExpr| cel::Value::resolve_val(part, context).err();
                    parts_without_answer(expression).into_iter().find_map(fail)
                };
                let error = in_context(*stack, &variables, &Arc::default(), find)?;
                Some(self.site.error(cause(&error, &self.references.names)))
            }
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

    /// Evaluates the expression or a part of it.
    fn run<T>(
        &self,
        (expression, stack): (&IdedExpr, usize),
        variables: &Variables<'_>,
        cost: &Arc<Cost>,
        convert: impl FnOnce(&dyn Val) -> Result<T, String>,
    ) -> Result<T, EvaluationError> {
        let evaluated = in_context(stack, variables, cost, |context| {
            cel::Value::resolve_val(expression, context)
                .map_err(|error| cause(&error, &self.references.names))
                .and_then(|value| convert(value.as_ref()))
        });
        match cost.is_exhausted() {
            true => Err(self.site.error(format!("the evaluation costs more than {MAX_COST} units"))),
            false => evaluated.map_err(|cause| self.site.error(cause)),
        }
    }
}

/// Runs with the variables bound, on a stack of at least this size.
fn in_context<T>(
    stack: usize,
    variables: &Variables<'_>,
    cost: &Arc<Cost>,
    run: impl FnOnce(&Context<'_, '_>) -> T,
) -> T {
    stacker::maybe_grow(stack, stack * 2, || {
        let bound = Bound::new(variables, cost);
        let mut context = Context::with_env(ENVIRONMENT.clone());
        context.set_variable_resolver(&bound);
        run(&context)
    })
}

fn rendered(value: &dyn Val) -> Result<Option<Value>, String> {
    json(value, &Allowance::default())
}

/// Returns the path form of the expression, if it is a plain path.
fn as_path(expression: &IdedExpr, site: &Site) -> Option<Form> {
    let mut fields = Vec::new();
    let mut node = expression;
    loop {
        match &node.expr {
            Expr::Select(select) if !select.test => {
                fields.push(select.field.clone());
                node = &select.operand;
            }
            Expr::Ident(name) if name != CORRECTION && site.has_variable(name) => {
                fields.reverse();
                // Bytes have no JSON form.
                if name == STEPS && fields.get(1).is_some_and(|field| field == RAW) {
                    return None;
                }
                return Some(Form::Path { variable: name.clone(), fields });
            }
            _ => return None,
        }
    }
}

/// Returns the conditions that all have to hold: the operands of `&&`.
fn conditions(expression: &IdedExpr) -> Vec<&IdedExpr> {
    match &expression.expr {
        Expr::Call(call) if call.func_name == operators::LOGICAL_AND => call.args.iter().flat_map(conditions).collect(),
        _ => vec![expression],
    }
}
