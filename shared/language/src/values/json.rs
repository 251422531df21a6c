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
    /// It is in another encoding, for example Latin-1.
    #[error("not JSON (its bytes are no UTF-8)")]
    NotUtf8,
    /// It has a number that JSON lacks.
    #[error("not JSON (it has NaN or Infinity)")]
    NotFinite,
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

/// The byte order mark, which RFC 8259 lets a reader ignore.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses one JSON text with a maximum number of nodes, each about 80 bytes of memory without its text. A byte order
/// mark before it is ignored.
///
/// # Errors
/// Fails if it is not JSON, or too large.
pub fn parse_json(text: &[u8], max_nodes: usize) -> Result<Value, JsonError> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let left = Cell::new(Some(max_nodes));
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let parsed = Counted { left: &left }.deserialize(&mut deserializer).and_then(|value| {
        deserializer.end()?;
        Ok(value)
    });
    parsed.map_err(|_| if left.get().is_none() { JsonError::TooManyNodes } else { cause(text) })
}

/// Returns the cause for which a text is not JSON.
fn cause(text: &[u8]) -> JsonError {
    /// The fault is at the first letter, or behind the sign.
    const WORDS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];
    if str::from_utf8(text).is_err() {
        return JsonError::NotUtf8;
    }
    let rest = fault_in(text).and_then(|(line, column)| {
        let mut lines = text.split(|byte| *byte == b'\n').skip(line.saturating_sub(1));
        lines.next().map(|line| line.get(column.saturating_sub(2)..).unwrap_or_default())
    });
    let is_at = |word: &&[u8]| {
        rest.is_some_and(|rest| rest.starts_with(word) || rest.get(1..).is_some_and(|rest| rest.starts_with(word)))
    };
    if WORDS.iter().any(is_at) { JsonError::NotFinite } else { JsonError::Malformed }
}

/// Returns the line and the column in bytes, both 1-based, at which a text stops to be JSON; `None` for JSON.
#[must_use]
pub fn fault_in(text: &[u8]) -> Option<(usize, usize)> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if let Err(error) = str::from_utf8(text) {
        let before = text.get(..error.valid_up_to()).unwrap_or_default();
        let mut lines = before.rsplit(|byte| *byte == b'\n');
        let column = lines.next().map_or(0, <[u8]>::len) + 1;
        return Some((lines.count() + 1, column));
    }
    let error = serde_json::from_slice::<serde::de::IgnoredAny>(text).err()?;
    Some((error.line(), error.column()))
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

    #[test]
    fn the_cause_and_the_place_of_a_fault_are_named() {
        /// Text, cause, and the line and column of the fault.
        type Row = (&'static [u8], &'static str, Option<(usize, usize)>);
        let table: [Row; 8] = [
            (b"\xef\xbb\xbf{\"a\": 1}", "", None),
            (b"{\"a\":\n  NaN}", "not JSON (it has NaN or Infinity)", Some((2, 3))),
            (b"[1, -Infinity]", "not JSON (it has NaN or Infinity)", Some((1, 6))),
            (b"Infinity", "not JSON (it has NaN or Infinity)", Some((1, 1))),
            (b"{\"a\": \"NaN\", }", "not JSON", Some((1, 14))),
            (b"{\n\"\xe4\"", "not JSON (its bytes are no UTF-8)", Some((2, 2))),
            (b"<html>", "not JSON", Some((1, 1))),
            (b"{\"a\": 1", "not JSON", Some((1, 7))),
        ];
        for (text, cause, place) in table {
            let said = parse_json(text, 100).err().map(|error| error.to_string()).unwrap_or_default();
            assert_eq!(said, cause, "{text:?}");
            assert!(place.is_none() || fault_in(text) == place, "{text:?} {:?}", fault_in(text));
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
