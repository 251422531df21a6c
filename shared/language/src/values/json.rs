//! Parses untrusted JSON within limits.
//!
//! A megabyte of `{"":0},` makes a tree of 95 MB, so nodes are counted while they are built. serde_json limits the
//! depth to 128 levels.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Nodes charged for a map, besides its values. Its first field takes as much memory as eight other values.
pub(super) const MAP_NODES: usize = 8;

/// Reasons why a text is rejected. Contains nothing of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// It is not JSON, or nested too deep.
    #[error("not JSON")]
    Malformed,
    /// It has more values than allowed.
    #[error("too many values")]
    TooManyNodes,
}

/// Memory of a node, without its text.
const NODE_BYTES: usize = 80;

/// Upper bound of the memory of a value. The value is never nested deeper than a parsed one.
#[must_use]
pub fn memory_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => NODE_BYTES,
        Value::String(text) => NODE_BYTES + text.len(),
        Value::Array(items) => NODE_BYTES + items.iter().map(memory_of).sum::<usize>(),
        Value::Object(fields) => {
            let of_fields = fields.iter().map(|(name, field)| name.len() + memory_of(field)).sum::<usize>();
            NODE_BYTES * (1 + MAP_NODES) + of_fields
        }
    }
}

/// Parses one JSON text with a maximum number of nodes, each about 80 bytes of memory without its text.
///
/// # Errors
/// Fails if it is not JSON, or too large.
pub fn parse_json(text: &[u8], max_nodes: usize) -> Result<Value, JsonError> {
    let left = Cell::new(Some(max_nodes));
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let parsed = Counted { left: &left }.deserialize(&mut deserializer).and_then(|value| {
        deserializer.end()?;
        Ok(value)
    });
    parsed.map_err(|_| if left.get().is_none() { JsonError::TooManyNodes } else { JsonError::Malformed })
}

/// Builds a value and counts down the remaining nodes. `None` after the limit was exceeded.
#[derive(Clone, Copy)]
struct Counted<'c> {
    left: &'c Cell<Option<usize>>,
}

impl Counted<'_> {
    fn take<E: serde::de::Error>(self, nodes: usize) -> Result<(), E> {
        self.left.set(self.left.get().and_then(|left| left.checked_sub(nodes)));
        self.left.get().map(drop).ok_or_else(|| E::custom(JsonError::TooManyNodes))
    }
}

impl<'de> DeserializeSeed<'de> for Counted<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.take(1)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Counted<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        Number::from_f64(number).map(Value::Number).ok_or_else(|| E::custom(JsonError::Malformed))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        self.take(MAP_NODES)?;
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            fields.insert(name, map.next_value_seed(self)?);
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn memory_is_estimated_by_nodes_and_texts() {
        let table = [
            ("0", 80),
            (r#""abc""#, 83),
            ("[0, 0]", 240),
            (r#"{"ab": 0}"#, 9 * 80 + 2 + 80),
            ("[[], {}]", 160 + 9 * 80),
        ];
        for (text, expected) in table {
            assert_eq!(parse_json(text.as_bytes(), 100).map(|value| memory_of(&value)), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_a_tree_would_hold_is_bounded() {
        let many = |item: &str, count: usize| format!("[{}0]", format!("{item},").repeat(count));
        assert_eq!(parse_json(many("{\"\":0}", 10_000).as_bytes(), 99_000), Err(JsonError::TooManyNodes));
        assert!(parse_json(many("{\"\":0}", 10_000).as_bytes(), 101_000).is_ok());
        assert_eq!(parse_json(many("[]", 10_000).as_bytes(), 9_000), Err(JsonError::TooManyNodes));
        assert_eq!(parse_json("[".repeat(100_000).as_bytes(), 1_000_000), Err(JsonError::Malformed));
        for text in ["", "nul", "{\"a\":1", "1 2", "{\"a\"}", "<html>"] {
            assert_eq!(parse_json(text.as_bytes(), 1_000), Err(JsonError::Malformed), "{text}");
        }
    }

    proptest! {
        #[test]
        fn it_parses_as_serde_json_does(text in "[\\[\\]{}:,\"a0-9.eE+ntrufalse \\\\-]{0,40}") {
            let parsed = parse_json(text.as_bytes(), 1_000).ok();
            prop_assert_eq!(parsed, serde_json::from_str::<Value>(&text).ok());
        }
    }
}
