//! Plain scalars as kubectl reads them in manifests: by YAML 1.1, where the reader of targets follows YAML 1.2.
//!
//! The rules are those of `sigs.k8s.io/yaml` 1.4, `goyaml.v2/resolve.go`: `0644` is 420, `yes` is true, `1:30` a text.

use std::ops::Range;

use serde_json::{Map, Number, Value};

use crate::yaml::node::{Content, Fault, Node};

const TRUE: [&str; 11] = ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"];
const FALSE: [&str; 11] = ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"];
/// Bases of whole numbers by their prefixes. Without one, a leading zero means octal.
const BASES: [(&str, u32); 7] = [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2), ("0o", 8), ("0O", 8), ("0", 8)];

impl Node {
    /// Converts a manifest to JSON, as kubectl sends it.
    pub(crate) fn to_json_of_manifest(&self, document: &str) -> Value {
        match &self.content {
            Content::List(items) => items.iter().map(|item| item.to_json_of_manifest(document)).collect(),
            Content::Map(entries) => {
                let fields = entries.iter().map(|entry| {
                    let key = plain_at(&entry.key_bytes, document).and_then(resolve).and_then(key_of);
                    (key.unwrap_or_else(|| entry.key.clone()), entry.value.to_json_of_manifest(document))
                });
                Value::Object(fields.collect::<Map<_, _>>())
            }
            Content::Null => Value::Null,
            _ => self.plain(document).and_then(resolve).unwrap_or_else(|| self.to_json()),
        }
    }

    /// Collects the numbers that YAML 1.1 and 1.2 read as different values, or with a zero in front.
    pub(crate) fn ambiguous_numbers(&self, document: &str, found: &mut Vec<Fault>) {
        match &self.content {
            Content::List(items) => items.iter().for_each(|item| item.ambiguous_numbers(document, found)),
            Content::Map(entries) => entries.iter().for_each(|entry| entry.value.ambiguous_numbers(document, found)),
            _ => {
                let Some(plain) = self.plain(document) else { return };
                if let Some(meant @ Value::Number(_)) = resolve(plain)
                    && (has_leading_zero(plain) || !is_same_number(&meant, &self.to_json()))
                {
                    let message = format!("YAML reads `{plain}` in two ways: write {meant} or '{plain}'");
                    found.push(Fault { at: self.at, message });
                }
            }
        }
    }

    /// Returns the text of a scalar without quotes, tag and block.
    fn plain<'d>(&self, document: &'d str) -> Option<&'d str> {
        plain_at(&self.defined_bytes(), document)
    }
}

fn plain_at<'d>(bytes: &Range<usize>, document: &'d str) -> Option<&'d str> {
    let text = document.get(bytes.clone()).map(str::trim).filter(|text| !text.is_empty())?;
    let is_marked = |text: &str| text.starts_with(['!', '|', '>', '"', '\'', '&', '*']);
    let before = document.get(..bytes.start)?.split_whitespace().next_back().unwrap_or_default();
    (!is_marked(text) && !before.starts_with(['!', '|', '>'])).then_some(text)
}

/// Returns the value of a plain scalar that is no text.
fn resolve(plain: &str) -> Option<Value> {
    match plain {
        "~" | "null" | "Null" | "NULL" => Some(Value::Null),
        _ if TRUE.contains(&plain) => Some(Value::Bool(true)),
        _ if FALSE.contains(&plain) => Some(Value::Bool(false)),
        _ => number(plain).map(Value::Number),
    }
}

/// Returns the text of a key that is no text.
fn key_of(value: Value) -> Option<String> {
    match value {
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

fn number(plain: &str) -> Option<Number> {
    if plain.starts_with('_') {
        return None;
    }
    let digits = plain.replace('_', "");
    whole(&digits).or_else(|| is_decimal(&digits).then(|| digits.parse().ok()).flatten().and_then(shortest))
}

fn whole(digits: &str) -> Option<Number> {
    let (is_negative, unsigned) = match digits.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, digits.strip_prefix('+').unwrap_or(digits)),
    };
    let prefixed = BASES.iter().find_map(|(prefix, base)| Some((unsigned.strip_prefix(prefix)?, *base)));
    let (number, base) = prefixed.filter(|(number, _)| !number.is_empty()).unwrap_or((unsigned, 10));
    if !number.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let number = i128::from_str_radix(number, base).ok()?;
    let number = if is_negative { -number } else { number };
    i64::try_from(number).map(Number::from).or_else(|_| u64::try_from(number).map(Number::from)).ok()
}

/// Returns true for digits with an optional sign, point and exponent.
fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    are_digits(whole)
        && are_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && !exponent.is_empty()
        && are_digits(exponent)
}

/// Returns the number as Go writes it in JSON: without a fraction where there is none.
fn shortest(number: f64) -> Option<Number> {
    // Up to here, each whole number has its own double.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        return format!("{number:.0}").parse::<i64>().ok().map(Number::from);
    }
    Number::from_f64(number)
}

fn has_leading_zero(plain: &str) -> bool {
    let unsigned = plain.strip_prefix(['-', '+']).unwrap_or(plain);
    unsigned.strip_prefix('0').is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit() || next == '_'))
}

fn is_same_number(one: &Value, other: &Value) -> bool {
    one == other || one.as_f64().is_some() && one.as_f64() == other.as_f64()
}
