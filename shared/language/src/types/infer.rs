//! Infers the type of an expression, and notes what certainly fails on some object of the kind.
//!
//! Fields are known by their path in the schema, so a test of one list item counts for all items.

use std::collections::BTreeSet;

use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue, operators};

use crate::cel::SELF;
use crate::cel::functions::table::Kind;
use crate::cel::syntax::tree::{Key, Mode, Selection, children};
use crate::types::kind_schema::{KindSchema, Type};

/// A mistake in an expression.
pub(super) struct Finding {
    /// The identifier of the node that it is about.
    pub(super) node: u64,
    pub(super) message: String,
    /// The path of the field that may be missing, if that is the mistake. Further reads of it are the same mistake.
    pub(super) missing: Option<String>,
}

/// Inference of one expression.
pub(super) struct Inference<'s, 'e> {
    pub(super) kind: KindSchema<'s>,
    /// The fields that are present here: because of a test, or because the branch depends on a field beside them
    /// (`spec.*`).
    pub(super) assumed: BTreeSet<String>,
    /// The fields that were tested.
    pub(super) tested: BTreeSet<String>,
    /// The objects of which a field was read: `spec.*`.
    pub(super) read: BTreeSet<String>,
    pub(super) found: Vec<Finding>,
    /// Fields that were reported in this expression.
    pub(super) told: BTreeSet<String>,
    /// True while tests are only collected.
    pub(super) is_silent: bool,
    /// Variables of the enclosing loops.
    local: Vec<(&'e str, Type<'s>)>,
    /// The whole chain of fields around the current node.
    pub(super) chain: Option<&'e IdedExpr>,
}

impl<'s, 'e> Inference<'s, 'e> {
    pub(super) fn new(kind: KindSchema<'s>, assumed: BTreeSet<String>) -> Self {
        Self {
            kind,
            assumed,
            tested: BTreeSet::new(),
            read: BTreeSet::new(),
            found: Vec::new(),
            told: BTreeSet::new(),
            is_silent: false,
            local: Vec::new(),
            chain: None,
        }
    }

    /// Returns the type of an expression.
    pub(super) fn infer(&mut self, expression: &'e IdedExpr) -> Type<'s> {
        let around = self.chain.take();
        let inferred = match Selection::of(expression) {
            Some(selection) => {
                self.chain = around.or(Some(expression));
                self.selection(expression, &selection)
            }
            None => self.node(expression),
        };
        self.chain = around;
        inferred
    }

    fn node(&mut self, expression: &'e IdedExpr) -> Type<'s> {
        match &expression.expr {
            Expr::Literal(literal) => of_literal(literal),
            Expr::Ident(name) => self.variable(name),
            Expr::List(list) => {
                let items = list.elements.iter().map(|item| self.infer(item)).fold(Type::Nothing, Type::or);
                Type::List(Box::new(if list.optional_indices.is_empty() { items } else { Type::Any }))
            }
            Expr::Map(_) => {
                children(expression).into_iter().for_each(|child| drop(self.infer(child)));
                Type::Map(Box::new(Type::Any))
            }
            Expr::Call(call) => self.call(expression, call),
            Expr::Comprehension(comprehension) => self.comprehension(expression, comprehension),
            Expr::Select(_) | Expr::Struct(_) | Expr::Unspecified => Type::Any,
        }
    }

    /// Notes a mistake.
    pub(super) fn report(&mut self, at: &IdedExpr, message: String) {
        if !self.is_silent {
            self.found.push(Finding { node: first(at).id, message, missing: None });
        }
    }

    fn without_reports<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.is_silent, true);
        let result = run(self);
        self.is_silent = before;
        result
    }

