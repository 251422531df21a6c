//! The types that operators and functions take and give.

use cel::common::ast::{CallExpr, Expr, IdedExpr, operators};

use crate::cel::check::chain::text;
use crate::cel::functions::table::{Called, Returned, Types, function, is_namespace};
use crate::types::infer::Inference;
use crate::types::kind_schema::Type;
use crate::types::spelling::spelled;

/// Descriptions of types, as `Type::described` gives them.
const BOOL: &str = "true or false";
const NUMBER: &str = "a number";
const TEXT: &str = "a text";
const BYTES: &str = "bytes";
const TIME: &str = "a time";
const LIST: &str = "a list";
const MAP: &str = "a map";

fn type_of<'s>(returned: Returned) -> Type<'s> {
    match returned {
        Returned::Any => Type::Any,
        Returned::Bool => Type::Bool,
        Returned::Bytes => Type::Bytes,
        Returned::Number => Type::Number,
        Returned::Text => Type::Text,
        Returned::Texts => Type::List(Box::new(Type::Text)),
        Returned::Time => Type::Time,
    }
}

impl<'s, 'e> Inference<'s, 'e> {
    /// Returns the type of an operator or function that is no selection, choice, `&&` or `||`.
    pub(super) fn function(&mut self, at: &'e IdedExpr, call: &'e CallExpr) -> Type<'s> {
        let namespace = match call.target.as_deref().map(|target| &target.expr) {
            Some(Expr::Ident(name)) if is_namespace(name) => Some(name),
            _ => None,
        };
        let target = call.target.as_deref().filter(|_| namespace.is_none());
        let of_target = target.map(|target| (target, self.infer(target)));
        let arguments: Vec<_> = call.args.iter().map(|argument| (argument, self.infer(argument))).collect();
        let name = namespace.map_or_else(|| call.func_name.clone(), |space| format!("{space}.{}", call.func_name));
        match of_target {
            Some(of_target) => self.member(&name, of_target, &arguments),
            None => self.global(at, &name, arguments),
        }
    }

    fn member(
        &mut self,
        name: &str,
        target: (&'e IdedExpr, Type<'s>),
        arguments: &[(&'e IdedExpr, Type<'s>)],
    ) -> Type<'s> {
        if let Some(Types { texts, returned }) = function(name, Called::OnValue).and_then(|known| known.types) {
            self.needs(name, &target, &[TEXT]);
            arguments.iter().take(texts).for_each(|argument| self.needs(name, argument, &[TEXT]));
            return type_of(returned);
        }
        match (name, target) {
            ("size", target) => {
                self.needs(name, &target, &[TEXT, BYTES, LIST, MAP]);
                Type::Number
            }
            ("join", target) => {
                self.needs(name, &target, &[LIST]);
                Type::Text
            }
            ("sort", target) => {
                self.needs(name, &target, &[LIST]);
                target.1
            }
            ("hasValue", _) => Type::Bool,
            ("value", (_, Type::Optional(inner))) => *inner,
            ("orValue", (_, Type::Optional(inner))) => {
                inner.or(arguments.first().map_or(Type::Any, |(_, other)| other.clone()))
            }
            _ => Type::Any,
        }
    }

    fn global(&mut self, at: &'e IdedExpr, name: &str, arguments: Vec<(&'e IdedExpr, Type<'s>)>) -> Type<'s> {
        if let Some(Types { texts, returned }) = function(name, Called::Alone).and_then(|known| known.types) {
            arguments.iter().take(texts).for_each(|argument| self.needs(name, argument, &[TEXT]));
            return type_of(returned);
        }
        match (name, arguments.as_slice()) {
            ("size", [argument]) => {
                self.needs(name, argument, &[TEXT, BYTES, LIST, MAP]);
                Type::Number
            }
            ("optional.of", [(_, inner)]) => Type::Optional(Box::new(inner.clone())),
            ("optional.none", _) => Type::Optional(Box::new(Type::Nothing)),
            (operators::LOGICAL_NOT, [(argument, of_argument)]) => {
                self.needs_bool(argument, of_argument);
                Type::Bool
            }
            (operators::NEGATE, [argument]) => {
                self.needs("-", argument, &[NUMBER, TIME]);
                argument.1.clone()
            }
            (operators::NOT_STRICTLY_FALSE, _) => Type::Bool,
            (operator, [left, right]) => self.operator(at, operator, left, right),
            _ => Type::Any,
        }
    }

    fn operator(
        &mut self,
        at: &'e IdedExpr,
        operator: &str,
        left: &(&'e IdedExpr, Type<'s>),
        right: &(&'e IdedExpr, Type<'s>),
    ) -> Type<'s> {
        match operator {
            operators::EQUALS | operators::NOT_EQUALS => {
                if left.1.excludes(&right.1) {
                    self.report(at, format!("{}, which are never equal{}", both(left, right), remedy(left, right)));
                }
                Type::Bool
            }
            operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS => {
                if left.1.excludes(&right.1) {
                    self.report(at, format!("{}, which have no order{}", both(left, right), remedy(left, right)));
                }
                Type::Bool
            }
            operators::IN => {
                self.membership(at, left, right);
                Type::Bool
            }
            operators::ADD => self.sum(at, left, right),
            operators::SUBSTRACT | operators::MULTIPLY | operators::DIVIDE | operators::MODULO => {
                let sign = operator.trim_matches('_');
                self.needs(sign, left, &[NUMBER, TIME]);
                self.needs(sign, right, &[NUMBER, TIME]);
                if matches!((&left.1, &right.1), (Type::Number, Type::Number)) { Type::Number } else { Type::Any }
            }
            _ => Type::Any,
        }
    }

    fn membership(&mut self, at: &'e IdedExpr, item: &(&'e IdedExpr, Type<'s>), container: &(&'e IdedExpr, Type<'s>)) {
        self.needs("in", container, &[LIST, MAP]);
        match &container.1 {
            Type::List(items) if item.1.excludes(items) => {
                let (one, others) = (shown(item), items.described().unwrap_or_default());
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

    fn sum(&mut self, at: &'e IdedExpr, left: &(&'e IdedExpr, Type<'s>), right: &(&'e IdedExpr, Type<'s>)) -> Type<'s> {
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
        self.needs("+", left, &[NUMBER, TEXT, BYTES, LIST]);
        match (&left.1, &right.1) {
            (Type::Number, Type::Number) => Type::Number,
            (Type::Text, Type::Text) => Type::Text,
            (Type::Bytes, Type::Bytes) => Type::Bytes,
            _ => Type::Any,
        }
    }

    /// Reports a condition that is neither true nor false.
    pub(super) fn needs_bool(&mut self, expression: &'e IdedExpr, found: &Type<'s>) {
        if found.is_none_of(&[BOOL]) {
            let shown = shown(&(expression, found.clone()));
            self.report(expression, format!("{shown}, and a condition is true or false: compare it with a value"));
        }
    }

    fn needs(&mut self, name: &str, argument: &(&'e IdedExpr, Type<'s>), wanted: &[&str]) {
        if argument.1.is_none_of(wanted) {
            let is_number = matches!(argument.1, Type::Number) && wanted == [TEXT];
            let remedy = spelled(argument.0).filter(|_| is_number);
            let remedy = remedy.map_or_else(String::new, |one| format!(": write `string({one})`"));
            let (last, others) =
                (wanted.last().copied().unwrap_or_default(), wanted.split_last().map(|(_, rest)| rest));
            let others = others.filter(|others| !others.is_empty()).map(|others| format!("{} or ", others.join(", ")));
            let wanted = format!("{}{last}", others.unwrap_or_default());
            self.report(argument.0, format!("{}, and `{name}` takes {wanted}{remedy}", shown(argument)));
        }
    }
}

/// Shows an operand and its type.
fn shown((expression, of_it): &(&IdedExpr, Type<'_>)) -> String {
    let described = of_it.described().unwrap_or("of another type");
    spelled(expression).map_or_else(|| format!("this is {described}"), |text| format!("`{text}` is {described}"))
}

/// Shows both operands and their types.
fn both(left: &(&IdedExpr, Type<'_>), right: &(&IdedExpr, Type<'_>)) -> String {
    let name = |side: &(&IdedExpr, Type<'_>), place: &str| {
        let described = side.1.described().unwrap_or_default();
        spelled(side.0)
            .map_or_else(|| format!("the {place} side is {described}"), |text| format!("`{text}` is {described}"))
    };
    format!("{} and {}", name(left, "left"), name(right, "right"))
}

/// Suggests a comparison that can be true: a number without quotes, or a text with them.
fn remedy(left: &(&IdedExpr, Type<'_>), right: &(&IdedExpr, Type<'_>)) -> String {
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
