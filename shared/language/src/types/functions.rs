//! The types that operators and functions take and give.

use cel::common::ast::{CallExpr, Expr, IdedExpr, operators};

use crate::cel::functions::table::{Callee, Kind, Returned};
use crate::cel::syntax::tree::text;
use crate::types::infer::Inference;
use crate::types::kind_schema::Type;
use crate::types::spelling::spelled;

/// A value in an expression, with its type.
type Typed<'s, 'e> = (&'e IdedExpr, Type<'s>);

impl<'s, 'e> Inference<'s, 'e> {
    /// Returns the type of an operator or function that is no selection, choice, `&&` or `||`.
    pub(super) fn function(&mut self, at: &'e IdedExpr, call: &'e CallExpr) -> Type<'s> {
        let callee = Callee::of(call);
        let values = callee.value.into_iter().chain(&call.args);
        let values: Vec<Typed<'s, 'e>> = values.map(|value| (value, self.infer(value))).collect();
        let Some(function) = callee.function() else { return self.operator(at, &callee.name, &values) };
        for (value, kinds) in values.iter().zip(function.takes) {
            self.needs(function.name, value, kinds);
        }
        returned(function.returned, values.into_iter().map(|(_, of_value)| of_value))
    }

    fn operator(&mut self, at: &'e IdedExpr, operator: &str, operands: &[Typed<'s, 'e>]) -> Type<'s> {
        match (operator, operands) {
            (operators::LOGICAL_NOT, [(argument, of_argument)]) => {
                self.needs_bool(argument, of_argument);
                Type::Bool
            }
            (operators::NEGATE, [argument]) => {
                self.needs("-", argument, &[Kind::Number, Kind::Time]);
                argument.1.clone()
            }
            (operators::NOT_STRICTLY_FALSE, _) => Type::Bool,
            (operators::EQUALS | operators::NOT_EQUALS, [left, right]) => {
                self.comparison(at, left, right, "are never equal")
            }
            (
                operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS,
                [left, right],
            ) => self.comparison(at, left, right, "have no order"),
            (operators::IN, [item, container]) => {
                self.membership(at, item, container);
                Type::Bool
            }
            (operators::ADD, [left, right]) => self.sum(at, left, right),
            (operators::SUBSTRACT | operators::MULTIPLY | operators::DIVIDE | operators::MODULO, [left, right]) => {
                let sign = operator.trim_matches('_');
                self.needs(sign, left, &[Kind::Number, Kind::Time]);
                self.needs(sign, right, &[Kind::Number, Kind::Time]);
                if matches!((&left.1, &right.1), (Type::Number, Type::Number)) { Type::Number } else { Type::Any }
            }
            _ => Type::Any,
        }
    }

    fn comparison(&mut self, at: &'e IdedExpr, left: &Typed<'s, 'e>, right: &Typed<'s, 'e>, which: &str) -> Type<'s> {
        if left.1.excludes(&right.1) {
            self.report(at, format!("{}, which {which}{}", both(left, right), remedy(left, right)));
        }
        Type::Bool
    }

    fn membership(&mut self, at: &'e IdedExpr, item: &Typed<'s, 'e>, container: &Typed<'s, 'e>) {
        self.needs("in", container, &[Kind::List, Kind::Map]);
        match &container.1 {
            Type::List(items) if item.1.excludes(items) => {
                let (one, others) = (shown(item, "this"), items.described().unwrap_or_default());
                self.report(at, format!("{one}, and each item of the list is {others}, so it is never in the list"));
            }
            Type::Object(_) => {
                if let Some(field) = text(item.0) {
                    self.test(&container.1, field);
                }
            }
            _ => {}
        }
    }

    fn sum(&mut self, at: &'e IdedExpr, left: &Typed<'s, 'e>, right: &Typed<'s, 'e>) -> Type<'s> {
        match (&left.1, &right.1) {
            (Type::Nothing, one) | (one, Type::Nothing) => return one.clone(),
            (Type::List(_), Type::List(_)) => return left.1.clone().or(right.1.clone()),
            (Type::Time, _) | (_, Type::Time) => return Type::Any,
            (left_type, right_type) if left_type.excludes(right_type) => {
                let number = [left, right].into_iter().find(|(_, one)| matches!(one, Type::Number));
                let is_text = [left, right].into_iter().any(|(_, one)| matches!(one, Type::Text));
                let number = number.filter(|_| is_text).and_then(|(one, _)| spelled(one));
                let remedy = number.map_or_else(String::new, |one| format!(": write `string({one})`"));
                self.report(at, format!("{}, which cannot be added{remedy}", both(left, right)));
                return Type::Any;
            }
            _ => {}
        }
        self.needs("+", left, &[Kind::Number, Kind::Text, Kind::Bytes, Kind::List]);
        match (&left.1, &right.1) {
            (Type::Number, Type::Number) => Type::Number,
            (Type::Text, Type::Text) => Type::Text,
            (Type::Bytes, Type::Bytes) => Type::Bytes,
            _ => Type::Any,
        }
    }

    /// Reports a condition that is neither true nor false.
    pub(super) fn needs_bool(&mut self, expression: &'e IdedExpr, found: &Type<'s>) {
        if found.is_none_of(&[Kind::Bool]) {
            let shown = shown(&(expression, found.clone()), "this");
            self.report(expression, format!("{shown}, and a condition is true or false: compare it with a value"));
        }
    }

    fn needs(&mut self, name: &str, argument: &Typed<'s, 'e>, wanted: &[Kind]) {
        if argument.1.is_none_of(wanted) {
            let is_number = matches!(argument.1, Type::Number) && wanted == [Kind::Text];
            let remedy = spelled(argument.0).filter(|_| is_number);
            let remedy = remedy.map_or_else(String::new, |one| format!(": write `string({one})`"));
            let wanted: Vec<_> = wanted.iter().map(|kind| kind.described()).collect();
            let wanted = match wanted.split_last() {
                Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
                _ => wanted.concat(),
            };
            self.report(argument.0, format!("{}, and `{name}` takes {wanted}{remedy}", shown(argument, "this")));
        }
    }
}

/// Returns the type of the result of a function that was given these values.
fn returned<'s>(returned: Returned, mut values: impl Iterator<Item = Type<'s>>) -> Type<'s> {
    match returned {
        Returned::Any | Returned::Type => Type::Any,
        Returned::One(kind) => Type::of(kind),
        Returned::Texts => Type::List(Box::new(Type::Text)),
        Returned::Same => values.next().unwrap_or(Type::Any),
        Returned::Optional => Type::Optional(Box::new(values.next().unwrap_or(Type::Nothing))),
        Returned::Inner => match (values.next(), values.next()) {
            (Some(Type::Optional(inner)), None) => *inner,
            (Some(Type::Optional(inner)), Some(other)) => inner.or(other),
            _ => Type::Any,
        },
    }
}

