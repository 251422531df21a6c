//! Values that both dialects convert alike.

use std::collections::HashSet;

use drift_language::parse_json;
use serde_json::{Number, Value};

use crate::guard::allowance::Allowance;

/// Maximum values of one row: 16 MiB of memory, the same as for an HTTP response.
pub(crate) const MAX_NODES: usize = 200_000;
/// Maximum columns of a result, the most of a MySQL table. PostgreSQL has at most 1,664.
pub(crate) const MAX_COLUMNS: usize = 4_096;
/// The message about a row with more.
pub(crate) const TOO_MANY: &str = "too many values";
/// The message about a value that does not match its type.
pub(crate) const MALFORMED: &str = "a value is not of its column's type";
/// The message about a result with more columns.
pub(crate) const TOO_MANY_COLUMNS: &str = "it has more than 4,096 columns";
/// The message about an answer without a result.
pub(crate) const NO_COLUMNS: &str = "it has no columns";
/// Number of digits that a double always represents exactly.
const EXACT_DIGITS: usize = 15;

/// Returns the allowance of one row. The bytes of the whole result are counted where they are read.
pub(crate) const fn row_allowance() -> Allowance {
    Allowance::of(MAX_NODES, TOO_MANY)
}

/// Checks the names of a result's columns.
///
/// # Errors
/// Fails if there are none or too many, or two are equal.
pub(crate) fn check_columns<'n>(mut names: impl ExactSizeIterator<Item = &'n str>) -> Result<(), &'static str> {
    match names.len() {
        0 => return Err(NO_COLUMNS),
        1..=MAX_COLUMNS => {}
        _ => return Err(TOO_MANY_COLUMNS),
    }
    let mut known = HashSet::new();
    if names.all(|name| known.insert(name)) { Ok(()) } else { Err("two columns have one name") }
}

/// Parses a JSON value.
pub(crate) fn parsed(text: &[u8], allowance: &mut Allowance) -> Result<Value, &'static str> {
    let parsed = parse_json(text, allowance.left()).map_err(|error| match error {
        drift_language::JsonError::TooManyNodes => TOO_MANY,
        _ => MALFORMED,
    })?;
    allowance.take(count(&parsed))?;
    Ok(parsed)
}

/// Converts a decimal to a JSON number, if it is exact.
pub(crate) fn exact(text: &str) -> Option<Value> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Value::from(whole));
    }
    let is_plain = text.bytes().all(|letter| letter.is_ascii_digit() || matches!(letter, b'.' | b'-'));
    let digits = text.trim_start_matches(['-', '0', '.']).bytes().filter(u8::is_ascii_digit).count();
    let number = text.parse().ok().filter(|_| is_plain && text.contains('.') && digits <= EXACT_DIGITS)?;
    Number::from_f64(number).map(Value::Number)
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len() + items.iter().map(count).sum::<usize>(),
        Value::Object(fields) => fields.len() + fields.values().map(count).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