    fn variable(&self, name: &str) -> Type<'s> {
        let local = self.local.iter().rev().find(|(local, _)| *local == name);
        match local {
            Some((_, of_local)) => of_local.clone(),
            None if name == SELF => self.kind.object(),
            None => Type::Any,
        }
    }

    fn call(&mut self, expression: &'e IdedExpr, call: &'e CallExpr) -> Type<'s> {
        match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::CONDITIONAL, [condition, yes, no]) => {
                let outside = self.assumed.clone();
                self.assume_from(condition, true);
                let of_condition = self.infer(condition);
                self.needs_bool(condition, &of_condition);
                let either = self.infer(yes).or(self.infer(no));
                self.assumed = outside;
                either
            }
            (operators::LOGICAL_AND | operators::LOGICAL_OR, [left, right]) => {
                let outside = self.assumed.clone();
                // An error on one side is no error if the other side decides.
                self.assume_from(right, false);
                let of_left = self.infer(left);
                self.assume_from(left, true);
                let of_right = self.infer(right);
                self.assumed = outside;
                self.needs_bool(left, &of_left);
                self.needs_bool(right, &of_right);
                Type::Bool
            }
            _ => self.function(expression, call),
        }
    }

    fn selection(&mut self, at: &'e IdedExpr, selection: &Selection<'e>) -> Type<'s> {
        let infer = |inference: &mut Self| inference.infer(selection.operand);
        let operand = if selection.mode == Mode::Test { self.without_reports(infer) } else { infer(self) };
        let found = match (selection.key, selection.mode) {
            (Key::Field(field), Mode::Plain) => self.select(at, operand, field),
            (Key::Field(field), Mode::Optional) => {
                self.test(&operand, field);
                self.optional_field(at, operand, field)
            }
            (Key::Field(field), Mode::Test) => {
                self.test(&operand, field);
                Type::Bool
            }
            (Key::Index(index), _) => {
                self.infer_apart(index);
                item_of(operand)
            }
        };
        if selection.mode == Mode::Optional { Type::Optional(Box::new(found)) } else { found }
    }

    fn infer_apart(&mut self, expression: &'e IdedExpr) -> Type<'s> {
        let around = self.chain.take();
        let inferred = self.infer(expression);
        self.chain = around;
        inferred
    }

    /// Assumes the fields that a condition tests. With `depends`, also those beside the fields that it reads: which
    /// fields an object has may depend on them.
    fn assume_from(&mut self, condition: &'e IdedExpr, depends: bool) {
        if self.is_silent {
            return;
        }
        let around = (std::mem::take(&mut self.tested), std::mem::take(&mut self.read));
        self.without_reports(|inference| inference.infer_apart(condition));
        self.assumed.extend(self.tested.iter().cloned());
        if depends {
            self.assumed.extend(self.read.iter().cloned());
        }
        self.tested.extend(around.0);
        self.read.extend(around.1);
    }

    fn comprehension(&mut self, at: &'e IdedExpr, comprehension: &'e ComprehensionExpr) -> Type<'s> {
        let outside = self.assumed.clone();
        let range = self.infer(&comprehension.iter_range);
        if let Some(described) = range.described().filter(|_| range.is_none_of(&[Kind::List, Kind::Map])) {
            self.report(at, format!("a loop needs a list or a map, and this is {described}"));
        }
        // What a filter tests holds for the items that it leaves.
        self.assume_from(&comprehension.iter_range, true);
        let start = self.infer(&comprehension.accu_init);
        let variables = self.local.len();
        let of_variable = match range {
            Type::List(items) => {
                if comprehension.iter_var2.is_some() {
                    Type::Any
                } else {
                    *items
                }
            }
            _ => Type::Any,
        };
        self.local.push((&comprehension.iter_var, of_variable));
        if let Some(second) = &comprehension.iter_var2 {
            self.local.push((second, Type::Any));
        }
        self.local.push((&comprehension.accu_var, start.clone()));
        self.infer(&comprehension.loop_cond);
        let gathered = start.or(self.infer(&comprehension.loop_step));
        if let Some((_, accumulator)) = self.local.last_mut() {
            *accumulator = gathered;
        }
        let result = self.infer(&comprehension.result);
        self.local.truncate(variables);
        self.assumed = outside;
        result
    }
}

/// Returns the first node of an expression as it is written.
pub(super) fn first(expression: &IdedExpr) -> &IdedExpr {
    let begins_itself = match &expression.expr {
        Expr::Call(call) => call.target.is_none() && call.func_name.starts_with(char::is_alphabetic),
        Expr::Select(_) | Expr::Comprehension(_) => false,
        _ => true,
    };
    match children(expression).first() {
        Some(child) if !begins_itself => first(child),
        _ => expression,
    }
}

fn item_of(container: Type<'_>) -> Type<'_> {
    match container {
        Type::List(items) => *items,
        Type::Map(values) => *values,
        Type::Optional(inner) => Type::Optional(Box::new(item_of(*inner))),
        _ => Type::Any,
    }
}

const fn of_literal<'s>(literal: &LiteralValue) -> Type<'s> {
    match literal {
        LiteralValue::Boolean(_) => Type::Bool,
        LiteralValue::Bytes(_) => Type::Bytes,
        LiteralValue::Double(_) | LiteralValue::Int(_) | LiteralValue::UInt(_) => Type::Number,
        LiteralValue::Null => Type::Any,
        LiteralValue::String(_) => Type::Text,
    }
}
