//! `as`: the form in which a value is compared.
//!
//! A text and a number can have the same meaning in two notations. A form maps both to one value.

use std::borrow::Cow;

use serde_json::{Number, Value};

use crate::values::decimal::Decimal;
use crate::values::json::parse_json;
use crate::values::units::{parse_duration, parse_quantity, parse_timestamp};

/// Form in which a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A Kubernetes quantity: `1Gi`, `500m`, 2.
    Quantity,
    /// A number, also in a text: `"5"` is 5.
    Number,
    /// A duration: `1h30m`, or a number of seconds.
    Duration,
    /// A point in time, in RFC 3339 format.
    Timestamp,
    /// A text compared without regard to case.
    CaseInsensitive,
    /// A text that holds JSON.
    Json,
}

/// The normalised value of a scalar. Equal scalars have equal values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Meaning<'v> {
    /// A boolean value.
    Truth(bool),
    /// A number, written as one or in the notation of a form.
    Number(Decimal),
    /// A text value.
    Text(Cow<'v, str>),
}

impl Form {
    /// Every form with its keyword.
    pub(super) const WORDS: [(&'static str, Self); 6] = [
        ("quantity", Self::Quantity),
        ("number", Self::Number),
        ("duration", Self::Duration),
        ("timestamp", Self::Timestamp),
        ("caseInsensitive", Self::CaseInsensitive),
        ("json", Self::Json),
    ];

    /// The keyword of this form.
    pub(super) fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, form)| *form == self).map_or("", |(word, _)| word)
    }

    /// Returns true if the form yields numbers, to which a tolerance applies.
    pub(super) const fn is_numeric(self) -> bool {
        !matches!(self, Self::CaseInsensitive | Self::Json)
    }
}

/// Normalises a scalar. `None` if the form cannot parse it, and for null, lists and maps.
pub(super) fn meaning(form: Option<Form>, value: &Value) -> Option<Meaning<'_>> {
    let parse = match form {
        None | Some(Form::Json) => return plain_meaning(value),
        Some(Form::CaseInsensitive) => {
            return match value {
                Value::String(text) => Some(Meaning::Text(Cow::Owned(without_case(text)))),
                other => plain_meaning(other),
            };
        }
        Some(Form::Quantity) => parse_quantity,
        Some(Form::Number) => Decimal::parse,
        Some(Form::Duration) => parse_duration,
        Some(Form::Timestamp) => parse_timestamp,
    };
    match value {
        Value::String(text) => parse(text).map(Meaning::Number),
        Value::Number(number) if form != Some(Form::Timestamp) => Decimal::of(number).map(Meaning::Number),
        _ => None,
    }
}

fn plain_meaning(value: &Value) -> Option<Meaning<'_>> {
    match value {
        Value::Bool(truth) => Some(Meaning::Truth(*truth)),
        Value::Number(number) => Decimal::of(number).map(Meaning::Number),
        Value::String(text) => Some(Meaning::Text(Cow::Borrowed(text))),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Maximum number of values in one text that holds JSON, the same as for a response.
const MAX_JSON_NODES: usize = 200_000;

/// Parses a text that holds JSON.
#[must_use]
pub fn json_of(text: &str) -> Option<Value> {
    parse_json(text.as_bytes(), MAX_JSON_NODES).ok()
}

/// Maximum bytes of a text for which a form is looked for. Names, addresses and durations are shorter.
const MAX_BYTES_OF_FORMS: usize = 4_096;

/// Returns the word of the first form in which two values have the same meaning.
pub(super) fn common_form(desired: &Value, observed: &Value) -> Option<&'static str> {
    let is_short = |value: &Value| value.as_str().is_none_or(|text| text.len() <= MAX_BYTES_OF_FORMS);
    let is_json =
        |value: &Value| value.as_str().and_then(json_of).is_some_and(|json| json.is_object() || json.is_array());
    let joins = |form: Form| match form {
        Form::Json => is_json(desired) && is_json(observed) && texts_of(desired) == texts_of(observed),
        form => is_same(Some(form), None, desired, observed),
    };
    let forms = [Form::Number, Form::CaseInsensitive, Form::Quantity, Form::Duration, Form::Timestamp, Form::Json];
    let known = || forms.into_iter().find(|form| joins(*form)).map(Form::word);
    (is_short(desired) && is_short(observed)).then(known).flatten()
}

fn texts_of(value: &Value) -> Option<Value> {
    value.as_str().and_then(json_of)
}

