//! Converts CEL results to JSON, and evaluation errors to fixed texts.
//!
//! An error must never contain a value of an object or a response, because it ends in a condition, an event or a log.

use std::collections::BTreeSet;

use cel::ExecutionError;
use cel::common::types::{CelBool, CelBytes, CelDouble, CelInt, CelOptional, CelString, CelUInt, Kind};
use cel::common::value::Val;
use serde_json::{Map, Number, Value};

use crate::cel::evaluation::constants::MAX_RENDERED_BYTES;
use crate::cel::evaluation::cost::COST;
use crate::cel::evaluation::function_names::{OWN_FUNCTIONS, QUANTITY};

/// The rest of [`MAX_RENDERED_BYTES`] while one value is rendered.
#[derive(Debug)]
pub(in crate::cel) struct Allowance(usize);

impl Default for Allowance {
    fn default() -> Self {
        Self(MAX_RENDERED_BYTES)
    }
}

impl Allowance {
    /// Spends bytes of the allowance.
    ///
    /// # Errors
    /// Fails if fewer bytes are left.
    pub(in crate::cel) fn spend(&mut self, bytes: usize) -> Result<(), String> {
        self.0 =
            self.0.checked_sub(bytes).ok_or_else(|| format!("the value is larger than {MAX_RENDERED_BYTES} bytes"))?;
        Ok(())
    }
}

/// Converts a CEL value to JSON. `None` for an optional without value, whose field or item is left out.
///
/// # Errors
/// Fails if the value has no JSON form or is too large.
pub(in crate::cel) fn json(value: &dyn Val, allowance: &mut Allowance) -> Result<Option<Value>, String> {
    let scalar = match value.get_type().kind() {
        Kind::NullType => Some(Value::Null),
        Kind::Boolean => value.downcast_ref::<CelBool>().map(|truth| Value::Bool(*truth.inner())),
        Kind::Int => value.downcast_ref::<CelInt>().map(|whole| Value::from(*whole.inner())),
        Kind::UInt => value.downcast_ref::<CelUInt>().map(|whole| Value::from(*whole.inner())),
        Kind::Double => return finite(value).map(Some),
        Kind::String => match value.downcast_ref::<CelString>() {
            Some(text) => {
                allowance.spend(text.inner().len())?;
                Some(Value::from(text.inner()))
            }
            None => None,
        },
        Kind::List => return list(value, allowance).map(Some),
        Kind::Map => return map(value, allowance).map(Some),
        _ => {
            return match value.downcast_ref::<CelOptional>().map(CelOptional::option) {
                Some(Some(inner)) => json(inner, allowance),
                Some(None) => Ok(None),
                None => Err(no_json(value)),
            };
        }
    };
    allowance.spend(1)?;
    scalar.map(Some).ok_or_else(|| no_json(value))
}

/// Returns the bytes of a CEL value. A text is rejected, because reading bytes as text may have lost some.
///
/// # Errors
/// Fails if the value is not bytes or is too large.
pub(in crate::cel) fn bytes(value: &dyn Val) -> Result<Vec<u8>, String> {
    if let Some(bytes) = value.downcast_ref::<CelBytes>() {
        Allowance::default().spend(bytes.inner().len())?;
        return Ok(bytes.inner().to_vec());
    }
    match value.downcast_ref::<CelOptional>().map(CelOptional::option) {
        Some(Some(inner)) => bytes(inner),
        Some(None) => Err("the optional has no value".to_owned()),
        None => Err(no_bytes(value.get_type().name())),
    }
}

/// Returns the error for a value that is not bytes.
pub(in crate::cel) fn no_bytes(kind: &str) -> String {
    format!("the result is a {}, not bytes; write bytes(…) around a text", plain_type(kind))
}

fn no_json(value: &dyn Val) -> String {
    match value.get_type().kind() {
        Kind::Bytes => "the result is bytes; write string(…) or base64.encode(…) around it".to_owned(),
        _ if value.get_type().name() == QUANTITY => {
            "the result is a quantity; write .asInteger() or .asApproximateFloat() behind it".to_owned()
        }
        _ => format!("a {} has no JSON form", value.get_type().name()),
    }
}

fn finite(value: &dyn Val) -> Result<Value, String> {
    let number = value.downcast_ref::<CelDouble>().and_then(|double| Number::from_f64(*double.inner()));
    number.map(Value::Number).ok_or_else(|| "the result is no finite number".to_owned())
}

fn list(value: &dyn Val, allowance: &mut Allowance) -> Result<Value, String> {
    let mut items = value.as_iterable().ok_or_else(|| no_json(value))?.iter();
    let mut rendered = Vec::new();
    while let Some(item) = items.next() {
        rendered.extend(json(item, allowance)?);
    }
    allowance.spend(1)?;
    Ok(Value::Array(rendered))
}

fn map(value: &dyn Val, allowance: &mut Allowance) -> Result<Value, String> {
    let fields = value.as_indexer().ok_or_else(|| no_json(value))?;
    let mut keys = value.as_iterable().ok_or_else(|| no_json(value))?.iter();
    let mut rendered = Map::new();
    while let Some(key) = keys.next() {
        let Some(name) = key.downcast_ref::<CelString>() else {
            return Err("a key of the map is no text".to_owned());
        };
        let field = fields.get(key).map_err(|_| "a key of the map has no value".to_owned())?;
        if let Some(field) = json(field.as_ref(), allowance)? {
            allowance.spend(name.inner().len())?;
            rendered.insert(name.inner().to_owned(), field);
        }
    }
    allowance.spend(1)?;
    Ok(Value::Object(rendered))
}

/// Returns the text of a scalar inside a larger text. Equal numbers have equal texts: 1.0 is `1`.
///
/// # Errors
/// Fails if the value has no text form.
pub(in crate::cel) fn text(value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        Value::Bool(truth) => Ok(truth.to_string()),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => Ok(float.to_string()),
            None => Ok(number.to_string()),
        },
        other => Err(format!("a {} cannot stand inside a text", json_type(&other))),
    }
}

/// Returns CEL's type name of a JSON value.
pub(in crate::cel) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int",
        Value::Number(number) if number.is_u64() => "uint",
        Value::Number(_) => "double",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}

/// Returns the error for a missing field.
pub(in crate::cel) fn missing(field: &str) -> String {
    format!("no field `{field}`")
}

/// Returns the error for a field selected on a value that is not a map.
pub(in crate::cel) fn no_fields(kind: &str) -> String {
    format!("a {} has no fields", plain_type(kind))
}

fn plain_type(kind: &str) -> &str {
    if kind == "null_type" { "null" } else { kind }
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
        ExecutionError::FunctionError { function, message } if OWN_FUNCTIONS.contains(&function.as_str()) => {
            format!("{function}: {message}")
        }
        ExecutionError::FunctionError { function, .. } => format!("{function} cannot take this value"),
        ExecutionError::IndexOutOfBounds(_) => "an index is out of bounds".to_owned(),
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => "a division by zero".to_owned(),
        ExecutionError::Overflow(..) => "a number is out of range".to_owned(),
        ExecutionError::DuplicateKey(_) => "a map has one key twice".to_owned(),
        ExecutionError::UnsupportedKeyType(_) => "a value cannot be a key".to_owned(),
        _ => "the expression cannot be evaluated for these values".to_owned(),
    }
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
