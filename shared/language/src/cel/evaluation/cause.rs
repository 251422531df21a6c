//! Evaluation errors as fixed texts.
//!
//! An error must never contain a value of an object or a response, because it ends in a condition, an event or a log.

use std::collections::BTreeSet;

use cel::ExecutionError;

use crate::cel::evaluation::convert::plain_type;
use crate::cel::evaluation::cost::COST;
use crate::cel::evaluation::pattern::PATTERN;
use crate::cel::functions::table::FUNCTIONS;

/// Returns the error for a missing field.
pub(in crate::cel) fn missing(field: &str) -> String {
    format!("no field `{field}`")
}

/// Returns the error for a field selected on a value that is not a map.
pub(in crate::cel) fn no_fields(kind: &str) -> String {
    format!("a {} has no fields", plain_type(kind))
}

/// Converts an evaluation error to fixed text. `written` are the names in the expression; only they are repeated.
pub(in crate::cel) fn cause(error: &ExecutionError, written: &BTreeSet<String>) -> String {
    match error {
        ExecutionError::NoSuchKey(name) if written.contains(name.as_str()) => missing(name),
        ExecutionError::NoSuchKey(_) => "no such key".to_owned(),
        ExecutionError::NoSuchOverload(overload) => overload_cause(overload.function(), overload.argument_types()),
        ExecutionError::UnsupportedBinaryOperator(operator, left, right) => {
            format!("no {operator} of {} and {}", left.type_of(), right.type_of())
        }
        ExecutionError::UnexpectedType { got, want } => format!("found {} where {want} is needed", plain_type(got)),
        ExecutionError::ValuesNotComparable(left, right) => {
            format!("a {} cannot be compared with a {}", left.type_of(), right.type_of())
        }
        ExecutionError::FunctionError { function, message } if is_own(function) => format!("{function}: {message}"),
        ExecutionError::FunctionError { function, .. } => format!("{function} cannot take this value"),
        ExecutionError::IndexOutOfBounds(_) => "an index is out of bounds".to_owned(),
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => "a division by zero".to_owned(),
        ExecutionError::Overflow(..) => "a number is out of range".to_owned(),
        ExecutionError::DuplicateKey(_) => "a map has one key twice".to_owned(),
        ExecutionError::UnsupportedKeyType(_) => "a value cannot be a key".to_owned(),
        _ => "the expression cannot be evaluated for these values".to_owned(),
    }
}

/// Returns true for the subject of an error of our own code, whose messages are fixed texts.
fn is_own(subject: &str) -> bool {
    subject == PATTERN || FUNCTIONS.iter().any(|function| function.name == subject && function.run.is_some())
}

fn overload_cause(function: &str, types: &[String]) -> String {
    if let ("_._", Some(kind)) = (function, types.first()) {
        return no_fields(kind);
    }
    let function = match function {
        "@in" => "in",
        "_[_]" | "_[?_]" => "[…]",
        other => other.trim_matches(['_', '@']),
    };
    let types: Vec<_> = types.iter().filter(|kind| *kind != COST).map(|kind| plain_type(kind)).collect();
    format!("no `{function}` for {}", types.join(" and "))
}
