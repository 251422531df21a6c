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

pub(crate) mod answer_part;
mod answers;
pub(crate) mod chain;
pub(crate) mod declared_names;
mod foreign_names;
mod names;
mod patterns;
pub(crate) mod rewrite;

use std::borrow::Cow;
use std::collections::BTreeSet;

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, SourceInfo};

use crate::cel::check::chain::{Chain, text};
use crate::cel::check::foreign_names::function_meant;
use crate::cel::check::rewrite::{depth, redirect};
use crate::cel::check::site::Site;
use crate::cel::check::variables::{DESIRED, EVERY_KEY, HEADERS, OBSERVED, RESPONSE, SECRETS, SELF, STEPS, VARIABLES};
use crate::cel::evaluation::constants::{MAX_COMPREHENSION_DEPTH, MAX_EXPRESSION_DEPTH};
use crate::cel::evaluation::function_names::{MACROS, OPERATORS, PATH};
use crate::cel::functions::table::{Called, FUNCTIONS, function, is_namespace};
use crate::cel::syntax::parse::TemplateError;
use crate::suggest::did_you_mean;
use drift_api::object::field_paths::FieldPaths;

/// Names of types, which may be compared with `type(x)`.
pub(in crate::cel) const TYPES: &[&str] =
    &["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

/// Result of the check of one expression.
pub(in crate::cel) struct Checked {
    /// The fields under `self` that it reads.
    pub(in crate::cel) fields: FieldPaths,
    /// Every field name that is written in it.
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
) -> Result<Checked, Vec<TemplateError>> {
    if depth(expression) > MAX_EXPRESSION_DEPTH {
        let message = format!("operations nest at most {MAX_EXPRESSION_DEPTH} deep; write several templates instead");
        return Err(vec![TemplateError::new(0, message)]);
    }
    let mut checker = Checker {
        site,
        source,
        local: Vec::new(),
        depth: 0,
        errors: Vec::new(),
        fields: FieldPaths::default(),
        names: BTreeSet::new(),
        variables: BTreeSet::new(),
    };
    checker.visit(expression);
    if !checker.errors.is_empty() {
        return Err(checker.errors);
    }
    let checked = Checked { fields: checker.fields, names: checker.names, variables: checker.variables };
    redirect(expression, &site.variables().collect::<Vec<_>>());
    Ok(checked)
}

struct Checker<'s> {
    site: &'s Site,
    source: &'s SourceInfo,
    /// Variables of the enclosing loops.
    local: Vec<String>,
    /// The number of enclosing loops.
    depth: usize,
    errors: Vec<TemplateError>,
    fields: FieldPaths,
    names: BTreeSet<String>,
    variables: BTreeSet<Cow<'static, str>>,
}

