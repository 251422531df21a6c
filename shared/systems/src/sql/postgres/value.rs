//! Converts a column's text to JSON without loss. Values that JSON cannot represent exactly stay PostgreSQL's text.

use serde_json::{Number, Value};
use tokio_postgres::types::{Kind, Type};

use crate::guard::allowance::Allowance;
use crate::sql::value::{MALFORMED, exact, parsed};

/// Converts a value of this type from its text. `None` is NULL.
///
/// # Errors
/// Fails if the text does not match the type, or there are too many values.
pub(crate) fn json_of(kind: &Type, text: Option<&str>, allowance: &mut Allowance) -> Result<Value, &'static str> {
    allowance.take(1)?;
    let Some(text) = text else { return Ok(Value::Null) };
    match kind.kind() {
        Kind::Array(item) => return array(item, text, allowance),
        Kind::Domain(base) => return json_of(base, Some(text), allowance),
        _ => {}
    }
    Ok(match *kind {
        Type::BOOL => Value::Bool(match text {
            "true" | "t" => true,
            "false" | "f" => false,
            _ => return Err(MALFORMED),
        }),
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => Value::from(text.parse::<i64>().map_err(|_| MALFORMED)?),
        Type::NUMERIC => exact(text).unwrap_or_else(|| Value::from(text)),
        // Its text is the shortest that round-trips. Values that are not JSON numbers stay texts.
        Type::FLOAT4 | Type::FLOAT8 => {
            text.parse().ok().and_then(Number::from_f64).map_or_else(|| Value::from(text), Value::Number)
        }
        Type::TIMESTAMPTZ | Type::TIMESTAMP => Value::from(moment(text)),
        Type::JSON | Type::JSONB => parsed(text.as_bytes(), allowance)?,
        _ => Value::from(text),
    })
}

/// Converts `2026-11-22 10:00:00+00` to `2026-11-22T10:00:00Z`. Infinity and years BC stay unchanged.
fn moment(text: &str) -> String {
    if text.ends_with("BC") || !text.contains(' ') {
        return text.to_owned();
    }
    let text = text.replacen(' ', "T", 1);
    match text.strip_suffix("+00") {
        Some(time) => format!("{time}Z"),
        None => text,
    }
}

/// Parses `{a,"b c",NULL,{…}}`, with its bounds in front if they are not the default.
fn array(item: &Type, text: &str, allowance: &mut Allowance) -> Result<Value, &'static str> {
    let text = if text.starts_with('[') { text.split_once('=').ok_or(MALFORMED)?.1 } else { text };
    let mut reader = ArrayReader { rest: text, item, allowance };
    let value = reader.list(0)?;
    if reader.rest.is_empty() { Ok(value) } else { Err(MALFORMED) }
}

/// Maximum dimensions of PostgreSQL's arrays (MAXDIM).
const MAX_DIMENSIONS: usize = 6;

struct ArrayReader<'a, 'n> {
    rest: &'a str,
    item: &'a Type,
    allowance: &'n mut Allowance,
}

