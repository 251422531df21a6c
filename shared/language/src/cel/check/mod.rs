//! Checks an expression when its target loads, and collects the fields that it reads.
//!
//! Reports everything that is known without an object, with its position: unknown functions and variables, hidden
//! fields, loops nested too deep. Also redirects `==` and `in` (see [`crate::cel::evaluation::equal`]).

pub(super) mod known_desired;
pub(super) mod mistake;
pub(crate) mod origin;
pub(super) mod site;
pub(super) mod trace;
pub(super) mod variables;

pub(crate) mod declared_names;
mod resolution;
pub(crate) mod rewrite;

use std::borrow::Cow;
use std::collections::BTreeSet;

use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, SourceInfo};

use crate::cel::check::rewrite::redirect;
use crate::cel::check::site::Site;
use crate::cel::check::variables::{DESIRED, OBSERVED, RESPONSE, SECRETS, SELF, STEPS, VARIABLES};
use crate::cel::evaluation::constants::{MAX_COMPREHENSION_DEPTH, MAX_EXPRESSION_DEPTH};
use crate::cel::evaluation::pattern::mistake;
use crate::cel::functions::table::{Callee, FUNCTIONS, MACROS, OPERATORS, PATH, function_meant};
use crate::cel::syntax::pieces::TemplateError;
use crate::cel::syntax::tree::{Chain, Selection, children, depth, text};
use crate::cel::syntax::{characters_before, start_of};
use crate::suggest::did_you_mean;
use drift_api::object::field_paths::FieldPaths;

/// Names of types, which may be compared with `type(x)`.
pub(in crate::cel) const TYPES: &[&str] =
    &["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

/// The character that YAML's double quotes and texts of CEL make of `\b`.
const BACKSPACE: char = '\u{8}';
const MADE_BACKSPACE: &str =
    "the pattern has a backspace in place of `\\b`: write the template in single quotes, and the pattern as r\"\\b\"";

/// The names that an expression refers to.
#[derive(Debug, Default)]
pub(in crate::cel) struct References {
    /// The fields under `self` that it reads.
    pub(in crate::cel) fields: FieldPaths,
    /// Every field name that is written in it. Only they are repeated in errors.
    pub(in crate::cel) names: BTreeSet<String>,
    /// The variables of the language that it reads. Each secret also has an entry of its own: `secrets.password`.
    pub(in crate::cel) variables: BTreeSet<Cow<'static, str>>,
}

/// Checks and redirects an expression.
///
/// # Errors
/// Returns every mistake in it. Offsets count from its beginning.
pub(in crate::cel) fn check(
    expression: &mut IdedExpr,
    source: &SourceInfo,
    site: &Site,
) -> Result<References, Vec<TemplateError>> {
    if depth(expression) > MAX_EXPRESSION_DEPTH {
        let message = format!("operations nest at most {MAX_EXPRESSION_DEPTH} deep; write several templates instead");
        return Err(vec![TemplateError::new(0, message)]);
    }
    let (local, errors, references) = (Vec::new(), Vec::new(), References::default());
    let mut checker = Checker { site, source, local, depth: 0, errors, references };
    checker.visit(expression);
    if !checker.errors.is_empty() {
        return Err(checker.errors);
    }
    redirect(expression, &site.variables().collect::<Vec<_>>());
    Ok(checker.references)
}

struct Checker<'s> {
    site: &'s Site,
    source: &'s SourceInfo,
    /// Variables of the enclosing loops.
    local: Vec<String>,
    /// The number of enclosing loops.
    depth: usize,
    errors: Vec<TemplateError>,
    references: References,
}