impl Checker<'_> {
    /// Returns the byte offset of a node, as cel counts it.
    fn start(&self, at: &IdedExpr) -> usize {
        self.source.offset_for(at.id).and_then(|(start, _)| usize::try_from(start).ok()).unwrap_or(0)
    }

    fn refuse(&mut self, at: &IdedExpr, message: impl Into<String>) {
        self.refuse_at(self.start(at), message);
    }

    fn refuse_at(&mut self, start: usize, message: impl Into<String>) {
        let offset = self.source.source.get(..start).map_or(0, |before| before.chars().count());
        let error = TemplateError::new(offset, message);
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    fn visit(&mut self, expression: &IdedExpr) {
        self.name(expression);
        if let Some(chain) = Chain::of(expression) {
            self.visit_names_below(expression);
            return self.visit_chain(&chain);
        }
        match &expression.expr {
            Expr::Call(call) => self.visit_call(expression, call),
            Expr::Comprehension(comprehension) => self.visit_comprehension(expression, comprehension),
            Expr::List(list) => list.elements.iter().for_each(|element| self.visit(element)),
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.visit(&entry.key);
                        self.visit(&entry.value);
                    }
                }
            }
            Expr::Select(select) => self.visit(&select.operand),
            Expr::Struct(_) => {
                self.refuse(expression, "a map is written {'name': value}, with quotes and without a type")
            }
            Expr::Unspecified => self.refuse(expression, "the expression is not complete"),
            Expr::Ident(_) | Expr::Literal(_) => {}
        }
    }

    /// Records a name written at this node.
    fn name(&mut self, expression: &IdedExpr) {
        let name = match &expression.expr {
            Expr::Select(select) => Some(select.field.as_str()),
            _ => text(expression),
        };
        self.names.extend(name.map(str::to_owned));
    }

    /// Records the names along a chain, which is not visited node by node.
    fn visit_names_below(&mut self, expression: &IdedExpr) {
        let operand = match &expression.expr {
            Expr::Select(select) => &*select.operand,
            Expr::Call(call) => match call.args.as_slice() {
                [operand, index] => {
                    self.name(index);
                    operand
                }
                _ => return,
            },
            _ => return,
        };
        self.name(operand);
        self.visit_names_below(operand);
    }

    fn visit_chain(&mut self, chain: &Chain<'_>) {
        for index in &chain.indexes {
            self.visit(index);
        }
        if self.local.iter().any(|local| local == chain.name) {
            return;
        }
        if chain.asks_for_body {
            let message = "an answer that is no JSON has no body either: compare `response.body` with null, or read \
                           `response.text`";
            self.refuse(chain.root, message);
        }
        self.variables
            .extend(VARIABLES.iter().find(|variable| **variable == chain.name).map(|name| Cow::Borrowed(*name)));
        if chain.may_see_headers() {
            self.variables.insert(Cow::Borrowed(HEADERS));
        }
        if chain.name == SELF && self.site.has_variable(SELF) {
            match self.site.scope.refusal(&chain.fields) {
                Some(message) => self.refuse(chain.root, message),
                None => self.fields.insert(chain.fields.clone()),
            }
        } else if chain.name == DESIRED && self.site.has_variable(DESIRED) {
            self.check_desired(chain);
            let key = chain.fields.first().map_or(EVERY_KEY.into(), |key| format!("{DESIRED}.{key}").into());
            self.variables.insert(key);
        } else if chain.name == OBSERVED && self.site.has_variable(OBSERVED) {
            self.check_observed(chain);
        } else if chain.name == STEPS && self.site.has_variable(STEPS) {
            self.check_step(chain);
        } else if chain.name == SECRETS && self.site.has_variable(SECRETS) {
            self.check_secret(chain);
        } else if chain.name == RESPONSE && self.site.has_variable(RESPONSE) {
            self.check_answer(chain, chain.fields.first());
        } else if !self.site.has_variable(chain.name) && !TYPES.contains(&chain.name) && !self.is_let(chain.name) {
            self.refuse_variable(chain);
        }
    }

    fn visit_call(&mut self, expression: &IdedExpr, call: &CallExpr) {
        match &call.target {
            Some(target) => self.visit_member_call(expression, target, call),
            None if OPERATORS.contains(&call.func_name.as_str()) => {
                self.check_differs(call);
                self.check_status(call);
            }
            None => self.check_function(expression, &call.func_name, Called::Alone, call.args.len()),
        }
        self.check_pattern(call);
        call.args.iter().for_each(|argument| self.visit(argument));
    }

    fn visit_member_call(&mut self, expression: &IdedExpr, target: &IdedExpr, call: &CallExpr) {
        let namespace = match &target.expr {
            Expr::Ident(name) if is_namespace(name) => Some(name),
            _ => None,
        };
        match namespace {
            Some(namespace) => {
                let name = format!("{namespace}.{}", call.func_name);
                self.check_function(expression, &name, Called::Alone, call.args.len());
            }
            None => {
                self.visit(target);
                self.check_function(expression, &call.func_name, Called::OnValue, call.args.len());
            }
        }
    }

    /// Checks that a function is known, and takes that number of arguments.
    fn check_function(&mut self, expression: &IdedExpr, name: &str, called: Called, count: usize) {
        // The node of a call starts at its bracket. Readers look for the function's name.
        let bracket = self.start(expression);
        let before = self.source.source.get(..bracket).unwrap_or_default();
        let start = if before.ends_with(name) { bracket - name.len() } else { bracket };
        if name == PATH {
            self.refuse_at(start, "path(…) may only be the whole of a ${…} in a URL's path");
            return;
        }
        let Some(function) = function(name, called) else {
            let candidates = FUNCTIONS.iter().map(|function| function.name).chain(MACROS.iter().copied());
            let candidates = candidates.filter(|candidate| *candidate != name);
            let meant = function_meant(name).map(|own| format!(": did you mean `{own}`?"));
            let hint = meant.unwrap_or_else(|| did_you_mean(name, candidates));
            self.refuse_at(start, format!("unknown function `{name}`{hint}"));
            return;
        };
        if let Some(mistake) = function.mistake(count) {
            self.refuse_at(start, mistake);
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