impl ArrayReader<'_, '_> {
    fn list(&mut self, depth: usize) -> Result<Value, &'static str> {
        if depth >= MAX_DIMENSIONS || !self.take('{') {
            return Err(MALFORMED);
        }
        let mut items = Vec::new();
        if self.take('}') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(match self.rest.chars().next() {
                Some('{') => {
                    self.allowance.take(1)?;
                    self.list(depth + 1)?
                }
                Some('"') => {
                    let text = self.quoted()?;
                    json_of(self.item, Some(&text), self.allowance)?
                }
                _ => self.bare()?,
            });
            // Only `box` has another separator.
            if self.take('}') {
                return Ok(Value::Array(items));
            }
            if !self.take(',') && !self.take(';') {
                return Err(MALFORMED);
            }
        }
    }

    fn take(&mut self, letter: char) -> bool {
        let rest = self.rest.strip_prefix(letter);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn bare(&mut self) -> Result<Value, &'static str> {
        let end = self.rest.find([',', '}', ';']).ok_or(MALFORMED)?;
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        json_of(self.item, (text != "NULL").then_some(text), self.allowance)
    }

    fn quoted(&mut self) -> Result<String, &'static str> {
        let mut text = String::new();
        let mut letters = self.rest.char_indices().skip(1);
        while let Some((position, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.rest = &self.rest[position + 1..];
                    return Ok(text);
                }
                '\\' => text.push(letters.next().ok_or(MALFORMED)?.1),
                letter => text.push(letter),
            }
        }
        Err(MALFORMED)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::sql::value::{MAX_NODES, TOO_MANY, row_allowance};
    use serde_json::json;

    fn value(kind: &Type, text: &str) -> Result<Value, &'static str> {
        json_of(kind, Some(text), &mut row_allowance())
    }

    #[test]
    fn nothing_of_a_value_is_lost() {
        let table = [
            (Type::BOOL, "true", json!(true)),
            (Type::INT4, "-5", json!(-5)),
            (Type::INT8, "9007199254740993", json!(9_007_199_254_740_993_i64)),
            (Type::NUMERIC, "10", json!(10)),
            (Type::NUMERIC, "10.50", json!(10.5)),
            (Type::NUMERIC, "0.000000000000001", json!(1e-15)),
            (Type::NUMERIC, "12345678901234567890", json!("12345678901234567890")),
            (Type::NUMERIC, "1234567890.1234567", json!("1234567890.1234567")),
            (Type::NUMERIC, "NaN", json!("NaN")),
            (Type::NUMERIC, "Infinity", json!("Infinity")),
            (Type::FLOAT8, "0.1", json!(0.1)),
            (Type::FLOAT8, "1e+300", json!(1e300)),
            (Type::FLOAT8, "-Infinity", json!("-Infinity")),
            (Type::TIMESTAMPTZ, "2026-11-22 10:00:00.5+00", json!("2026-11-22T10:00:00.5Z")),
            (Type::TIMESTAMPTZ, "infinity", json!("infinity")),
            (Type::TIMESTAMPTZ, "0044-03-15 12:00:00+00 BC", json!("0044-03-15 12:00:00+00 BC")),
            (Type::TIMESTAMP, "2026-11-22 10:00:00", json!("2026-11-22T10:00:00")),
            (Type::DATE, "-infinity", json!("-infinity")),
            (Type::JSONB, r#"{"a": [1, null]}"#, json!({"a": [1, null]})),
            (Type::BYTEA, "\\x00ff", json!("\\x00ff")),
            (Type::INET, "10.0.0.1", json!("10.0.0.1")),
            (Type::TEXT_ARRAY, r#"{a,"b \"c\\",NULL,"NULL",""}"#, json!(["a", "b \"c\\", null, "NULL", ""])),
            (Type::INT4_ARRAY, "{{1,2},{3,NULL}}", json!([[1, 2], [3, null]])),
            (Type::INT4_ARRAY, "[0:1]={7,8}", json!([7, 8])),
            (Type::BOOL_ARRAY, "{t,f}", json!([true, false])),
            (Type::TEXT_ARRAY, "{}", json!([])),
        ];
        for (kind, text, expected) in table {
            assert_eq!(value(&kind, text), Ok(expected), "{kind} {text}");
        }
        assert_eq!(json_of(&Type::INT4, None, &mut row_allowance()), Ok(Value::Null));
    }

    #[test]
    fn what_is_none_of_its_type_is_no_value() {
        for (kind, text) in [
            (Type::BOOL, "maybe"),
            (Type::INT4, "1.5"),
            (Type::JSON, "{"),
            (Type::TEXT_ARRAY, "{a"),
            (Type::TEXT_ARRAY, "{a}b"),
            (Type::TEXT_ARRAY, "{\"a}"),
            (Type::TEXT_ARRAY, "{{{{{{{a}}}}}}}"),
        ] {
            assert_eq!(value(&kind, text), Err(MALFORMED), "{kind} {text}");
        }
        let many = format!("{{{}}}", vec!["1"; MAX_NODES + 1].join(","));
        assert_eq!(value(&Type::INT4_ARRAY, &many), Err(TOO_MANY));
    }
}
