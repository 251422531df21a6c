//! Chains of fields in an expression: `self.spec.?listen`, `self["spec"].list[0]`.
//!
//! The fields that a template reads are found from them.

use crate::cel::check::variables::{RESPONSE, STEPS};
use cel::common::ast::{Expr, IdedExpr, LiteralValue, operators};

/// The response field that is missing if the body is malformed.
const BODY: &str = "body";

/// The response field that holds the headers.
const ANSWER_HEADERS: &str = "headers";

/// A name and the fields selected on it: `self.spec.?listen`, `self["spec"].list[0]`.
pub(in crate::cel) struct Chain<'e> {
    pub(in crate::cel) root: &'e IdedExpr,
    pub(in crate::cel) name: &'e str,
    /// The fields up to the first index that is not a literal.
    pub(in crate::cel) fields: Vec<String>,
    /// True if a non-literal index follows.
    cut: bool,
    /// True if it tests for the body of a response, as `response.?body` does.
    pub(in crate::cel) asks_for_body: bool,
    /// Indexes that are expressions of their own.
    pub(in crate::cel) indexes: Vec<&'e IdedExpr>,
}

impl<'e> Chain<'e> {
    /// Returns the chain of an expression, or `None` if it is not a chain.
    pub(in crate::cel) fn of(expression: &'e IdedExpr) -> Option<Self> {
        match &expression.expr {
            Expr::Ident(name) => Some(Self {
                root: expression,
                name,
                fields: Vec::new(),
                cut: false,
                asks_for_body: false,
                indexes: Vec::new(),
            }),
            Expr::Select(select) => Some(Self::of(&select.operand)?.field(&select.field, select.test)),
            Expr::Call(call) if call.target.is_none() => match (call.func_name.as_str(), call.args.as_slice()) {
                (operators::OPT_SELECT | operators::INDEX | operators::OPT_INDEX, [operand, index]) => {
                    let chain = Self::of(operand)?;
                    Some(match text(index) {
                        Some(field) => chain.field(field, call.func_name != operators::INDEX),
                        None => chain.index(index),
                    })
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns true if it reads headers of a response, or a value that contains them.
    pub(in crate::cel) fn may_see_headers(&self) -> bool {
        let place = match self.name {
            RESPONSE => 0,
            STEPS => 1,
            _ => return false,
        };
        self.fields.get(place).is_none_or(|field| field == ANSWER_HEADERS)
    }

    fn field(mut self, field: &str, is_asked: bool) -> Self {
        let of_answer =
            (self.name == RESPONSE && self.fields.is_empty()) || (self.name == STEPS && self.fields.len() == 1);
        self.asks_for_body |= is_asked && of_answer && field == BODY;
        if !self.cut {
            self.fields.push(field.to_owned());
        }
        self
    }

    fn index(mut self, index: &'e IdedExpr) -> Self {
        self.cut = true;
        self.indexes.push(index);
        self
    }
}

/// Returns the text of a string literal.
pub(crate) fn text(expression: &IdedExpr) -> Option<&str> {
    match &expression.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}