impl Checker<'_> {
    fn refuse(&mut self, at: &IdedExpr, message: impl Into<String>) {
        self.refuse_at(start_of(at.id, self.source), message);
    }

    fn refuse_at(&mut self, start: usize, message: impl Into<String>) {
        let error = TemplateError::new(characters_before(start, self.source), message);
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    fn visit(&mut self, expression: &IdedExpr) {
        if let Some(chain) = Chain::of(expression) {
            return self.visit_chain(&chain);
        }
        match &expression.expr {
            Expr::Call(call) => return self.visit_call(expression, call),
            Expr::Comprehension(comprehension) => return self.visit_comprehension(expression, comprehension),
            Expr::Literal(_) => self.references.names.extend(text(expression).map(str::to_owned)),
            Expr::Select(select) => drop(self.references.names.insert(select.field.clone())),
            Expr::Struct(_) => {
                self.refuse(expression, "a map is written {'name': value}, with quotes and without a type")
            }
            Expr::Unspecified => self.refuse(expression, "the expression is not complete"),
            Expr::Ident(_) | Expr::List(_) | Expr::Map(_) => {}
        }
        children(expression).into_iter().for_each(|child| self.visit(child));
    }

    fn visit_chain(&mut self, chain: &Chain<'_>) {
        self.references.names.extend(chain.selections.iter().filter_map(Selection::field).map(str::to_owned));
        chain.indexes().for_each(|index| self.visit(index));
        if self.local.iter().any(|local| local == chain.name) {
            return;
        }
        self.references
            .variables
            .extend(VARIABLES.iter().find(|name| **name == chain.name).map(|name| Cow::Borrowed(*name)));
        self.check_parts_of_answer(chain);
        if !self.site.has_variable(chain.name) {
            if !TYPES.contains(&chain.name) && !self.is_let(chain.name) {
                self.refuse_variable(chain);
            }
            return;
        }
        match chain.name {
            SELF => self.check_object(chain),
            DESIRED => self.check_desired(chain),
            OBSERVED => self.check_observed(chain),
            STEPS => self.check_step(chain),
            SECRETS => self.check_secret(chain),
            RESPONSE => self.check_answer(chain, chain.fields().first()),
            _ => {}
        }
    }

    fn visit_call(&mut self, expression: &IdedExpr, call: &CallExpr) {
        if call.target.is_none() && OPERATORS.contains(&call.func_name.as_str()) {
            self.check_differs(call);
            self.check_status(call);
        } else {
            let callee = Callee::of(call);
            callee.value.iter().for_each(|value| self.visit(value));
            self.check_function(expression, &callee, &call.args);
        }
        call.args.iter().for_each(|argument| self.visit(argument));
    }

    /// Checks that a function is known, takes that number of arguments, and finds a pattern where it needs one.
    fn check_function(&mut self, expression: &IdedExpr, callee: &Callee<'_>, arguments: &[IdedExpr]) {
        let name: &str = &callee.name;
        // The node of a call starts at its bracket. Readers look for the function's name.
        let bracket = start_of(expression.id, self.source);
        let before = self.source.source.get(..bracket).unwrap_or_default();
        let start = if before.ends_with(name) { bracket - name.len() } else { bracket };
        if name == PATH {
            self.refuse_at(start, "path(…) may only be the whole of a ${…} in a URL's path");
            return;
        }
        let Some(function) = callee.function() else {
            let candidates = FUNCTIONS.iter().map(|function| function.name).chain(MACROS.iter().copied());
            let candidates = candidates.filter(|candidate| *candidate != name);
            let meant = function_meant(name).map(|own| format!(": did you mean `{own}`?"));
            let hint = meant.unwrap_or_else(|| did_you_mean(name, candidates));
            self.refuse_at(start, format!("unknown function `{name}`{hint}"));
            return;
        };
        if let Some(mistake) = function.mistake(arguments.len()) {
            self.refuse_at(start, mistake);
        }
        let pattern = function.pattern.and_then(|position| arguments.get(position));
        pattern.iter().for_each(|pattern| self.check_pattern(pattern));
    }

    /// Checks a literal pattern, which would fail for every object. A pattern that depends on the object is skipped.
    fn check_pattern(&mut self, pattern: &IdedExpr) {
        let Some(written) = text(pattern) else { return };
        if written.contains(BACKSPACE) {
            self.refuse(pattern, MADE_BACKSPACE);
        } else if let Some(mistake) = mistake(written) {
            self.refuse(pattern, mistake);
        }
    }

    fn visit_comprehension(&mut self, expression: &IdedExpr, comprehension: &ComprehensionExpr) {
        self.visit(&comprehension.iter_range);
        self.visit(&comprehension.accu_init);
        // `optMap` is parsed as a loop over an empty list, to bind a name.
        let loops =
            usize::from(!matches!(&comprehension.iter_range.expr, Expr::List(list) if list.elements.is_empty()));
        self.depth += loops;
        if self.depth > MAX_COMPREHENSION_DEPTH {
            self.refuse(
                expression,
                format!("loops (all, exists, map, filter …) nest at most {MAX_COMPREHENSION_DEPTH} deep"),
            );
        }
        let names = [Some(&comprehension.iter_var), comprehension.iter_var2.as_ref(), Some(&comprehension.accu_var)];
        let outside = self.local.len();
        self.local.extend(names.into_iter().flatten().cloned());
        let is_taken = |name: &&String| self.is_taken(name);
        if let Some(name) = self.local[outside..].iter().find(is_taken).cloned() {
            self.refuse(
                expression,
                format!(
                    "`{name}` is a variable of the language or a name of `let`; give the loop's variable another name"
                ),
            );
        }
        self.visit(&comprehension.loop_cond);
        self.visit(&comprehension.loop_step);
        self.visit(&comprehension.result);
        self.local.truncate(outside);
        self.depth -= loops;
    }
}
