//! Rewrites a parsed expression: measures its depth, and replaces cel's functions by our own.

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};
use cel::common::types::CelInt;

use crate::cel::check::chain::Chain;
use crate::cel::evaluation::constants::MAP_COST;
use crate::cel::evaluation::cost::COST;
use crate::cel::evaluation::equal::{CONTAINS, EQUALS};
use crate::cel::evaluation::function_names::OPERATORS;
use crate::cel::evaluation::weight::{COPY, LOOP, READ, READ_ALL};
use crate::cel::functions::charging;
use crate::cel::functions::table::{Called, function};

/// Nesting depth of operations.
pub(in crate::cel) fn depth(expression: &IdedExpr) -> usize {
    let deepest = |expressions: &[&IdedExpr]| expressions.iter().map(|below| depth(below)).max().unwrap_or(0);
    1 + match &expression.expr {
        Expr::Call(call) => deepest(&call.target.as_deref().into_iter().chain(&call.args).collect::<Vec<_>>()),
        Expr::Comprehension(loops) => {
            deepest(&[&loops.iter_range, &loops.accu_init, &loops.loop_cond, &loops.loop_step, &loops.result])
        }
        Expr::List(list) => deepest(&list.elements.iter().collect::<Vec<_>>()),
        Expr::Map(map) => map
            .entries
            .iter()
            .map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => deepest(&[&entry.key, &entry.value]),
                EntryExpr::StructField(_) => 0,
            })
            .max()
            .unwrap_or(0),
        Expr::Select(select) => depth(&select.operand),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => 0,
    }
}

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
    let id = expression.id;
    match &mut expression.expr {
        Expr::Call(call) => {
            call.target.iter_mut().for_each(|target| redirect(target, variables));
            call.args.iter_mut().for_each(|argument| redirect(argument, variables));
            redirect_call(id, call, variables);
        }
        Expr::Comprehension(loops) => {
            redirect(&mut loops.iter_range, variables);
            redirect(&mut loops.accu_init, variables);
            redirect(&mut loops.loop_cond, variables);
            redirect(&mut loops.loop_step, variables);
            redirect(&mut loops.result, variables);
            let round = nodes(&loops.loop_cond) + nodes(&loops.loop_step) + 1;
            let round = LiteralValue::Int(CelInt::from(i64::try_from(round).unwrap_or(i64::MAX)));
            wrap(&mut loops.iter_range, LOOP, Some(IdedExpr { id, expr: Expr::Literal(round) }));
        }
        Expr::List(list) => list.elements.iter_mut().for_each(|member| redirect_member(member, variables)),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    redirect_member(&mut entry.key, variables);
                    redirect_member(&mut entry.value, variables);
                }
            }
        }
        Expr::Select(select) => redirect(&mut select.operand, variables),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => {}
    }
}

fn redirect_member(member: &mut IdedExpr, variables: &[&str]) {
    redirect(member, variables);
    if !is_borrowed(member, variables) {
        wrap(member, COPY, None);
    }
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
        _ if SELECTING.contains(&name) => {
            call.args
                .iter_mut()
                .take(1)
                .filter(|operand| !is_borrowed(operand, variables))
                .for_each(|operand| wrap(operand, COPY, None));
        }
        _ if READING_ALL.contains(&name) => wrap_arguments(call, READ_ALL),
        _ if READING.contains(&name) => wrap_arguments(call, READ),
        _ if OPERATORS.contains(&name) => {}
        _ => redirect_function(call),
    }
}

fn redirect_function(call: &mut CallExpr) {
    let namespaced = match call.target.as_deref() {
        Some(IdedExpr { expr: Expr::Ident(namespace), .. }) => Some(format!("{namespace}.{}", call.func_name)),
        _ => None,
    };
    let namespaced = namespaced.filter(|name| function(name, Called::Alone).is_some());
    let is_namespaced = namespaced.is_some();
    match charging(namespaced.as_deref().unwrap_or(&call.func_name)) {
        Some(name) => {
            let target = call.target.take().filter(|_| !is_namespaced);
            call.args.splice(0..0, target.map(|target| *target));
            hand_cost(call, &name);
        }
        None if is_namespaced => call.args.iter_mut().for_each(|argument| wrap(argument, READ, None)),
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
    let target = call.target.as_deref_mut();
    target.into_iter().chain(&mut call.args).for_each(|argument| wrap(argument, function, None));
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

/// Returns true if it yields a part of a variable, which is never copied.
fn is_borrowed(expression: &IdedExpr, variables: &[&str]) -> bool {
    Chain::of(expression).is_some_and(|chain| variables.contains(&chain.name))
}

fn is_collected(expression: &IdedExpr) -> bool {
    matches!(&expression.expr, Expr::Ident(name) if name.starts_with('@'))
}

/// Returns the number of nodes that one evaluation visits. Loops charge for their rounds themselves.
fn nodes(expression: &IdedExpr) -> usize {
    let all = |expressions: &[IdedExpr]| expressions.iter().map(nodes).sum::<usize>();
    1 + match &expression.expr {
        Expr::Call(call) => call.target.as_deref().map_or(0, nodes) + all(&call.args),
        Expr::Comprehension(loops) => nodes(&loops.iter_range) + nodes(&loops.accu_init) + nodes(&loops.result),
        Expr::List(list) => LIST_NODES + all(&list.elements),
        Expr::Map(map) => map
            .entries
            .iter()
            .map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => MAP_COST + nodes(&entry.key) + nodes(&entry.value),
                EntryExpr::StructField(_) => 0,
            })
            .sum(),
        Expr::Select(select) => nodes(&select.operand),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => 0,
    }
}
