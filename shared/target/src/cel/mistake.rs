//! Whose mistake it is that a rule over an answer cannot be evaluated: the object's, or the answer's.
//!
//! What an expression evaluates whatever an answer says, and without looking at it, cannot fail because of it. Where such a
//! part fails, the object or the target is to blame; everything else is put down to the answer. This file must not know
//! what follows from either.

use cel::common::ast::{EntryExpr, Expr, IdedExpr, operators};

use crate::cel::site::EvaluationError;
use crate::cel::variables::{ITEM, RESOURCE, RESPONSE, ROW, STEPS};

/// Variables that an answer gives.
pub(super) const ANSWERS: [&str; 5] = [RESPONSE, ITEM, ROW, RESOURCE, STEPS];

/// Calls whose arguments are evaluated only where others leave it open.
const LAZY: [&str; 6] = [operators::LOGICAL_AND, operators::LOGICAL_OR, "or", "orValue", "optMap", "optFlatMap"];

/// A rule over an answer cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// The object makes it, whatever the answer says.
    OfObject(EvaluationError),
    /// The answer makes it.
    OfAnswer(EvaluationError),
}

impl Mistake {
    /// The object's own mistake, or else that of the answer.
    pub(crate) fn attribute(own: Option<EvaluationError>, error: EvaluationError) -> Self {
        own.map_or(Self::OfAnswer(error), Self::OfObject)
    }
}

/// The parts of an expression that are evaluated in any case and read no answer, each as large as can be.
pub(super) fn parts_without_answer(expression: &IdedExpr) -> Vec<&IdedExpr> {
    let mut parts = Vec::new();
    collect(expression, &mut parts);
    parts
}

fn collect<'e>(expression: &'e IdedExpr, parts: &mut Vec<&'e IdedExpr>) {
    if !reads_answer(expression) {
        return parts.push(expression);
    }
    match &expression.expr {
        Expr::Call(call) => {
            call.target.iter().for_each(|target| collect(target, parts));
            let certain = match call.func_name.as_str() {
                name if LAZY.contains(&name) => 0,
                operators::CONDITIONAL => 1,
                _ => call.args.len(),
            };
            call.args.iter().take(certain).for_each(|argument| collect(argument, parts));
        }
        Expr::Comprehension(loops) => collect(&loops.iter_range, parts),
        other => below(other).into_iter().for_each(|below| collect(below, parts)),
    }
}

fn reads_answer(expression: &IdedExpr) -> bool {
    match &expression.expr {
        Expr::Ident(name) => ANSWERS.contains(&name.as_str()),
        other => below(other).into_iter().any(reads_answer),
    }
}

fn below(expression: &Expr) -> Vec<&IdedExpr> {
    match expression {
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(loops) => {
            vec![&loops.iter_range, &loops.accu_init, &loops.loop_cond, &loops.loop_step, &loops.result]
        }
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => {
            let entries = map.entries.iter().filter_map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => Some([&entry.key, &entry.value]),
                EntryExpr::StructField(_) => None,
            });
            entries.flatten().collect()
        }
        Expr::Select(select) => vec![&*select.operand],
        Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => Vec::new(),
    }
}