/// Converts to upper case and back, because some letters have several lower-case forms.
fn without_case(text: &str) -> String {
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// Returns true if two scalars have the same meaning, numbers within the tolerance.
pub(super) fn is_same(form: Option<Form>, tolerance: Option<Decimal>, desired: &Value, observed: &Value) -> bool {
    if form.is_none() {
        match (desired, observed) {
            (Value::Number(expected), Value::Number(real)) => return is_same_number(expected, real, tolerance),
            _ => return desired == observed,
        }
    }
    match (meaning(form, desired), meaning(form, observed), tolerance) {
        (Some(Meaning::Number(expected)), Some(Meaning::Number(real)), Some(tolerance)) => {
            expected.is_within(tolerance, real)
        }
        (Some(expected), Some(real), _) => expected == real,
        _ => false,
    }
}

/// Compares two numbers: 1 equals 1.0. Whole numbers are compared exactly, also beyond the 53 bits of a double.
fn is_same_number(expected: &Number, real: &Number, tolerance: Option<Decimal>) -> bool {
    if expected == real {
        return true;
    }
    match (Decimal::of(expected), Decimal::of(real), tolerance) {
        (Some(expected), Some(real), Some(tolerance)) => expected.is_within(tolerance, real),
        (expected, real, _) => expected.is_some() && expected == real,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn same(form: Form, desired: Value, observed: Value) -> bool {
        is_same(Some(form), None, &desired, &observed)
    }

    #[test]
    fn the_form_that_two_values_share_is_found() {
        let table = [
            (json!("A@x.org"), json!("a@x.org"), Some("caseInsensitive")),
            (json!("5"), json!(5), Some("number")),
            (json!("1Gi"), json!("1024Mi"), Some("quantity")),
            (json!("90s"), json!("1m30s"), Some("duration")),
            (json!("2026-01-01T00:00:00Z"), json!("2026-01-01T00:00:00.000Z"), Some("timestamp")),
            (json!(r#"{"a": 1}"#), json!(r#"{"a":1}"#), Some("json")),
            (json!("a"), json!("b"), None),
            (json!(1), json!(2), None),
            (json!({"a": 1}), json!({"a": 2}), None),
            (json!("A".repeat(5_000)), json!("a".repeat(5_000)), None),
        ];
        for (desired, observed, expected) in table {
            assert_eq!(common_form(&desired, &observed), expected, "{desired} {observed}");
        }
    }

    #[test]
    fn forms_see_through_notations() {
        let equal = [
            (Form::Quantity, json!("1Gi"), json!("1024Mi")),
            (Form::Quantity, json!("2"), json!(2)),
            (Form::Quantity, json!(0.5), json!("500m")),
            (Form::Number, json!("5"), json!(5)),
            (Form::Number, json!("9007199254740993"), json!(9_007_199_254_740_993_u64)),
            (Form::Duration, json!("1h30m"), json!("90m")),
            (Form::Duration, json!("90s"), json!(90)),
            (Form::Timestamp, json!("2026-01-01T00:00:00Z"), json!("2026-01-01T01:00:00.000+01:00")),
            (Form::CaseInsensitive, json!("WWW.Example"), json!("www.eXample")),
            (Form::CaseInsensitive, json!("ΟΔΟΣ"), json!("οδος")),
            (Form::CaseInsensitive, json!(1), json!(1.0)),
        ];
        for (form, desired, observed) in equal {
            assert!(same(form, desired.clone(), observed.clone()), "{form:?} {desired} {observed}");
        }
        let different = [
            (Form::Quantity, json!("1G"), json!("1Gi")),
            (Form::Quantity, json!("x"), json!("x")),
            (Form::Number, json!("9007199254740993"), json!(9_007_199_254_740_992_u64)),
            (Form::Number, json!("5"), json!("five")),
            (Form::Number, json!(1), json!(true)),
            (Form::Timestamp, json!("2026-01-01T00:00:00Z"), json!(1_767_225_600)),
            (Form::CaseInsensitive, json!("a"), json!("b")),
            (Form::CaseInsensitive, json!("1"), json!(1)),
        ];
        for (form, desired, observed) in different {
            assert!(!same(form, desired.clone(), observed.clone()), "{form:?} {desired} {observed}");
        }
    }

    #[test]
    fn a_tolerance_holds_for_numbers_alone() {
        let near = |form, desired: Value, observed: Value| is_same(form, Decimal::parse("0.01"), &desired, &observed);
        assert!(near(None, json!(0.3), json!(0.29)) && !near(None, json!(0.3), json!(0.28)));
        assert!(near(Some(Form::Duration), json!("1s"), json!("1010ms")));
        assert!(!near(None, json!("1"), json!("1.001")) && !near(None, json!(1), json!("1")));
    }

    proptest! {
        #[test]
        fn plain_numbers_are_same_where_they_mean_the_same(left: f64, right: i64) {
            for (expected, real) in [(json!(left), json!(right)), (json!(right as f64), json!(right)), (json!(left), json!(left))] {
                let equal = expected.is_number() && meaning(None, &expected) == meaning(None, &real);
                prop_assert!(!expected.is_number() || is_same(None, None, &expected, &real) == equal, "{expected} {real}");
            }
        }
    }
}
