//! Rewrites a parsed expression: replaces cel's functions by our own.

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators};
use cel::common::types::CelInt;

use crate::cel::evaluation::constants::MAP_COST;
use crate::cel::evaluation::cost::COST;
use crate::cel::evaluation::equal::{CONTAINS, EQUALS};
use crate::cel::evaluation::weight::{COPY, LOOP, READ, READ_ALL};
use crate::cel::functions::table::{Callee, Function, OPERATORS};
use crate::cel::syntax::tree::{Chain, children, children_mut};

/// Operators that read their text or list operands completely.
const READING: &[&str] = &[operators::GREATER, operators::GREATER_EQUALS, operators::LESS, operators::LESS_EQUALS];
/// Selections that copy the found value if the expression itself built its container.
const SELECTING: &[&str] = &[operators::INDEX, operators::OPT_INDEX, operators::OPT_SELECT];
/// Functions that read everything in a list.
const READING_ALL: &[&str] = &[operators::ADD, "format"];
/// Nodes charged for a list in each round of a loop that builds one.
const LIST_NODES: usize = 4;

/// Replaces cel's functions by our own if cel's mean something else or charge nothing, and wraps the arguments of
/// the others in charging functions. Everything else costs its number of nodes. `variables` are those that exist
/// at this place.
pub(in crate::cel) fn redirect(expression: &mut IdedExpr, variables: &[&str]) {
    children_mut(expression).into_iter().for_each(|child| redirect(child, variables));
    let id = expression.id;
    match &mut expression.expr {
        Expr::Call(call) => redirect_call(id, call, variables),
        Expr::Comprehension(loops) => {
            let round = nodes(&loops.loop_cond) + nodes(&loops.loop_step) + 1;
            let round = LiteralValue::Int(CelInt::from(i64::try_from(round).unwrap_or(i64::MAX)));
            wrap(&mut loops.iter_range, LOOP, Some(IdedExpr { id, expr: Expr::Literal(round) }));
        }
        Expr::List(_) | Expr::Map(_) => copy_unless_borrowed(children_mut(expression), variables),
        _ => {}
    }
}

/// Charges for the copies of values that an operation makes. A part of a variable is never copied.
fn copy_unless_borrowed<'e>(values: impl IntoIterator<Item = &'e mut IdedExpr>, variables: &[&str]) {
    let is_borrowed = |value: &IdedExpr| Chain::of(value).is_some_and(|chain| variables.contains(&chain.name));
    values.into_iter().filter(|value| !is_borrowed(value)).for_each(|value| wrap(value, COPY, None));
}

fn redirect_call(id: u64, call: &mut CallExpr, variables: &[&str]) {
    let name = call.func_name.as_str();
    match name {
        operators::EQUALS => hand_cost(call, EQUALS),
        operators::IN => hand_cost(call, CONTAINS),
        operators::NOT_EQUALS => {
            let mut equals = CallExpr { func_name: String::new(), target: None, args: std::mem::take(&mut call.args) };
            hand_cost(&mut equals, EQUALS);
            operators::LOGICAL_NOT.clone_into(&mut call.func_name);
            call.args = vec![IdedExpr { id, expr: Expr::Call(equals) }];
        }
        // cel appends in place to the accumulator of a loop, if it finds exactly this call.
        operators::ADD if call.args.first().is_some_and(is_collected) => {}
        _ if SELECTING.contains(&name) => copy_unless_borrowed(call.args.iter_mut().take(1), variables),
        _ if READING_ALL.contains(&name) => wrap_arguments(call, READ_ALL),
        _ if READING.contains(&name) => wrap_arguments(call, READ),
        _ if OPERATORS.contains(&name) => {}
        _ => redirect_function(call),
    }
}

fn redirect_function(call: &mut CallExpr) {
    let callee = Callee::of(call);
    let is_on_value = callee.value.is_some();
    match callee.function().and_then(Function::charging_name) {
        Some(name) => {
            let value = call.target.take().filter(|_| is_on_value);
            call.args.splice(0..0, value.map(|value| *value));
            hand_cost(call, &name);
        }
        None => wrap_arguments(call, READ),
    }
}

/// Calls a self-charging function, which takes the cost as an argument.
fn hand_cost(call: &mut CallExpr, name: &str) {
    let id = call.args.first().map_or(0, |first| first.id);
    name.clone_into(&mut call.func_name);
    call.args.insert(0, IdedExpr { id, expr: Expr::Ident(COST.to_owned()) });
}

fn wrap_arguments(call: &mut CallExpr, function: &str) {
    let is_on_value = Callee::of(call).value.is_some();
    let value = call.target.as_deref_mut().filter(|_| is_on_value);
    value.into_iter().chain(&mut call.args).for_each(|argument| wrap(argument, function, None));
}

/// Wraps an expression in a function. Literals are already paid for by the length of the expression.
fn wrap(expression: &mut IdedExpr, function: &str, further: Option<IdedExpr>) {
    if matches!(expression.expr, Expr::Literal(_))
        || matches!(&expression.expr, Expr::List(list) if list.elements.is_empty())
    {
        return;
    }
    let id = expression.id;
    let inner = std::mem::replace(expression, IdedExpr { id, expr: Expr::Unspecified });
    let mut call = CallExpr { func_name: String::new(), target: None, args: vec![inner] };
    call.args.extend(further);
    hand_cost(&mut call, function);
    expression.expr = Expr::Call(call);
}

fn is_collected(expression: &IdedExpr) -> bool {
    matches!(&expression.expr, Expr::Ident(name) if name.starts_with('@'))
}

/// Returns the number of nodes that one evaluation visits. Loops charge for their rounds themselves.
fn nodes(expression: &IdedExpr) -> usize {
    let (own, children) = match &expression.expr {
        Expr::Comprehension(loops) => (1, vec![&loops.iter_range, &loops.accu_init, &loops.result]),
        Expr::List(_) => (1 + LIST_NODES, children(expression)),
        Expr::Map(map) => (1 + MAP_COST * map.entries.len(), children(expression)),
        _ => (1, children(expression)),
    };
    own + children.into_iter().map(nodes).sum::<usize>()
}
