//! `ident(…)`, `idents(…)`, `sql(…)`: values in a statement that are not literals.
//!
//! They are not real functions: each wraps a whole `${…}`.

use super::Dialect;
use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, operators};

/// The role of an expression's value in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A literal, or a bound parameter.
    Value,
    /// A quoted name.
    Ident,
    /// Several names, separated by commas.
    Idents,
    /// An account of MySQL: `'user'@'host'`.
    Account,
    /// Keywords of the statement.
    Sql,
}

/// The words, and the only dialect of those that not all have.
const WORDS: &[(&str, Role, Option<Dialect>)] = &[
    ("ident", Role::Ident, None),
    ("idents", Role::Idents, None),
    ("sql", Role::Sql, None),
    ("account", Role::Account, Some(Dialect::Mysql)),
];

impl Role {
    /// Returns true for names of things on the server.
    pub(super) fn is_name(self) -> bool {
        matches!(self, Self::Ident | Self::Idents | Self::Account)
    }
}

/// Removes the wrapping word from an expression.
///
/// # Errors
/// Fails if it has another number of arguments, or if an object could influence the argument of `sql`.
pub(super) fn take_word(dialect: Dialect, expression: &mut IdedExpr) -> Result<Role, String> {
    let Expr::Call(call) = &mut expression.expr else { return Ok(Role::Value) };
    let is_word = |word: &str| word == call.func_name && call.target.is_none();
    let word = WORDS.iter().find(|(word, _, only)| is_word(word) && only.is_none_or(|only| only == dialect));
    let Some((word, role, _)) = word else { return Ok(Role::Value) };
    let [argument] = call.args.as_mut_slice() else { return Err(format!("{word} takes one argument")) };
    if *role == Role::Sql && !is_written(argument) {
        let message =
            "sql takes texts that are written here: 'LOGIN', a choice between such, or one of a map or list of them";
        return Err(message.to_owned());
    }
    let argument = std::mem::take(argument);
    *expression = argument;
    Ok(*role)
}

/// Returns true if every possible value is a literal of the target.
fn is_written(expression: &IdedExpr) -> bool {
    match &expression.expr {
        Expr::Literal(LiteralValue::String(_)) => true,
        Expr::Call(call) if call.target.is_none() => match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::CONDITIONAL, [_, yes, no]) => is_written(yes) && is_written(no),
            (operators::ADD, [left, right]) => is_written(left) && is_written(right),
            (operators::INDEX, [from, _]) => holds_written(from),
            _ => false,
        },
        _ => false,
    }
}

fn holds_written(expression: &IdedExpr) -> bool {
    match &expression.expr {
        Expr::List(list) => list.elements.iter().all(is_written),
        Expr::Map(map) => map
            .entries
            .iter()
            .all(|entry| matches!(&entry.expr, EntryExpr::MapEntry(entry) if is_written(&entry.value))),
        _ => false,
    }
}
