//! Chains of fields as people write them: `self.spec.members[0].name`.

use cel::common::ast::{Expr, IdedExpr, LiteralValue, operators};

use crate::cel::check::chain::text;
use crate::cel::is_word;
use crate::types::infer::parent;

/// Returns a chain or literal as it is written; `None` for other expressions.
pub(super) fn spelled(expression: &IdedExpr) -> Option<String> {
    if let Expr::Literal(literal) = &expression.expr {
        return match literal {
            LiteralValue::String(text) => Some(format!("'{}'", text.inner())),
            LiteralValue::Int(number) => Some(number.inner().to_string()),
            LiteralValue::Boolean(truth) => Some(truth.inner().to_string()),
            _ => None,
        };
    }
    spell(expression, None, &mut false)
}

/// Returns a chain with `.?` from this part of it on.
pub(super) fn with_optionals(chain: &IdedExpr, from: &IdedExpr) -> Option<String> {
    spell(chain, Some(from), &mut false)
}

fn spell(expression: &IdedExpr, from: Option<&IdedExpr>, is_optional: &mut bool) -> Option<String> {
    if let Expr::Ident(name) = &expression.expr {
        return Some(name.clone());
    }
    let before = spell(parent(expression)?, from, is_optional)?;
    *is_optional |= from.is_some_and(|from| std::ptr::eq(from, expression));
    let (is_asked, written) = match &expression.expr {
        Expr::Select(select) => (false, field(&select.field)),
        Expr::Call(call) => {
            let index = call.args.get(1)?;
            let written = match (text(index), call.func_name.as_str()) {
                (Some(name), _) => field(name),
                (None, _) => Step::Item(spelled(index).unwrap_or_else(|| "…".to_owned())),
            };
            (call.func_name != operators::INDEX, written)
        }
        _ => return None,
    };
    let question = if *is_optional || is_asked { "?" } else { "" };
    Some(match written {
        Step::Field(name) => format!("{before}.{question}{name}"),
        Step::Item(index) => format!("{before}[{question}{index}]"),
    })
}

enum Step {
    Field(String),
    Item(String),
}

fn field(name: &str) -> Step {
    if is_word(name) { Step::Field(name.to_owned()) } else { Step::Item(format!("'{name}'")) }
}
