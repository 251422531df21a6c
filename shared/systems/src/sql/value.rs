//! Values that both dialects convert alike.

use drift_language::parse_json;
use serde_json::{Number, Value};

/// Maximum values of one row: 16 MiB of memory, the same as for an HTTP response.
pub(crate) const MAX_NODES: usize = 200_000;
/// The message about a row with more.
pub(crate) const TOO_MANY: &str = "too many values";
/// The message about a value that does not match its type.
pub(crate) const MALFORMED: &str = "a value is not of its column's type";
/// Number of digits that a double always represents exactly.
const EXACT_DIGITS: usize = 15;

/// The remaining values of a row.
#[derive(Debug)]
pub(crate) struct Nodes(usize);

impl Nodes {
    pub(crate) fn of_row() -> Self {
        Self(MAX_NODES)
    }

    pub(crate) fn take(&mut self, nodes: usize) -> Result<(), &'static str> {
        self.0 = self.0.checked_sub(nodes).ok_or(TOO_MANY)?;
        Ok(())
    }
}

/// Parses a JSON value.
pub(crate) fn parsed(text: &[u8], nodes: &mut Nodes) -> Result<Value, &'static str> {
    let parsed = parse_json(text, nodes.0).map_err(|error| match error {
        drift_language::JsonError::Malformed => MALFORMED,
        drift_language::JsonError::TooManyNodes => TOO_MANY,
    })?;
    nodes.take(count(&parsed))?;
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