/// Shows a value and its type. `unspelled` names one that is no chain and no literal.
fn shown((value, of_value): &Typed<'_, '_>, unspelled: &str) -> String {
    let name = spelled(value).map_or_else(|| unspelled.to_owned(), |text| format!("`{text}`"));
    format!("{name} is {}", of_value.described().unwrap_or("of another type"))
}

/// Shows both operands and their types.
fn both(left: &Typed<'_, '_>, right: &Typed<'_, '_>) -> String {
    format!("{} and {}", shown(left, "the left side"), shown(right, "the right side"))
}

/// Suggests a comparison that can be true: a number without quotes, or a text with them.
fn remedy(left: &Typed<'_, '_>, right: &Typed<'_, '_>) -> String {
    for (literal, other) in [(left, right), (right, left)] {
        let Expr::Literal(_) = &literal.0.expr else { continue };
        let written = text(literal.0);
        let unquoted = written.filter(|text| match other.1 {
            Type::Number => text.parse::<f64>().is_ok(),
            Type::Bool => matches!(*text, "true" | "false"),
            _ => false,
        });
        if let Some(unquoted) = unquoted {
            return format!(": write {unquoted} without quotes");
        }
        if matches!(other.1, Type::Text) && written.is_none() {
            return spelled(literal.0).map_or_else(String::new, |text| format!(": write '{text}' in quotes"));
        }
    }
    String::new()
}
