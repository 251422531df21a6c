//! Converts CEL results to JSON.
//!
//! An error must never contain a value of an object or a response, because it ends in a condition, an event or a log.

use std::cell::Cell;

use cel::common::types::{CelBool, CelBytes, CelDouble, CelInt, CelOptional, CelString, CelUInt, Kind};
use cel::common::value::Val;
use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;

use crate::cel::evaluation::constants::{MAX_RENDERED_BYTES, QUANTITY, of_bytes};
use crate::cel::evaluation::cost::Cost;
use crate::cel::evaluation::equal::members;
use crate::values::decimal::Decimal;

/// Charges for a value while it is converted.
pub(in crate::cel) trait Meter {
    /// Spends bytes before they are written.
    ///
    /// # Errors
    /// Fails if fewer are left.
    fn spend(&self, bytes: usize) -> Result<(), String>;
}

/// The rest of [`MAX_RENDERED_BYTES`] while one value is rendered.
#[derive(Debug)]
pub(in crate::cel) struct Allowance(Cell<usize>);

impl Default for Allowance {
    fn default() -> Self {
        Self(Cell::new(MAX_RENDERED_BYTES))
    }
}

impl Meter for Allowance {
    fn spend(&self, bytes: usize) -> Result<(), String> {
        let left = self.0.get().checked_sub(bytes);
        self.0.set(left.ok_or_else(|| format!("the value is larger than {MAX_RENDERED_BYTES} bytes"))?);
        Ok(())
    }
}

impl Meter for Cost {
    fn spend(&self, bytes: usize) -> Result<(), String> {
        self.charge(of_bytes(bytes)).map_err(|error| error.to_string())
    }
}

/// Converts a CEL value to JSON. `None` for an optional without value, whose field or item is left out.
///
/// # Errors
/// Fails if the value has no JSON form or is too large.
pub(in crate::cel) fn json(value: &dyn Val, meter: &impl Meter) -> Result<Option<Value>, String> {
    if is_left_out(value) {
        return Ok(None);
    }
    let converted = AsJson { value, meter }.serialize(serde_json::value::Serializer);
    converted.map(Some).map_err(|error| error.to_string())
}

/// Returns the exact number of a CEL value of any numeric type.
pub(in crate::cel) fn decimal(value: &dyn Val) -> Option<Decimal> {
    match value.get_type().kind() {
        Kind::List | Kind::Map => None,
        _ => match json(value, &Allowance::default()) {
            Ok(Some(Value::Number(number))) => Decimal::of(&number),
            _ => None,
        },
    }
}

/// A CEL value as JSON: keys are sorted, and optionals without value are left out.
pub(in crate::cel) struct AsJson<'a, M> {
    pub(in crate::cel) value: &'a dyn Val,
    pub(in crate::cel) meter: &'a M,
}

impl<M: Meter> Serialize for AsJson<'_, M> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let value = self.value;
        match value.get_type().kind() {
            Kind::List => return self.list(out),
            Kind::Map => return self.map(out),
            _ => {}
        }
        if let Some(Some(inner)) = value.downcast_ref::<CelOptional>().map(CelOptional::option) {
            return AsJson { value: inner, meter: self.meter }.serialize(out);
        }
        self.spend(1)?;
        if let Some(text) = value.downcast_ref::<CelString>() {
            self.spend(text.inner().len())?;
            out.serialize_str(text.inner())
        } else if let Some(truth) = value.downcast_ref::<CelBool>() {
            out.serialize_bool(*truth.inner())
        } else if let Some(whole) = value.downcast_ref::<CelInt>() {
            out.serialize_i64(*whole.inner())
        } else if let Some(whole) = value.downcast_ref::<CelUInt>() {
            out.serialize_u64(*whole.inner())
        } else if let Some(double) = value.downcast_ref::<CelDouble>() {
            match double.inner().is_finite() {
                true => out.serialize_f64(*double.inner()),
                false => Err(S::Error::custom("the result is no finite number")),
            }
        } else if value.get_type().kind() == Kind::NullType {
            out.serialize_unit()
        } else {
            Err(S::Error::custom(no_json(value)))
        }
    }
}

impl<'a, M: Meter> AsJson<'a, M> {
    fn spend<E: serde::ser::Error>(&self, bytes: usize) -> Result<(), E> {
        self.meter.spend(bytes).map_err(E::custom)
    }

    fn list<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let items = members(self.value).ok_or_else(|| S::Error::custom(no_json(self.value)))?;
        self.spend(1)?;
        let mut list = out.serialize_seq(None)?;
        for item in items.filter(|item| !is_left_out(*item)) {
            list.serialize_element(&AsJson { value: item, meter: self.meter })?;
        }
        list.end()
    }

    fn map<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let fields = self.value.as_indexer().zip(members(self.value));
        let (fields, keys) = fields.ok_or_else(|| S::Error::custom(no_json(self.value)))?;
        self.spend(1)?;
        let named = |key: &'a dyn Val| Some((key.downcast_ref::<CelString>()?.inner(), key));
        let keys: Option<Vec<_>> = keys.map(named).collect();
        let mut keys = keys.ok_or_else(|| S::Error::custom("a key of the map is no text"))?;
        keys.sort_by_key(|(name, _)| *name);
        let mut map = out.serialize_map(None)?;
        for (name, key) in keys {
            let field = fields.get(key).map_err(|_| S::Error::custom("a key of the map has no value"))?;
            if !is_left_out(field.as_ref()) {
                self.spend(name.len())?;
                map.serialize_entry(name, &AsJson { value: field.as_ref(), meter: self.meter })?;
            }
        }
        map.end()
    }
}

/// Returns true for an optional without value.
pub(in crate::cel) fn is_left_out(value: &dyn Val) -> bool {
    value.downcast_ref::<CelOptional>().is_some_and(|optional| optional.option().is_none_or(is_left_out))
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

/// The name of a type in messages.
pub(super) fn plain_type(kind: &str) -> &str {
    if kind == "null_type" { "null" } else { kind }
}
