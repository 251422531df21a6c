//! A short fingerprint of the desired state, which binds a verdict to the compared state.
//!
//! Both programs compute it, so it depends only on the value, not on key order or number notation.

use std::fmt::{self, Write as _};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::short_hash::parse_hex;

/// Bytes kept of the SHA-256. The author of an object can search for two states with the same fingerprint. With 4 bytes
/// that takes seconds, with 8 bytes about 2^32 tries for any two states and 2^64 for a given one.
const HASH_BYTES: usize = 8;

/// A fingerprint of a rendered `desired`, shown as 16 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DesiredHash([u8; HASH_BYTES]);

impl DesiredHash {
    /// Computes the fingerprint of a rendered `desired` without its redacted paths.
    #[must_use]
    pub fn of(desired: &Value) -> Self {
        let digest = Sha256::digest(canonical(desired).as_bytes());
        let mut bytes = [0; HASH_BYTES];
        bytes.copy_from_slice(&digest[..HASH_BYTES]);
        Self(bytes)
    }

    /// Parses 16 lower-case hex digits. `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        parse_hex(text, HASH_BYTES * 2).map(|number| Self(number.to_be_bytes()))
    }
}

impl fmt::Display for DesiredHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", u64::from_be_bytes(self.0))
    }
}

/// Formats JSON with sorted keys, without null fields (null equals absent), and with whole numbers as integers
/// (1 equals 1.0).
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut present: Vec<_> = fields.iter().filter(|(_, field)| !field.is_null()).collect();
            present.sort_unstable_by_key(|(key, _)| key.as_str());
            text.push('{');
            for (position, (key, field)) in present.into_iter().enumerate() {
                if position > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_canonical(field, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    text.push(',');
                }
                write_canonical(item, text);
            }
            text.push(']');
        }
        Value::Number(number) => write_number(number, text),
        other => text.push_str(&other.to_string()),
    }
}

/// Whole floats up to 2^53, the range in which a double is exact, are written as integers.
const EXACT_DOUBLE: f64 = 9_007_199_254_740_992.0;

fn write_number(number: &serde_json::Number, text: &mut String) {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT_DOUBLE => {
            // Writing to a String cannot fail.
            // Adding zero makes a negative zero positive.
            let _ = write!(text, "{:.0}", float + 0.0);
        }
        _ => text.push_str(&number.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_desired_state_ignores_spelling_but_not_content() {
        let desired_hash = DesiredHash::of(&json!({"a": 1, "b": [true, "x"]}));
        assert_eq!(desired_hash, DesiredHash::of(&json!({"b": [true, "x"], "a": 1.0, "gone": null})));
        assert_ne!(desired_hash, DesiredHash::of(&json!({"a": 2, "b": [true, "x"]})));
        assert_ne!(desired_hash, DesiredHash::of(&json!({"a": "1", "b": [true, "x"]})));
        assert_eq!(DesiredHash::of(&json!(-0.0)), DesiredHash::of(&json!(0)));
    }

    #[test]
    fn other_texts_are_no_desired_state() {
        for text in
            ["", "3f2a9c71d04b58e", "3f2a9c71d04b58e6a", "3F2A9C71D04B58E6", "+f2a9c71d04b58e6", "3f2a9c71d04b58eg"]
        {
            assert_eq!(DesiredHash::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_desired_state_is_read_back_as_it_was_written(bytes: [u8; HASH_BYTES]) {
            prop_assert_eq!(DesiredHash::parse(&DesiredHash(bytes).to_string()), Some(DesiredHash(bytes)));
        }
    }
}
