//! Chains of fields as people write them: `self.spec.members[0].name`.

use cel::common::ast::{Expr, IdedExpr, LiteralValue};

use crate::cel::is_word;
use crate::cel::syntax::tree::{Key, Mode, Selection};

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
    let selection = Selection::of(expression)?;
    let before = spell(selection.operand, from, is_optional)?;
    *is_optional |= from.is_some_and(|from| std::ptr::eq(from, expression));
    let question = if *is_optional || selection.mode == Mode::Optional { "?" } else { "" };
    Some(match selection.key {
        Key::Field(name) if is_word(name) => format!("{before}.{question}{name}"),
        Key::Field(name) => format!("{before}[{question}'{name}']"),
        Key::Index(index) => format!("{before}[{question}{}]", spelled(index).unwrap_or_else(|| "…".to_owned())),
    })
}
