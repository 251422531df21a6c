//! Chains of fields in an expression: `self.spec.?listen`, `self["spec"].list[0]`.
//!
//! From them the fields are found that a template reads. This file must not know which names are variables.

use cel::common::ast::{Expr, IdedExpr, LiteralValue, operators};

/// A name and the fields selected on it: `self.spec.?listen`, `self["spec"].list[0]`.
pub(super) struct Chain<'e> {
    pub(super) root: &'e IdedExpr,
    pub(super) name: &'e str,
    /// The fields up to the first index that is not written out.
    pub(super) fields: Vec<String>,
    /// Whether such an index follows.
    cut: bool,
    /// Indexes that are expressions of their own.
    pub(super) indexes: Vec<&'e IdedExpr>,
}

impl<'e> Chain<'e> {
    /// The chain that an expression is, if it is one.
    pub(super) fn of(expression: &'e IdedExpr) -> Option<Self> {
        match &expression.expr {
            Expr::Ident(name) => {
                Some(Self { root: expression, name, fields: Vec::new(), cut: false, indexes: Vec::new() })
            }
            Expr::Select(select) => Some(Self::of(&select.operand)?.field(select.field.clone())),
            Expr::Call(call) if call.target.is_none() => match (call.func_name.as_str(), call.args.as_slice()) {
                (operators::OPT_SELECT | operators::INDEX | operators::OPT_INDEX, [operand, index]) => {
                    let chain = Self::of(operand)?;
                    Some(match text(index) {
                        Some(field) => chain.field(field.to_owned()),
                        None => chain.index(index),
                    })
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn field(mut self, field: String) -> Self {
        if !self.cut {
            self.fields.push(field);
        }
        self
    }

    fn index(mut self, index: &'e IdedExpr) -> Self {
        self.cut = true;
        self.indexes.push(index);
        self
    }
}

/// A text that is written out.
pub(super) fn text(expression: &IdedExpr) -> Option<&str> {
    match &expression.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}
