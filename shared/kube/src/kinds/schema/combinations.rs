//! `allOf`, `anyOf`, `oneOf` and `not` of a schema. In a CustomResourceDefinition they only exclude values: they declare
//! no fields.
//!
//! References and CEL rules are not followed. The dry run of `check` and the first write meet them.

use regex_automata::meta::Regex;
use serde_json::Value;

/// The keyword for the least number of fields.
const MIN_PROPERTIES: &str = "minProperties";

/// Returns the path of the first keyword that excludes a value or a part of it: `.items.oneOf`.
pub(super) fn excluding(schema: &Value, value: &Value) -> Option<String> {
    let here = || excluding_whole(schema, value).map(|key| format!(".{key}"));
    let in_fields = || {
        let mut fields = fields_with(schema, value);
        fields.find_map(|(name, below, value)| Some(format!(".properties.{name}{}", excluding(below, value)?)))
    };
    let in_items =
        || items_with(schema, value).find_map(|(below, item)| Some(format!(".items{}", excluding(below, item)?)));
    here().or_else(in_fields).or_else(in_items)
}

/// Returns the first keyword that excludes a value as a whole.
pub(super) fn excluding_whole(schema: &Value, value: &Value) -> Option<&'static str> {
    let branches = |key: &str| schema.get(key).and_then(Value::as_array);
    let taken_by = |all: &[Value]| all.iter().filter(|one| takes(one, value)).count();
    let refuses = [
        ("allOf", branches("allOf").is_some_and(|all| taken_by(all) < all.len())),
        ("anyOf", branches("anyOf").is_some_and(|all| taken_by(all) == 0)),
        ("oneOf", branches("oneOf").is_some_and(|all| taken_by(all) != 1)),
        ("not", schema.get("not").is_some_and(|not| takes(not, value))),
        (MIN_PROPERTIES, !has_fewest_fields(schema, value)),
    ];
    refuses.into_iter().find_map(|(key, refuses)| refuses.then_some(key))
}

/// Returns true if a branch takes a value. Other keywords exclude nothing.
fn takes(schema: &Value, value: &Value) -> bool {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let mut lacking = required.filter(|name| value.is_object() && value.get(name).is_none());
    let is_allowed = schema.get("enum").and_then(Value::as_array).is_none_or(|allowed| allowed.contains(value));
    let fits_text = value.as_str().is_none_or(|text| takes_text(schema, text));
    lacking.next().is_none()
        && is_allowed
        && fits_text
        && fields_with(schema, value).all(|(_, below, value)| takes(below, value))
        && items_with(schema, value).all(|(below, item)| takes(below, item))
        && excluding_whole(schema, value).is_none()
}

fn takes_text(schema: &Value, text: &str) -> bool {
    let length = text.chars().count() as u64;
    let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
    let pattern = schema.get("pattern").and_then(Value::as_str);
    // The API server has another engine, so a pattern that this one does not read excludes nothing.
    let is_matched = pattern.and_then(|pattern| Regex::new(pattern).ok()).is_none_or(|regex| regex.is_match(text));
    is_matched
        && bound("minLength").is_none_or(|least| length >= least)
        && bound("maxLength").is_none_or(|most| length <= most)
}

fn has_fewest_fields(schema: &Value, value: &Value) -> bool {
    let least = schema.get(MIN_PROPERTIES).and_then(Value::as_u64).unwrap_or_default();
    value.as_object().is_none_or(|fields| fields.len() as u64 >= least)
}

/// Returns the declared fields that a value has, with name and schema.
fn fields_with<'v>(schema: &'v Value, value: &'v Value) -> impl Iterator<Item = (&'v String, &'v Value, &'v Value)> {
    let declared = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    declared.filter_map(|(name, below)| Some((name, below, value.get(name)?)))
}

/// Returns the items of a list, with their schema.
fn items_with<'v>(schema: &'v Value, value: &'v Value) -> impl Iterator<Item = (&'v Value, &'v Value)> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(|item| Some((schema.get("items")?, item)))
}
